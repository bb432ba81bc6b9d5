#include "lib/workflow/change/stale.h"

#include <gtest/gtest.h>

#include "lib/claim/testing/test_workflow.h"
#include "lib/claim/transactions/live.h"
#include "lib/claim/transactions/reset.h"

namespace torc::workflow {
namespace {

using claim::JobState;

struct Looked {
  claim::TestWorkflow wf{claim::plan_of({{1, 0}})};
  claim::WorkerEpoch worker = wf.join();

  void run() {
    const auto grants = wf.claim(worker, 1);
    ASSERT_EQ(grants.size(), 1U);
    ASSERT_TRUE(wf.finish(worker, grants.front().token).ok());
  }
  [[nodiscard]] StaleJob now() const { return {JobId{1}, wf.job(1).claim, "a", {"it changed"}}; }
  [[nodiscard]] std::size_t left(const StaleJob& job) const {
    return still_stale(wf.tx, {job})->size();
  }
  void run_again() {
    const claim::JobRange one = claim::range(1, 1);
    ++wf.tx.number;
    ASSERT_TRUE(claim::reset_jobs(wf.tx, {&one, 1}, claim::Force::no, claim::kNoon).ok());
  }
};

TEST(StillStale, a_job_that_nobody_touched_since_it_was_looked_at_is_stale) {
  Looked l;
  l.run();
  EXPECT_EQ(l.left(l.now()), 1U);
}

TEST(StillStale, one_that_ran_again_meanwhile_has_seen_the_files_anew) {
  Looked l;
  l.run();
  const StaleJob seen = l.now();
  l.run_again();
  EXPECT_EQ(l.left(seen), 0U) << "it is ready: it will see them";
  l.run();
  EXPECT_EQ(l.left(seen), 0U);
  EXPECT_EQ(l.left(l.now()), 1U);
}

TEST(StillStale, with_another_command_any_attempt_is_but_not_a_canceled_job) {
  Looked l;
  StaleJob job{JobId{1}, 0, "a", {"the command changed"}};
  EXPECT_EQ(l.left(job), 0U) << "it has not begun";
  const auto grants = l.wf.claim(l.worker, 1);
  EXPECT_EQ(l.left(job), 1U);
  l.wf.start(l.worker, grants.at(0).token);
  ASSERT_TRUE(l.wf.finish(l.worker, grants.at(0).token, JobState::failed).ok());
  EXPECT_EQ(l.left(job), 1U);
  l.run_again();
  const claim::JobRange one = claim::range(1, 1);
  ++l.wf.tx.number;
  ASSERT_TRUE(claim::cancel_jobs(l.wf.tx, {&one, 1}, claim::kNoon).ok());
  EXPECT_EQ(l.left(job), 0U);
}

}  // namespace
}  // namespace torc::workflow
