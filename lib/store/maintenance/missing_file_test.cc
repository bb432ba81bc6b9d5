// Commit files that are gone from a store of which no node has a copy: what segments still have,
// and what is said where nothing is left.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <utility>

#include "lib/store/engine/heartbeat.h"
#include "lib/store/maintenance/compact.h"
#include "lib/store/maintenance/repair.h"
#include "lib/store/testing/test_hosts.h"

namespace torc::store {
namespace {

using namespace torc::store::testing;
namespace fs = std::filesystem;

// A client that does not see a name before it changes the directory itself.
class BlindDisk final : public PosixDisk {
 public:
  Path hidden;  // empty: it sees all

  Result<std::vector<std::string>> list(const Path& d) override {
    TORC_ASSIGN(std::vector<std::string> names, PosixDisk::list(d));
    if (d == hidden.parent_path()) std::erase(names, hidden.filename().string());
    return names;
  }
  Result<FileHandle> open_read(const Path& f) override {
    if (f == hidden) return os_error(ENOENT, f.string());
    return PosixDisk::open_read(f);
  }
  Result<FileHandle> create(const Path& f) override {
    if (f.parent_path() == hidden.parent_path()) hidden.clear();
    return PosixDisk::create(f);
  }
};

class Missing : public Hosts {
 protected:
  void SetUp() override {
    tuning.checkpoint_commits = 1'000'000;  // no snapshots unless a test asks
    Hosts::SetUp();
  }
  // Of 19 commits the first 15 are also in a segment; nobody has the store open or a copy of it, as
  // after the last worker of a workflow that is finished.
  void make_history(std::uint64_t commits = 19) {
    while (sequence_of(*a) < commits) {
      ASSERT_TRUE(a->commit(7, put("n", numbered("", sequence_of(*a) + 1))).ok());
      ASSERT_TRUE(a->maintain().ok());
    }
    ASSERT_TRUE(fs::exists(segment()));
    a->forget_copy();
    b->forget_copy();
    a.reset();
    b.reset();
  }
  [[nodiscard]] Path segment() const { return state / "segment" / "000000000000-16"; }
  std::unique_ptr<Repair> examine(Node& node) {
    auto repair = Repair::examine(node.world(), directory);
    EXPECT_TRUE(repair.ok()) << (repair.ok() ? "" : repair.error().text());
    return repair.ok() ? std::move(*repair) : nullptr;
  }
  void expect_goes_on(Repair& repair, std::uint64_t last) {
    EXPECT_EQ(repair.last_good(), last);
    const auto done = repair.carry_out("now");
    ASSERT_TRUE(done.ok()) << done.error().text();
    expect_verified();
    a = open(first);
    EXPECT_EQ(value_of(*a, "n"), numbered("", last));
    ASSERT_TRUE(a->commit(7, put("n", "after")).ok());
    EXPECT_EQ(value_of(*open(third), "n"), "after");
    EXPECT_FALSE(examine(second)->needed());
  }
  void expect_refused(Node& node, ErrorKind kind) {
    const auto opened = Store::open(node.world(), directory, tuning);
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().kind, kind) << opened.error().text();
    EXPECT_NE(opened.error().remedy.find("torc repair"), std::string::npos)
        << opened.error().text();
    const auto verified = verify(node.world(), directory, no_check);
    ASSERT_FALSE(verified.ok());
    EXPECT_EQ(verified.error().kind, kind) << verified.error().text();
  }
  Node third{scratch.path(), "third", 3};
};

TEST_F(Missing, a_file_of_which_a_segment_has_the_commit_is_told_and_gone_on_without) {
  make_history();
  fs::remove(commit_file(10));
  expect_refused(third, ErrorKind::corrupt);
  const auto repair = examine(first);
  ASSERT_TRUE(repair->needed());
  ASSERT_EQ(repair->damages().size(), 1U);
  EXPECT_EQ(repair->damages()[0].file, commit_file(10));
  EXPECT_NE(repair->damages()[0].what.find("segment"), std::string::npos);
  EXPECT_TRUE(repair->lost().empty());
  EXPECT_FALSE(repair->lost_without_trace());
  EXPECT_TRUE(repair->from_copy().empty());
  expect_goes_on(*repair, 19);
}

// The copy of the one who says so was made a moment ago, of that segment.
TEST_F(Missing, the_segment_is_named_and_no_copy_that_was_made_of_it) {
  make_history();
  fs::remove(commit_file(10));
  const auto opened = Store::open(third.world(), directory, tuning);
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().what.find("a segment in " + segment().parent_path().string()),
            std::string::npos)
      << opened.error().text();
  EXPECT_EQ(opened.error().what.find("copy"), std::string::npos) << opened.error().text();
}

TEST_F(Missing, several_files_are_told_together) {
  make_history();
  for (const std::uint64_t n : {3, 4, 5, 9}) fs::remove(commit_file(n));
  const auto repair = examine(first);
  ASSERT_EQ(repair->damages().size(), 2U);
  EXPECT_NE(repair->damages()[0].what.find("up to commit 5"), std::string::npos)
      << repair->damages()[0].what;
  EXPECT_EQ(repair->damages()[1].file, commit_file(9));
  expect_goes_on(*repair, 19);
}

TEST_F(Missing, a_file_that_the_newest_snapshot_covers_is_no_damage) {
  make_history();
  ASSERT_TRUE(compact(first.world(), directory, Workers::may_live).ok());
  fs::remove(commit_file(10));
  EXPECT_FALSE(examine(third)->needed());
  expect_verified();
}

TEST_F(Missing, files_that_were_collected_are_no_damage_where_the_newest_snapshot_is) {
  tuning = hasty();
  a = open(first);
  work(*a, 200);
  const auto snapshots = [&] {
    std::vector<Path> out;
    for (const auto& entry : fs::directory_iterator(state / "snapshot"))
      out.push_back(entry.path());
    std::sort(out.begin(), out.end());
    return out;
  }();
  ASSERT_EQ(snapshots.size(), 2U);
  const auto older = number_of(snapshots[0].filename().string().substr(0, 12));
  ASSERT_TRUE(older);
  ASSERT_FALSE(fs::exists(commit_file(*older + 1))) << "only a segment has it";
  fs::resize_file(snapshots[1], fs::file_size(snapshots[1]) / 2);
  const auto repair = examine(third);
  ASSERT_EQ(repair->damages().size(), 1U) << repair->damages()[1].what;
  EXPECT_EQ(repair->damages()[0].file, snapshots[1]);
}

TEST_F(Missing, a_file_that_this_client_only_does_not_see_yet_is_no_damage) {
  make_history(70);
  BlindDisk blind;
  Node mender(scratch.path(), "mender", 8, &blind);
  blind.hidden = commit_file(10);  // not of the newest directory, which is asked for anew anyway
  const auto repair = examine(mender);
  EXPECT_FALSE(repair->needed());
  EXPECT_EQ(repair->last_good(), 70U);
  EXPECT_TRUE(blind.hidden.empty());
}

// The newest file is gone, and a worker that is heard of has seen its commit.
TEST_F(Missing, a_newest_file_that_a_segment_has_is_damage_where_a_worker_has_seen_it) {
  make_history();
  for (std::uint64_t n = 15; n <= 19; ++n) fs::remove(commit_file(n));
  EXPECT_FALSE(examine(third)->needed());
  ASSERT_TRUE(write_heartbeat(first.world(), state, {7}, {5, {}, 15}).ok());
  const auto verified = verify(third.world(), directory, no_check);
  ASSERT_FALSE(verified.ok());
  EXPECT_NE(verified.error().what.find("worker 7 has seen commit 15"), std::string::npos)
      << verified.error().text();
  const auto repair = examine(first);
  ASSERT_TRUE(repair->needed());
  EXPECT_FALSE(repair->lost_without_trace());
  expect_goes_on(*repair, 15);
}

TEST_F(Missing, all_files_leave_what_segments_have_and_more_may_be_lost) {
  make_history();
  fs::remove_all(commit_file(1).parent_path());
  expect_refused(third, ErrorKind::corrupt);
  ASSERT_TRUE(write_heartbeat(first.world(), state, {7}, {5, {}, 19}).ok());
  {
    const auto refused = examine(first)->carry_out("early");
    ASSERT_FALSE(refused.ok()) << "worker 7 has seen more";
    EXPECT_EQ(refused.error().kind, ErrorKind::busy) << refused.error().text();
  }
  fs::remove(heartbeat_path(state, {7}));
  const auto repair = examine(first);
  ASSERT_TRUE(repair->needed());
  EXPECT_TRUE(repair->lost_without_trace());
  expect_goes_on(*repair, 15);
}

TEST_F(Missing, nothing_is_left_and_nothing_is_made_of_that) {
  make_history();
  fs::remove_all(commit_file(1).parent_path());
  fs::remove(segment());
  expect_refused(third, ErrorKind::corrupt);
  EXPECT_FALSE(fs::exists(commit_file(1).parent_path()));
  const auto repair = examine(first);
  ASSERT_TRUE(repair->needed());
  EXPECT_EQ(repair->last_good(), 0U);
  EXPECT_TRUE(repair->lost_without_trace());
  const auto done = repair->carry_out("now");
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().kind, ErrorKind::corrupt) << done.error().text();
  EXPECT_FALSE(fs::exists(directory / "quarantine"));
}

TEST_F(Missing, the_first_file_is_gone_and_no_empty_store_is_made_of_the_others) {
  make_history();
  fs::remove(commit_file(1));
  fs::remove(segment());
  const auto repair = examine(first);
  ASSERT_TRUE(repair->needed());
  EXPECT_EQ(repair->last_good(), 0U);
  ASSERT_FALSE(repair->carry_out("now").ok());
  EXPECT_FALSE(fs::exists(directory / "quarantine"));
}

// Who may not write cannot ask anew, and listings of this mount may be old.
TEST_F(Missing, nothing_is_concluded_by_who_cannot_ask_anew) {
  make_history();
  fs::remove_all(commit_file(1).parent_path());
  FaultyDisk lagging;
  lagging.magic = 0x65735546;
  lagging.tables = MountTables{"1 1 0:1 / / rw - fuse.sshfs u@h:/e rw\n", ""};
  lagging.oracle = [&](const std::string& operation, const Path& path) {
    const bool changes = operation.starts_with("create") || operation.starts_with("make") ||
                         operation.starts_with("link");
    const bool inside = path.string().starts_with(directory.string());
    return changes && inside ? refuse(EROFS) : proceed();
  };
  Node far(scratch.path(), "far", 8, &lagging);
  expect_refused(far, ErrorKind::busy);
}

TEST_F(Missing, the_name_of_a_segment_promises_nothing) {
  make_history();
  fs::remove_all(commit_file(1).parent_path());
  std::ofstream(state / "segment" / "999999999936-64") << "commits";
  const auto repair = examine(first);
  EXPECT_EQ(repair->last_good(), 15U);
  EXPECT_LT(repair->continues_at(), 1000U);
}

}  // namespace
}  // namespace torc::store
