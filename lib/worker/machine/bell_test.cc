// What a worker does when it hears the bell of others.
#include "lib/worker/machine/step_fixture.h"

namespace torc::worker {
namespace {

using namespace std::chrono_literals;

class BellStep : public StepTest {
 protected:
  // The store has no job, as of `newest`.
  void answer_nothing(std::uint64_t newest) {
    event::Answered answer;
    answer.newest = newest;
    answer.answer.workflow.counts[static_cast<std::size_t>(claim::JobState::running)] = 1;
    answer.answer.live_workers = 4;
    feed(std::move(answer));
    turn();
  }
  // A worker that knows of nothing to do.
  void be_idle(std::uint64_t newest) {
    be_born(1);
    state_.pace = claim::Pace(claim::Sharing::shared);
    pass(1min);
    turn();
    ASSERT_TRUE(state_.talk.busy);
    answer_nothing(newest);
    ASSERT_FALSE(state_.talk.busy);
    // Long after its window, and before the next poll of one among four.
    pass(500ms);
    turn();
    ASSERT_FALSE(state_.talk.busy);
  }
};

TEST_F(BellStep, an_idle_worker_looks_at_once) {
  be_idle(5);
  feed(event::Bell{6, 0});
  EXPECT_LE(wake_at(state_, now_), now_);
  turn();
  EXPECT_TRUE(state_.talk.busy);
}

// Of a hundred that come the windows are 15 s at first.
TEST_F(BellStep, one_that_has_just_come_and_has_nothing_does_not_wait_for_its_window) {
  be_born(1);
  state_.pace = claim::Pace(claim::Sharing::shared);
  pass(1min);
  turn();
  ASSERT_TRUE(state_.talk.busy);
  event::Answered answer;
  answer.newest = 5;
  answer.answer.workflow.counts[static_cast<std::size_t>(claim::JobState::running)] = 1;
  answer.answer.live_workers = 100;
  feed(std::move(answer));
  pass(2s);
  turn();
  ASSERT_FALSE(state_.talk.busy) << "it has a window";
  feed(event::Bell{6, 1});
  EXPECT_EQ(wake_at(state_, now_), now_ + BellHearing::kBetweenPlaces);
  pass(BellHearing::kBetweenPlaces);
  turn();
  EXPECT_TRUE(state_.talk.busy);
}

TEST_F(BellStep, the_third_that_is_rung_looks_after_the_others) {
  be_idle(5);
  feed(event::Bell{6, 2});
  turn();
  EXPECT_FALSE(state_.talk.busy);
  EXPECT_EQ(wake_at(state_, now_), now_ + 2 * BellHearing::kBetweenPlaces);
  pass(2 * BellHearing::kBetweenPlaces);
  turn();
  EXPECT_TRUE(state_.talk.busy);
}

TEST_F(BellStep, a_bell_for_what_it_has_seen_wakes_nobody) {
  be_idle(5);
  feed(event::Bell{5, 0});
  turn();
  EXPECT_FALSE(state_.talk.busy);
}

TEST_F(BellStep,
       a_bell_that_comes_while_it_asks_is_followed_by_another_look_if_the_answer_is_older) {
  be_idle(5);
  feed(event::Bell{6, 0});
  turn();
  ASSERT_TRUE(state_.talk.busy);
  feed(event::Bell{8, 0});
  answer_nothing(7);
  pass(BellHearing::kRefill);
  turn();
  ASSERT_TRUE(state_.talk.busy);
  answer_nothing(8);
  pass(1ms);
  turn();
  EXPECT_FALSE(state_.talk.busy);
}

TEST_F(BellStep, who_has_no_room_asks_for_nothing) {
  be_idle(5);
  feed(event::Bell{6, 0});
  turn();
  grant({job(1)});
  ASSERT_EQ(state_.running.size(), 1U);
  pass(1min);
  turn();
  if (state_.talk.busy) answer_nothing(7);  // that it has started
  feed(event::Bell{9, 0});
  pass(1s);
  turn();
  EXPECT_FALSE(state_.talk.busy);
}

}  // namespace
}  // namespace torc::worker
