// What the largest commit costs who reads it, in memory: no command may take more than 1 GiB
// whatever lies in a store, and those of the store alone take half of it at most.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <random>

#include "lib/base/sanitizer.h"
#include "lib/store/format/journal.h"
#include "lib/store/journal/chain.h"
#include "lib/store/lmdb/lmdb_transaction.h"
#include "lib/store/maintenance/adopt.h"
#include "lib/store/maintenance/backup.h"
#include "lib/store/maintenance/compact.h"
#include "lib/store/maintenance/repair.h"
#include "lib/store/maintenance/salvage.h"
#include "lib/store/testing/test_hosts.h"

namespace torc::store {
namespace {

using namespace testing;
namespace fs = std::filesystem;

constexpr std::uint64_t kMostMemory = std::uint64_t{512} << 20;  // bytes

// Of bytes that do not compress: file, snapshot and packed snapshot are as large as what is in
// them. Of zeros in the largest values: the file is nothing, and each value must be there at once.
enum class Content : std::uint8_t { random, zeros };

WriteSet largest(Content content) {
  std::mt19937_64 random(1);
  WriteSet writes;
  std::string key = "v";
  const std::size_t most = content == Content::zeros ? kMostValue : kMostWrites / 3;
  for (std::size_t left = kMostWrites - 4096; left > 0; ++key.back()) {
    std::string value(std::min(left, most), '\0');
    for (std::size_t i = 0; content == Content::random && i + 8 <= value.size(); i += 8) {
      const std::uint64_t word = random();
      std::memcpy(value.data() + i, &word, sizeof word);
    }
    left -= value.size();
    writes.put(key, value);
  }
  return writes;
}

// The most that a process has had resident while it did `work`, in bytes.
std::uint64_t peak_of(const std::function<bool()>& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work() ? 0 : 1);
  int status = 0;
  rusage used{};
  EXPECT_EQ(::wait4(child, &status, 0, &used), child);
  EXPECT_EQ(status, 0);
  return static_cast<std::uint64_t>(used.ru_maxrss) * 1024;
}

void expect_within_bound(const char* what, const std::function<bool()>& work) {
  SCOPED_TRACE(what);
  const std::uint64_t peak = peak_of(work);
  EXPECT_LE(peak, kMostMemory) << (peak >> 20) << " MiB";
  ::testing::Test::RecordProperty(what, static_cast<int>(peak >> 20));
}

Result<void> read_all(const Reader& reader) {
  std::uint64_t bytes = 0;
  reader.scan(kFirstUserKey, [&](const Entry& e) {
    for (std::size_t i = 0; i < e.value.size(); i += 4096) bytes += e.value[i] == 0 ? 2 : 1;
    return true;
  });
  if (bytes > 0) return {};
  return Error{ErrorKind::corrupt, "nothing is there", {}};
}

class LargestCommit : public Hosts, public ::testing::WithParamInterface<Content> {
 protected:
  void SetUp() override {
    Hosts::SetUp();
    if (kSanitized) GTEST_SKIP() << "a sanitizer takes several times the memory";
    id = a->identity().id;
    a.reset();
    b.reset();
    forge(2);
  }

  // In a process of its own, whose memory does not count.
  void forge(std::uint64_t sequence) const {
    const auto work = [&] {
      const Path before = commit_file(1);
      const auto bytes = read_file(*first.disk, before);
      const auto last = decode_commit(id, 1, *bytes, before);
      const CommitHeader header{sequence, last->after, {}, 1};
      std::ofstream(commit_file(sequence), std::ios::binary)
          << encode_commit(id, header, largest(GetParam()).bytes());
      return true;
    };
    (void)peak_of(work);
  }

  bool copy(Node& node, const Path& source, const char* name, Engine engine) {
    BackupRequest request;
    request.destination = scratch.path() / name;
    request.engine = engine;
    return backup(node.world(), source, request).ok();
  }

  StoreId id{};
};

TEST_P(LargestCommit, costs_who_opens_reads_and_copies_the_store_half_a_gibibyte_at_most) {
  Node fresh(scratch.path(), "fresh", 9);
  // It opens the store as well.
  expect_within_bound("verify", [&] { return verify(fresh.world(), directory, read_all).ok(); });
  expect_within_bound("open again, and read", [&] {
    const auto opened = Store::open(fresh.world(), directory, tuning);
    return opened.ok() && (*opened)->view(Freshness::latest, read_all).ok();
  });
  expect_within_bound("history", [&] {
    return read_chain(fresh.world(), directory, [](auto...) { return Result<void>(); }).ok();
  });
  // As `torc backup` does, with the original open to its end.
  Node other(scratch.path(), "other", 10);
  expect_within_bound("backup", [&] {
    const auto original = Store::open(other.world(), directory, tuning);
    if (!original.ok() || !copy(other, directory, "copy.torc", Engine::journal)) return false;
    const Path made = scratch.path() / "copy.torc";
    return verify(other.world(), made, read_all).ok() &&
           Store::open(other.world(), made, tuning).ok();
  });
  expect_within_bound("compact",
                      [&] { return compact(other.world(), directory, Workers::none).ok(); });
}

TEST_P(LargestCommit, costs_who_repairs_the_store_half_a_gibibyte_at_most) {
  Node fresh(scratch.path(), "fresh", 9);
  expect_within_bound("repair of a good store", [&] {
    const auto repair = Repair::examine(fresh.world(), directory);
    return repair.ok() && !(*repair)->needed() && (*repair)->view(read_all).ok();
  });
  std::ofstream(commit_file(3)) << "damaged";
  expect_within_bound("repair after it", [&] {
    const auto repair = Repair::examine(fresh.world(), directory);
    return repair.ok() && (*repair)->view(read_all).ok() && (*repair)->carry_out("bad").ok();
  });
}

TEST_P(LargestCommit, costs_who_repairs_a_store_that_lost_it_half_a_gibibyte_at_most) {
  forge(3);
  fs::rename(commit_file(2), commit_file(4));  // of another number than it says
  Node fresh(scratch.path(), "fresh", 9);
  expect_within_bound("repair before it", [&] {
    const auto repair = Repair::examine(fresh.world(), directory);
    if (!repair.ok() || (*repair)->lost().size() != 2) return false;
    return (*repair)->carry_out("bad").ok();
  });
}

TEST_P(LargestCommit, costs_who_has_engine_lmdb_half_a_gibibyte_at_most) {
  Node fresh(scratch.path(), "fresh", 9);
  const Path lmdb = scratch.path() / "lmdb.torc";
  expect_within_bound("backup to lmdb",
                      [&] { return copy(fresh, directory, "lmdb.torc", Engine::lmdb); });
  expect_within_bound("verify", [&] { return verify(fresh.world(), lmdb, read_all).ok(); });
  expect_within_bound("backup to journal",
                      [&] { return copy(fresh, lmdb, "back.torc", Engine::journal); });
  expect_within_bound("compact", [&] { return compact(fresh.world(), lmdb, Workers::none).ok(); });
  expect_within_bound("repair", [&] {
    const auto repair = Repair::examine(fresh.world(), lmdb);
    return repair.ok() && (*repair)->view(read_all).ok();
  });
  expect_within_bound("salvage", [&] {
    const auto salvaged = salvage(fresh.world(), lmdb);
    if (!salvaged.ok() || !read_all(salvaged->state()).ok()) return false;
    const Path target = scratch.path() / "salvaged.torc";
    return write_salvaged(fresh.world(), lmdb, target, *salvaged).ok();
  });
  Node moved(scratch.path(), "moved", 10);
  moved.machine = std::string(32, 'b');
  expect_within_bound("adopt", [&] { return adopt(moved.world(), lmdb, read_all).ok(); });
}

INSTANTIATE_TEST_SUITE_P(Contents, LargestCommit,
                         ::testing::Values(Content::random, Content::zeros),
                         [](const auto& content) {
                           return content.param == Content::random ? "random" : "zeros";
                         });

}  // namespace
}  // namespace torc::store
