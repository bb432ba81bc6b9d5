// Listings that are older than any retention, and directories that came back after they were
// collected.
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

// A client that lists what it remembers of a directory until it changes that itself, as sshfs does
// for 20 s. Names are opened and made at the server.
class Remembering final : public PosixDisk {
 public:
  bool remembers = false;
  Result<std::vector<std::string>> list(const Path& directory) override {
    const auto known = listings_.find(directory);
    if (remembers && known != listings_.end()) return known->second;
    Result<std::vector<std::string>> names = PosixDisk::list(directory);
    if (names.ok()) listings_.insert_or_assign(directory, *names);
    return names;
  }
  Result<FileHandle> create(const Path& file) override {
    listings_.erase(file.parent_path());
    return PosixDisk::create(file);
  }
  Result<void> unlink(const Path& file) override {
    listings_.erase(file.parent_path());
    return PosixDisk::unlink(file);
  }

 private:
  std::map<Path, std::vector<std::string>> listings_;
};

class OldListings : public Hosts {
 protected:
  void SetUp() override {
    Hosts::SetUp();
    late = open(node);
    ASSERT_EQ(value_of(*late, "a"), "1");
    disk.remembers = true;
    work(*b, 300);
    ASSERT_FALSE(fs::exists(commit_file(2)));
  }
  void expect_committed_once() {
    EXPECT_EQ(value_of(*b, "mine"), "yes");
    EXPECT_EQ(sequence_of(*b), 302U);
    EXPECT_FALSE(fs::exists(commit_file(2)));
    expect_verified();
  }
  Remembering disk;
  Node node{scratch.path(), "late", 7, &disk};
  std::unique_ptr<Store> late;
};

TEST_F(OldListings, of_a_collected_directory_do_not_let_it_be_made_again) {
  const auto done = late->commit(3, put("mine", "yes"));
  ASSERT_TRUE(done.ok()) << done.error().text();
  EXPECT_EQ(done->sequence, 302U);
  EXPECT_FALSE(fs::exists(commit_file(2).parent_path()));
  expect_committed_once();
}

TEST_F(OldListings, do_not_let_a_commit_in_a_directory_that_came_back_count) {
  fs::create_directories(commit_file(2).parent_path());  // a mkdir that arrived late
  const auto done = late->commit(3, put("mine", "yes"));
  ASSERT_TRUE(done.ok()) << done.error().text();
  EXPECT_EQ(done->sequence, 302U);
  EXPECT_EQ(done->conflicts, 1U);
  expect_committed_once();
}

TEST_F(OldListings, do_not_let_a_reader_believe_a_stray_file) {
  PosixDisk plain;
  Journal journal(plain, directory, b->identity().id,
                  Publisher(plain, second.entropy, {}, Durable::no));
  WriteSet writes;
  writes.put("stray", "yes");
  Hash128 chain{};
  {
    Txn txn = *Txn::begin(open_replica(node.world(), node.replicas, b->identity().id,
                                       look_at_place(plain, directory, b->identity())->key, 0)
                              ->environment,
                          Access::read);
    Head head;
    ASSERT_EQ(read_head(txn, head), 0);
    chain = head.chain;
  }
  fs::create_directories(commit_file(2).parent_path());
  std::ofstream(commit_file(2), std::ios::binary)
      << encode_commit(b->identity().id, {2, chain, {}, 1}, writes.bytes());
  disk.remembers = false;  // of the directory it sees the stray, of snapshot/ what was
  (void)disk.list(commit_file(2).parent_path());
  disk.remembers = true;
  EXPECT_EQ(value_of(*late, "stray"), "(absent)");
  EXPECT_EQ(value_of(*late, "w1"), "291");
}

TEST_F(OldListings, of_the_newest_directory_are_no_race) {
  disk.remembers = false;
  ASSERT_EQ(value_of(*late, "w1"), "291");
  disk.remembers = true;
  ASSERT_TRUE(b->commit(2, put("b", "2")).ok());
  const auto done = late->commit(3, put("mine", "yes"));
  ASSERT_TRUE(done.ok()) << done.error().text();
  EXPECT_EQ(done->sequence, 303U);
  EXPECT_EQ(done->conflicts, 1U);
}

// --- what an old listing does to a repair ---

class OldListingsOfARepair : public Hosts {
 protected:
  void SetUp() override {
    tuning.checkpoint_commits = 1'000'000;
    Hosts::SetUp();
    commit_up_to(20);
    ASSERT_TRUE(Repair::examine(mender.world(), directory).ok());
    disk.remembers = true;
  }
  void commit_up_to(std::uint64_t sequence) {
    while (sequence_of(*a) < sequence)
      ASSERT_TRUE(a->commit(7, put("n", numbered("", sequence_of(*a) + 1))).ok());
  }
  void expect_good_up_to(std::uint64_t sequence) {
    const auto repair = Repair::examine(mender.world(), directory);
    ASSERT_TRUE(repair.ok()) << repair.error().text();
    EXPECT_EQ((*repair)->last_good(), sequence);
    EXPECT_FALSE((*repair)->needed());
  }
  Remembering disk;
  Node mender{scratch.path(), "mender", 8, &disk};
};

TEST_F(OldListingsOfARepair, hide_no_commit) {
  commit_up_to(25);
  expect_good_up_to(25);
}

TEST_F(OldListingsOfARepair, hide_no_directory) {
  commit_up_to(150);
  expect_good_up_to(150);
}

// Refused, as to one who comes a moment after a collector.
TEST_F(OldListingsOfARepair, and_a_directory_that_vanishes_while_it_is_listed_are_no_damage) {
  commit_up_to(70);
  Node late(scratch.path(), "late", 9, &faulty);
  faulty.oracle = [&](const std::string& operation, const Path& path) {
    return operation == "list" && path == commit_file(1).parent_path() ? refuse(ENOENT) : proceed();
  };
  const auto repair = Repair::examine(late.world(), directory);
  ASSERT_TRUE(repair.ok()) << repair.error().text();
  EXPECT_EQ((*repair)->last_good(), 70U);
  EXPECT_FALSE((*repair)->needed());
}

TEST_F(OldListingsOfARepair, do_not_make_a_commit_damaged_that_a_snapshot_covers) {
  tuning.checkpoint_commits = 1;
  a = open(first);
  ASSERT_TRUE(a->maintain().ok());
  bool remembered = true;  // until its directory changes
  faulty.oracle = [&](const std::string& operation, const Path& path) {
    const bool it = operation == "open_read" && path == commit_file(12);
    return it && std::exchange(remembered, false) ? refuse(ENOENT) : proceed();
  };
  Node late(scratch.path(), "late", 9, &faulty);
  const auto repair = Repair::examine(late.world(), directory);
  ASSERT_TRUE(repair.ok()) << repair.error().text();
  EXPECT_FALSE((*repair)->needed());
}

// --- the directory of the next number ---

class MissingDirectory : public Hosts {
 protected:
  void SetUp() override {
    tuning.checkpoint_commits = 1'000'000;
    Hosts::SetUp();
    for (std::uint64_t n = 2; n < kPerDirectory; ++n)
      ASSERT_TRUE(a->commit(1, put("n", numbered("", n))).ok());
    fs::remove(commit_file(kPerDirectory).parent_path());
  }
};

TEST_F(MissingDirectory, is_made_by_whoever_has_the_last_commit_before_it_there) {
  const auto done = b->commit(2, put("b", "2"));
  ASSERT_TRUE(done.ok()) << done.error().text();
  EXPECT_EQ(done->sequence, kPerDirectory);
  EXPECT_EQ(value_of(*a, "b"), "2");
  expect_verified();
}

TEST_F(MissingDirectory, is_not_made_where_that_commit_is_lost) {
  ASSERT_EQ(value_of(*b, "n"), "63");
  fs::remove(commit_file(kPerDirectory - 1));
  const auto done = b->commit(2, put("b", "2"));
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().kind, ErrorKind::corrupt) << done.error().text();
  EXPECT_FALSE(fs::exists(commit_file(kPerDirectory).parent_path()));
}

}  // namespace
}  // namespace torc::store
