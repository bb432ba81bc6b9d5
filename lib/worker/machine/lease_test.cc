// What a worker makes of the time in which its lease was in doubt.
#include <signal.h>

#include "lib/worker/machine/step_fixture.h"

namespace torc::worker {
namespace {

using namespace std::chrono_literals;

class LeaseStep : public StepTest {
 protected:
  void see(bool paused, BootTime since) {
    event::LeaseSeen seen;
    seen.paused = paused;
    seen.paused_since = since;
    feed(seen);
    turn();
  }
  // How the worker says, or is about to say, that its only job ended.
  [[nodiscard]] std::optional<claim::Finished> finish() const {
    const auto first = [](const std::vector<claim::Finished>& all) {
      return all.empty() ? std::nullopt : std::optional(all.front());
    };
    for (const Command& order : done_) {
      if (const auto* submit = std::get_if<command::Submit>(&order)) {
        if (auto found = first(submit->exchange.finishes)) return found;
      }
      if (const auto* last = std::get_if<command::Goodbye>(&order)) {
        if (auto found = first(last->words.finishes)) return found;
      }
    }
    return first(state_.talk.finishes);
  }
};

// Slurm ends a step on a node that stood still: the job has its signal first. Nothing is concluded
// while the lease is in doubt, and the doubt outlasts by far what a signal explains.
TEST_F(LeaseStep, a_signal_explains_an_end_of_before_two_pauses_that_follow_at_once) {
  be_born(1);
  jobs_run_for(1h);
  grant({job(1)});
  const BootTime stood_still = now_;
  see(true, stood_still);
  event::Ended ended;
  ended.run = state_.running.begin()->first;
  ended.how.how = exec::Ending::signaled;
  ended.how.signal = SIGTERM;
  feed(std::move(ended));
  turn();
  feed(event::Signal{SIGTERM});
  pass(17s);
  see(true, now_);  // it was renewed and paused again, and nobody has looked in between
  pass(20ms);
  see(false, now_);
  const auto told = finish();
  ASSERT_TRUE(told);
  EXPECT_EQ(told->outcome.cause, claim::EndCause::stopped);
  EXPECT_EQ(told->state, claim::JobState::ready);
}

// The recovery script of a job gets the same SIGTERM, and its node stands still before its end is
// seen (simulation, seed 51002888).
TEST_F(LeaseStep, a_signal_explains_an_end_that_is_seen_after_the_worker_stood_still) {
  for (const auto between : {10s, 4s}) {
    be_born(1);
    done_.clear();
    jobs_run_for(1h);
    grant({job(1)});
    feed(event::Signal{SIGTERM});
    turn();
    pass(between);
    feed(event::StoodStill{between - 1s});
    event::Ended ended;
    ended.run = state_.running.begin()->first;
    ended.how.how = exec::Ending::signaled;
    ended.how.signal = SIGTERM;
    feed(std::move(ended));
    turn();
    const auto told = finish();
    ASSERT_TRUE(told);
    EXPECT_EQ(told->outcome.cause, claim::EndCause::stopped);
  }
}

TEST_F(LeaseStep, a_signal_does_not_explain_an_end_long_after_it) {
  be_born(1);
  jobs_run_for(1h);
  grant({job(1)});
  feed(event::Signal{SIGTERM});
  turn();
  pass(8s);
  turn();
  event::Ended ended;
  ended.run = state_.running.begin()->first;
  ended.how.how = exec::Ending::signaled;
  ended.how.signal = SIGTERM;
  feed(std::move(ended));
  pass(1s);
  turn();
  const auto told = finish();
  ASSERT_TRUE(told);
  EXPECT_NE(told->outcome.cause, claim::EndCause::stopped);
}

// --- the time that it has ---

TEST_F(LeaseStep, time_in_which_it_stood_still_is_no_runtime_and_none_of_its_allocation) {
  be_born(1);
  state_.terms.in_allocation = true;
  state_.terms.ends_at = now_ + 1h;
  jobs_run_for(1h);
  grant({job(1)});
  const Running before = state_.running.begin()->second;
  const BootTime ends_at = *state_.terms.ends_at;
  pass(80s);
  feed(event::StoodStill{80s});
  EXPECT_EQ(state_.running.begin()->second.started, before.started + 80s);
  EXPECT_EQ(state_.terms.ends_at, ends_at + 80s);
}

TEST_F(LeaseStep, who_has_no_allocation_is_given_no_time_back) {
  be_born(1);
  state_.terms.ends_at = now_ + 1h;
  const BootTime ends_at = *state_.terms.ends_at;
  feed(event::StoodStill{80s});
  EXPECT_EQ(state_.terms.ends_at, ends_at) << "a limit that its user gave";
}

TEST_F(LeaseStep, it_leaves_by_the_end_that_has_moved_to_be_sooner) {
  be_born(1);
  state_.terms.in_allocation = true;
  state_.terms.ends_at = now_ + 10h;
  jobs_run_for(1h);
  grant({job(1)});
  feed(event::EndMoved{now_ + 10min});
  turn();
  EXPECT_EQ(state_.phase, Phase::working);
  EXPECT_LT(wake_at(state_, now_), now_ + 10min);
  pass(10min);
  turn();
  EXPECT_EQ(state_.phase, Phase::stopping);
}

TEST_F(LeaseStep, it_asks_at_once_for_what_fits_an_end_that_has_moved_to_be_later) {
  be_born(2);
  state_.terms.in_allocation = true;
  state_.terms.ends_at = now_ + 10min;
  grant({job(1)}, 5);
  state_.talk.nothing_claimable = true;
  feed(event::EndMoved{now_ + 5min});
  EXPECT_TRUE(state_.talk.nothing_claimable);
  feed(event::EndMoved{now_ + 10h});
  EXPECT_FALSE(state_.talk.nothing_claimable);
  pass(20min);
  turn();
  EXPECT_EQ(state_.phase, Phase::working);
}

}  // namespace
}  // namespace torc::worker
