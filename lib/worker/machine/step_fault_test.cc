// Of steps of Slurm it is told late that a command was not started.
#include <cerrno>

#include "lib/worker/machine/step_fixture.h"

namespace torc::worker {
namespace {

class LateFault : public StepTest {
 protected:
  claim::Finished ended_by(Blame blame, std::uint64_t id) {
    grant({job(id)});
    if (!lane_.empty()) begin_next();
    event::Ended event;
    event.run = state_.running.begin()->first;
    event.how.how = exec::Ending::not_started;
    event.how.os_errno = EAGAIN;
    event.fault = event::Fault{exec::StartStep::none, EAGAIN, blame};
    feed(std::move(event));
    EXPECT_FALSE(state_.talk.finishes.empty());
    return state_.talk.finishes.empty() ? claim::Finished{} : state_.talk.finishes.back();
  }
};

TEST_F(LateFault, of_the_node_lets_the_job_run_again_and_after_three_the_worker_leaves) {
  be_born(2);
  for (std::uint64_t id = 1; id <= 3; ++id) {
    EXPECT_FALSE(state_.end) << id;
    EXPECT_EQ(ended_by(Blame::node, id).state, claim::JobState::ready);
  }
  EXPECT_EQ(state_.end, WorkerEnd::broken);
}

TEST_F(LateFault, of_the_job_is_its_failure) {
  be_born(2);
  for (std::uint64_t id = 1; id <= 3; ++id)
    EXPECT_EQ(ended_by(Blame::job, id).state, claim::JobState::failed);
  EXPECT_FALSE(state_.end);
}

}  // namespace
}  // namespace torc::worker
