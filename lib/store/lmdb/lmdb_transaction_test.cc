#include "lib/store/lmdb/lmdb_transaction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "lib/store/engine/memory_state.h"
#include "lib/store/testing/test_world.h"

namespace torc::store {
namespace {

using testing::ScratchDirectory;

bool same(const std::optional<Entry>& a, const std::optional<Entry>& b) {
  return a.has_value() == b.has_value() && (!a || (a->key == b->key && a->value == b->value));
}

// Random work on three tables of one tree, against a plain map. Hundreds of pages, so that they
// split and merge under the cursors that a transaction keeps.
class Histories {
 public:
  Histories(std::uint64_t seed, LmdbTransaction& tx, MemoryState& model)
      : random_(seed), tx_(tx), model_(model) {}

  void step() {
    const std::string key = random_key();
    switch (random_.next() % 6) {
      case 0:
      case 1:
        return put_run();
      case 2:
        return erase_run(key);
      case 3:
        ASSERT_TRUE(same(tx_.seek(key), model_.seek(key))) << key;
        return;
      case 4:
        ASSERT_TRUE(same(tx_.seek_before(key), model_.seek_before(key))) << key;
        return;
      default:
        ASSERT_EQ(tx_.get(key), model_.get(key)) << key;
    }
  }

 private:
  std::string random_key() {
    return Encoder(static_cast<char>('A' + random_.next() % 3)).be64(random_.next() % 3000).bytes();
  }
  void put_run() {
    const std::uint64_t first = random_.next() % 3000;
    const char table = static_cast<char>('A' + random_.next() % 3);
    for (std::uint64_t i = random_.next() % 40; i > 0; --i) {
      const std::string key = Encoder(table).be64(first + i).bytes();
      const std::string value(random_.next() % 300, static_cast<char>('a' + i % 26));
      tx_.put(key, value);
      model_.put(key, value);
    }
  }
  // Takes entries from the head of a queue, as a claim does: erase, then ask for the next.
  void erase_run(std::string key) {
    for (std::uint64_t i = random_.next() % 40; i > 0; --i) {
      tx_.erase(key);
      model_.erase(key);
      const auto next = tx_.seek(key);
      ASSERT_TRUE(same(next, model_.seek(key))) << key;
      if (!next) return;
      key = std::string(next->key);
    }
  }

  SeededEntropy random_;
  LmdbTransaction& tx_;
  MemoryState& model_;
};

TEST(LmdbTransaction, agrees_with_a_map_while_pages_split_and_merge) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const ScratchDirectory scratch;
    const auto environment = Environment::open(scratch.path(), Durable::no);
    ASSERT_TRUE(environment.ok());
    MemoryState model;
    for (int commit = 0; commit < 10; ++commit) {
      auto txn = Txn::begin(*environment, Access::write);
      ASSERT_TRUE(txn.ok());
      {
        LmdbTransaction tx(*txn, 1);
        Histories histories(seed * 100 + static_cast<std::uint64_t>(commit), tx, model);
        for (int i = 0; i < 400 && !HasFatalFailure(); ++i) histories.step();
        ASSERT_FALSE(HasFatalFailure());
        ASSERT_TRUE(tx.health().ok()) << tx.health().error().text();
        auto at = model.entries.begin();
        tx.scan(kFirstUserKey, [&](const Entry& e) {
          const bool agrees =
              at != model.entries.end() && at->first == e.key && at->second == e.value;
          if (agrees) ++at;
          return agrees;
        });
        ASSERT_TRUE(at == model.entries.end());
      }
      ASSERT_TRUE(txn->commit().ok());
    }
    EXPECT_GT(model.entries.size(), 500U);
  }
}

// What get() returns is a view into the page that the write moves things about in.
TEST(LmdbTransaction, writes_what_it_was_given_also_when_that_lies_in_the_page_it_writes_to) {
  const ScratchDirectory scratch;
  auto environment = Environment::open(scratch.path(), Durable::no);
  ASSERT_TRUE(environment.ok());
  auto txn = Txn::begin(*environment, Access::write);
  ASSERT_TRUE(txn.ok());
  WriteSet captured;
  std::map<std::string, std::string> expected;
  LmdbTransaction tx(*txn, 1, &captured);
  for (char c = 'a'; c <= 'h'; ++c) {
    expected[{c}] = std::string(20 + 3 * static_cast<std::size_t>(c - 'a'), c);
    tx.put(std::string(1, c), expected[{c}]);
  }
  for (char from = 'a'; from <= 'h'; ++from) {
    for (char to = 'a'; to <= 'h'; ++to) {
      if (from == to) continue;
      const auto there = tx.get(std::string(1, from));
      ASSERT_TRUE(there.has_value());
      tx.put(std::string(1, to), there->substr(1));
      expected[{to}] = expected[{from}].substr(1);
      expected[{from}] = std::string(40, from);
      tx.put(std::string(1, from), expected[{from}]);
      for (const auto& [key, value] : expected) ASSERT_EQ(tx.get(key), value) << from << to;
    }
  }
  std::map<std::string, std::string> replayed;
  ASSERT_TRUE(replay(
      captured.bytes(),
      [&](std::string_view key, std::string_view value) { replayed[std::string(key)] = value; },
      [](std::string_view) {}));
  EXPECT_EQ(replayed, expected);
}

}  // namespace
}  // namespace torc::store
