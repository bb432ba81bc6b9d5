// Of a workflow that says srun_termination_signal: the signal comes before the time is up.
#include <signal.h>

#include "lib/worker/machine/step_fixture.h"

namespace torc::worker {
namespace {

class WarnedJob : public StepTest {
 protected:
  claim::Finished ended(exec::Ending how, int exit_code, bool warns = true,
                        claim::EndCause why = claim::EndCause::allocation_ended) {
    be_born(2);
    state_.terms.signal_is_warning = warns;
    grant({job(1)});
    if (!lane_.empty()) begin_next();
    state_.stop_cause = why;
    EXPECT_EQ(state_.running.size(), 1U);
    event::Ended event;
    event.run = state_.running.begin()->first;
    event.how.how = how;
    event.how.exit_code = exit_code;
    event.how.signal = exit_code < 0 ? SIGTERM : 0;
    feed(std::move(event));
    EXPECT_EQ(state_.talk.finishes.size(), 1U);
    return state_.talk.finishes.empty() ? claim::Finished{} : state_.talk.finishes.back();
  }
};

TEST_F(WarnedJob, that_ends_well_before_its_limit_has_completed) {
  const claim::Finished finished = ended(exec::Ending::timed_out, 0);
  EXPECT_EQ(finished.state, claim::JobState::completed);
  EXPECT_EQ(finished.outcome.exit_code, 0);
}

TEST_F(WarnedJob, that_ends_well_before_the_end_of_the_allocation_has_completed) {
  EXPECT_EQ(ended(exec::Ending::stopped, 0).state, claim::JobState::completed);
}

TEST_F(WarnedJob, that_does_not_heed_it_is_terminated_at_its_limit) {
  for (const int code : {-1, 1}) {
    const claim::Finished finished = ended(exec::Ending::timed_out, code);
    EXPECT_EQ(finished.state, claim::JobState::terminated);
    EXPECT_EQ(finished.outcome.exit_code, 152);
  }
}

TEST_F(WarnedJob, whose_worker_is_told_to_stop_runs_again_whatever_it_says) {
  EXPECT_EQ(ended(exec::Ending::stopped, 0, true, claim::EndCause::stopped).state,
            claim::JobState::ready);
}

TEST_F(WarnedJob, is_one_only_where_the_workflow_says_so) {
  EXPECT_EQ(ended(exec::Ending::timed_out, 0, false).state, claim::JobState::terminated);
  EXPECT_EQ(ended(exec::Ending::stopped, 0, false).state, claim::JobState::ready);
}

}  // namespace
}  // namespace torc::worker
