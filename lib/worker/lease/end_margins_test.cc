#include "lib/worker/lease/end_margins.h"

#include <gtest/gtest.h>

namespace torc::worker {
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

}  // namespace
}  // namespace torc::worker
