#include "lib/base/end_margins.h"

#include <gtest/gtest.h>

namespace torc {
namespace {

using namespace std::chrono_literals;

TEST(UsableUntil, the_headroom_is_kept_free_but_no_more_than_a_tenth_of_a_short_allocation) {
  const EndMargins margins{1000s, 60s, 0s, {}};
  EXPECT_EQ(usable_until(4600s, margins), 4540s);
  EXPECT_EQ(usable_until(1100s, margins), 1090s);
  EXPECT_EQ(usable_until(900s, margins), 900s) << "it is over";
  EXPECT_EQ(usable_until(std::nullopt, margins), std::nullopt);
}

TEST(UsableUntil, what_the_user_says_counts_where_it_is_sooner) {
  const EndMargins margins{1000s, 60s, 0s, 1600s};
  EXPECT_EQ(usable_until(4600s, margins), 1540s);
  EXPECT_EQ(usable_until(std::nullopt, margins), 1540s);
  EXPECT_EQ(usable_until(1500s, margins), 1450s) << "Slurm took some of it away";
}

TEST(UsableUntil, the_buffer_is_kept_free_of_every_allocation) {
  EXPECT_EQ(usable_until(4600s, EndMargins{1000s, 60s, 600s, {}}), 4000s);
  EXPECT_EQ(usable_until(4600s, EndMargins{1000s, 60s, 600s, 1600s}), 1540s);
}

TEST(LeadWithin, the_termination_signal_comes_no_earlier_than_with_a_fourth_of_the_time_left) {
  EXPECT_EQ(lead_within(30s, 1200s), 30s);
  EXPECT_EQ(lead_within(30s, 100s), 25s);
}

TEST(LongestRuntime, is_what_a_worker_that_came_after_the_start_up_would_take) {
  const KeptFree kept{60s, 0s, 30s};
  for (const auto walltime : {1s, 16s, 60s, 300s, 1260s, 86400s}) {
    const EndMargins margins{kStartUp, 60s, 0s, {}};
    const WallTime usable = *usable_until(walltime, margins) - kStartUp;
    const auto left = usable - lead_within(30s, usable);
    EXPECT_EQ(longest_runtime(walltime, kept),
              std::max(0s, std::chrono::floor<std::chrono::seconds>(left)));
  }
  EXPECT_EQ(longest_runtime(21min, kept), 21min - 60s - 30s - kStartUp);
  EXPECT_EQ(longest_runtime(21min, {60s, 300s, 30s}), 21min - 300s - 30s - kStartUp);
}

TEST(ShortestWalltime, is_in_minutes_and_none_that_is_shorter_would_do) {
  const KeptFree kept{60s, 0s, 30s};
  EXPECT_EQ(shortest_walltime(20min, kept), 22min);
  EXPECT_EQ(shortest_walltime(20min + 15s, kept), 22min);
  EXPECT_EQ(shortest_walltime(20min + 16s, kept), 23min);
  EXPECT_EQ(shortest_walltime(24h, kept), 24h + 2min);
  for (const auto runtime : {1s, 30s, 60s, 90s, 600s, 3600s, 315360000s}) {
    for (const KeptFree& k : {kept, {0s, 0s, 0s}, {86400s, 86400s, 86400s}}) {
      const auto least = shortest_walltime(runtime, k);
      EXPECT_GE(longest_runtime(least, k), runtime);
      EXPECT_LT(longest_runtime(least - 1min, k), runtime);
    }
  }
}

}  // namespace
}  // namespace torc
