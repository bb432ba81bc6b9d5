#include "tests/simulation/allocation_week.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace torc::simulation {
namespace {

TEST(AllocationWeek,
     ends_with_all_workflows_finished_and_little_unused_and_nobody_looked_after_it) {
  for (const std::uint64_t seed : {1U, 2U}) {
    WeekScenario scenario;
    scenario.seed = seed;
    const WeekFigures f = live_through(scenario);
    fmt::print(
        "seed {}: {} of {} workflows, {} jobs, {} allocations ({} never ran, {} ran no job, {} "
        "preempted, {} failed), {:.0f} core-hours granted, {:.1f} % used, {:.2f} % unused before "
        "the last start, idle for {} s at most\n",
        seed, f.finished, scenario.workflows, f.jobs, f.allocations, f.surplus, f.idle, f.preempted,
        f.failed, f.granted, 100 * f.used / f.granted, 100 * f.avoidable / f.granted,
        f.longest_idle.count());
    EXPECT_EQ(f.finished, scenario.workflows);
    EXPECT_EQ(f.most_for_an_intent, 1U);
    EXPECT_LE(f.longest_idle.count(), 60);
    EXPECT_GT(f.preempted + f.failed, 0U);
    EXPECT_LE(f.avoidable, 0.05 * f.granted);
  }
}

}  // namespace
}  // namespace torc::simulation
