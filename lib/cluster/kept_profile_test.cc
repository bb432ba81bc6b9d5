#include "lib/cluster/kept_profile.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>

namespace torc::cluster {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr WallTime kNow = 1'000'000s;

Cluster alpha() {
  Cluster cluster;
  cluster.name = "alpha";
  cluster.read_at = kNow;
  cluster.limits_missing = "no slurmdbd: \"down\" \U0001f600";
  Partition one;
  one.name = "standard";
  one.nodes = {{4, 8, mebibytes(1024), {}, {}, 3, 2}};
  cluster.partitions = {one};
  return cluster;
}

class KeptProfile : public testing::Test {
 protected:
  KeptProfile() {
    std::string name = (fs::temp_directory_path() / "torc-kept-XXXXXX").string();
    top_ = ::mkdtemp(name.data());
  }
  ~KeptProfile() override { fs::remove_all(top_); }
  [[nodiscard]] Result<Cluster> read(WallTime now = kNow) const {
    return kept(caches_(), "alpha", geteuid(), now);
  }
  [[nodiscard]] Path caches_() const { return top_ / "caches"; }
  [[nodiscard]] Path file() const { return caches_() / "torc/clusters/alpha.yaml"; }

  Path top_;
};

TEST_F(KeptProfile, is_the_cluster_as_slurm_told_it) {
  ASSERT_TRUE(keep(caches_(), alpha()).ok());
  const auto again = read();
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(*again, alpha());
  struct stat about {};
  ASSERT_EQ(::stat(file().c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600U);
}

TEST_F(KeptProfile, says_nothing_of_idle_nodes_once_a_minute_has_passed) {
  ASSERT_TRUE(keep(caches_(), alpha()).ok());
  EXPECT_EQ(read(kNow + 59s)->partitions[0].idle_nodes(), 2U);
  const auto old = read(kNow + 60s);
  ASSERT_TRUE(old.ok());
  EXPECT_EQ(old->partitions[0].idle_nodes(), std::nullopt);
  EXPECT_EQ(old->partitions[0].usable_nodes(), std::nullopt);
  EXPECT_FALSE(is_fresh(*old, kNow + 60s));
}

TEST_F(KeptProfile, of_a_time_to_come_is_not_fresh) {
  EXPECT_FALSE(is_fresh(alpha(), kNow - 1s));
  EXPECT_TRUE(is_fresh(alpha(), kNow));
}

TEST_F(KeptProfile, that_is_not_there_is_not_found) {
  EXPECT_EQ(read().error().kind, ErrorKind::not_found);
}

TEST_F(KeptProfile, that_others_may_have_written_is_not_used) {
  ASSERT_TRUE(keep(caches_(), alpha()).ok());
  fs::permissions(file(), fs::perms(0620));
  EXPECT_EQ(read().error().kind, ErrorKind::permission);
  fs::permissions(file(), fs::perms(0600));
  EXPECT_EQ(kept(caches_(), "alpha", geteuid() + 1, kNow).error().kind, ErrorKind::permission);
}

TEST_F(KeptProfile, is_not_reached_through_a_link) {
  ASSERT_TRUE(keep(caches_(), alpha()).ok());
  fs::rename(file(), top_ / "elsewhere");
  fs::create_symlink(top_ / "elsewhere", file());
  EXPECT_FALSE(read().ok());
  ASSERT_TRUE(keep(caches_(), alpha()).ok()) << "a new file takes the place of the link";
  EXPECT_FALSE(fs::is_symlink(file()));
  fs::rename(caches_() / "torc", top_ / "torc");
  fs::create_directory_symlink(top_ / "torc", caches_() / "torc");
  EXPECT_FALSE(read().ok());
  EXPECT_FALSE(keep(caches_(), alpha()).ok());
}

TEST_F(KeptProfile, lies_where_the_users_link_of_his_caches_leads) {
  fs::create_directory(top_ / "big");
  fs::create_directory_symlink(top_ / "big", caches_());
  ASSERT_TRUE(keep(caches_(), alpha()).ok());
  EXPECT_TRUE(read().ok());
}

TEST_F(KeptProfile, with_mistakes_or_of_another_cluster_is_damaged_and_not_absent) {
  Cluster beta = alpha();
  beta.name = "beta";
  ASSERT_TRUE(keep(caches_(), beta).ok());
  fs::rename(caches_() / kept_file("beta"), file());
  EXPECT_EQ(read().error().kind, ErrorKind::corrupt);
  std::ofstream(file()) << "cluster: alpha\npartitions: [{nam: p}]\n";
  EXPECT_EQ(read().error().kind, ErrorKind::corrupt);
}

TEST_F(KeptProfile, has_no_file_outside_of_its_directory) {
  for (const char* name : {"", ".", "..", "a/b", "../a", "a\nb", ".a"})
    EXPECT_TRUE(kept_file(name).empty()) << name;
  EXPECT_EQ(kept_file("alpha-2.x"), Path("torc/clusters/alpha-2.x.yaml"));
  Cluster odd = alpha();
  odd.name = "../alpha";
  EXPECT_EQ(keep(caches_(), odd).error().kind, ErrorKind::invalid);
}

TEST(ConfiguredName, is_that_of_slurm_conf) {
  EXPECT_EQ(configured_name("# ClusterName=no\nSlurmctldHost=a\n clustername = alpha # one\n"),
            "alpha");
  EXPECT_EQ(configured_name("ClusterNames=no\nControlMachine=a\n"), "");
  EXPECT_EQ(configured_name(""), "");
  EXPECT_EQ(configured_name("ClusterName=Alpha-2\r\n"), "alpha-2") << "as Slurm calls it";
  EXPECT_EQ(configured_name("ClusterName=alpha SlurmctldHost=a\n"), "alpha");
  EXPECT_EQ(configured_name("ClusterName=\"alpha\"\n"), "alpha");
}

}  // namespace
}  // namespace torc::cluster
