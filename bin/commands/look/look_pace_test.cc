#include "bin/commands/look/look_pace.h"

#include <gtest/gtest.h>

namespace torc::cli {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

TEST(LookPace, looks_are_a_second_apart_at_first_and_half_a_minute_at_last) {
  EXPECT_EQ(pause_after(seconds(0)), seconds(1));
  EXPECT_EQ(pause_after(seconds(10)), seconds(1));
  EXPECT_EQ(pause_after(seconds(100)), seconds(10));
  EXPECT_EQ(pause_after(seconds(300)), seconds(30));
  EXPECT_EQ(pause_after(hours(48)), seconds(30));
}

TEST(LookPace, who_waits_for_a_day_looks_three_thousand_times) {
  std::chrono::nanoseconds waited{};
  int looks = 1;
  for (; waited < hours(24); ++looks) waited += pause_after(waited);
  EXPECT_LT(looks, 3'000);
}

}  // namespace
}  // namespace torc::cli
