// The choice of CPUs, on machines that hwloc makes up, and one real process that is bound.
#include "lib/exec/machine/cpus.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sched.h>

#include <set>

#include "lib/exec/process/host_fixture.h"

namespace torc::exec {
namespace {

// Two nodes, each with two caches of four cores of two threads. Threads of a core have numbers in a
// row: 0 and 1 are core 0.
constexpr const char* kBig = "numa:2 l3:2 core:4 pu:2";

std::vector<CpuPlace> machine(const std::string& text) {
  auto found = find_cpus(text);
  EXPECT_TRUE(found.ok()) << found.error().text();
  return found.ok() ? *std::move(found) : std::vector<CpuPlace>{};
}

CpuList take(CpuPool& pool, std::uint32_t count) {
  const auto taken = pool.take(count);
  EXPECT_TRUE(taken) << count;
  return taken.value_or(CpuList{});
}

std::set<std::uint32_t> caches_of(const CpuList& cpus) {
  std::set<std::uint32_t> caches;
  for (const CpuPlace& p : machine(kBig)) {
    if (std::count(cpus.begin(), cpus.end(), p.cpu) > 0) caches.insert(p.cache);
  }
  return caches;
}

TEST(Cpus, a_machine_is_known_by_its_nodes_caches_cores_and_threads) {
  const auto cpus = machine(kBig);
  ASSERT_EQ(cpus.size(), 32U);
  EXPECT_EQ(cpus[0].core, cpus[1].core);
  EXPECT_EQ(cpus[1].thread, 1U);
  EXPECT_NE(cpus[1].core, cpus[2].core);
  EXPECT_EQ(cpus[0].cache, cpus[7].cache);
  EXPECT_NE(cpus[7].cache, cpus[8].cache);
  EXPECT_EQ(cpus[0].node, cpus[15].node);
  EXPECT_NE(cpus[15].node, cpus[16].node);
}

TEST(Cpus, a_description_that_is_none_is_refused) {
  EXPECT_FALSE(find_cpus("two cpus, please").ok());
}

TEST(Cpus, whole_cores_are_given_before_second_threads) {
  CpuPool pool(machine(kBig));
  std::set<std::uint32_t> given;
  for (int i = 0; i < 16; ++i) given.insert(take(pool, 1).at(0));
  for (const std::uint32_t cpu : given) EXPECT_EQ(cpu % 2, 0U) << "a second thread";
  for (int i = 0; i < 16; ++i) EXPECT_EQ(take(pool, 1).at(0) % 2, 1U);
  EXPECT_EQ(pool.take(1), std::nullopt);
}

TEST(Cpus, a_job_s_cpus_share_a_cache_where_they_fit_into_one) {
  CpuPool pool(machine(kBig));
  EXPECT_EQ(take(pool, 4), (CpuList{0, 2, 4, 6}));
  EXPECT_EQ(take(pool, 3), (CpuList{8, 10, 12}));
  EXPECT_EQ(caches_of(take(pool, 2)).size(), 1U) << "not the one that is left of the second cache";
}

TEST(Cpus, small_jobs_fill_places_that_are_begun_so_that_large_ones_find_whole_ones) {
  CpuPool pool(machine(kBig));
  const CpuList first = take(pool, 1);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(caches_of(take(pool, 1)), caches_of(first));
  EXPECT_EQ(caches_of(take(pool, 4)).size(), 1U);
  EXPECT_EQ(caches_of(take(pool, 4)).size(), 1U);
  EXPECT_EQ(caches_of(take(pool, 4)).size(), 1U);
}

TEST(Cpus, a_job_larger_than_a_cache_stays_on_one_numa_node) {
  CpuPool pool(machine(kBig));
  take(pool, 1);
  const CpuList large = take(pool, 8);
  EXPECT_EQ(large, (CpuList{16, 18, 20, 22, 24, 26, 28, 30})) << "the first node has seven cores";
}

TEST(Cpus, a_job_with_more_cpus_than_there_are_cores_gets_their_second_threads) {
  CpuPool pool(machine("core:4 pu:2"));
  EXPECT_EQ(take(pool, 6), (CpuList{0, 1, 2, 3, 4, 6}));
  EXPECT_EQ(take(pool, 2), (CpuList{5, 7}));
}

TEST(Cpus, whole_cores_apart_are_better_than_shared_ones_together) {
  CpuPool pool(machine("l3:2 core:2 pu:2"));
  const CpuList a = take(pool, 1);
  const CpuList b = take(pool, 2);
  EXPECT_EQ(take(pool, 1), CpuList{2}) << "the core that is left";
  pool.give_back(b);
  EXPECT_EQ(take(pool, 2), b);
  EXPECT_EQ(a, CpuList{0});
}

RC_GTEST_PROP(Cpus, no_cpu_is_given_twice_and_all_come_back, ()) {
  const auto cpus = machine(kBig);
  CpuPool pool(cpus);
  std::vector<CpuList> held;
  std::set<std::uint32_t> taken;
  for (const int dice : *rc::gen::container<std::vector<int>>(rc::gen::inRange(-4, 9))) {
    if (dice < 0 && !held.empty()) {
      pool.give_back(held.back());
      for (const std::uint32_t cpu : held.back()) taken.erase(cpu);
      held.pop_back();
    } else if (dice > 0) {
      const auto count = static_cast<std::uint32_t>(dice);
      const auto got = pool.take(count);
      RC_ASSERT(got.has_value() == (cpus.size() - taken.size() >= count));
      if (!got) continue;
      RC_ASSERT(got->size() == count);
      for (const std::uint32_t cpu : *got) RC_ASSERT(taken.insert(cpu).second);
      held.push_back(*got);
    }
  }
}

// --- this machine ---

class BoundCommand : public HostTest {};

TEST_F(BoundCommand, runs_where_it_is_told_to_and_others_where_they_like) {
  const auto here = find_cpus();
  ASSERT_TRUE(here.ok()) << here.error().text();
  ASSERT_FALSE(here->empty());
  Command bound = command("grep Cpus_allowed_list /proc/self/status");
  bound.cpus = {here->back().cpu};
  EXPECT_EQ(end_of(start(bound)).exit_code, 0);
  EXPECT_EQ(text_of("out"), "Cpus_allowed_list:\t" + std::to_string(here->back().cpu) + "\n");
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  EXPECT_EQ(static_cast<std::size_t>(CPU_COUNT(&before)), here->size()) << "this process is not";
}

TEST_F(BoundCommand, that_names_a_cpu_which_is_not_there_is_not_started) {
  Command bound = command("true");
  bound.cpus = {100'000};
  const Ended ended = end_of(start(bound));
  EXPECT_EQ(ended.how, Ending::not_started);
  EXPECT_EQ(ended.failed_at, StartStep::cpus);
  EXPECT_EQ(ended.os_errno, EINVAL);
}

}  // namespace
}  // namespace torc::exec
