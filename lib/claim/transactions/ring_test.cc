// Barriers that wait for their own jobs, as no torc writes them and whoever may write in a store
// can: whatever is done to their jobs comes to an end.
#include <gtest/gtest.h>

#include "lib/claim/rules/transition.h"
#include "lib/claim/scheduling/ledger.h"
#include "lib/claim/tables/tables.h"
#include "lib/claim/testing/test_workflow.h"
#include "lib/claim/transactions/live.h"
#include "lib/claim/transactions/reset.h"

namespace torc::claim {
namespace {

// Jobs 3, 4 and 5 wait for each other in a row, 3 for job 1 and 4 for job 2; and 3 for 5, as no
// torc would write it.
class Ring : public ::testing::Test {
 protected:
  static Plan plan() {
    Plan plan = plan_of({{1, 0}, {1, 0}, {1, 0}, {1, 0}, {1, 0}});
    plan.dependencies.push_back({{range(1, 1)}, {range(3, 1)}, {}, true});
    plan.dependencies.push_back({{range(2, 2)}, {range(4, 1)}, {}, true});
    plan.dependencies.push_back({{range(4, 1)}, {range(5, 1)}, {}, true});
    return plan;
  }
  void close_ring() {
    wf.tx.put(Key(Table::upstream, 5), encode(UpstreamRun{5, 1, {{1, Condition::afterok, true}}}));
    Barrier barrier = *decode_barrier(*wf.tx.get(Key(Table::barrier, 1)));
    ++barrier.total;
    barrier.upstream.push_back(range(5, 1));
    wf.tx.put(Key(Table::barrier, 1), encode(barrier));
    Countdown countdown = State(wf.tx).countdown(1);
    countdown.left = 2;
    wf.tx.put(Key(Table::countdown, 1), encode(countdown));
  }
  static void expect_end(const Result<Change>& done) {
    if (done) return;
    EXPECT_EQ(done.error().kind, ErrorKind::corrupt) << done.error().text();
  }
  TestWorkflow wf{plan()};
  const std::vector<JobRange> first = {range(1, 1)};
  const std::vector<JobRange> all = {range(1, 5)};
};

TEST_F(Ring, every_change_of_its_jobs_ends) {
  close_ring();
  expect_end(cancel_jobs(wf.tx, first, kNoon));
  expect_end(retry_jobs(wf.tx, first));
  expect_end(reset_jobs(wf.tx, first, Force::yes, kNoon));
  expect_end(cancel_jobs(wf.tx, all, kNoon));
  expect_end(reset_jobs(wf.tx, all, Force::yes, kNoon));
}

TEST_F(Ring, a_failure_and_a_completion_of_its_jobs_end) {
  const WorkerEpoch worker = wf.join();
  const auto grants = wf.claim(worker, 2);
  close_ring();
  for (const Grant& grant : grants) {
    Exchange request;
    request.worker = worker;
    request.now = kNoon;
    Finished f;
    f.token = grant.token;
    f.state = raw(grant.token.job) == 1 ? JobState::failed : JobState::completed;
    f.outcome.cause = EndCause::exited;
    request.finishes.push_back(f);
    ++wf.tx.number;
    const auto answer = exchange(wf.tx, request);
    if (answer) continue;
    EXPECT_EQ(answer.error().kind, ErrorKind::corrupt) << answer.error().text();
  }
}

TEST_F(Ring, of_a_job_that_waits_for_itself_every_change_ends) {
  wf.tx.put(Key(Table::upstream, 5), encode(UpstreamRun{5, 1, {{3, Condition::afterok, true}}}));
  expect_end(cancel_jobs(wf.tx, first, kNoon));
  expect_end(retry_jobs(wf.tx, first));
  expect_end(reset_jobs(wf.tx, all, Force::yes, kNoon));
}

// What is passed over and what waits again can follow each other around a ring without an end.
TEST_F(Ring, with_counters_that_chase_each_other_is_noticed) {
  ASSERT_TRUE(cancel_jobs(wf.tx, first, kNoon).ok());
  ASSERT_EQ(wf.state(5), JobState::canceled);
  for (const std::uint64_t id : {4U, 5U}) {
    wf.tx.erase(Key(Table::job, id));
    wf.tx.erase(Key(Table::set_aside, id));
    wf.tx.erase(Key(Table::countdown, id - 2));
  }
  Tally tally = *decode_tally(*wf.tx.get(Key(Table::tally)));
  tally.move(JobState::canceled, JobState::blocked, 2);
  wf.tx.put(Key(Table::tally), encode(tally));
  close_ring();
  ++wf.tx.number;
  Ledger ledger(wf.tx, kNoon);
  ledger.change(1, wf.job(1), retry(wf.job(1)));
  ledger.change(2, wf.job(2), cancel(wf.job(2), kNoon));
  const Result<void> closed = ledger.close();
  ASSERT_FALSE(closed.ok());
  EXPECT_EQ(closed.error().kind, ErrorKind::corrupt);
  EXPECT_NE(closed.error().what.find("waits for its own jobs"), std::string::npos)
      << closed.error().what;
}

}  // namespace
}  // namespace torc::claim
