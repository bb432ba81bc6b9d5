#include "lib/claim/transactions/reset.h"

#include <gtest/gtest.h>

#include "lib/claim/testing/test_workflow.h"

namespace torc::claim {
namespace {

// 3 and 4 wait for 1 and 2, 5 for 3 and 4; 6 is alone.
class Reset : public ::testing::Test {
 protected:
  static Plan plan() {
    Plan plan = plan_of({{2, 0}, {2, 0}, {1, 0}, {1, 0}});
    plan.dependencies.push_back({{range(1, 2)}, {range(3, 2)}});
    plan.dependencies.push_back({{range(3, 2)}, {range(5, 1)}});
    return plan;
  }

  // Runs all that is ready, once.
  void run_ready(JobState end = JobState::completed) {
    for (const Grant& g : wf.claim(worker, 9)) EXPECT_TRUE(wf.finish(worker, g.token, end).ok());
  }
  Result<Change> reset(std::vector<JobRange> jobs, Force force = Force::no) {
    ++wf.tx.number;
    auto before = wf.tx.entries;
    auto changed = reset_jobs(wf.tx, jobs, force, kNoon);
    if (!changed.ok()) wf.tx.entries = std::move(before);
    wf.check();
    return changed;
  }
  std::vector<JobState> states() {
    std::vector<JobState> out;
    for (std::uint64_t id = 1; id <= 6; ++id) out.push_back(wf.state(id));
    return out;
  }

  static constexpr auto R = JobState::ready;
  static constexpr auto B = JobState::blocked;
  static constexpr auto C = JobState::completed;

  TestWorkflow wf{plan()};
  WorkerEpoch worker = wf.join();
};

TEST_F(Reset, a_completed_job_runs_again_with_everything_built_on_it) {
  for (int stage = 0; stage < 3; ++stage) run_ready();
  const auto done = reset({range(3, 1)});
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(done->changed[static_cast<std::size_t>(C)], 2U);
  EXPECT_EQ(states(), (std::vector{C, C, R, C, B, C}));
  const auto grants = wf.claim(worker, 9);
  ASSERT_EQ(ids(grants), std::vector<std::uint64_t>{3});
  EXPECT_EQ(grants[0].token.attempt, 2U);
  EXPECT_TRUE(wf.finish(worker, grants[0].token).ok());
  EXPECT_EQ(wf.state(5), R);
  run_ready();
  EXPECT_TRUE(read_workflow(wf.tx)->all_completed());
}

TEST_F(Reset, jobs_that_had_become_ready_are_blocked_again) {
  run_ready();
  EXPECT_EQ(states(), (std::vector{C, C, R, R, B, C}));
  ASSERT_TRUE(reset({range(1, 1)}).ok());
  EXPECT_EQ(states(), (std::vector{R, C, B, B, B, C}));
  EXPECT_EQ(ids(wf.claim(worker, 9)), std::vector<std::uint64_t>{1});
}

TEST_F(Reset, asked_again_it_changes_nothing_more) {
  for (int stage = 0; stage < 3; ++stage) run_ready();
  ASSERT_TRUE(reset({range(1, 1)}).ok());
  const auto before = wf.tx.entries;
  EXPECT_EQ(reset({range(1, 1)})->total(), 0U);
  EXPECT_EQ(wf.tx.entries, before);
}

TEST_F(Reset, it_is_refused_while_a_job_downstream_runs_and_changes_nothing) {
  run_ready();
  (void)wf.claim(worker, 1);  // job 3
  const auto refused = reset({range(1, 1)});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::busy);
  EXPECT_EQ(states(), (std::vector{C, C, JobState::claimed, R, B, C}));
}

TEST_F(Reset, forced_it_cancels_what_runs_and_that_runs_again_in_its_turn) {
  run_ready();
  const auto grants = wf.claim(worker, 1);  // job 3
  const auto done = reset({range(1, 1)}, Force::yes);
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(done->ending, 1U);
  EXPECT_EQ(wf.finish(worker, grants[0].token)->refused.size(), 1U);
  EXPECT_EQ(states(), (std::vector{R, C, B, B, B, C}));
  for (int stage = 0; stage < 3; ++stage) run_ready();
  EXPECT_TRUE(read_workflow(wf.tx)->all_completed());
  EXPECT_EQ(wf.job(3).attempt, 2U);
}

TEST_F(Reset, a_canceled_job_downstream_stays_canceled_and_a_named_one_runs_again) {
  for (int stage = 0; stage < 2; ++stage) run_ready();
  ++wf.tx.number;
  const std::vector<JobRange> five{range(5, 1)};
  ASSERT_TRUE(cancel_jobs(wf.tx, five, kNoon).ok());
  ASSERT_TRUE(reset({range(1, 1)}).ok());
  EXPECT_EQ(wf.state(5), JobState::canceled);
  ASSERT_TRUE(reset(five).ok());
  EXPECT_EQ(wf.state(5), B);
}

TEST_F(Reset, everything_goes_back_to_the_start) {
  for (int stage = 0; stage < 3; ++stage) run_ready();
  ASSERT_TRUE(reset({range(1, 6)}).ok());
  EXPECT_EQ(states(), (std::vector{R, R, B, B, B, R}));
  for (int stage = 0; stage < 3; ++stage) run_ready();
  EXPECT_TRUE(read_workflow(wf.tx)->all_completed());
}

TEST_F(Reset, a_failed_job_is_reset_like_a_completed_one) {
  run_ready(JobState::failed);
  ASSERT_TRUE(reset({range(1, 1)}).ok());
  EXPECT_EQ(wf.state(1), R);
  EXPECT_EQ(wf.state(2), JobState::failed) << "it does not depend on job 1";
}

TEST_F(Reset, what_is_downstream_is_found_through_all_stages) {
  const std::vector<JobRange> one{range(1, 1)};
  const auto all = with_downstream(wf.tx, one);
  ASSERT_TRUE(all.ok());
  std::vector<std::uint64_t> found;
  for (const JobRange& r : *all) {
    for (std::uint64_t i = 0; i < r.count; ++i) found.push_back(raw(r.first) + i);
  }
  EXPECT_EQ(found, (std::vector<std::uint64_t>{1, 3, 4, 5}));
}

}  // namespace
}  // namespace torc::claim
