// The protocol between hosts.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "lib/store/disk/open_lock.h"
#include "lib/store/testing/test_hosts.h"

namespace torc::store {
namespace {

using namespace torc::store::testing;
namespace fs = std::filesystem;

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

// A client of NFS version 3, when a directory changes twice within one tick of the server's clock.
class OldListings final : public PosixDisk {
 public:
  bool old = false;

  Result<std::vector<std::string>> list(const Path& p) override {
    const auto known = known_.find(p);
    if (old && known != known_.end()) return known->second;
    TORC_ASSIGN(auto names, PosixDisk::list(p));
    return known_[p] = std::move(names);
  }
  // A change of its own.
  Result<void> unlink(const Path& p) override {
    known_.erase(p.parent_path());
    return PosixDisk::unlink(p);
  }

 private:
  std::map<Path, std::vector<std::string>> known_;
};

TEST_F(Hosts, a_commit_that_a_listing_hides_is_seen_by_who_was_told_of_it) {
  OldListings disk;
  Node third{scratch.path(), "third", 3, &disk};
  const auto c = open(third);
  ASSERT_EQ(value_of(*c, "a"), "1");
  disk.old = true;
  const auto done = b->commit(2, put("b", "2"));
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(value_of(*c, "b"), value_of(*c, "never written")) << "old, not wrong";
  c->expect(done->sequence);
  EXPECT_EQ(value_of(*c, "b"), "2");
  c->expect(done->sequence + 100);
  EXPECT_EQ(value_of(*c, "b"), "2") << "what is not true makes nothing worse";
  const auto further = b->commit(2, put("b", "3"));
  ASSERT_TRUE(further.ok());
  EXPECT_EQ(value_of(*c, "b"), "3");
}

TEST_F(Hosts, on_nfs_a_listing_without_news_is_doubted_after_a_second) {
  OldListings old;
  FaultyDisk disk(&old);
  disk.magic = 0x6969;
  Node third{scratch.path(), "third", 3, &disk};
  const auto c = open(third);
  ASSERT_EQ(value_of(*c, "a"), "1");
  old.old = true;
  ASSERT_TRUE(b->commit(2, put("b", "2")).ok());
  third.clock.advance(std::chrono::milliseconds(900));
  EXPECT_EQ(value_of(*c, "b"), value_of(*c, "never written"));
  third.clock.advance(std::chrono::milliseconds(200));
  EXPECT_EQ(value_of(*c, "b"), "2");
  // Less and less often.
  int changes = 0;
  disk.after = [&](const std::string& operation, const Path&) {
    if (operation == "unlink") ++changes;
  };
  for (int i = 0; i < 1000; ++i) {
    third.clock.advance(std::chrono::seconds(1));
    EXPECT_EQ(value_of(*c, "b"), "2");
  }
  EXPECT_GE(changes, 8);
  EXPECT_LE(changes, 11);
}

// --- the rule of the writer ---

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

// --- the rule of the reader ---

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

// --- maintenance ---

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

TEST_F(Hosts, temporary_files_of_the_dead_are_collected_wherever_they_are_made) {
  std::vector<Path> left;
  for (const char* where : {"journal", "snapshot", "segment"}) {
    left.push_back(state / where / ".tmp-0123456789abcdef");
    std::ofstream(left.back()) << "x";
  }
  work(*b, 300);
  for (const Path& file : left) EXPECT_TRUE(fs::exists(file)) << file << " may be somebody's";
  second.clock.advance(std::chrono::minutes(11));
  work(*b, 300);
  for (const Path& file : left) EXPECT_FALSE(fs::exists(file)) << file;
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
  EXPECT_TRUE(fs::is_empty(state / "snapshot"));
  ASSERT_TRUE(b->maintain().ok());
  EXPECT_FALSE(fs::is_empty(state / "snapshot"));
}

// --- the lock is a hint ---

TEST_F(Hosts, locks_that_fail_or_are_never_had_change_nothing) {
  for (const bool fails : {true, false}) {
    // Both hosts race, so that the lock is asked for; another open file holds it in the second
    // round.
    PosixDisk disk;
    OpenFile holder(disk, *disk.open_update(state / "lock"), state / "lock");
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

// --- the end of a workflow ---

// The taker took it back before its file could be read.
TEST_F(Hosts, a_number_that_was_taken_for_a_moment_is_tried_again) {
  bool refused = false;
  faulty.oracle = [&](const std::string& operation, const Path& path) {
    return operation.starts_with("link") && path == commit_file(2) && !std::exchange(refused, true)
               ? refuse(EEXIST)
               : proceed();
  };
  const auto done = a->commit(1, put("a", "2"));
  ASSERT_TRUE(done.ok()) << done.error().text();
  EXPECT_TRUE(refused);
  EXPECT_EQ(done->sequence, 2U);
  EXPECT_EQ(done->conflicts, 1U);
}

TEST_F(Hosts, a_commit_that_failed_before_its_name_was_asked_for_is_surely_none) {
  work(*b, 61);
  ASSERT_EQ(sequence_of(*a), 62U);
  bool refused = false;
  faulty.oracle = [&](const std::string& operation, const Path& path) {
    if (operation == "make_directory" && path == commit_file(64).parent_path()) refused = true;
    return refused ? refuse(EIO) : proceed();  // what comes after cannot be learned either
  };
  const auto done = a->commit(1, put("a", "2"));
  ASSERT_FALSE(done.ok());
  EXPECT_TRUE(refused);
  EXPECT_EQ(done.error().kind, ErrorKind::io) << done.error().text();
}

TEST_F(Hosts, a_commit_that_failed_while_mounts_changed_may_be_one) {
  faulty.oracle = [&](const std::string& operation, const Path& path) {
    if (!operation.starts_with("link") || path != commit_file(2)) return proceed();
    ++faulty.remounts;
    return refuse(EIO);
  };
  const auto done = a->commit(1, put("a", "2"));
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().kind, ErrorKind::unknown) << done.error().text();
}

TEST_F(Hosts, what_was_seen_of_a_store_is_not_believed_of_an_older_one_mounted_there) {
  const Path copy = scratch.path() / "copy";
  std::filesystem::copy(directory, copy, std::filesystem::copy_options::recursive);
  work(*a, 100);
  std::filesystem::rename(directory, scratch.path() / "aside");
  std::filesystem::rename(copy, directory);
  ++faulty.remounts;
  faulty.protect(directory, Root::named);  // as of another mount
  const auto done = a->commit(1, put("a", "2"));
  ASSERT_TRUE(done.ok()) << done.error().text();
  EXPECT_EQ(done->sequence, 2U);
  EXPECT_EQ(value_of(*a, "w1"), "(absent)");
  const auto meta = read_meta(first.world(), directory);
  ASSERT_TRUE(meta.ok());
  EXPECT_FALSE(meta->is_copy()) << "it was written to before it was made one of its own";
}

TEST_F(Hosts, a_forgotten_copy_is_gone_from_the_node_and_made_again_when_needed) {
  const auto copies = [this] {
    int files = 0;
    for (const auto& entry : fs::recursive_directory_iterator(first.replicas))
      files += entry.is_regular_file() ? 1 : 0;
    return files;
  };
  std::unique_ptr<Store> other = open(first);  // another process of the node
  ASSERT_GT(copies(), 0);
  a->forget_copy();
  EXPECT_EQ(copies(), 0);
  ASSERT_TRUE(other->commit(1, put("b", "2")).ok());
  EXPECT_EQ(value_of(*a, "b"), "2");
  EXPECT_GT(copies(), 0);
  expect_verified();
}

// Whoever opens it has LMDB's lock file before the data file: were they of two copies, he would
// share a lock table with others, and not the data.
TEST_F(Hosts, a_copy_that_somebody_is_just_opening_is_not_forgotten) {
  Path copy;
  for (const auto& entry : fs::recursive_directory_iterator(first.replicas))
    if (entry.path().filename() == "data.mdb") copy = entry.path().parent_path();
  ASSERT_FALSE(copy.empty());
  {
    const auto opening = OpenLock::take(copy, "opening it", std::chrono::seconds(1));
    ASSERT_TRUE(opening.ok());
    a->forget_copy();
    for (const char* file : {"lock.mdb", "data.mdb", "gate"})
      EXPECT_TRUE(fs::exists(copy / file)) << file;
  }
  ASSERT_TRUE(a->commit(1, put("b", "2")).ok());
  a->forget_copy();
  EXPECT_FALSE(fs::exists(copy));
  EXPECT_TRUE(fs::is_empty(copy.parent_path()));
}

// A file that may not be deleted is not gone: nothing above it goes before it.
TEST_F(Hosts, collect_no_commit_before_one_that_cannot_be_deleted) {
  const Path dead = state / "journal" / (".dead-" + number_name(0));
  for (const int refusal : {EPERM, ENOTDIR}) {
    faulty.oracle = [&](const std::string& operation, const Path& path) {
      return operation == "unlink" && path == dead / number_name(10) ? refuse(refusal) : proceed();
    };
    work(*a, 150);
    EXPECT_FALSE(fs::exists(dead / number_name(9)));
    for (std::uint64_t n = 10; n < kPerDirectory; ++n)
      EXPECT_TRUE(fs::exists(dead / number_name(n))) << n;
  }
  faulty.oracle = [](const std::string&, const Path&) { return proceed(); };
  work(*a, 150);
  EXPECT_FALSE(fs::exists(dead));
  expect_verified();
}

}  // namespace
}  // namespace torc::store
