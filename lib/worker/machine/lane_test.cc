// Jobs that the host's threads begin, seen by the state machine alone.
#include <signal.h>

#include "lib/worker/machine/step_fixture.h"

namespace torc::worker {
namespace {

using namespace std::chrono_literals;

class LaneStep : public StepTest {
 protected:
  void SetUp() override {
    be_born(1);
    jobs_run_for(5ms);
  }
};

TEST_F(LaneStep, how_long_a_job_of_the_lane_ran_is_what_its_own_times_say) {
  grant({job(1), job(2)});
  state_.pace = claim::Pace(claim::Sharing::local);
  const Run first = begin_next();
  pass(10ms);  // its end is told late
  end(first, 2ms);
  EXPECT_EQ(state_.pace.run_time(), 2ms);
}

TEST_F(LaneStep,
       a_wall_clock_that_is_set_makes_no_job_of_the_lane_longer_or_shorter_than_it_can_be) {
  grant({job(1), job(2)});
  state_.pace = claim::Pace(claim::Sharing::local);
  const Run first = begin_next();
  pass(10ms);
  end(first, 1h);
  EXPECT_EQ(state_.pace.run_time(), 10ms) << "set forward";
  state_.pace = claim::Pace(claim::Sharing::local);
  const Run second = begin_next();
  pass(10ms);
  end(second, -1h);
  EXPECT_EQ(state_.pace.run_time(), 1us) << "set back: nothing is known but that it ended";
}

TEST_F(LaneStep, how_long_a_job_ran_that_was_started_by_itself_is_what_the_boot_clock_says) {
  jobs_run_for(1h);  // too long for a lane
  grant({job(1)});
  ASSERT_EQ(count<command::StartJob>(), 1U);
  state_.pace = claim::Pace(claim::Sharing::local);
  pass(10ms);
  end(state_.running.begin()->first, 2ms);
  EXPECT_EQ(state_.pace.run_time(), 10ms);
}

TEST_F(LaneStep, what_a_slot_could_not_begin_is_given_back_by_a_worker_that_leaves) {
  grant({job(1)});
  const Run taken = take_next();
  feed(event::Signal{SIGINT});
  turn();
  EXPECT_FALSE(state_.leaving.over) << "it may begin yet";
  feed(event::Declined{{taken}});
  for (int i = 0; i < 3 && !state_.leaving.over; ++i) {
    pass(1min);
    turn();
  }
  EXPECT_TRUE(state_.leaving.over);
  const auto* goodbye = [&]() -> const command::Goodbye* {
    for (const Command& c : done_) {
      if (const auto* found = std::get_if<command::Goodbye>(&c)) return found;
    }
    return nullptr;
  }();
  ASSERT_NE(goodbye, nullptr);
  EXPECT_EQ(goodbye->words.returns, std::vector<claim::ClaimToken>{job(1).grant.token});
}

TEST_F(LaneStep, what_was_canceled_while_a_slot_had_it_and_could_not_be_begun_never_is) {
  grant({job(1)});
  const Run taken = take_next();
  feed(event::Revoked{{job(1).grant.token}});
  feed(event::Declined{{taken}});
  turn();
  EXPECT_EQ(count<command::StartJob>(), 0U);
  EXPECT_TRUE(state_.queue.empty());
  pass(1min);
  turn();
  EXPECT_EQ(state_.talk.in_flight.returns, std::vector<claim::ClaimToken>{job(1).grant.token});
}

TEST_F(LaneStep, what_slots_could_not_begin_comes_back_in_its_order) {
  be_born(2);
  jobs_run_for(5ms);
  grant({job(1), job(2), job(3)});
  const Run first = take_next();
  const Run second = take_next();
  feed(event::Declined{{second, first}});  // two slots at the same time
  ASSERT_EQ(state_.queue.size(), 3U);
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(raw(state_.queue[i].grant.token.job), i + 1);
}

}  // namespace
}  // namespace torc::worker
