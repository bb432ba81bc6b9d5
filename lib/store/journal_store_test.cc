// The protocol between hosts: each Node has its own replicas and its own Store on one directory.
#include "lib/store/journal_store.h"

#include <gtest/gtest.h>

#include <fstream>

#include "lib/store/test_disk.h"
#include "lib/store/test_world.h"

namespace torc::store {
namespace {

using namespace torc::store::testing;
namespace fs = std::filesystem;

std::string numbered(const char* prefix, std::uint64_t i) {
  return std::string(prefix).append(std::to_string(i));
}

class Hosts : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = Store::create(first.world(), directory, Engine::journal, tuning, put("a", "1"));
    ASSERT_TRUE(made.ok()) << made.error().text();
    a = std::move(*made);
    b = open(second);
  }
  std::unique_ptr<Store> open(Node& node) {
    auto opened = Store::open(node.world(), directory, tuning);
    EXPECT_TRUE(opened.ok()) << opened.error().text();
    return opened.ok() ? std::move(*opened) : nullptr;
  }
  // `count` commits by `store`, with the care that makes snapshots and collects at once (retention
  // 0).
  void work(Store& store, int count) {
    for (int i = 0; i < count; ++i) {
      const auto done = store.commit(
          2, put(numbered("w", static_cast<std::uint64_t>(i % 10)), numbered("", worked++)));
      ASSERT_TRUE(done.ok()) << done.error().text();
      const auto cared = store.maintain();
      ASSERT_TRUE(cared.ok()) << cared.error().text();
    }
  }
  [[nodiscard]] Path commit_file(std::uint64_t n) const {
    return directory / "journal" / number_name(first_of_directory(n)) / number_name(n);
  }
  void expect_verified() {
    Node inspector(scratch.path(), "inspector", 99);
    const auto verified = verify(inspector.world(), directory, no_check);
    EXPECT_TRUE(verified.ok()) << verified.error().text();
  }
  static Tuning hasty() {
    Tuning t = quick();
    t.checkpoint_commits = 40;
    t.retention = std::chrono::nanoseconds(0);
    return t;
  }

  ScratchDirectory scratch;
  FaultyDisk faulty;
  Node first{scratch.path(), "first", 1, &faulty};
  Node second{scratch.path(), "second", 2};
  Tuning tuning = hasty();
  Path directory = scratch.path() / "wf.torc";
  std::unique_ptr<Store> a;
  std::unique_ptr<Store> b;
  std::uint64_t worked = 0;
};

TEST_F(Hosts, see_what_the_other_committed) {
  ASSERT_TRUE(b->commit(2, put("b", "2")).ok());
  EXPECT_EQ(value_of(*a, "b"), "2");
  EXPECT_EQ(value_of(*b, "a"), "1");
}

TEST_F(Hosts, a_cached_view_asks_the_shared_filesystem_nothing) {
  const std::uint64_t before = faulty.operations;
  EXPECT_EQ(value_of(*a, "a", Freshness::cached), "1");
  EXPECT_EQ(faulty.operations, before);
}

TEST_F(Hosts, polling_without_news_is_one_request) {
  ASSERT_EQ(value_of(*a, "a"), "1");
  const std::uint64_t before = faulty.operations;
  EXPECT_EQ(value_of(*a, "a"), "1");
  // The retention of this test is 0, so that every view counts as old: hence the second listing.
  EXPECT_LE(faulty.operations - before, 3u);
}

TEST_F(Hosts, the_body_runs_again_on_the_newer_state_when_another_host_was_first) {
  ASSERT_TRUE(a->commit(1, put("x", "0")).ok());
  ASSERT_TRUE(b->commit(2, put("n", "5")).ok());
  int runs = 0;
  const auto done = a->commit(1, [&](Transaction& tx) -> Result<void> {
    ++runs;
    const auto n = tx.get("n");
    tx.put("n", n ? std::to_string(std::stoi(std::string(*n)) + 1) : "1");
    return {};
  });
  ASSERT_TRUE(done.ok()) << done.error().text();
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(done->conflicts, 1u);
  EXPECT_EQ(value_of(*b, "n"), "6");
}

TEST_F(Hosts, an_answer_without_writes_is_given_on_the_newest_state_too) {
  ASSERT_TRUE(a->commit(1, put("x", "0")).ok());
  ASSERT_TRUE(b->commit(2, put("n", "5")).ok());
  std::string seen;
  const auto done = a->commit(1, [&](Transaction& tx) -> Result<void> {
    seen = tx.get("n") ? std::string(*tx.get("n")) : "";
    return {};
  });
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(seen, "5");
}

TEST_F(Hosts, counting_by_turns_loses_nothing) {
  const Store::Body increment = [](Transaction& tx) -> Result<void> {
    const auto n = tx.get("n");
    tx.put("n", std::to_string((n ? std::stoi(std::string(*n)) : 0) + 1));
    return {};
  };
  for (int i = 0; i < 200; ++i) ASSERT_TRUE((i % 3 == 0 ? a : b)->commit(1, increment).ok());
  EXPECT_EQ(value_of(*a, "n"), "200");
  EXPECT_EQ(value_of(*b, "n"), "200");
  expect_verified();
}

// --- the rule of the writer
// ---------------------------------------------------------------------------------------

TEST_F(Hosts, an_author_that_stood_still_cannot_take_a_number_that_was_collected) {
  bool stood_still = false;
  const auto done = a->commit(1, [&](Transaction& tx) -> Result<void> {
    if (!std::exchange(stood_still, true)) work(*b, 300);
    const auto w = tx.get("w1");
    tx.put("seen", w ? *w : "nothing");
    return {};
  });
  ASSERT_TRUE(done.ok()) << done.error().text();
  ASSERT_FALSE(fs::exists(commit_file(2))) << "the test needs the number to be collected";
  EXPECT_EQ(done->sequence, 302u);
  EXPECT_EQ(done->conflicts, 1u);
  EXPECT_EQ(value_of(*b, "seen"), "291");
  expect_verified();
}

TEST_F(Hosts, nor_when_its_directory_was_there_again) {
  bool stood_still = false;
  const auto done = a->commit(1, [&](Transaction& tx) -> Result<void> {
    if (!std::exchange(stood_still, true)) {
      work(*b, 300);
      fs::create_directories(
          commit_file(2).parent_path());  // as a filesystem with a stale view would offer it
    }
    const auto w = tx.get("w1");
    tx.put("seen", w ? *w : "nothing");
    return {};
  });
  ASSERT_TRUE(done.ok()) << done.error().text();
  EXPECT_EQ(done->sequence, 302u);
  EXPECT_FALSE(fs::exists(commit_file(2))) << "the stray file is taken away again";
  EXPECT_EQ(value_of(*b, "seen"), "291");
  expect_verified();
}

TEST_F(Hosts, an_author_that_stood_still_after_publishing_finds_its_commit_in_the_ring) {
  bool stood_still = false;
  faulty.after = [&](const std::string& operation, const Path&) {
    if (operation == "link_unnamed" && !std::exchange(stood_still, true)) work(*b, 300);
  };
  const auto done = a->commit(1, put("mine", "yes"));
  ASSERT_TRUE(stood_still);
  ASSERT_TRUE(done.ok()) << done.error().text();
  EXPECT_EQ(done->sequence, 2u);
  EXPECT_EQ(done->conflicts, 0u);
  EXPECT_EQ(value_of(*b, "mine"), "yes");
  EXPECT_EQ(sequence_of(*b), 302u) << "the commit must not have been made twice";
}

TEST_F(Hosts, an_author_that_stood_still_for_longer_than_the_ring_says_that_it_does_not_know) {
  tuning.checkpoint_commits = 4000;
  b = open(second);
  bool stood_still = false;
  faulty.after = [&](const std::string& operation, const Path&) {
    if (operation == "link_unnamed" && !std::exchange(stood_still, true)) work(*b, 8300);
  };
  const auto done = a->commit(1, put("mine", "yes"));
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().kind, ErrorKind::unknown);
}

// --- the rule of the reader
// ---------------------------------------------------------------------------------------

TEST_F(Hosts, a_reader_left_behind_loads_a_snapshot) {
  work(*b, 300);
  ASSERT_FALSE(fs::exists(commit_file(2)));
  EXPECT_EQ(value_of(*a, "w1"), "291");
  EXPECT_EQ(sequence_of(*a), 301u);
}

TEST_F(Hosts, a_reader_is_not_deceived_by_a_stray_file_on_a_collected_number) {
  Hash128 chain{};
  {
    Journal journal(second.posix, directory, b->identity().id,
                    Publisher(second.posix, second.entropy, {}, Durable::no));
    chain = journal.read(1)->after;
  }
  work(*b, 300);
  WriteSet writes;
  writes.put("stray", "yes");
  fs::create_directories(commit_file(2).parent_path());
  std::ofstream(commit_file(2), std::ios::binary)
      << encode_commit(b->identity().id, {2, chain, {}, 1}, writes.bytes());
  EXPECT_EQ(value_of(*a, "stray"), "(absent)");
  EXPECT_EQ(value_of(*a, "w1"), "291");
}

TEST_F(Hosts, a_reader_whose_clock_was_paused_with_it_is_not_deceived_either) {
  // A virtual machine that was paused thinks that its view is young.
  tuning.retention = std::chrono::minutes(10);
  a = open(first);
  b = open(second);
  ASSERT_EQ(value_of(*a, "a"), "1");
  Hash128 chain{};
  {
    Journal journal(second.posix, directory, b->identity().id,
                    Publisher(second.posix, second.entropy, {}, Durable::no));
    chain = journal.read(1)->after;
  }
  for (int i = 0; i < 15; ++i) {
    work(*b, 20);
    second.clock.advance(std::chrono::minutes(2));
  }
  ASSERT_FALSE(fs::exists(commit_file(2)));
  WriteSet writes;
  writes.put("stray", "yes");
  fs::create_directories(commit_file(2).parent_path());
  std::ofstream(commit_file(2), std::ios::binary)
      << encode_commit(b->identity().id, {2, chain, {}, 1}, writes.bytes());
  EXPECT_EQ(value_of(*a, "stray"), "(absent)");
  EXPECT_EQ(value_of(*a, "w1"), "291");
}

TEST_F(Hosts, an_empty_directory_of_a_collected_number_does_not_look_like_the_end) {
  work(*b, 300);
  fs::create_directories(commit_file(2).parent_path());
  EXPECT_EQ(value_of(*a, "w1"), "291");
}

// --- care
// ---------------------------------------------------------------------------------------------------------

TEST_F(Hosts, collection_keeps_two_snapshots_and_what_comes_after_the_older) {
  work(*b, 500);
  Journal journal(second.posix, directory, b->identity().id,
                  Publisher(second.posix, second.entropy, {}, Durable::no));
  const auto snapshots = journal.snapshots();
  ASSERT_TRUE(snapshots.ok());
  ASSERT_GE(snapshots->size(), 2u);
  EXPECT_LE(snapshots->size(), 3u);
  for (std::uint64_t n = (*snapshots)[1].sequence + 1; n <= 501; ++n)
    EXPECT_TRUE(fs::exists(commit_file(n))) << n;
  EXPECT_FALSE(fs::exists(commit_file(63)));
  expect_verified();
}

TEST_F(Hosts, nothing_is_collected_before_its_retention_has_passed) {
  tuning.retention = std::chrono::minutes(10);
  b = open(second);
  work(*b, 300);
  second.clock.advance(std::chrono::minutes(2));
  work(*b, 2);  // from now on this node knows what older snapshots cover
  EXPECT_TRUE(fs::exists(commit_file(1)));
  second.clock.advance(std::chrono::minutes(9));
  work(*b, 2);
  EXPECT_TRUE(fs::exists(commit_file(1)));
  second.clock.jump_wall(std::chrono::hours(1000));
  work(*b, 2);
  EXPECT_TRUE(fs::exists(commit_file(1)));
  second.clock.advance(std::chrono::minutes(2));
  work(*b, 2);
  EXPECT_FALSE(fs::exists(commit_file(1)));
  expect_verified();
}

TEST_F(Hosts, retention_adds_up_over_short_lived_processes_of_a_node) {
  tuning.retention = std::chrono::minutes(10);
  b = open(second);
  work(*b, 300);
  for (int i = 0; i < 6; ++i) {
    second.clock.advance(std::chrono::minutes(2));
    b = open(second);
    work(*b, 1);
  }
  EXPECT_FALSE(fs::exists(commit_file(1)));
}

TEST_F(Hosts, a_snapshot_is_also_due_by_bytes) {
  tuning.checkpoint_commits = 1'000'000;
  tuning.checkpoint_bytes = {20'000};
  b = open(second);
  ASSERT_TRUE(b->maintain().ok());
  std::string noise;
  for (int i = 0; i < 30'000; ++i) noise.push_back(static_cast<char>(second.entropy.next()));
  ASSERT_TRUE(b->commit(1, put("noise", noise)).ok());
  EXPECT_TRUE(fs::is_empty(directory / "snapshot"));
  ASSERT_TRUE(b->maintain().ok());
  EXPECT_FALSE(fs::is_empty(directory / "snapshot"));
}

// --- damage
// -------------------------------------------------------------------------------------------------------

TEST_F(Hosts, a_gap_is_refused_by_name) {
  for (int i = 0; i < 10; ++i)
    ASSERT_TRUE(b->commit(1, put("x", numbered("", static_cast<std::uint64_t>(i)))).ok());
  fs::remove(commit_file(5));
  Node third(scratch.path(), "third", 3);
  auto opened = Store::open(third.world(), directory, tuning);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().kind, ErrorKind::corrupt);
  EXPECT_NE(opened.error().what.find(number_name(5) + " is missing or"), std::string::npos)
      << opened.error().what;
  const auto verified = verify(third.world(), directory, no_check);
  ASSERT_FALSE(verified.ok());
  EXPECT_EQ(verified.error().kind, ErrorKind::corrupt);
}

TEST_F(Hosts, a_torn_tail_is_refused_by_name) {
  for (int i = 0; i < 5; ++i)
    ASSERT_TRUE(b->commit(1, put("x", numbered("", static_cast<std::uint64_t>(i)))).ok());
  fs::resize_file(commit_file(6), 50);
  const auto seen = a->view(Freshness::latest, no_check);
  ASSERT_FALSE(seen.ok());
  EXPECT_EQ(seen.error().kind, ErrorKind::corrupt);
  EXPECT_NE(seen.error().what.find(number_name(6)), std::string::npos);
  EXPECT_EQ(a->commit(1, put("y", "1")).error().kind, ErrorKind::corrupt)
      << "nobody builds on a damaged history";
}

TEST_F(Hosts, a_commit_that_does_not_continue_the_history_is_refused_by_name) {
  WriteSet writes;
  writes.put("stray", "yes");
  const CommitHeader elsewhere{2, hash128(b->identity().id, "another history"), {}, 1};
  std::ofstream(commit_file(2), std::ios::binary)
      << encode_commit(b->identity().id, elsewhere, writes.bytes());
  const auto seen = a->view(Freshness::latest, no_check);
  ASSERT_FALSE(seen.ok());
  EXPECT_EQ(seen.error().kind, ErrorKind::corrupt);
  EXPECT_NE(seen.error().what.find(number_name(2)), std::string::npos) << seen.error().what;
  EXPECT_EQ(value_of(*a, "stray", Freshness::cached), "(absent)");
}

TEST_F(Hosts, every_flipped_bit_of_a_commit_file_is_noticed) {
  std::string bytes;
  {
    std::ifstream in(commit_file(1), std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string bad = bytes;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(decode_commit(a->identity().id, 1, bad, "x").ok()) << bit;
  }
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_commit(a->identity().id, 1, bytes.substr(0, size), "x").ok()) << size;
  }
}

TEST_F(Hosts, a_damaged_snapshot_is_passed_over_for_the_one_before) {
  work(*b, 500);
  Path newest;
  for (const auto& entry : fs::directory_iterator(directory / "snapshot"))
    newest = std::max(newest, entry.path());
  {
    std::fstream file(newest, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(100);
    file.put('\x55').put('\x55');
  }
  Node third(scratch.path(), "third", 3);
  auto c = open(third);
  EXPECT_EQ(value_of(*c, "w1"), "491");
  const auto verified = verify(third.world(), directory, no_check);
  ASSERT_FALSE(verified.ok());
  EXPECT_NE(verified.error().what.find(newest.filename().string()), std::string::npos)
      << verified.error().what;
}

TEST_F(Hosts, a_replica_of_another_history_is_rebuilt) {
  // The store is put back from a copy that is older than what the node has seen, and goes another
  // way.
  const Path copy = scratch.path() / "copy";
  fs::copy(directory, copy, fs::copy_options::recursive);
  ASSERT_TRUE(a->commit(1, put("lost", "yes")).ok());
  a.reset();
  b.reset();
  fs::remove_all(directory);
  fs::rename(copy, directory);
  b = open(second);
  EXPECT_EQ(value_of(*b, "lost"), "(absent)");
  ASSERT_TRUE(b->commit(2, put("other", "way")).ok());
  a = open(first);
  EXPECT_EQ(value_of(*a, "lost"), "(absent)");
  EXPECT_EQ(value_of(*a, "other"), "way");
  EXPECT_EQ(value_of(*a, "a"), "1");
}

// --- the lock is a hint
// -------------------------------------------------------------------------------------------

TEST_F(Hosts, locks_that_fail_or_are_never_had_change_nothing) {
  for (const bool fails : {true, false}) {
    // Both hosts race, so that the lock is asked for; another open file holds it in the second
    // round.
    PosixDisk disk;
    OpenFile holder(disk, *disk.open_update(directory / "lock"));
    if (!fails) {
      ASSERT_TRUE(*disk.try_lock(holder.handle()));
    }
    faulty.oracle = [fails](const std::string& operation, const Path&) {
      return fails && operation == "try_lock" ? refuse(ENOLCK) : proceed();
    };
    for (int i = 0; i < 20; ++i)
      ASSERT_TRUE((i % 2 == 0 ? a : b)->commit(1, put("x", numbered("", worked++))).ok());
    first.clock.advance(std::chrono::minutes(1));
    second.clock.advance(std::chrono::minutes(1));
  }
  expect_verified();
}

}  // namespace
}  // namespace torc::store
