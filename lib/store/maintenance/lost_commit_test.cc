// Commit files that are gone although a node has applied them.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <utility>

#include "lib/store/engine/heartbeat.h"
#include "lib/store/engine/place.h"
#include "lib/store/maintenance/compact.h"
#include "lib/store/maintenance/repair.h"
#include "lib/store/testing/test_hosts.h"

namespace torc::store {
namespace {

using namespace torc::store::testing;
namespace fs = std::filesystem;

class Lost : public Hosts {
 protected:
  void SetUp() override {
    tuning.checkpoint_commits = 1'000'000;  // no snapshots unless a test asks
    Hosts::SetUp();
  }
  void commit_up_to(std::uint64_t sequence) {
    while (sequence_of(*a) < sequence)
      ASSERT_TRUE(a->commit(7, put("n", numbered("", sequence_of(*a) + 1))).ok());
  }
  template <class T>
  static void expect_told(const Result<T>& done) {
    ASSERT_FALSE(done.ok());
    EXPECT_EQ(done.error().kind, ErrorKind::corrupt) << done.error().text();
    EXPECT_NE(done.error().remedy.find("torc repair"), std::string::npos) << done.error().text();
  }
  template <class T>
  static void expect_damaged(const Result<T>& done) {
    ASSERT_FALSE(done.ok());
    EXPECT_EQ(done.error().kind, ErrorKind::corrupt) << done.error().text();
  }
  // The node of `a`, which has seen all: as a store that is open, and as one opened now.
  void expect_told_there() {
    first.clock.advance(std::chrono::seconds(1));
    const std::size_t files = count();
    expect_told(a->view(Freshness::latest, no_check));
    expect_told(a->commit(7, put("n", "more")));
    expect_told(Store::open(first.world(), directory, tuning));
    expect_damaged(verify(first.world(), directory, no_check));
    EXPECT_EQ(count(), files);
  }
  void snapshot_by(Node& node) {
    const auto done = compact(node.world(), directory, Workers::may_live);
    ASSERT_TRUE(done.ok()) << done.error().text();
  }
  // The first node's copy, asked for nothing else.
  void expect_copy_at(std::uint64_t sequence) {
    const auto place = look_at_place(first.posix, directory, a->identity());
    ASSERT_TRUE(place.ok());
    const auto copy = open_replica(first.world(), first.replicas, a->identity().id, place->key, 0);
    ASSERT_TRUE(copy.ok());
    const auto txn = Txn::begin(copy->environment, Access::read);
    ASSERT_TRUE(txn.ok());
    Head head;
    ASSERT_EQ(read_head(*txn, head), 0);
    EXPECT_EQ(head.sequence, sequence);
  }
  [[nodiscard]] std::size_t count() const {
    std::size_t out = 0;
    for (const auto& entry : fs::recursive_directory_iterator(state / "journal"))
      out += entry.is_regular_file() ? 1 : 0;
    return out;
  }
  // From its copy.
  void expect_repaired(std::uint64_t last) {
    a.reset();
    b.reset();
    const auto repair = Repair::examine(first.world(), directory);
    ASSERT_TRUE(repair.ok()) << repair.error().text();
    ASSERT_TRUE((*repair)->needed());
    EXPECT_EQ((*repair)->last_good(), last);
    EXPECT_FALSE((*repair)->from_copy().empty());
    EXPECT_TRUE((*repair)->lost().empty());
    EXPECT_FALSE((*repair)->damages().empty());
    ASSERT_TRUE((*repair)->carry_out("now").ok());
    EXPECT_EQ(value_of(*open(third), "n"), std::to_string(last));
    a = open(first);
    EXPECT_EQ(value_of(*a, "n"), std::to_string(last));
    const auto next = a->commit(7, put("n", "after"));
    ASSERT_TRUE(next.ok()) << next.error().text();
    EXPECT_GT(next->sequence, last);
    expect_verified();
    const auto verified = verify(first.world(), directory, no_check);
    EXPECT_TRUE(verified.ok()) << verified.error().text();
    const auto again = Repair::examine(first.world(), directory);
    EXPECT_FALSE((*again)->needed());
  }
  Node third{scratch.path(), "third", 3};
};

TEST_F(Lost, a_last_commit_that_a_copy_has_is_told_and_put_back) {
  commit_up_to(20);
  fs::remove(commit_file(20));
  expect_told_there();
  expect_repaired(20);
}

TEST_F(Lost, a_commit_in_the_middle_too) {
  commit_up_to(20);
  fs::remove(commit_file(10));
  expect_told_there();
  EXPECT_FALSE(Store::open(third.world(), directory, tuning).ok());
  expect_repaired(20);
}

TEST_F(Lost, a_commit_of_an_older_directory_too) {
  commit_up_to(70);
  fs::remove(commit_file(10));
  expect_told(Store::open(first.world(), directory, tuning));
  expect_damaged(verify(first.world(), directory, no_check));
  expect_repaired(70);
}

TEST_F(Lost, the_newest_directory_too) {
  commit_up_to(70);
  fs::remove_all(commit_file(70).parent_path());
  expect_told_there();
  EXPECT_FALSE(fs::exists(commit_file(70).parent_path()));
  expect_repaired(70);
}

TEST_F(Lost, all_files_of_the_history_too) {
  commit_up_to(20);
  fs::remove_all(commit_file(20).parent_path());
  expect_told_there();
  EXPECT_FALSE(fs::exists(commit_file(20).parent_path()));
}

// The third node has no copy, but a worker of the first one had seen the commit.
TEST_F(Lost, a_last_commit_that_a_worker_elsewhere_has_seen_is_told_and_not_cut_off) {
  commit_up_to(20);
  ASSERT_TRUE(write_heartbeat(first.world(), state, {7}, {5, {}, 20}).ok());
  ASSERT_TRUE(write_heartbeat(first.world(), state, {8}, {5, {}, 17}).ok());
  EXPECT_TRUE(verify(third.world(), directory, no_check).ok());
  EXPECT_FALSE((*Repair::examine(third.world(), directory))->needed());
  Node without(scratch.path(), "without", 4);  // a copy
  fs::remove(commit_file(20));
  const auto verified = verify(without.world(), directory, no_check);
  expect_damaged(verified);
  EXPECT_NE(verified.error().what.find("worker 7 has seen commit 20"), std::string::npos);
  const auto repair = Repair::examine(without.world(), directory);
  ASSERT_TRUE(repair.ok()) << repair.error().text();
  ASSERT_TRUE((*repair)->needed());
  EXPECT_EQ((*repair)->last_good(), 19U);
  const auto done = (*repair)->carry_out("now");
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().kind, ErrorKind::busy);
  EXPECT_FALSE(fs::exists(directory / "quarantine"));
  expect_repaired(20);
  EXPECT_TRUE(verify(third.world(), directory, no_check).ok());
}

// Which commits were seen is then not known, so nothing is concluded.
TEST_F(Lost, heartbeats_that_cannot_be_listed_or_read_are_an_error) {
  commit_up_to(20);
  ASSERT_TRUE(write_heartbeat(first.world(), state, {7}, {5, {}, 20}).ok());
  FaultyDisk unlucky;
  Node without(scratch.path(), "without", 4, &unlucky);
  for (const Path& of : {state / "beats", heartbeat_path(state, {7})}) {
    unlucky.oracle = [&](const std::string&, const Path& path) {
      return path == of ? refuse(EIO) : proceed();
    };
    EXPECT_FALSE(verify(without.world(), directory, no_check).ok()) << of;
    EXPECT_FALSE(Repair::examine(without.world(), directory).ok()) << of;
  }
}

// Nobody has it any more.
TEST_F(Lost, a_commit_that_a_worker_had_seen_is_cut_off_when_its_heartbeats_are_deleted) {
  commit_up_to(20);
  ASSERT_TRUE(write_heartbeat(first.world(), state, {7}, {5, {}, 20}).ok());
  fs::remove(commit_file(20));
  ASSERT_FALSE((*Repair::examine(third.world(), directory))->carry_out("now").ok());
  fs::remove(heartbeat_path(state, {7}));
  EXPECT_FALSE((*Repair::examine(third.world(), directory))->needed());
}

TEST_F(Lost, no_store_has_as_many_commits_as_a_spoilt_heartbeat_may_say) {
  commit_up_to(20);
  ASSERT_TRUE(write_heartbeat(first.world(), state, {7}, {5, {}, ~std::uint64_t{0}}).ok());
  std::ofstream(heartbeat_path(state, {8})) << "no heartbeat";
  std::ofstream(state / "beats" / "8x") << "of nobody";
  EXPECT_TRUE(verify(third.world(), directory, no_check).ok());
  EXPECT_FALSE((*Repair::examine(third.world(), directory))->needed());
}

// A node that never saw it cannot know; the number is used again.
TEST_F(Lost, a_commit_whose_number_was_used_again_is_told_and_what_the_copy_has_of_it_kept) {
  commit_up_to(20);
  fs::remove(commit_file(20));
  b = open(second);
  ASSERT_EQ(value_of(*b, "n"), "19");
  const auto done = b->commit(2, put("b", "2"));
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(done->sequence, 20U);
  first.clock.advance(std::chrono::seconds(6));
  expect_told_there();
  EXPECT_FALSE(fs::exists(commit_file(21)));

  a.reset();
  const auto repair = Repair::examine(first.world(), directory);
  ASSERT_TRUE(repair.ok()) << repair.error().text();
  ASSERT_TRUE((*repair)->needed());
  ASSERT_EQ((*repair)->other_copies().size(), 1U);
  ASSERT_EQ((*repair)->lost().size(), 1U);
  EXPECT_EQ((*repair)->lost()[0].sequence, 20U);
  EXPECT_EQ((*repair)->lost()[0].author, 7U);
  EXPECT_NE((*repair)->writes_of((*repair)->lost()[0])->find("20"), std::string::npos);
  const auto kept = (*repair)->carry_out("now");
  ASSERT_TRUE(kept.ok()) << kept.error().text();
  std::size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(*kept))
    files += entry.path().filename() == number_name(20) ? 1 : 0;
  EXPECT_EQ(files, 1U);
  a = open(first);
  EXPECT_EQ(value_of(*a, "b"), "2");
  ASSERT_TRUE(a->commit(7, put("n", "after")).ok());
  EXPECT_EQ(value_of(*b, "n"), "after");
  expect_verified();
}

// Right after its own commit a process does not look before the next.
TEST_F(Lost, a_commit_that_was_built_on_a_lost_one_is_not_acknowledged) {
  commit_up_to(20);
  ASSERT_TRUE(a->commit(7, put("n", "21")).ok());
  fs::remove(commit_file(21));
  const auto done = a->commit(7, put("n", "22"));
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().kind, ErrorKind::unknown) << done.error().text();
  expect_told(a->commit(7, put("n", "23")));
  expect_told(Store::open(first.world(), directory, tuning));
  EXPECT_FALSE(Store::open(third.world(), directory, tuning).ok()) << "there is a gap";
}

TEST_F(Lost, a_commit_on_top_of_a_number_that_was_used_again_is_taken_back) {
  commit_up_to(20);
  ASSERT_TRUE(a->commit(7, put("n", "21")).ok());
  fs::remove(commit_file(21));
  b = open(second);
  ASSERT_TRUE(b->commit(2, put("b", "2")).ok());
  const auto done = a->commit(7, put("n", "22"));
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().kind, ErrorKind::unknown) << done.error().text();
  EXPECT_FALSE(fs::exists(commit_file(22)));
  EXPECT_EQ(value_of(*open(third), "b"), "2");
}

// The name may be another one's by then: who stood still takes back nothing but what is his.
TEST_F(Lost, a_commit_of_another_that_got_the_number_meanwhile_is_not_taken_back) {
  commit_up_to(20);
  ASSERT_TRUE(a->commit(7, put("n", "21")).ok());
  fs::remove(commit_file(21));
  b = open(second);
  ASSERT_TRUE(b->commit(2, put("b", "2")).ok());
  bool exchanged = false;
  faulty.oracle = [&](const std::string& operation, const Path& path) {
    if (operation == "open_read" && path == commit_file(21) && fs::exists(commit_file(22)) &&
        !std::exchange(exchanged, true)) {
      fs::remove(commit_file(22));
      EXPECT_TRUE(b->commit(2, put("b", "3")).ok());
    }
    return proceed();
  };
  const auto done = a->commit(7, put("n", "22"));
  faulty.oracle = [](const std::string&, const Path&) { return proceed(); };
  ASSERT_TRUE(exchanged);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().kind, ErrorKind::unknown) << done.error().text();
  EXPECT_TRUE(fs::exists(commit_file(22)));
  EXPECT_EQ(value_of(*open(third), "b"), "3");
}

// … and covered by snapshots, and collected.
TEST_F(Lost, a_commit_that_a_later_history_has_buried_is_told_too) {
  commit_up_to(20);
  fs::remove(commit_file(20));
  tuning = hasty();
  b = open(second);
  work(*b, 300);
  ASSERT_FALSE(fs::exists(commit_file(20)));
  first.clock.advance(std::chrono::minutes(2));
  expect_told(a->view(Freshness::latest, no_check));
  expect_told(Store::open(first.world(), directory, tuning));
  expect_told(verify(first.world(), directory, no_check));
  a.reset();
  const auto repair = Repair::examine(first.world(), directory);
  ASSERT_TRUE(repair.ok()) << repair.error().text();
  EXPECT_EQ((*repair)->lost().size(), 1U);
}

// … and the older of two snapshots is one that the copy has in common with it.
TEST_F(Lost, a_commit_that_an_older_snapshot_precedes_is_not_thrown_away_for_that) {
  commit_up_to(2);
  snapshot_by(second);
  commit_up_to(3);
  fs::remove(commit_file(3));
  b = open(second);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(b->commit(2, put("b", "2")).ok());
  ASSERT_EQ(sequence_of(*b), 4U);
  snapshot_by(second);
  first.clock.advance(std::chrono::minutes(2));
  expect_told(a->view(Freshness::latest, no_check));
  expect_told(Store::open(first.world(), directory, tuning));
  expect_copy_at(3);
  expect_told(a->commit(7, put("n", "more")));
}

TEST_F(Lost, files_and_a_damaged_snapshot_do_not_set_the_copy_back_to_an_older_one) {
  commit_up_to(2);
  snapshot_by(second);
  commit_up_to(3);
  b = open(second);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(b->commit(2, put("b", "2")).ok());
  snapshot_by(second);
  fs::remove(commit_file(4));
  for (const auto& entry : fs::directory_iterator(state / "snapshot")) {
    if (entry.path().filename().string().starts_with(number_name(5)))
      fs::resize_file(entry.path(), fs::file_size(entry.path()) / 2);
  }
  first.clock.advance(std::chrono::minutes(2));
  expect_damaged(a->view(Freshness::latest, no_check));
  expect_copy_at(3);
}

// A client that still has the bytes of a stray file, until it changes the directory.
TEST_F(Lost, bytes_that_were_remembered_say_nothing_once_the_right_ones_were_read) {
  commit_up_to(20);
  const Path file = commit_file(20);
  const Path aside = scratch.path() / "aside";
  fs::rename(file, aside);
  b = open(second);
  ASSERT_TRUE(b->commit(2, put("b", "2")).ok());
  ASSERT_TRUE(fs::exists(file));
  faulty.oracle = [&](const std::string& operation, const Path& path) {
    if (operation == "create" && path.parent_path() == file.parent_path() && fs::exists(aside))
      fs::rename(aside, file);
    return proceed();
  };
  first.clock.advance(std::chrono::minutes(2));
  EXPECT_EQ(value_of(*a, "n"), "20");
  EXPECT_FALSE(fs::exists(aside));
}

TEST_F(Lost, a_number_that_was_taken_and_is_lost_is_not_waited_for) {
  commit_up_to(20);
  b = open(second);
  bool armed = true;
  faulty.oracle = [&](const std::string& operation, const Path& path) {
    if (operation.starts_with("link") && path == commit_file(21) && armed) {
      EXPECT_TRUE(b->commit(2, put("b", "2")).ok());
    }
    if (operation == "list" && path == state / "snapshot" && fs::exists(commit_file(21)) &&
        std::exchange(armed, false))
      fs::remove(commit_file(21));
    return proceed();
  };
  const auto done = a->commit(7, put("n", "21"));
  ASSERT_TRUE(done.ok()) << done.error().text();
  EXPECT_FALSE(armed);
  EXPECT_EQ(done->sequence, 21U);
  EXPECT_EQ(done->conflicts, 1U);
}

// --- names that are listed and cannot be opened ---

// As an NFS client that has looked for a name too early, until its directory changes.
TEST_F(Lost, a_name_that_is_listed_and_not_found_is_asked_for_again_before_it_is_called_missing) {
  commit_up_to(20);
  bool remembered = true;
  faulty.oracle = [&](const std::string& operation, const Path& path) {
    if (operation == "create" && path.parent_path() == commit_file(15).parent_path())
      remembered = false;
    const bool it = operation == "open_read" && path == commit_file(15);
    return it && remembered ? refuse(ENOENT) : proceed();
  };
  Node mender(scratch.path(), "mender", 8, &faulty);
  const auto repair = Repair::examine(mender.world(), directory);
  ASSERT_TRUE(repair.ok()) << repair.error().text();
  EXPECT_FALSE((*repair)->needed());
  EXPECT_EQ((*repair)->last_good(), 20U);
  remembered = true;
  const auto verified = verify(mender.world(), directory, no_check);
  EXPECT_TRUE(verified.ok()) << verified.error().text();
  remembered = true;
  Node late(scratch.path(), "late", 9, &faulty);
  EXPECT_EQ(value_of(*open(late), "n"), "20");
}

TEST_F(Lost, a_name_that_is_listed_and_never_found_is_no_damage_that_is_repaired) {
  commit_up_to(20);
  faulty.oracle = [&](const std::string& operation, const Path& path) {
    return operation == "open_read" && path == commit_file(15) ? refuse(ENOENT) : proceed();
  };
  Node mender(scratch.path(), "mender", 8, &faulty);
  const auto repair = Repair::examine(mender.world(), directory);
  ASSERT_FALSE(repair.ok());
  EXPECT_EQ(repair.error().kind, ErrorKind::busy) << repair.error().text();
}

}  // namespace
}  // namespace torc::store
