// A worker that shares its node, seen by the state machine alone.
#include "lib/worker/machine/step_fixture.h"

namespace torc::worker {
namespace {

using namespace std::chrono_literals;

class ShareStep : public StepTest {
 protected:
  void SetUp() override {
    be_born(4, true);
    could_hold_ = 1;
  }
};

TEST_F(ShareStep, who_got_a_part_of_what_it_waited_for_sleeps_while_its_jobs_run) {
  grant({}, 5);
  ASSERT_TRUE(state_.share.wake_at()) << "it waits for more";
  could_hold_ = 2;
  pass(10s);
  turn();
  grant({job(1), job(2)});
  ASSERT_EQ(state_.running.size(), 2U);
  const BootTime until = now_ + 1h;
  int turns = 0;
  for (; turns < 10'000 && now_ < until; ++turns) {
    pass(std::max<std::chrono::nanoseconds>(wake_at(state_, now_) - now_, 1us));
    turn();
    if (state_.talk.busy) grant({});
  }
  EXPECT_LT(turns, 2'000);
}

// Two workers of a node with two CPUs, each of which has one and claimed jobs that need both.
TEST_F(ShareStep, what_suffices_for_none_of_its_jobs_is_left_to_others_after_a_while) {
  be_born(2, true);
  could_hold_ = 1;
  ClaimedJob wide = job(1);
  wide.need.cpus = 2;
  grant({wide}, 5);
  EXPECT_EQ(state_.share.use().cpus(), 1U) << "the other CPU may be free in a moment";
  pass(3s);
  turn();
  if (state_.talk.busy) grant({}, 5);
  EXPECT_EQ(state_.share.use().cpus(), 0U);
  EXPECT_EQ(state_.waiting(), 1U) << "it is still this worker's";
  could_hold_ = 2;
  pass(3s);
  turn();
  EXPECT_EQ(state_.running.size(), 1U);
}

// With its memory, which is asked for before each exchange, a job fits that only the lane keeps
// waiting.
TEST_F(ShareStep,
       who_is_given_enough_for_a_job_that_waits_for_the_lane_does_not_give_it_back_at_once) {
  could_hold_ = 3;
  jobs_run_for(5ms);
  std::vector<ClaimedJob> jobs{job(1), job(2), job(3)};
  for (ClaimedJob& granted : jobs) {
    granted.need.cpus = 2;
    granted.need.memory = mebibytes(512);
  }
  jobs.back().need.cpus = 1;
  grant(jobs, 5);
  (void)begin_next();
  ASSERT_EQ(state_.queue.size(), 1U);
  const BootTime until = now_ + 100ms;
  int turns = 0;
  for (; turns < 10'000 && now_ < until; ++turns) {
    pass(std::max<std::chrono::nanoseconds>(wake_at(state_, now_) - now_, 1us));
    turn();
    if (state_.talk.busy) grant({}, 5);
  }
  EXPECT_LT(turns, 100);
  EXPECT_EQ(state_.queue.size(), 1U) << "the lane goes on";
}

}  // namespace
}  // namespace torc::worker
