// What a client does not show although it is there, and what is missing only because it went
// meanwhile.
#include <gtest/gtest.h>

#include <cerrno>
#include <utility>

#include "lib/store/maintenance/repair.h"
#include "lib/store/testing/test_hosts.h"

namespace torc::store {
namespace {

using namespace torc::store::testing;
namespace fs = std::filesystem;

// What a listing did not show is still there: nothing after it may go.
class HidesOne final : public PosixDisk {
 public:
  std::string hidden;  // in directories that were renamed away, once
  Result<std::vector<std::string>> list(const Path& directory) override {
    Result<std::vector<std::string>> names = PosixDisk::list(directory);
    if (names.ok() && directory.filename().string().starts_with(".dead-") &&
        std::erase(*names, hidden) > 0)
      hidden.clear();
    return names;
  }
};

TEST_F(Hosts, collect_nothing_after_a_commit_that_an_old_listing_hides) {
  tuning.retention = std::chrono::minutes(10);
  b = open(second);
  work(*b, 300);  // of which nothing is collected yet, and then all at once
  tuning.retention = std::chrono::nanoseconds(0);
  HidesOne disk;
  Node node(scratch.path(), "collector", 7, &disk);
  disk.hidden = number_name(3);
  {
    const auto collector = open(node);
    for (int i = 0; i < 400 && !disk.hidden.empty(); ++i) work(*collector, 1);
    ASSERT_TRUE(disk.hidden.empty()) << "it was listed";
    EXPECT_TRUE(fs::exists(state / "journal" / (".dead-" + number_name(0)) / number_name(3)));
    EXPECT_TRUE(fs::exists(commit_file(64))) << "the next directory went before all of the first";
    work(*collector, 300);
  }
  EXPECT_FALSE(fs::exists(state / "journal" / (".dead-" + number_name(0))));
  EXPECT_FALSE(fs::exists(commit_file(64)));
  expect_verified();
}

TEST_F(Hosts, a_repair_that_looks_while_others_collect_calls_nothing_damaged) {
  work(*b, 100);
  FaultyDisk disk;
  Node inspector(scratch.path(), "inspector", 8, &disk);
  bool moved = false;
  disk.after = [&](const std::string& op, const Path& path) {
    if (op != "list" || path.filename() != "snapshot" || std::exchange(moved, true)) return;
    work(*b, 300);
  };
  const auto looked = Repair::examine(inspector.world(), directory);
  ASSERT_TRUE(looked.ok()) << looked.error().text();
  EXPECT_TRUE(moved);
  EXPECT_FALSE((*looked)->needed()) << (*looked)->damages().front().what;
  EXPECT_EQ((*looked)->last_good(), 401U);
}

// An NFS client that looked for a directory too early says that it is absent until it asks for the
// one above it anew.
class RemembersAbsence final : public PosixDisk {
 public:
  Path absent;
  Result<FileHandle> open_read(const Path& file) override {
    if (in_it(file)) return os_error(ENOENT, "remembered as absent");
    return PosixDisk::open_read(file);
  }
  Result<FileHandle> create(const Path& file) override {
    if (in_it(file)) return os_error(ENOENT, "remembered as absent");
    if (!absent.empty() && file.parent_path() == absent.parent_path()) absent.clear();
    return PosixDisk::create(file);
  }
  Result<std::vector<std::string>> list(const Path& directory) override {
    if (!absent.empty() && directory == absent) return os_error(ENOENT, "remembered as absent");
    return PosixDisk::list(directory);
  }

 private:
  bool in_it(const Path& file) const { return !absent.empty() && file.parent_path() == absent; }
};

TEST_F(Hosts, a_directory_that_a_client_remembers_as_absent_is_asked_for_anew) {
  tuning.checkpoint_commits = 1000;
  b = open(second);
  work(*b, 70);
  RemembersAbsence disk;
  Node node(scratch.path(), "early", 9, &disk);
  {
    const auto early = open(node);
    ASSERT_EQ(sequence_of(*early), 71U);
  }
  disk.absent = commit_file(1).parent_path();
  const auto again = Store::open(node.world(), directory, tuning);
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(sequence_of(**again), 71U);
}

}  // namespace
}  // namespace torc::store
