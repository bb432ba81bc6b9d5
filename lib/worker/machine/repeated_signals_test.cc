#include "lib/worker/machine/repeated_signals.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace torc::worker {
namespace {

using namespace std::chrono_literals;

TEST(RepeatedSignals, an_echo_within_a_fifth_of_a_second_does_not_count) {
  RepeatedSignals signals;
  ManualClock clock;
  EXPECT_TRUE(signals.is_new(SIGTERM, clock.boot_now()));
  EXPECT_FALSE(signals.is_new(SIGTERM, clock.boot_now()));
  clock.advance(199ms);
  EXPECT_FALSE(signals.is_new(SIGTERM, clock.boot_now()));
  clock.advance(1ms);
  EXPECT_TRUE(signals.is_new(SIGTERM, clock.boot_now())) << "the echoes do not prolong it";
}

TEST(RepeatedSignals, another_signal_is_no_echo) {
  RepeatedSignals signals;
  ManualClock clock;
  EXPECT_TRUE(signals.is_new(SIGINT, clock.boot_now()));
  EXPECT_TRUE(signals.is_new(SIGTERM, clock.boot_now()));
  EXPECT_FALSE(signals.is_new(SIGINT, clock.boot_now()));
}

}  // namespace
}  // namespace torc::worker
