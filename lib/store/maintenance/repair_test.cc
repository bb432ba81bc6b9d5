#include "lib/store/maintenance/repair.h"

#include <algorithm>
#include <fstream>
#include <set>

#include "lib/store/disk/open_lock.h"
#include "lib/store/testing/test_hosts.h"

namespace torc::store {
namespace {

using namespace testing;
namespace fs = std::filesystem;

class Repairs : public Hosts {
 protected:
  void SetUp() override {
    tuning.checkpoint_commits = 1'000'000;  // no snapshots unless a test asks
    Hosts::SetUp();
  }
  void commit_up_to(std::uint64_t sequence) {
    while (sequence_of(*a) < sequence) {
      const std::uint64_t next = sequence_of(*a) + 1;
      ASSERT_TRUE(a->commit(7, put("n", numbered("", next))).ok());
    }
  }
  void flip_a_bit(const Path& file) const {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    ASSERT_TRUE(stream) << file;
    stream.seekg(50);
    const char byte = static_cast<char>(stream.get() ^ 4);
    stream.seekp(50);
    stream.put(byte);
  }
  // Looks from a node that never saw the store.
  std::unique_ptr<Repair> examine(Node& node) {
    auto repair = Repair::examine(node.world(), directory);
    EXPECT_TRUE(repair.ok()) << (repair.ok() ? "" : repair.error().text());
    return repair.ok() ? std::move(*repair) : nullptr;
  }
  void repair_from(Node& node) {
    auto repair = examine(node);
    ASSERT_TRUE(repair);
    ASSERT_TRUE(repair->needed());
    const auto done = repair->carry_out("now");
    ASSERT_TRUE(done.ok()) << done.error().text();
    EXPECT_EQ(*done, directory / "quarantine" / "now");
  }
  [[nodiscard]] std::set<std::string> quarantined() const {
    std::set<std::string> out;
    for (const auto& entry : fs::recursive_directory_iterator(directory / "quarantine")) {
      if (entry.is_regular_file()) out.insert(entry.path().filename());
    }
    return out;
  }
  static Path replica_of(Store& store) {
    return dynamic_cast<JournalStore&>(store).replica_directory();
  }
  static std::string value_in(Repair& repair, const std::string& key) {
    std::string out = "(absent)";
    const Result<void> seen = repair.view([&](const Reader& reader) -> Result<void> {
      if (const auto v = reader.get(key)) out = *v;
      return {};
    });
    return seen.ok() ? out : seen.error().text();
  }
  Node stranger{scratch.path(), "stranger", 5};
};

TEST_F(Repairs, a_whole_store_needs_none) {
  commit_up_to(20);
  const auto repair = examine(stranger);
  EXPECT_FALSE(repair->needed());
  EXPECT_EQ(repair->last_good(), 20U);
}

TEST_F(Repairs, what_would_be_lost_is_told_and_nothing_touched) {
  commit_up_to(20);
  flip_a_bit(commit_file(18));
  const auto repair = examine(stranger);
  ASSERT_TRUE(repair->needed());
  EXPECT_EQ(repair->last_good(), 17U);
  ASSERT_EQ(repair->lost().size(), 3U);
  EXPECT_EQ(repair->lost()[0].sequence, 18U);
  EXPECT_NE(repair->lost()[0].damage, "");
  EXPECT_EQ(repair->lost()[1].damage, "");
  EXPECT_EQ(repair->lost()[1].author, 7U);
  EXPECT_NE(repair->writes_of(repair->lost()[1])->find("19"), std::string::npos);
  EXPECT_FALSE(fs::exists(directory / "quarantine"));
}

TEST_F(Repairs, a_damaged_tail_is_moved_aside_and_the_store_goes_on) {
  commit_up_to(20);
  flip_a_bit(commit_file(18));
  repair_from(stranger);
  EXPECT_EQ(quarantined().size(), 3U);
  expect_verified();
  Node fresh(scratch.path(), "fresh", 6);
  const auto store = open(fresh);
  EXPECT_EQ(value_of(*store, "n"), "17");
  ASSERT_TRUE(store->commit(1, put("n", "after")).ok());
  expect_verified();
}

TEST_F(Repairs, copies_of_lost_commits_go_with_them) {
  commit_up_to(40);
  flip_a_bit(commit_file(30));
  fs::create_directories(state / "segment");
  for (const char* name : {"000000000000-16", "000000000016-16"})
    std::ofstream(state / "segment" / name) << "commits";
  repair_from(stranger);
  EXPECT_EQ(quarantined().count("000000000000-16"), 0U);
  EXPECT_EQ(quarantined().count("000000000016-16"), 1U);
}

TEST_F(Repairs, a_missing_commit_ends_the_good_part) {
  commit_up_to(20);
  fs::remove(commit_file(15));
  repair_from(stranger);
  EXPECT_EQ(quarantined().size(), 5U);
  expect_verified();
}

TEST_F(Repairs, no_number_is_ever_used_for_two_commits) {
  commit_up_to(20);
  flip_a_bit(commit_file(18));
  repair_from(stranger);
  Node fresh(scratch.path(), "fresh", 6);
  const auto done = open(fresh)->commit(1, put("n", "after"));
  ASSERT_TRUE(done.ok());
  EXPECT_GT(done->sequence, 20U);
}

// The number of what a repair writes is in no ring.
TEST_F(Repairs, the_first_commit_after_a_repair_can_be_put_back_too) {
  commit_up_to(20);
  flip_a_bit(commit_file(18));
  a.reset();
  repair_from(stranger);
  a = open(first);
  const auto next = a->commit(1, put("n", "after"));
  ASSERT_TRUE(next.ok());
  a.reset();
  ASSERT_TRUE(fs::remove(commit_file(next->sequence)));
  const auto repair = examine(first);
  ASSERT_TRUE(repair->needed());
  EXPECT_EQ(repair->last_good(), next->sequence);
  EXPECT_EQ(value_in(*repair, "n"), "after");
  ASSERT_TRUE(repair->carry_out("again").ok());
  EXPECT_EQ(value_of(*open(stranger), "n"), "after");
}

// `a` has a copy that contains the lost commits, and knows that it is the newest state.
TEST_F(Repairs, a_replica_that_has_applied_the_lost_tail_is_reloaded) {
  commit_up_to(20);
  flip_a_bit(commit_file(18));
  a.reset();
  repair_from(stranger);
  a = open(first);
  EXPECT_EQ(value_of(*a, "n"), "17");
  ASSERT_TRUE(a->commit(1, put("m", "1")).ok());
  b = open(second);
  EXPECT_EQ(value_of(*b, "m"), "1");
  expect_verified();
}

// With --force, although it lives.
TEST_F(Repairs, a_writer_that_went_on_from_the_lost_tail_is_not_acknowledged) {
  commit_up_to(20);
  flip_a_bit(commit_file(18));
  repair_from(stranger);
  const auto done = a->commit(7, put("n", "from the other history"));
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().kind, ErrorKind::unknown) << done.error().text();
  EXPECT_EQ(value_of(*a, "n"), "17");
  const auto next = a->commit(7, put("n", "here"));
  ASSERT_TRUE(next.ok()) << next.error().text();
  expect_verified();
}

TEST_F(Repairs, a_reader_that_knows_the_lost_tail_is_led_to_the_new_history) {
  commit_up_to(20);
  EXPECT_EQ(value_of(*b, "n"), "20");
  flip_a_bit(commit_file(18));
  repair_from(stranger);
  second.clock.advance(std::chrono::minutes(2));
  EXPECT_EQ(value_of(*b, "n"), "17");
}

TEST_F(Repairs, a_copy_on_this_node_that_has_seen_more_is_used) {
  commit_up_to(20);
  flip_a_bit(commit_file(18));
  a.reset();
  const auto repair = examine(first);
  EXPECT_EQ(repair->last_good(), 20U);
  EXPECT_TRUE(repair->lost().empty());
  EXPECT_FALSE(repair->from_copy().empty());
  ASSERT_TRUE(repair->needed());
  ASSERT_TRUE(repair->carry_out("now").ok());
  expect_verified();
  Node fresh(scratch.path(), "fresh", 6);
  EXPECT_EQ(value_of(*open(fresh), "n"), "20");
}

TEST_F(Repairs, a_copy_of_another_history_is_not_used) {
  commit_up_to(20);
  // `first` has applied the tail; the store is put back to 10 and goes on differently.
  a.reset();
  for (std::uint64_t n = 11; n <= 20; ++n) fs::remove(commit_file(n));
  b = open(second);
  while (sequence_of(*b) < 15) ASSERT_TRUE(b->commit(2, put("n", "other")).ok());
  flip_a_bit(commit_file(14));
  const auto repair = examine(first);
  EXPECT_EQ(repair->last_good(), 13U);
  EXPECT_TRUE(repair->from_copy().empty());
}

// Whoever opens it has LMDB's lock file before the data file: were it deleted between, he would
// share a lock table with others, and not the data.
TEST_F(Repairs, a_copy_of_another_history_is_set_aside_but_not_while_somebody_opens_it) {
  commit_up_to(20);
  const Path copy = replica_of(*a);
  a.reset();
  for (std::uint64_t n = 11; n <= 20; ++n) fs::remove(commit_file(n));
  b = open(second);
  while (sequence_of(*b) < 15) ASSERT_TRUE(b->commit(2, put("n", "other")).ok());
  const auto repair = examine(first);
  ASSERT_EQ(repair->other_copies(), std::vector<Path>{copy});
  {
    const auto opening = OpenLock::take(copy, "opening it", std::chrono::seconds(1));
    ASSERT_TRUE(opening.ok());
    const auto done = repair->carry_out("early");
    ASSERT_FALSE(done.ok());
    EXPECT_EQ(done.error().kind, ErrorKind::busy) << done.error().text();
    for (const char* file : {"lock.mdb", "data.mdb", "gate"})
      EXPECT_TRUE(fs::exists(copy / file)) << file;
  }
  const auto done = repair->carry_out("now");
  ASSERT_TRUE(done.ok()) << done.error().text();
  EXPECT_FALSE(fs::exists(copy));
  EXPECT_EQ(quarantined().count(number_name(20)), 1U);
  EXPECT_FALSE(examine(first)->needed());
}

// Without its first file nothing is good, and the copy is all there is.
TEST_F(Repairs, a_copy_is_used_where_the_files_have_no_beginning) {
  commit_up_to(4);
  a.reset();
  b.reset();
  fs::remove(commit_file(1));
  const auto elsewhere = examine(stranger);
  EXPECT_EQ(elsewhere->last_good(), 0U);
  const auto repair = examine(first);
  EXPECT_EQ(repair->last_good(), 4U);
  EXPECT_FALSE(repair->from_copy().empty());
  EXPECT_TRUE(repair->lost().empty());
  ASSERT_TRUE(repair->carry_out("now").ok());
  Node fresh(scratch.path(), "fresh", 6);
  EXPECT_EQ(value_of(*open(fresh), "n"), "4");
  expect_verified();
}

TEST_F(Repairs, a_copy_is_used_where_no_file_is_left) {
  commit_up_to(4);
  a.reset();
  b.reset();
  for (std::uint64_t n = 1; n <= 4; ++n) fs::remove(commit_file(n));
  const auto repair = examine(first);
  EXPECT_EQ(repair->last_good(), 4U);
  ASSERT_TRUE(repair->carry_out("now").ok());
  Node fresh(scratch.path(), "fresh", 6);
  EXPECT_EQ(value_of(*open(fresh), "n"), "4");
}

TEST_F(Repairs, a_copy_that_may_be_of_another_history_is_never_passed_over) {
  commit_up_to(4);
  a.reset();
  fs::remove(commit_file(4));
  Node other(scratch.path(), "other", 9);
  ASSERT_TRUE(open(other)->commit(2, put("n", "other")).ok());
  fs::remove(commit_file(1));
  const auto repair = examine(first);
  ASSERT_TRUE(repair->needed());
  EXPECT_EQ(repair->last_good(), 0U);
  const auto done = repair->carry_out("now");
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().kind, ErrorKind::busy) << done.error().text();
  EXPECT_NE(done.error().remedy, "");
  EXPECT_FALSE(fs::exists(directory / "quarantine"));
}

TEST_F(Repairs, a_copy_of_a_later_generation_is_found_where_there_is_none_before_it) {
  commit_up_to(20);
  const Path copy = replica_of(*a);
  a.reset();
  fs::rename(copy, copy.string() + "-g2");
  flip_a_bit(commit_file(18));
  const auto repair = examine(first);
  EXPECT_EQ(repair->last_good(), 20U);
  EXPECT_FALSE(fs::exists(copy)) << "made by looking for it";
}

TEST_F(Repairs, a_copy_that_cannot_be_opened_is_neither_in_the_way_nor_passed_over) {
  commit_up_to(20);
  const Path copy = replica_of(*a);
  a.reset();
  fs::rename(copy, copy.string() + "-g2");
  fs::create_directory(copy);
  fs::permissions(copy, fs::perms::all);
  flip_a_bit(commit_file(18));
  {
    const auto repair = examine(first);
    EXPECT_EQ(repair->last_good(), 20U);
    const auto done = repair->carry_out("now");
    ASSERT_FALSE(done.ok());
    EXPECT_EQ(done.error().kind, ErrorKind::busy) << done.error().text();
    EXPECT_NE(done.error().what.find(copy.string()), std::string::npos) << done.error().text();
    EXPECT_FALSE(fs::exists(directory / "quarantine"));
  }
  fs::remove(copy);
  const auto repair = examine(first);
  EXPECT_TRUE(repair->carry_out("now").ok());
}

TEST_F(Repairs, a_damaged_snapshot_costs_nothing) {
  tuning.checkpoint_commits = 30;
  a = open(first);
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(a->commit(7, put("n", numbered("", static_cast<std::uint64_t>(i)))).ok());
    ASSERT_TRUE(a->maintain().ok());
  }
  std::vector<Path> snapshots;
  for (const auto& entry : fs::directory_iterator(state / "snapshot"))
    snapshots.push_back(entry.path());
  ASSERT_GE(snapshots.size(), 2U);
  flip_a_bit(*std::max_element(snapshots.begin(), snapshots.end()));
  const auto repair = examine(stranger);
  EXPECT_TRUE(repair->needed());
  EXPECT_TRUE(repair->lost().empty());
  ASSERT_TRUE(repair->carry_out("now").ok());
  Node fresh(scratch.path(), "fresh", 6);
  EXPECT_EQ(value_of(*open(fresh), "n"), "99");
  expect_verified();
}

TEST_F(Repairs, a_damaged_file_that_a_snapshot_covers_costs_nothing) {
  commit_up_to(30);
  tuning.checkpoint_commits = 1;
  a = open(first);
  ASSERT_TRUE(a->maintain().ok());
  flip_a_bit(commit_file(12));
  Node inspector(scratch.path(), "inspector", 99);
  EXPECT_FALSE(verify(inspector.world(), directory, no_check).ok());
  const auto repair = examine(stranger);
  EXPECT_EQ(repair->last_good(), 30U);
  EXPECT_TRUE(repair->lost().empty());
  ASSERT_TRUE(repair->carry_out("now").ok());
  EXPECT_EQ(quarantined().count(number_name(12)), 1U);
  expect_verified();
}

TEST_F(Repairs, a_store_without_any_beginning_is_refused) {
  commit_up_to(20);
  tuning.checkpoint_commits = 1;
  a = open(first);
  ASSERT_TRUE(a->maintain().ok());
  fs::remove(commit_file(1));
  for (const auto& entry : fs::directory_iterator(state / "snapshot")) flip_a_bit(entry.path());
  const auto repair = Repair::examine(stranger.world(), directory);
  ASSERT_FALSE(repair.ok());
  EXPECT_EQ(repair.error().kind, ErrorKind::corrupt);
  EXPECT_NE(repair.error().remedy.find("backup"), std::string::npos);
}

TEST_F(Repairs, a_store_that_changes_meanwhile_is_left_alone) {
  commit_up_to(20);
  flip_a_bit(commit_file(18));
  const auto repair = examine(stranger);
  ASSERT_TRUE(a->commit(7, put("n", "21")).ok());
  const auto done = repair->carry_out("now");
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().kind, ErrorKind::busy);
  EXPECT_FALSE(fs::exists(directory / "quarantine"));
}

// What is missing in each look was collected while it was made.
TEST_F(Repairs, a_store_under_busy_workers_is_not_called_damaged) {
  tuning = hasty();
  b = open(second);
  work(*b, 200);
  Node mender(scratch.path(), "mender", 8, &faulty);
  int looks = 0;
  bool working = false;
  faulty.oracle = [&](const std::string& op, const Path& path) {
    if (op == "open_read" && path.parent_path().filename() == "snapshot" &&
        !std::exchange(working, true)) {
      ++looks;
      work(*b, 200);
      working = false;
    }
    return proceed();
  };
  const auto repair = Repair::examine(mender.world(), directory);
  faulty.oracle = [](const std::string&, const Path&) { return proceed(); };
  EXPECT_GE(looks, 2);
  ASSERT_FALSE(repair.ok()) << "damaged: " << (*repair)->needed();
  EXPECT_EQ(repair.error().kind, ErrorKind::busy) << repair.error().text();
  EXPECT_FALSE(examine(stranger)->needed());
}

// The same for who only checks: a few collections cost it a look each, endless ones are told.
TEST_F(Repairs, nor_does_a_check_call_it_damaged) {
  tuning = hasty();
  b = open(second);
  work(*b, 200);
  Node checker(scratch.path(), "checker", 8, &faulty);
  for (const int times : {1, 1'000'000}) {
    int looks = 0;
    bool working = false;
    faulty.oracle = [&](const std::string& op, const Path& path) {
      if (op == "open_read" && path.parent_path().filename() == "snapshot" && looks < times &&
          !std::exchange(working, true)) {
        ++looks;
        work(*b, 200);
        working = false;
      }
      return proceed();
    };
    const auto verified = verify(checker.world(), directory, no_check);
    faulty.oracle = [](const std::string&, const Path&) { return proceed(); };
    EXPECT_EQ(looks > 1, times > 1);
    if (times == 1) {
      EXPECT_TRUE(verified.ok()) << verified.error().text();
    } else {
      ASSERT_FALSE(verified.ok());
      EXPECT_EQ(verified.error().kind, ErrorKind::busy) << verified.error().text();
    }
  }
}

// Whatever fails, the good part is still there and a second attempt gets through.
TEST_F(Repairs, can_be_begun_again_after_a_failure_at_any_step) {
  commit_up_to(20);
  flip_a_bit(commit_file(18));
  a.reset();
  b.reset();
  const Path whole = scratch.path() / "whole";
  fs::copy(directory, whole, fs::copy_options::recursive);
  Node mender(scratch.path(), "mender", 8, &faulty);
  for (int failing = 0, made = failing + 1; made > failing; ++failing) {
    fs::remove_all(directory);
    fs::copy(whole, directory, fs::copy_options::recursive);
    faulty.protect(directory, Root::named);  // as another command would
    made = 0;
    {
      auto repair = examine(mender);
      ASSERT_TRUE(repair);
      faulty.oracle = [&](const std::string&, const Path&) {
        return made++ == failing ? refuse(EIO) : proceed();
      };
      (void)repair->carry_out("first");
      faulty.oracle = [](const std::string&, const Path&) { return proceed(); };
    }
    Node fresh(scratch.path(), numbered("fresh", static_cast<std::uint64_t>(failing)), 6);
    auto again = examine(mender);
    ASSERT_TRUE(again) << failing;
    EXPECT_EQ(value_in(*again, "n"), "17") << failing;
    if (again->needed()) {
      const auto done = again->carry_out("second");
      ASSERT_TRUE(done.ok()) << failing << ": " << done.error().text();
    }
    const auto verified = verify(fresh.world(), directory, no_check);
    EXPECT_TRUE(verified.ok()) << failing << ": " << verified.error().text();
    EXPECT_EQ(value_of(*open(fresh), "n"), "17") << failing;
  }
}

}  // namespace
}  // namespace torc::store
