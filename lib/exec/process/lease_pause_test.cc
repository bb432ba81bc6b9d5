// What a pause, and time in which nothing ran, does to deadlines. host_pause_test.cc has what it
// does to processes.
#include "lib/exec/process/lease_pause.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace torc::exec {
namespace {

using namespace std::chrono_literals;

class LeasePauseTest : public ::testing::Test {
 protected:
  void SetUp() override {
    lease_.hold(clock_.boot_now(), 24h);
    RunTerms terms;
    terms.time_limit = 60s;
    const Leader leader{runs_.take_key(), 0, WallTime(0), clock_.boot_now()};
    runs_.add(leader.key, run_of(leader, terms, nullptr, clock_.boot_now()));
    due_ = clock_.boot_now() + 60s;
  }
  void begin_pause() {
    ASSERT_TRUE(page_.begin_pause(clock_.boot_now()));
    page_.go_on(clock_.boot_now());
    EXPECT_TRUE(pause_.follow());
  }
  [[nodiscard]] std::chrono::nanoseconds shifted() const { return *runs_.next_deadline() - due_; }

  ManualClock clock_;
  LeasePage page_;
  WatchedLease lease_{page_, -1, -1, {}};
  RunTable runs_;
  OwnChildren children_;
  RunTag tag_{"10-20-30"};
  LaneRuns lane_{clock_, runs_};
  RunTrees trees_{runs_, children_, tag_, lane_};
  LeasePause pause_{clock_, &lease_, getpid(), trees_};
  BootTime due_{};
};

TEST_F(LeasePauseTest, deadlines_are_shifted_by_as_long_as_the_pause_was) {
  begin_pause();
  EXPECT_TRUE(pause_.is_on());
  clock_.advance(10s);
  EXPECT_FALSE(pause_.follow()) << "nothing has changed";
  EXPECT_EQ(shifted(), 0s);
  ASSERT_TRUE(lease_.confirm(*lease_.pause()));
  EXPECT_TRUE(pause_.follow());
  EXPECT_FALSE(pause_.is_on());
  EXPECT_EQ(shifted(), 10s);
}

TEST_F(LeasePauseTest, a_lease_that_is_lost_in_a_pause_ends_it_and_shifts_nothing) {
  begin_pause();
  clock_.advance(10s);
  lease_.lose();
  EXPECT_TRUE(pause_.follow());
  EXPECT_FALSE(pause_.is_on());
  EXPECT_EQ(shifted(), 0s);
}

TEST_F(LeasePauseTest, time_that_was_slept_through_does_not_count) {
  const BootTime alarm = clock_.boot_now() + 5s;
  clock_.advance(5900ms);
  pause_.note_lost_time(alarm);
  EXPECT_EQ(shifted(), 0s) << "nothing is on time to the millisecond";
  clock_.advance(1h);
  pause_.note_lost_time(std::nullopt);
  EXPECT_EQ(shifted(), 0s) << "it was not to wake";
  pause_.note_lost_time(alarm);
  EXPECT_EQ(shifted(), 1h + 900ms);
}

TEST_F(LeasePauseTest, of_a_pause_only_the_time_before_it_was_slept_through) {
  const BootTime alarm = clock_.boot_now() + 5s;
  clock_.advance(25s);
  begin_pause();
  clock_.advance(10s);
  pause_.note_lost_time(alarm);
  EXPECT_EQ(shifted(), 20s);
}

TEST(LeasePauseAlone, nothing_is_ever_paused_without_a_lease) {
  ManualClock clock;
  RunTable runs;
  OwnChildren children;
  RunTag tag("10-20-30");
  LaneRuns lane(clock, runs);
  RunTrees trees(runs, children, tag, lane);
  LeasePause pause(clock, nullptr, getpid(), trees);
  EXPECT_FALSE(pause.follow());
  EXPECT_FALSE(pause.is_on());
}

}  // namespace
}  // namespace torc::exec
