// The walker of LMDB's file against LMDB: what it calls good LMDB can read and write, whatever was
// done to the file; what LMDB makes it calls good.
#include "lib/store/lmdb/lmdb_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include "lib/store/lmdb/lmdb_page.h"
#include "lib/store/lmdb/lmdb_remains.h"
#include "lib/store/maintenance/repair.h"
#include "lib/store/testing/test_lmdb.h"

namespace torc::store {
namespace {

using namespace testing;

TEST_F(LmdbFiles, that_lmdb_made_are_good_and_hold_what_was_put) {
  const Entries all = fill(120, 7);
  const auto file = LmdbFile::open(scratch.path());
  ASSERT_TRUE(file.ok());
  const auto found = remains_of(*file, file->newest());
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(found->complete());
  EXPECT_EQ(Entries(found->entries.begin(), found->entries.end()), all);
  EXPECT_TRUE(file->check(file->older()).ok()) << "until the next commit it is whole";
}

// Reads every entry, then writes; whether LMDB lived through it. In a process of its own.
bool lmdb_survives(const Path& directory) {
  const pid_t child = ::fork();
  if (child == 0) {
    const int null = ::open("/dev/null", O_WRONLY);
    ::dup2(null, 2);
    MDB_env* env = nullptr;
    MDB_txn* txn = nullptr;
    MDB_dbi dbi = 0;
    mdb_env_create(&env);
    mdb_env_set_mapsize(env, std::size_t{1} << 30U);
    if (mdb_env_open(env, directory.c_str(), MDB_NOSYNC, 0666) != 0) ::_exit(0);
    mdb_txn_begin(env, nullptr, 0, &txn);
    mdb_dbi_open(txn, nullptr, 0, &dbi);
    MDB_cursor* cursor = nullptr;
    mdb_cursor_open(txn, dbi, &cursor);
    MDB_val k{};
    MDB_val v{};
    std::size_t sum = 0;
    while (mdb_cursor_get(cursor, &k, &v, MDB_NEXT) == 0) {
      for (std::size_t i = 0; i < v.mv_size; i += 97) sum += static_cast<char*>(v.mv_data)[i];
    }
    mdb_cursor_close(cursor);
    const std::string value(9000 + sum % 2, 'n');
    for (int i = 0; i < 300; ++i) {
      const std::string key = "key" + std::to_string(3 * i);
      k = {key.size(), const_cast<char*>(key.data())};
      v = {value.size(), const_cast<char*>(value.data())};
      const bool away = i % 2 == 0;
      if (away) mdb_del(txn, dbi, &k, nullptr);
      if (!away && mdb_put(txn, dbi, &k, &v, 0) != 0) ::_exit(0);
    }
    mdb_txn_commit(txn);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status);
}

TEST_F(LmdbFiles, that_are_called_good_end_nobody_by_a_signal) {
  fill(60, 11);
  const std::string good = read_bytes(data);
  SeededEntropy random(std::random_device{}());
  const std::uint64_t seed = random.next();
  RecordProperty("seed", std::to_string(seed));
  SCOPED_TRACE("seed " + std::to_string(seed));
  SeededEntropy of(seed);
  int damaged = 0;
  for (int round = 0; round < 400; ++round) {
    std::string bytes = good;
    for (std::uint64_t n = 1 + of.next() % 3; n > 0; --n) {
      const std::size_t page = (of.next() % (bytes.size() / kPage)) * kPage;
      const std::size_t at = page + (of.next() % (of.next() % 2 == 0 ? 64 : kPage));
      switch (of.next() % 6) {
        case 0:
          bytes[at] = static_cast<char>(of.next());
          break;
        case 1:
          bytes[at] = static_cast<char>(bytes[at] ^ (1 << of.next() % 8));
          break;
        case 2:
          bytes.replace(page, kPage, std::string(kPage, '\0'));
          break;
        case 3:
          bytes.replace(page, kPage, bytes, (of.next() % (bytes.size() / kPage)) * kPage, kPage);
          break;
        case 4:
          if (at + 8 <= bytes.size()) poke(bytes, at, of.next());
          break;
        default:
          if (of.next() % 4 == 0) bytes.resize((2 * kPage) + at % (bytes.size() - (2 * kPage)));
          break;
      }
      if (bytes.size() < 3 * kPage) break;
    }
    write_bytes(data, bytes);
    std::filesystem::remove(scratch.path() / "lock.mdb");
    if (!check().ok()) {
      ++damaged;
      continue;
    }
    ASSERT_TRUE(lmdb_survives(scratch.path())) << "round " << round;
  }
  EXPECT_GT(damaged, 50);
}

struct Mutation {
  const char* name;
  void (*change)(std::string& bytes, std::size_t root);
  const char* told;
};

// In the root of the newest state, or its head.
class LmdbDamage : public LmdbFiles, public ::testing::WithParamInterface<Mutation> {};

INSTANTIATE_TEST_SUITE_P(
    Store, LmdbDamage,
    ::testing::Values(
        Mutation{"zeroes", [](std::string& b, std::size_t r) { b.replace(r, kPage, kPage, '\0'); },
                 "has the number of another"},
        Mutation{"kind", [](std::string& b, std::size_t r) { poke<std::uint16_t>(b, r + 10, 4); },
                 "is of another kind"},
        Mutation{"bounds",
                 [](std::string& b, std::size_t r) { poke<std::uint16_t>(b, r + 12, 17); },
                 "has impossible bounds"},
        Mutation{"end", [](std::string& b, std::size_t r) { poke<std::uint16_t>(b, r + 14, 9999); },
                 "has impossible bounds"},
        Mutation{"entry",
                 [](std::string& b, std::size_t r) { poke<std::uint16_t>(b, r + 18, 4094); },
                 "has an entry out of bounds"},
        Mutation{"key",
                 [](std::string& b, std::size_t r) {
                   poke<std::uint16_t>(b, r + peek<std::uint16_t>(b, r + 18) + 6, 500 + 4096);
                 },
                 "has a key out of bounds"},
        Mutation{"room",
                 [](std::string& b, std::size_t r) {
                   const auto upper = peek<std::uint16_t>(b, r + 14);
                   poke(b, r + 14, static_cast<std::uint16_t>(upper - 2));
                 },
                 "has room between its entries"},
        Mutation{"circle",
                 [](std::string& b, std::size_t r) {
                   poke(b, r + peek<std::uint16_t>(b, r + 16),
                        static_cast<std::uint32_t>(r / kPage));
                 },
                 "is used twice"},
        Mutation{"child",
                 [](std::string& b, std::size_t r) {
                   poke(b, r + peek<std::uint16_t>(b, r + 16), std::uint32_t{1} << 30U);
                 },
                 "is named, and cannot be"},
        Mutation{"order",
                 [](std::string& b, std::size_t r) {
                   b[r + peek<std::uint16_t>(b, r + 18) + 8] = '\x01';
                 },
                 "has its keys out of order"},
        Mutation{"cut", [](std::string& b, std::size_t) { b.resize(b.size() / 2); },
                 "end of the file"}),
    [](const auto& mutation) { return std::string(mutation.param.name); });

TEST_P(LmdbDamage, is_told_with_its_page_and_no_opening_reads_on) {
  fill(30, 3);
  std::size_t root = 0;
  {
    const auto file = LmdbFile::open(scratch.path());
    ASSERT_TRUE(file.ok());
    ASSERT_GE(file->newest().main.depth, 2);
    root = file->newest().main.root * kPage;
  }
  std::string bytes = read_bytes(data);
  GetParam().change(bytes, root);
  write_bytes(data, bytes);
  const Result<void> damaged = check();
  ASSERT_FALSE(damaged.ok());
  EXPECT_EQ(damaged.error().kind, ErrorKind::corrupt);
  EXPECT_NE(damaged.error().what.find(GetParam().told), std::string::npos)
      << damaged.error().text();
}

// A page that is free twice is given out twice, also where the file ends before it: LMDB lets such
// pages be that were never written.
TEST_F(LmdbFiles, with_a_page_beyond_their_end_free_twice_are_damaged) {
  fill(60, 11);
  std::string bytes = read_bytes(data);
  const auto file = LmdbFile::open(scratch.path());
  ASSERT_TRUE(file.ok());
  ASSERT_EQ(file->newest().free.depth, 1);
  const std::uint64_t root = file->newest().free.root;
  const std::uint64_t last = file->newest().last_page + 10;
  for (const std::size_t head : {std::size_t{0}, kPage}) poke(bytes, head + 136, last);
  const std::string page = bytes.substr(root * kPage, kPage);
  std::vector<LmdbNode> lists;
  ASSERT_EQ(read_lmdb_page(page, root, LmdbPageKind::leaf, lists), nullptr);
  ASSERT_GE(lists.size(), 2U);
  const auto first_of = [&](std::size_t list) {
    return (root * kPage) + static_cast<std::size_t>(lists[list].value.data() - page.data()) + 8;
  };
  poke(bytes, first_of(0), last - 1);
  poke(bytes, first_of(1), last - 2);
  write_bytes(data, bytes);
  EXPECT_TRUE(check().ok()) << "each is free once";
  poke(bytes, first_of(1), last - 1);
  write_bytes(data, bytes);
  const Result<void> damaged = check();
  ASSERT_FALSE(damaged.ok());
  EXPECT_NE(damaged.error().what.find("page " + std::to_string(last - 1) + " is used and free"),
            std::string::npos)
      << damaged.error().text();
}

TEST_F(LmdbFiles, with_a_damaged_head_or_cut_off_are_not_opened) {
  fill(30, 3);
  const std::string good = read_bytes(data);
  const auto opens = [&] {
    std::filesystem::remove(scratch.path() / "lock.mdb");
    const auto opened = Environment::open(scratch.path(), Durable::no);
    return opened.ok() ? "" : opened.error().what;
  };
  struct Head {
    std::size_t at;
    std::uint64_t value;
    const char* told;
  };
  for (const Head& head : std::initializer_list<Head>{{10, 2, "is not a head of an LMDB file"},
                                                      {16, 1, "is not a head of an LMDB file"},
                                                      {20, 2, "is of another version"},
                                                      {40, 0, "an impossible size of pages"},
                                                      {40, 4097, "an impossible size of pages"},
                                                      {44, 0x0009, "flags that torc never sets"},
                                                      {92, 0x0004, "flags that torc never sets"},
                                                      {94, 77, "an impossible page"},
                                                      {128, 1ULL << 60U, "an impossible page"},
                                                      {136, ~0ULL, "impossible number of pages"}}) {
    std::string bytes = good;
    for (const std::size_t page : {std::size_t{0}, kPage})
      poke(bytes, page + head.at, static_cast<std::uint32_t>(head.value));
    if (head.value > 0xffffffff) poke(bytes, head.at, head.value);
    if (head.at == 44 || head.at == 92 || head.at == 94 || head.at == 10) {
      bytes = good;
      poke(bytes, head.at, static_cast<std::uint16_t>(head.value));
    }
    write_bytes(data, bytes);
    EXPECT_NE(opens().find(head.told), std::string::npos) << head.at << ": " << opens();
  }
  for (const std::size_t size : {std::size_t{1}, std::size_t{100}, kPage, 3 * kPage}) {
    write_bytes(data, good.substr(0, size));
    EXPECT_NE(opens().find("data.mdb: "), std::string::npos) << size << ": " << opens();
  }
  write_bytes(data, good);
  EXPECT_EQ(opens(), "");
}

class LmdbRepairs : public ::testing::Test {
 protected:
  void SetUp() override {
    auto store = Store::create(node.world(), directory, Engine::lmdb, Tuning{}, put("a", "1"));
    ASSERT_TRUE(store.ok());
    for (int i = 0; i < 30; ++i) {
      const auto done = (*store)->commit(1, put("k" + std::to_string(i), std::string(300, 'v')));
      ASSERT_TRUE(done.ok());
    }
    ASSERT_TRUE((*store)->commit(1, put("last", "one")).ok());
    last = sequence_of(**store);
  }
  LmdbHead newest() {
    const auto file = LmdbFile::open(directory);
    EXPECT_TRUE(file.ok());
    return file->newest();
  }
  void damage(std::size_t page) {
    std::string bytes = read_bytes(directory / "data.mdb");
    bytes.replace(page * kPage, 64, 64, '\xee');
    write_bytes(directory / "data.mdb", bytes);
  }
  // The value of "last" afterwards.
  std::string repaired() {
    auto repair = Repair::examine(node.world(), directory);
    if (!repair.ok()) return repair.error().text();
    EXPECT_TRUE((*repair)->needed());
    EXPECT_FALSE(verify(node.world(), directory, no_check).ok());
    const auto aside = (*repair)->carry_out("now");
    if (!aside.ok()) return aside.error().text();
    EXPECT_TRUE(std::filesystem::exists(*aside / "data.mdb"));
    const auto clean = verify(node.world(), directory, no_check);
    EXPECT_TRUE(clean.ok()) << clean.error().text();
    EXPECT_EQ(clean->last_sequence, (*repair)->last_good());
    const auto store = Store::open(node.world(), directory, Tuning{});
    EXPECT_TRUE(store.ok()) << store.error().text();
    EXPECT_TRUE((*store)->commit(1, put("more", "2")).ok());
    return value_of(**store, "last");
  }

  ScratchDirectory scratch;
  Node node{scratch.path()};
  Path directory = scratch.path() / "wf.torc";
  std::uint64_t last = 0;
};

TEST_F(LmdbRepairs, of_a_whole_store_find_nothing_to_do) {
  const auto repair = Repair::examine(node.world(), directory);
  ASSERT_TRUE(repair.ok()) << repair.error().text();
  EXPECT_FALSE((*repair)->needed());
  EXPECT_EQ((*repair)->last_good(), last);
}

TEST_F(LmdbRepairs, go_on_from_the_state_before_when_the_newest_is_damaged) {
  // Written by the last commit, so no part of the state before.
  damage(read_bytes(directory / "data.mdb").find("lastone") / kPage);
  EXPECT_EQ(repaired(), "(absent)");
}

TEST_F(LmdbRepairs, lose_nothing_when_only_what_leads_to_the_entries_is_damaged) {
  ASSERT_GE(newest().main.depth, 2);
  damage(newest().main.root);
  EXPECT_EQ(repaired(), "one");
}

TEST_F(LmdbRepairs, lose_nothing_when_the_list_of_free_pages_is_damaged) {
  damage(newest().free.root);
  EXPECT_EQ(repaired(), "one");
}

TEST_F(LmdbRepairs, refuse_what_has_no_whole_state) {
  std::string bytes = read_bytes(directory / "data.mdb");
  for (std::size_t page = 2; page < bytes.size() / kPage; ++page)
    bytes[(page * kPage) + 10] = '\x40';
  write_bytes(directory / "data.mdb", bytes);
  EXPECT_NE(repaired().find("put it back from a backup"), std::string::npos);
  EXPECT_NE(repaired().find("--salvage"), std::string::npos);
  EXPECT_EQ(read_bytes(directory / "data.mdb"), bytes) << "nothing was changed";
}

TEST_F(LmdbRepairs, and_verify_are_not_misled_by_who_goes_on_committing) {
  std::atomic<bool> enough = false;
  std::thread writer([&] {
    const auto store = Store::open(node.world(), directory, quick());
    ASSERT_TRUE(store.ok());
    for (int i = 0; !enough; ++i)
      ASSERT_TRUE((*store)
                      ->commit(1, put("k" + std::to_string(i % 40), std::string(200 + i % 99, 'w')))
                      .ok());
  });
  for (int i = 0; i < 50; ++i) {
    const auto clean = verify(node.world(), directory, no_check);
    EXPECT_TRUE(clean.ok() || clean.error().kind == ErrorKind::busy) << clean.error().text();
    const auto repair = Repair::examine(node.world(), directory);
    EXPECT_TRUE(repair.ok() ? !(*repair)->needed() : repair.error().kind == ErrorKind::busy);
  }
  enough = true;
  writer.join();
}

}  // namespace
}  // namespace torc::store
