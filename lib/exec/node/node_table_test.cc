// The table of the node ledger, in memory that can be cut off at any word: what its rules promise
// while workers take, give back and die in the middle of it.
#include "lib/exec/node/node_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <utility>

namespace torc::exec {
namespace {

struct CutOff {};

class CutMemory final : public WordMemory {
 public:
  [[nodiscard]] std::uint64_t load(std::size_t word) const override { return words_.at(word); }
  void store(std::size_t word, std::uint64_t value) override {
    if (left_ == 0) throw CutOff{};
    if (left_ > 0) --left_;
    words_.at(word) = value;
  }
  bool reserve(std::size_t, std::size_t) override { return true; }

  // After so many more stores whoever stores dies. -1: never.
  void cut_after(int stores) { left_ = stores; }

 private:
  std::vector<std::uint64_t> words_ = std::vector<std::uint64_t>(NodeTable::kWords, 0);
  int left_ = -1;
};

NodeMember member_of(std::uint64_t pid, const std::string& cpus) {
  NodeMember m;
  m.worker = {pid, 1};
  m.watchdog = {pid, 2};
  m.store = "/data/run.torc";
  m.cpus = parse_cpus(cpus);
  m.most_cpus = static_cast<std::uint32_t>(m.cpus.count());
  m.most_memory = {100};
  m.pools = {{7, {}, ByteCount{100}}};
  m.gpus = {{"0", 11}, {"1", 12}};
  return m;
}

class Table : public ::testing::Test {
 protected:
  Table() { EXPECT_TRUE(table_.prepare(BootTime(1'000'000))); }
  NodeEntry enter(const NodeMember& m) { return *table_.enter(m, {}); }
  void write(const NodeEntry& e) {
    std::uint64_t& sequence = sequence_.try_emplace(e.generation, 2).first->second;
    table_.write(e, sequence);
  }

  CutMemory memory_;
  NodeTable table_{memory_};
  std::map<std::uint64_t, std::uint64_t> sequence_;
};

TEST_F(Table, workers_never_get_the_same_cpu_memory_or_gpu) {
  NodeEntry a = enter(member_of(1, "0-3"));
  NodeEntry b = enter(member_of(2, "0-3"));
  a.holding = add_free(a.member, {}, {3, {60}, 1}, table_.read(a.slot));
  write(a);
  b.holding = add_free(b.member, {}, {3, {60}, 2}, table_.read(b.slot));
  EXPECT_EQ(a.holding.cpu_count(), 3U);
  EXPECT_EQ(b.holding.cpu_count(), 1U);
  EXPECT_FALSE(a.holding.cpus.meets(b.holding.cpus));
  EXPECT_EQ(b.holding.memory.value, 40U);
  EXPECT_EQ(a.holding.gpus, 1U);
  EXPECT_EQ(b.holding.gpus, 2U);
}

TEST_F(Table, shares_that_do_not_meet_do_not_disturb_each_other) {
  NodeMember left = member_of(1, "0-1");
  NodeMember right = member_of(2, "2-3");
  left.pools = {{1, {}, ByteCount{50}}};
  right.pools = {{2, {}, ByteCount{50}}};
  right.gpus = {{"0", 21}};
  NodeEntry a = enter(left);
  a.holding = add_free(a.member, {}, {2, {50}, 2}, {});
  write(a);
  NodeEntry b = enter(right);
  const NodeHolding got = add_free(b.member, {}, {2, {50}, 1}, table_.read(b.slot));
  EXPECT_EQ(got.cpu_count(), 2U);
  EXPECT_EQ(got.memory.value, 50U);
  EXPECT_EQ(got.gpus, 1U);
}

TEST_F(Table, cpus_that_others_cannot_have_are_taken_first) {
  NodeEntry wide = enter(member_of(1, "0-3"));
  enter(member_of(2, "0-1"));
  wide.holding = add_free(wide.member, {}, {2, {}, 0}, table_.read(wide.slot));
  EXPECT_EQ(show(wide.holding.cpus), "2-3");
}

TEST_F(Table, a_quota_holds_for_all_who_have_it_together) {
  NodeMember m = member_of(1, "0-7");
  m.pools = {{5, 3, {}}};
  m.most_cpus = 3;
  NodeEntry a = enter(m);
  a.holding = add_free(m, {}, {2, {}, 0}, {});
  write(a);
  NodeEntry b = enter(m);
  EXPECT_EQ(add_free(m, {}, {3, {}, 0}, table_.read(b.slot)).cpu_count(), 1U);
}

TEST_F(Table, what_a_worker_was_told_to_use_beyond_is_its_own) {
  NodeMember told = member_of(1, "0-1");
  told.most_cpus = 5;
  told.own_cpus = 3;
  NodeEntry other = enter(member_of(2, "0-1"));
  other.holding = add_free(other.member, {}, {2, {}, 0}, {});
  write(other);
  const NodeHolding got = add_free(told, {}, {5, {}, 0}, table_.read());
  EXPECT_EQ(got.cpu_count(), 3U);
  EXPECT_EQ(got.cpus.count(), 0U);
}

TEST_F(Table, one_that_overcommits_minds_nobody_and_is_not_minded) {
  NodeMember free = member_of(1, "0-3");
  let_overcommit(free);
  NodeEntry a = enter(free);
  a.holding = add_free(free, {}, {4, {100}, 2}, {});
  write(a);
  EXPECT_EQ(a.holding.cpu_count(), 4U);
  const NodeHolding other = add_free(member_of(2, "0-3"), {}, {4, {100}, 2}, table_.read());
  EXPECT_EQ(other.cpu_count(), 4U);
  EXPECT_EQ(other.memory.value, 100U);
  EXPECT_EQ(other.gpus, 3U);
}

TEST_F(Table, a_member_reads_as_it_was_written) {
  NodeMember m = member_of(9, "1,5-7,900");
  m.since = WallTime(123456);
  m.overcommits = true;
  m.own_cpus = 2;
  m.own_memory = {77};
  m.pools.push_back({8, 4, {}});
  enter(m);
  const auto all = table_.read();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(encode(all[0].member), encode(m));
  EXPECT_EQ(show(all[0].member.cpus), "1,5-7,900");
}

TEST_F(Table, a_slot_is_used_again) {
  const NodeEntry a = enter(member_of(1, "0"));
  const NodeEntry b = enter(member_of(2, "0"));
  table_.clear(a.slot, a.generation);
  EXPECT_FALSE(table_.is_there(a));
  EXPECT_EQ(enter(member_of(3, "0")).slot, a.slot);
  table_.clear(a.slot, a.generation);  // no longer its own
  EXPECT_EQ(table_.read().size(), 2U);
  EXPECT_TRUE(table_.is_there(b));
}

TEST_F(Table, a_full_table_refuses_and_changes_nothing) {
  for (std::size_t i = 0; i < NodeTable::kSlots; ++i) enter(member_of(i + 1, "0"));
  EXPECT_FALSE(table_.enter(member_of(9999, "0"), {}));
  EXPECT_EQ(table_.read().size(), NodeTable::kSlots);
}

TEST_F(Table, a_damaged_table_is_made_anew_and_owners_notice) {
  const NodeEntry a = enter(member_of(1, "0"));
  memory_.store(0, 42);
  EXPECT_FALSE(table_.is_there(a));
  EXPECT_TRUE(table_.read().empty());
  ASSERT_TRUE(table_.prepare(BootTime(2'000'000)));
  EXPECT_FALSE(table_.is_there(a));
  const NodeEntry b = enter(member_of(2, "0"));
  EXPECT_EQ(b.slot, a.slot);
  EXPECT_FALSE(table_.is_there(a));
}

// At every word of a change the others see what was held before or what is held after it.
TEST_F(Table, a_change_that_is_cut_off_anywhere_has_happened_or_not) {
  NodeEntry a = enter(member_of(1, "0-3"));
  std::uint64_t sequence = 2;
  NodeHolding before;
  for (int cut = 0;; ++cut) {
    NodeHolding after = before;
    after.cpus = before.cpus.count() == 0 ? parse_cpus("0-3") : CpuSet{};
    after.memory = {before.memory.value + 1};
    a.holding = after;
    memory_.cut_after(cut);
    bool whole = true;
    std::uint64_t next = sequence;
    try {
      table_.write(a, next);
    } catch (const CutOff&) {
      whole = false;
    }
    memory_.cut_after(-1);
    const auto seen = table_.read();
    ASSERT_EQ(seen.size(), 1U) << cut;
    ASSERT_TRUE(seen[0].holding == before || seen[0].holding == after) << cut;
    if (whole) {
      ASSERT_TRUE(seen[0].holding == after);
      ASSERT_GT(cut, 20);
      return;
    }
    ASSERT_TRUE(seen[0].holding == before) << cut;
  }
}

TEST_F(Table, an_entry_that_is_cut_off_anywhere_is_there_whole_or_not_at_all) {
  enter(member_of(1, "0-3"));
  for (int cut = 0;; ++cut) {
    memory_.cut_after(cut);
    bool whole = true;
    try {
      const NodeHolding two{parse_cpus("0-1"), 0, {}, {}, 0, {}};
      (void)table_.enter(member_of(2, "0-3"), two);
    } catch (const CutOff&) {
      whole = false;
    }
    memory_.cut_after(-1);
    const auto seen = table_.read();
    ASSERT_EQ(seen.size(), whole ? 2U : 1U) << cut;
    if (!whole) continue;
    EXPECT_EQ(show(seen[1].holding.cpus), "0-1");
    return;
  }
}

// Random workers over one table; each step of each can be its last.
class RandomWorkers {
 public:
  explicit RandomWorkers(std::uint64_t seed) : random_(seed) { (void)table_.prepare(BootTime(1)); }

  void step() {
    Worker& w = workers_[below(workers_.size())];
    if (below(4) == 0) memory_.cut_after(static_cast<int>(below(60)));
    try {
      act(w);
    } catch (const CutOff&) {
      w.alive = false;
    }
    memory_.cut_after(-1);
    check();
  }

  // With everybody dead, a new one gets everything.
  void end() {
    for (Worker& w : workers_) w.alive = false;
    Worker last;
    last.alive = true;
    NodeMember m = random_member();
    m.cpus = parse_cpus("0-7");
    m.most_cpus = 8;
    m.own_cpus = 0;
    m.pools = {{1, {}, ByteCount{1000}}, {2, 8, {}}, {3, 8, {}}};
    const auto others = living(NodeTable::kSlots);
    EXPECT_TRUE(others.empty());
    const NodeHolding all = add_free(m, {}, {8, {1000}, 4}, others);
    EXPECT_EQ(all.cpu_count(), 8U);
    EXPECT_EQ(std::popcount(all.gpus), static_cast<int>(m.gpus.size()));
  }

 private:
  struct Worker {
    bool alive = false;
    NodeEntry entry;
    std::uint64_t sequence = 2;
  };

  std::size_t below(std::size_t n) { return random_.next() % n; }

  NodeMember random_member() {
    NodeMember m;
    m.worker = m.watchdog = {++last_pid_, 1};
    for (std::size_t cpu = 0; cpu < 8; ++cpu) {
      if (below(3) != 0) m.cpus.add(cpu);
    }
    m.own_cpus = below(5) == 0 ? 2 : 0;
    m.most_cpus = static_cast<std::uint32_t>(m.cpus.count()) + m.own_cpus;
    m.most_memory = {1000};
    m.pools = {{1, {}, ByteCount{1000}}};
    if (below(2) == 0) m.pools.push_back({2, 3, ByteCount{300}});
    if (below(2) == 0) m.pools.push_back({3, 5, {}});
    for (std::uint64_t gpu = 1; gpu <= 4; ++gpu) {
      if (below(2) == 0) m.gpus.push_back({std::to_string(gpu), gpu});
    }
    for (std::uint64_t sum = 101; sum <= 102; ++sum) {
      if (below(2) == 0) m.sums.push_back({sum, 900 + below(2) * 100});
    }
    return m;
  }

  // As the ledger does it: what processes had that have gone is nobody's.
  std::vector<NodeEntry> living(std::size_t self) {
    std::vector<NodeEntry> all = table_.read(self);
    std::erase_if(all, [&](const NodeEntry& e) {
      const bool alive = std::any_of(workers_.begin(), workers_.end(), [&](const Worker& w) {
        return w.alive && w.entry.member.worker.pid == e.member.worker.pid;
      });
      if (!alive) table_.clear(e.slot, e.generation);
      return !alive;
    });
    return all;
  }

  void act(Worker& w) {
    if (!w.alive) {
      w = {};
      const NodeMember m = random_member();
      w.entry.member = m;
      auto entered = table_.enter(m, {});
      if (!entered) return;
      w.entry = *entered;
      w.alive = true;
      return;
    }
    NodeHolding next = w.entry.holding;
    switch (below(8)) {
      case 0:
        w.alive = false;  // SIGKILL
        return;
      case 1:
        w.alive = false;  // leaves
        table_.clear(w.entry.slot, w.entry.generation);
        return;
      case 2:
      case 3:
        next.cpus = {};
        next.own_cpus = 0;
        if (below(2) == 0) next.gpus = 0;
        break;
      case 4:
        next.memory = {next.memory.value / 2};
        next.gpus &= random_.next();
        next.sums[below(2)] = 0;
        break;
      default:
        next = add_free(w.entry.member, next,
                        {static_cast<std::uint32_t>(below(6)),
                         {below(500)},
                         static_cast<std::uint32_t>(below(3)),
                         {below(400), below(400)}},
                        living(w.entry.slot));
        break;
    }
    // What it uses of it it uses after the change is written, and no more before it is.
    NodeEntry changed = w.entry;
    changed.holding = next;
    table_.write(changed, w.sequence);
    w.entry = changed;
  }

  void check() const {
    CpuSet cpus;
    std::map<std::uint64_t, NodeAmount> pools;
    std::map<std::uint64_t, int> gpus;
    std::map<std::uint64_t, std::uint64_t> sums;
    for (const Worker& w : workers_) {
      if (!w.alive) continue;
      const NodeHolding& h = w.entry.holding;
      ASSERT_FALSE(cpus.meets(h.cpus)) << "a CPU was given twice";
      cpus = cpus | h.cpus;
      ASSERT_LE(h.own_cpus, w.entry.member.own_cpus);
      ASSERT_LE(h.cpu_count(), w.entry.member.most_cpus);
      ASSERT_EQ((h.cpus - w.entry.member.cpus).count(), 0U);
      for (const NodePool& pool : w.entry.member.pools) {
        NodeAmount& used = pools[pool.key];
        used.cpus += static_cast<std::uint32_t>(h.cpus.count());
        used.memory = used.memory + h.memory;
        ASSERT_LE(used.cpus, pool.cpus.value_or(UINT32_MAX));
        ASSERT_LE(used.memory.value, pool.memory.value_or(ByteCount{UINT64_MAX}).value);
      }
      for (std::size_t i = 0; i < w.entry.member.gpus.size(); ++i) {
        if ((h.gpus >> i & 1) == 0) continue;
        ASSERT_EQ(++gpus[w.entry.member.gpus[i].identity], 1) << "a GPU was given twice";
      }
      for (std::size_t i = 0; i < w.entry.member.sums.size(); ++i) {
        ASSERT_LE(h.sums[i], w.entry.member.sums[i].most);
        ASSERT_LE(sums[w.entry.member.sums[i].key] += h.sums[i], 1000U) << "more than there is";
      }
    }
  }

  SeededEntropy random_;
  CutMemory memory_;
  NodeTable table_{memory_};
  std::vector<Worker> workers_ = std::vector<Worker>(6);
  std::uint64_t last_pid_ = 0;
};

// What has a limit in common with others is told of all of it, whatever else is told.
TEST_F(Table, no_sum_and_no_gpu_takes_the_place_of_a_limit_that_others_share) {
  NodeMember m = member_of(1, "0-3");
  m.store = std::string(600, 's');
  m.pools.clear();
  m.gpus.clear();
  for (std::uint32_t i = 0; i < 64; ++i) {
    m.pools.push_back({UINT64_MAX - i, 3, ByteCount{UINT64_MAX - 1}});
    m.gpus.push_back({"port=" + std::string(35, 'x'), UINT64_MAX - i});
  }
  for (std::uint64_t i = 0; i < NodeMember::kMostSums; ++i) m.sums.push_back({i + 1, kAllThereIs});
  const auto entered = table_.enter(m, {});
  ASSERT_TRUE(entered.has_value()) << "there is room for all of it";
  const auto seen = table_.read();
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].member.pools.size(), 64U);
  EXPECT_EQ(seen[0].member.sums, m.sums);
  EXPECT_EQ(seen[0].member.gpus.size(), 64U);
  // Another one that knows the last of these limits alone.
  NodeEntry whole = *entered;
  whole.holding = add_free(m, {}, {3, {}, 0}, {});
  write(whole);
  NodeMember other = member_of(2, "0-3");
  other.pools = {m.pools.back()};
  EXPECT_EQ(add_free(other, {}, {4, {}, 0}, table_.read()).cpu_count(), 0U);
}

TEST(NodeTableProperty, nothing_is_given_twice_or_lost_whoever_dies_where) {
  SystemEntropy entropy;
  for (int round = 0; round < 40; ++round) {
    const std::uint64_t seed = entropy.next();
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomWorkers workers(seed);
    for (int step = 0; step < 500; ++step) {
      workers.step();
      if (::testing::Test::HasFatalFailure()) return;
    }
    workers.end();
    if (::testing::Test::HasFailure()) return;
  }
}

// What it does between two looks of somebody else.
class BusyMemory final : public WordMemory {
 public:
  [[nodiscard]] std::uint64_t load(std::size_t word) const override {
    if (meanwhile && left-- == 0) std::exchange(meanwhile, {})();
    return words_.at(word);
  }
  void store(std::size_t word, std::uint64_t value) override { words_.at(word) = value; }
  bool reserve(std::size_t, std::size_t) override { return true; }

  mutable std::function<void()> meanwhile;
  mutable int left = 0;

 private:
  std::vector<std::uint64_t> words_ = std::vector<std::uint64_t>(NodeTable::kWords, 0);
};

TEST(BusyTable, is_read_while_others_enter_at_any_moment) {
  bool reached = true;
  for (int moment = 0; reached; ++moment) {
    BusyMemory memory;
    NodeTable others(memory);
    ASSERT_TRUE(others.prepare(BootTime(1)));
    ASSERT_TRUE(others.enter(member_of(1, "0-1"), {}));
    NodeTable mine(memory);
    EXPECT_EQ(mine.read().size(), 1U);
    memory.left = moment;
    memory.meanwhile = [&] {
      for (std::uint64_t pid = 2; pid < 40; ++pid) (void)others.enter(member_of(pid, "0-1"), {});
    };
    const std::size_t seen = mine.read().size();
    EXPECT_TRUE(seen == 1 || seen == 39) << seen << " at " << moment;
    reached = !memory.meanwhile;
  }
}

}  // namespace
}  // namespace torc::exec
