// What is given back of a damaged file of LMDB, page by page, against what LMDB was told to keep.
#include "lib/store/lmdb/lmdb_remains.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <random>

#include "lib/store/lmdb/lmdb_page.h"
#include "lib/store/maintenance/salvage.h"
#include "lib/store/testing/test_lmdb.h"

namespace torc::store {
namespace {

using namespace testing;

constexpr std::uint64_t kNoPage = ~std::uint64_t{0};

// The pages of a file by what they say that they are.
std::vector<std::size_t> pages_of_kind(const std::string& bytes, LmdbPageKind kind) {
  std::vector<std::size_t> out;
  for (std::size_t page = 2; page < bytes.size() / kPage; ++page) {
    if (peek<std::uint64_t>(bytes, page * kPage) == page &&
        is_lmdb_page(std::string_view(bytes).substr(page * kPage, kPage), kind))
      out.push_back(page);
  }
  return out;
}

const char* nodes_of(const std::string& bytes, std::size_t page, std::vector<LmdbNode>& out) {
  const auto at = std::string_view(bytes).substr(page * kPage, kPage);
  return read_lmdb_page(at, page, LmdbPageKind::leaf, out);
}

class LmdbRemain : public LmdbFiles {
 protected:
  void SetUp() override {
    all = fill(60, 11, 150);  // few keys fit a branch then
    good = read_bytes(data);
    const auto file = LmdbFile::open(scratch.path());
    ASSERT_TRUE(file.ok());
    ASSERT_GE(file->newest().main.depth, 3);
    ASSERT_EQ(file->newest().free.depth, 1);  // no branch
    free_list = file->newest().free.root;
    unused = *file->unused_pages(file->newest());
  }
  LmdbRemains remains(const std::string& bytes) {
    write_bytes(data, bytes);
    const auto file = LmdbFile::open(scratch.path(), LmdbFile::Heads::one);
    EXPECT_TRUE(file.ok()) << file.error().text();
    if (!file.ok()) return {};
    auto found = remains_of(*file, file->newest());
    EXPECT_TRUE(found.ok()) << found.error().text();
    return found.ok() ? *std::move(found) : LmdbRemains{};
  }
  static bool is_lost(const LmdbRemains& remains, const std::string& key) {
    return std::any_of(remains.lost.begin(), remains.lost.end(),
                       [&](const KeyRange& range) { return range.contains(key); });
  }
  // Nothing is given back that is not of the state, and all that is missing is told.
  void expect_honest(const LmdbRemains& remains) {
    for (const auto& [key, value] : remains.entries) {
      const auto known = all.find(key);
      ASSERT_TRUE(known != all.end() && known->second == value) << key << " is not of this state";
    }
    for (const auto& [key, value] : all) {
      ASSERT_TRUE(remains.entries.contains(key) || is_lost(remains, key)) << key << " is not told";
    }
    for (const OlderEntry& older : remains.older) {
      ASSERT_TRUE(ever[older.key].contains(older.value)) << older.key << " was never that";
      ASSERT_TRUE(is_lost(remains, older.key)) << older.key << " is known";
    }
    EXPECT_EQ(remains.complete(), remains.entries.size() == all.size());
  }

  // Whether the state has no such entry, or with another value.
  [[nodiscard]] bool is_past(const LmdbNode& node) const {
    const auto known = all.find(std::string(node.key));
    return node.overflow == 0 && (known == all.end() || known->second != node.value);
  }
  // An old leaf with an entry that the state no longer has: it begins between two leaves that the
  // state uses, and goes on into the second one.
  [[nodiscard]] bool begins_before_a_used_leaf(std::size_t page) const {
    std::vector<LmdbNode> old;
    if (nodes_of(good, page, old) != nullptr ||
        std::none_of(old.begin(), old.end(), [&](auto& n) { return is_past(n); }))
      return false;
    bool into = false;
    for (const std::size_t other : pages_of_kind(good, LmdbPageKind::leaf)) {
      std::vector<LmdbNode> now;
      if (unused[other] || nodes_of(good, other, now) != nullptr) continue;
      if (now.front().key <= old.front().key && old.front().key <= now.back().key) return false;
      into = into || (old.front().key < now.front().key && now.front().key <= old.back().key);
    }
    return into;
  }

  Entries all;
  std::string good;
  std::size_t free_list = 0;
  std::vector<bool> unused;
};

TEST_F(LmdbRemain, are_everything_when_every_branch_is_destroyed) {
  std::string bytes = good;
  for (const std::size_t page : pages_of_kind(bytes, LmdbPageKind::branch))
    bytes.replace(page * kPage, kPage, kPage, '\0');
  const LmdbRemains left = remains(bytes);
  EXPECT_TRUE(left.complete());
  EXPECT_GT(left.lost_pages, 0U);
  expect_honest(left);
}

TEST_F(LmdbRemain, are_everything_but_the_one_leaf_that_is_destroyed) {
  std::size_t hit = 0;
  for (const std::size_t page : pages_of_kind(good, LmdbPageKind::leaf)) {
    if (unused[page]) continue;
    std::string bytes = good;
    bytes.replace(page * kPage, kPage, kPage, '\xee');
    const LmdbRemains left = remains(bytes);
    expect_honest(left);
    EXPECT_FALSE(left.complete()) << page;
    EXPECT_GE(left.lost_pages, 1U);
    std::vector<LmdbNode> nodes;
    ASSERT_EQ(nodes_of(good, page, nodes), nullptr);
    EXPECT_EQ(left.entries.size() + nodes.size(), all.size()) << page;
    ++hit;
  }
  EXPECT_GT(hit, 5U);
}

TEST_F(LmdbRemain, of_a_leaf_and_all_branches_are_all_other_leaves) {
  std::string bytes = good;
  for (const std::size_t page : pages_of_kind(bytes, LmdbPageKind::branch))
    bytes.replace(page * kPage, kPage, kPage, '\0');
  const auto leaves = pages_of_kind(good, LmdbPageKind::leaf);
  const auto used =
      std::find_if(leaves.begin(), leaves.end(), [&](std::size_t page) { return !unused[page]; });
  ASSERT_NE(used, leaves.end());
  bytes[(*used * kPage) + 14] ^= 0x40;
  const LmdbRemains left = remains(bytes);
  expect_honest(left);
  EXPECT_FALSE(left.complete());
  EXPECT_GT(left.entries.size(), all.size() / 2);
}

TEST_F(LmdbRemain, lack_one_value_when_its_long_pages_are_destroyed) {
  for (const std::size_t page : pages_of_kind(good, LmdbPageKind::overflow)) {
    if (unused[page]) continue;
    std::string bytes = good;
    bytes.replace(page * kPage, 64, 64, '\xee');
    const LmdbRemains left = remains(bytes);
    expect_honest(left);
    ASSERT_LE(all.size() - left.entries.size(), 1U) << page;
  }
}

// Nobody can tell then which leaves are of the newest state.
TEST_F(LmdbRemain, are_only_called_older_without_root_and_list_of_free_pages) {
  std::string bytes = good;
  for (const std::size_t page : pages_of_kind(bytes, LmdbPageKind::branch))
    bytes.replace(page * kPage, kPage, kPage, '\0');
  bytes.replace(free_list * kPage, kPage, kPage, '\0');
  const LmdbRemains left = remains(bytes);
  EXPECT_FALSE(left.knows_used_pages);
  EXPECT_TRUE(left.entries.empty());
  expect_honest(left);
  Entries seen;
  for (const OlderEntry& older : left.older) {
    if (all.contains(older.key) && all[older.key] == older.value) seen[older.key] = older.value;
  }
  EXPECT_EQ(seen, all) << "every value is there, beside some that it had before";
}

// All entries of a leaf that no state has name the same long pages: some kilobytes that are read as
// as much as there is memory.
TEST_F(LmdbRemain, hold_what_is_older_to_a_bound) {
  constexpr std::size_t kEntries = 40;
  constexpr std::uint32_t kSize = 4U << 20U;
  std::string bytes = good;
  for (const std::size_t page : pages_of_kind(bytes, LmdbPageKind::branch))
    bytes.replace(page * kPage, kPage, kPage, '\0');
  bytes.replace(free_list * kPage, kPage, kPage, '\0');
  const std::size_t leaf = bytes.size() / kPage;
  const std::size_t run = leaf + 1;
  const std::size_t pages = (kSize / kPage) + 1;
  bytes.resize((run + pages) * kPage);
  const auto header = [&](std::size_t page, LmdbPageKind kind) {
    poke<std::uint64_t>(bytes, page * kPage, page);
    poke(bytes, (page * kPage) + 10, static_cast<std::uint16_t>(kind));
  };
  header(run, LmdbPageKind::overflow);
  poke(bytes, (run * kPage) + 12, static_cast<std::uint32_t>(pages));
  header(leaf, LmdbPageKind::leaf);
  std::size_t end = kPage;
  for (std::size_t i = 0; i < kEntries; ++i) {
    const std::string key = fmt::format("key{:03}", i);
    end -= 8 + key.size() + 8;
    const std::size_t at = (leaf * kPage) + end;
    poke(bytes, (leaf * kPage) + 16 + (2 * i), static_cast<std::uint16_t>(end));
    poke(bytes, at, kSize);
    poke(bytes, at + 4, std::uint16_t{1});
    poke(bytes, at + 6, static_cast<std::uint16_t>(key.size()));
    bytes.replace(at + 8, key.size(), key);
    poke<std::uint64_t>(bytes, at + 8 + key.size(), run);
  }
  poke(bytes, (leaf * kPage) + 12, static_cast<std::uint16_t>(16 + (2 * kEntries)));
  poke(bytes, (leaf * kPage) + 14, static_cast<std::uint16_t>(end));
  for (const std::size_t head : {0U, 1U})  // both say that the file has these pages
    poke<std::uint64_t>(bytes, (head * kPage) + 16 + 24 + 96, run + pages - 1);
  const LmdbRemains left = remains(bytes);
  EXPECT_TRUE(left.older_cut);
  std::uint64_t sum = 0;
  for (const OlderEntry& older : left.older) sum += older.value.size();
  EXPECT_GT(sum, 0U);
  EXPECT_LE(sum, std::uint64_t{64} << 20U);
}

TEST_F(LmdbRemain, of_a_file_as_long_as_a_disk_cost_what_its_states_do) {
  write_bytes(data, good);
  const auto before = LmdbFile::open(scratch.path());
  ASSERT_TRUE(before.ok());
  ASSERT_EQ(::truncate(data.c_str(), off_t{1} << 42), 0);
  const auto file = LmdbFile::open(scratch.path());
  ASSERT_TRUE(file.ok());
  EXPECT_LE(file->pages(), std::max(file->newest().last_page, file->older().last_page) + 1);
  EXPECT_TRUE(check().ok());
  EXPECT_TRUE(remains_of(*file, file->newest())->complete());
}

TEST_F(LmdbRemain, do_not_believe_a_list_that_frees_what_the_root_leads_to) {
  // The lists of free pages of all transactions are on this leaf: one more number is made one that
  // is used.
  const auto leaves = pages_of_kind(good, LmdbPageKind::leaf);
  const auto used =
      std::find_if(leaves.begin(), leaves.end(), [&](std::size_t page) { return !unused[page]; });
  ASSERT_NE(used, leaves.end());
  std::vector<LmdbNode> nodes;
  std::string bytes = good;
  ASSERT_EQ(nodes_of(bytes, free_list, nodes), nullptr);
  bool changed = false;
  for (const LmdbNode& node : nodes) {
    if (node.overflow != 0 || node.size < 16 || changed) continue;
    const auto at = static_cast<std::size_t>(node.value.data() - bytes.data());
    const auto count = peek<std::uint64_t>(bytes, at);
    const auto before = count > 1 ? peek<std::uint64_t>(bytes, at + 8 * (count - 1)) : kNoPage;
    if (count == 0 || before <= *used) continue;
    poke<std::uint64_t>(bytes, at + 8 * count, *used);
    changed = true;
  }
  ASSERT_TRUE(changed);
  const LmdbRemains left = remains(bytes);
  EXPECT_FALSE(left.knows_used_pages);
  EXPECT_TRUE(left.complete()) << "the branches lead to all of them";
}

// A leaf of an older state that the list has forgotten, and the one that took its place.
TEST_F(LmdbRemain, take_neither_of_two_leaves_that_have_the_same_keys) {
  std::string bytes = good;
  for (const std::size_t page : pages_of_kind(bytes, LmdbPageKind::branch))
    bytes.replace(page * kPage, kPage, kPage, '\0');
  std::vector<LmdbNode> lists;
  ASSERT_EQ(nodes_of(bytes, free_list, lists), nullptr);
  bool changed = false;
  for (const LmdbNode& list : lists) {
    if (list.overflow != 0) continue;
    const auto at = static_cast<std::size_t>(list.value.data() - bytes.data());
    const auto count = peek<std::uint64_t>(bytes, at);
    for (std::uint64_t i = 1; i <= count && !changed; ++i) {
      if (!begins_before_a_used_leaf(peek<std::uint64_t>(bytes, at + 8 * i))) continue;
      for (std::uint64_t next = i; next < count; ++next)
        poke(bytes, at + 8 * next, peek<std::uint64_t>(bytes, at + 8 * (next + 1)));
      poke(bytes, at, count - 1);
      changed = true;
    }
  }
  ASSERT_TRUE(changed);
  const LmdbRemains left = remains(bytes);
  EXPECT_TRUE(left.knows_used_pages);
  EXPECT_LT(left.entries.size(), all.size());
  EXPECT_GT(left.entries.size(), all.size() / 2);
  expect_honest(left);
}

// A branch that leads to a leaf of an older state, with keys that belong elsewhere.
TEST_F(LmdbRemain, take_no_leaf_whose_keys_are_not_where_its_branch_says) {
  const auto leaves = pages_of_kind(good, LmdbPageKind::leaf);
  const auto old = std::find_if(leaves.begin(), leaves.end(), [&](std::size_t page) {
    std::vector<LmdbNode> nodes;
    return unused[page] && nodes_of(good, page, nodes) == nullptr &&
           std::any_of(nodes.begin(), nodes.end(), [&](const LmdbNode& n) { return is_past(n); });
  });
  ASSERT_NE(old, leaves.end());
  std::vector<LmdbNode> nodes;
  ASSERT_EQ(nodes_of(good, *old, nodes), nullptr);
  std::size_t changed = 0;
  for (const std::size_t page : pages_of_kind(good, LmdbPageKind::branch)) {
    std::vector<LmdbNode> children;
    const auto branch = std::string_view(good).substr(page * kPage, kPage);
    if (unused[page] || read_lmdb_page(branch, page, LmdbPageKind::branch, children) != nullptr ||
        peek<std::uint16_t>(good, (children.back().child * kPage) + 10) != 0x02 ||
        children.back().key <= nodes.back().key)
      continue;
    std::string bytes = good;
    const auto at = static_cast<std::size_t>(children.back().key.data() - good.data()) - 8;
    poke(bytes, at, static_cast<std::uint32_t>(*old));
    expect_honest(remains(bytes));
    ++changed;
  }
  EXPECT_GT(changed, 0U);
}

// Its last entry is beyond its end then, and it looks like a smaller leaf.
TEST_F(LmdbRemain, are_none_of_a_leaf_that_says_that_it_has_an_entry_less) {
  const auto leaves = pages_of_kind(good, LmdbPageKind::leaf);
  const auto used =
      std::find_if(leaves.begin(), leaves.end(), [&](std::size_t page) { return !unused[page]; });
  ASSERT_NE(used, leaves.end());
  std::string bytes = good;
  const std::size_t lower = (*used * kPage) + 12;
  poke<std::uint16_t>(bytes, lower, peek<std::uint16_t>(bytes, lower) - 2);
  const LmdbRemains left = remains(bytes);
  expect_honest(left);
  EXPECT_EQ(left.lost_pages, 1U);
}

TEST_F(LmdbRemain, are_honest_whatever_pages_are_lost) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  SeededEntropy of(seed);
  for (int round = 0; round < 100; ++round) {
    std::string bytes = good;
    for (std::uint64_t n = 1 + of.next() % 6; n > 0; --n) {
      const std::size_t pages = bytes.size() / kPage;
      const std::size_t page = (2 + of.next() % (pages - 2)) * kPage;
      // The inside of a long value has neither number nor kind: nobody can see what was done to it.
      if (peek<std::uint64_t>(good, page) != page / kPage) continue;
      switch (of.next() % 4) {
        case 0:
          bytes.replace(page, kPage, kPage, '\0');
          break;
        case 1:
          bytes.replace(page, kPage, bytes, (of.next() % pages) * kPage, kPage);
          break;
        case 2:
          poke(bytes, page + 8 + of.next() % 8, static_cast<std::uint8_t>(of.next()));
          break;
        default:
          if (of.next() % 8 == 0) bytes.resize(std::max(page, bytes.size() - 9 * kPage));
          break;
      }
    }
    const LmdbRemains left = remains(bytes);
    expect_honest(left);
    if (HasFatalFailure()) return;
  }
}

// Whatever bytes are changed: no signal, no waiting, and no value that is not in the file.
TEST_F(LmdbRemain, make_nothing_up) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  SeededEntropy of(seed);
  for (int round = 0; round < 25; ++round) {
    std::string bytes = good;
    for (std::uint64_t n = 1 + of.next() % 200; n > 0; --n) {
      const std::size_t page = (of.next() % (bytes.size() / kPage)) * kPage;
      bytes[page + (of.next() % (of.next() % 2 == 0 ? 200 : kPage))] = static_cast<char>(of.next());
    }
    write_bytes(data, bytes);
    const auto file = LmdbFile::open(scratch.path(), LmdbFile::Heads::one);
    if (!file.ok()) continue;  // both heads were hit
    const auto left = remains_of(*file, file->newest());
    ASSERT_TRUE(left.ok()) << left.error().text();
    for (const auto& [key, value] : left->entries) {
      if (ever[key].contains(value)) continue;
      ASSERT_NE(bytes.find(key), std::string::npos);
      ASSERT_NE(bytes.find(value), std::string::npos) << key;
    }
  }
}

class LmdbSalvage : public ::testing::Test {
 protected:
  void SetUp() override {
    auto store = Store::create(node.world(), directory, Engine::lmdb, quick(), put("a", "1"),
                               {{"spec.yaml", "name: wf"}});
    ASSERT_TRUE(store.ok()) << store.error().text();
    for (int i = 0; i < 60; ++i)
      ASSERT_TRUE((*store)->commit(1, put("k" + std::to_string(i), std::string(300, 'v'))).ok());
    sequence = sequence_of(**store);
    id = (*store)->identity().id_hex();
    store->reset();
    good = read_bytes(data);
  }
  // Zeroes pages, and gives back what is left. Nothing in the store is changed by that.
  Salvaged left(const std::vector<std::size_t>& pages) {
    std::string bytes = good;
    for (const std::size_t page : pages) bytes.replace(page * kPage, kPage, kPage, '\0');
    write_bytes(data, bytes);
    auto out = salvage(node.world(), directory);
    EXPECT_TRUE(out.ok()) << out.error().text();
    EXPECT_EQ(read_bytes(data), bytes);
    return out.ok() ? *std::move(out) : Salvaged{};
  }
  void expect_written(const Salvaged& salvaged, std::uint64_t sequence_then) {
    ASSERT_TRUE(salvaged.is_whole());
    const std::string before = read_bytes(data);
    const auto written = write_salvaged(node.world(), directory, target, salvaged);
    ASSERT_TRUE(written.ok()) << written.error().text();
    EXPECT_EQ(read_bytes(data), before) << "the damaged one is left as it was";
    EXPECT_TRUE(verify(node.world(), target, no_check).ok());
    const auto store = Store::open(node.world(), target, quick());
    ASSERT_TRUE(store.ok()) << store.error().text();
    EXPECT_NE((*store)->identity().id_hex(), id);
    EXPECT_EQ(sequence_of(**store), sequence_then);
    EXPECT_EQ(value_of(**store, "a"), "1");
    EXPECT_EQ(value_of(**store, "k7"), std::string(300, 'v'));
    EXPECT_EQ((*store)->commit(1, put("b", "2"))->sequence, sequence_then + 1);
    EXPECT_EQ(read_bytes(target / "spec.yaml"), "name: wf");
  }
  ScratchDirectory scratch;
  Node node{scratch.path()};
  Path directory = scratch.path() / "wf.torc";
  Path data = directory / "data.mdb";
  Path target = scratch.path() / "new.torc";
  std::string good;
  std::string id;
  std::uint64_t sequence = 0;
};

TEST_F(LmdbSalvage, makes_a_new_store_of_one_whose_branches_are_destroyed) {
  const Salvaged salvaged = left(pages_of_kind(good, LmdbPageKind::branch));
  EXPECT_EQ(salvaged.which, Salvaged::Which::newest);
  expect_written(salvaged, sequence);
}

TEST_F(LmdbSalvage, makes_a_new_store_when_a_head_is_destroyed) {
  for (const std::size_t head : {std::size_t{0}, std::size_t{1}}) {
    const Salvaged salvaged = left({head});
    EXPECT_EQ(salvaged.which, Salvaged::Which::only);
    EXPECT_LE(sequence - salvaged.sequence, 1U);
    expect_written(salvaged, salvaged.sequence);
    std::filesystem::remove_all(target);
  }
}

TEST_F(LmdbSalvage, takes_the_state_before_when_that_one_is_whole) {
  // The page of the newest state that has its own place in history: each commit writes it anew.
  const auto file = LmdbFile::open(directory);
  ASSERT_TRUE(file.ok());
  const auto old_pages = *file->unused_pages(file->older());
  const auto new_pages = *file->unused_pages(file->newest());
  std::vector<std::size_t> own;
  for (const std::size_t page : pages_of_kind(good, LmdbPageKind::leaf)) {
    if (!new_pages[page] && old_pages[page]) own.push_back(page);
  }
  ASSERT_FALSE(own.empty());
  const Salvaged salvaged = left(own);
  EXPECT_EQ(salvaged.which, Salvaged::Which::before);
  expect_written(salvaged, sequence - 1);
}

TEST_F(LmdbSalvage, is_no_store_when_an_entry_is_missing) {
  const auto file = LmdbFile::open(directory);
  ASSERT_TRUE(file.ok());
  const auto unused = *file->unused_pages(file->newest());
  const auto older = *file->unused_pages(file->older());
  for (const std::size_t page : pages_of_kind(good, LmdbPageKind::leaf)) {
    if (unused[page] || older[page]) continue;  // both states have it
    const Salvaged salvaged = left({page});
    EXPECT_FALSE(salvaged.is_whole()) << page;
    EXPECT_LT(salvaged.remains.entries.size(), salvaged.remains.expected);
    EXPECT_FALSE(salvaged.remains.entries.empty());
  }
}

TEST_F(LmdbSalvage, puts_nothing_where_something_is) {
  const Salvaged salvaged = left({});
  std::filesystem::create_directory(target);
  const auto refused = write_salvaged(node.world(), directory, target, salvaged);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::exists);
}

TEST_F(LmdbSalvage, of_a_file_without_any_head_is_refused) {
  std::string bytes = good;
  bytes.replace(0, 2 * kPage, 2 * kPage, '\0');
  write_bytes(data, bytes);
  const auto out = salvage(node.world(), directory);
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().kind, ErrorKind::corrupt);
}

}  // namespace
}  // namespace torc::store
