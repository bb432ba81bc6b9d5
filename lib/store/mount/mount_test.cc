#include "lib/store/mount/mount.h"

#include <gtest/gtest.h>

namespace torc::store {
namespace {

constexpr std::string_view kTable =
    R"(22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,errors=remount-ro
30 22 0:26 / /home rw,nosuid - nfs4 srv:/home rw,vers=4.2,hard,local_lock=none,addr=10.0.0.1
31 30 0:27 / /home/my\040scratch rw - lustre mgs@tcp:/fs rw,flock,lazystatfs
32 22 0:28 / /home ro - nfs srv2:/home rw,vers=3,nolock,soft,noac
garbage
33 22 0:29 / /home/u rw - fuse.sshfs x:/u rw,user_id=0
)";

std::string texts(const std::vector<Finding>& findings) {
  std::string out;
  for (const Finding& f : findings)
    out += std::string(to_string(f.severity)) + ": " + f.text + "\n";
  return out;
}

std::string judged(std::string line) {
  const auto mount = mount_of("1 1 0:1 / / " + std::move(line), "/x");
  return mount ? texts(judge_mount(*mount)) : "no mount";
}

TEST(Mount, of_a_path_is_the_deepest_above_it) {
  EXPECT_EQ(mount_of(kTable, "/var/x")->type, "ext4");
  EXPECT_EQ(mount_of(kTable, "/home/u/x")->type, "fuse.sshfs");
  EXPECT_EQ(mount_of(kTable, "/homes")->type, "ext4");
}

TEST(Mount, on_one_point_is_the_newest) {
  EXPECT_EQ(mount_of(kTable, "/home/v")->source, "srv2:/home");
}

TEST(Mount, with_a_blank_in_its_path_is_found) {
  const auto mount = mount_of(kTable, "/home/my scratch/run");
  ASSERT_TRUE(mount);
  EXPECT_EQ(mount->point, "/home/my scratch");
  EXPECT_TRUE(mount->has("flock"));
  EXPECT_FALSE(mount->has("floc"));
}

TEST(Mount, options_have_values) {
  const auto mount = mount_of(kTable, "/home/v");
  EXPECT_EQ(mount->value("vers"), "3");
  EXPECT_EQ(mount->value("nolock"), "");
  EXPECT_TRUE(mount->has("ro"));
}

TEST(Mount, of_no_mountinfo_is_none) {
  EXPECT_FALSE(mount_of("", "/x"));
  EXPECT_FALSE(mount_of("36 35 98:0 / /mnt1 rw - ext3", "/mnt1"));
}

TEST(Mount, that_is_plain_gives_no_finding) {
  EXPECT_EQ(judged("rw,relatime - ext4 /dev/vda rw"), "");
  EXPECT_EQ(judged("rw - nfs4 s:/x rw,vers=4.2,hard,local_lock=none"), "");
}

TEST(Mount, that_is_read_only_is_unfit) {
  EXPECT_NE(judged("ro - ext4 /dev/vda rw").find("unfit: it is mounted read-only"),
            std::string::npos);
}

TEST(Mount, options_that_weaken_nfs_are_told) {
  const std::string text = judged("rw - nfs s:/x rw,vers=3,nolock,soft,noac,nocto,local_lock=all");
  for (const char* word : {"nolock", "soft", "noac", "nocto", "version 3"})
    EXPECT_NE(text.find(word), std::string::npos) << word << " in\n" << text;
}

TEST(Mount, where_locks_are_local_to_a_node_is_told) {
  for (const char* line :
       {"rw - lustre m:/f rw,localflock", "rw - fuse.sshfs x:/ rw", "rw - nfs s:/x rw,nolock",
        "rw - nfs4 s:/x rw,local_lock=flock", "rw - cifs //s/x rw,nobrl"})
    EXPECT_NE(judged(line).find("each node alone"), std::string::npos) << line;
}

TEST(Mount, that_only_this_host_sees_is_told) {
  for (const char* line : {"rw - tmpfs tmpfs rw", "rw - overlay overlay rw,lowerdir=/a"})
    EXPECT_NE(judged(line).find("only this host"), std::string::npos) << line;
}

TEST(MissingMount, is_what_fstab_wants_above_a_path_and_nothing_is) {
  const std::string root = "1 1 0:1 / / rw - ext4 /dev/sda rw\n";
  const std::string fstab =
      "# <file system>\n/dev/sda / ext4 defaults 0 1\nsrv:/s\t/mnt/my\\040scratch\tnfs rw 0 0\n"
      "/dev/sdb none swap sw 0 0\n";
  EXPECT_EQ(missing_mount({root, fstab}, "/mnt/my scratch/wf.torc"), Path("/mnt/my scratch"));
  EXPECT_EQ(missing_mount({root, fstab}, "/mnt/my scratch"), Path("/mnt/my scratch"));
  EXPECT_EQ(missing_mount({root, fstab}, "/mnt/other"), std::nullopt);
  EXPECT_EQ(missing_mount({root + "2 1 0:2 / /mnt/my\\040scratch rw - nfs4 srv:/s rw\n", fstab},
                          "/mnt/my scratch/wf.torc"),
            std::nullopt);
}

TEST(MissingMount, is_what_an_automounter_has_not_mounted) {
  const std::string table =
      "1 1 0:1 / / rw - ext4 /dev/sda rw\n2 1 0:2 / /net rw - autofs auto.net rw\n";
  EXPECT_EQ(missing_mount({table, ""}, "/net/x"), Path("/net"));
  EXPECT_EQ(missing_mount({table + "3 2 0:3 / /net/x rw - nfs4 srv:/s rw\n", ""}, "/net/x"),
            std::nullopt);
  EXPECT_EQ(missing_mount({"", "srv:/s /mnt nfs rw 0 0\n"}, "/mnt/x"), std::nullopt)
      << "without a table of what is mounted nothing is missing";
}

}  // namespace
}  // namespace torc::store
