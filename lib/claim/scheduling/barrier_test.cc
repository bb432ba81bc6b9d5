#include "lib/claim/scheduling/barrier.h"

#include <gtest/gtest.h>

#include "lib/claim/queries/job_scan.h"
#include "lib/claim/testing/test_workflow.h"

namespace torc::claim {
namespace {

using Ids = std::vector<std::uint64_t>;

void complete_all(TestWorkflow& wf, WorkerEpoch worker, const std::vector<Grant>& grants) {
  Exchange request;
  request.worker = worker;
  for (const Grant& g : grants) request.finishes.push_back({g.token, JobState::completed, {}});
  EXPECT_TRUE(wf.say(request)->refused.empty());
}

TEST(Barrier, members_wait_until_every_upstream_job_has_completed) {
  Plan plan = plan_of({{2, 0}, {3, 0}});
  plan.dependencies.push_back({{range(1, 2)}, {range(3, 3)}});
  TestWorkflow wf(plan);
  const WorkerEpoch w = wf.join();
  const auto grants = wf.claim(w, 9);
  EXPECT_EQ(ids(grants), (Ids{1, 2}));
  ASSERT_TRUE(wf.finish(w, grants[1].token).ok());
  EXPECT_EQ(wf.state(3), JobState::blocked);
  EXPECT_EQ(waits_for(wf.tx, JobId{4}, 9), std::vector{JobId{1}});
  ASSERT_TRUE(wf.finish(w, grants[0].token).ok());
  EXPECT_EQ(wf.state(3), JobState::ready);
  EXPECT_TRUE(waits_for(wf.tx, JobId{4}, 9).empty());
  EXPECT_EQ(ids(wf.claim(w, 9)), (Ids{3, 4, 5}));
}

TEST(Barrier, dependents_of_a_failed_job_stay_blocked) {
  Plan plan = plan_of({{2, 0}, {1, 0}});
  plan.dependencies.push_back({{range(1, 2)}, {range(3, 1)}});
  TestWorkflow wf(plan);
  const WorkerEpoch w = wf.join();
  const auto grants = wf.claim(w, 9);
  ASSERT_TRUE(wf.finish(w, grants[0].token).ok());
  const auto answer = wf.finish(w, grants[1].token, JobState::failed);
  EXPECT_EQ(wf.state(3), JobState::blocked);
  EXPECT_TRUE(answer->workflow.finished());
  EXPECT_FALSE(answer->workflow.all_completed());
}

TEST(Barrier, jobs_that_opened_it_and_jobs_behind_it_share_one_exchange) {
  Plan plan = plan_of({{2, 0}, {2, 7}});
  plan.dependencies.push_back({{range(1, 2)}, {range(3, 2)}});
  TestWorkflow wf(plan);
  const WorkerEpoch w = wf.join();
  Exchange request;
  request.worker = w;
  for (const Grant& g : wf.claim(w, 2)) {
    request.finishes.push_back({g.token, JobState::completed, {}});
  }
  request.offer = TestWorkflow::offer(5);
  EXPECT_EQ(ids(wf.say(request)->grants), (Ids{3, 4}));
}

TEST(Barrier, overlapping_upstream_ranges_count_for_each_of_their_barriers) {
  Plan plan = plan_of({{6, 0}, {1, 0}, {1, 0}, {1, 0}});
  plan.dependencies.push_back({{range(1, 4)}, {range(7, 1)}});
  plan.dependencies.push_back({{range(3, 4)}, {range(8, 1)}});
  plan.dependencies.push_back({{range(4, 1), range(5, 1), range(1, 1)}, {range(9, 1)}});
  TestWorkflow wf(plan);
  const WorkerEpoch w = wf.join();
  const auto g = wf.claim(w, 6);
  complete_all(wf, w, {g[0], g[1], g[2]});
  EXPECT_EQ(wf.state(7), JobState::blocked);
  complete_all(wf, w, {g[3]});
  EXPECT_EQ(wf.state(7), JobState::ready);
  EXPECT_EQ(wf.state(9), JobState::blocked);
  complete_all(wf, w, {g[4]});
  EXPECT_EQ(wf.state(8), JobState::blocked);
  EXPECT_EQ(wf.state(9), JobState::ready);
  complete_all(wf, w, {g[5]});
  EXPECT_EQ(wf.state(8), JobState::ready);
}

TEST(Barrier, members_of_several_templates_go_to_their_own_queues) {
  Plan plan = plan_of({{1, 9}, {2, 1}, {2, 5}, {1, 1}});
  plan.dependencies.push_back({{range(1, 1)}, {range(6, 1), range(3, 2)}});
  TestWorkflow wf(plan);
  const WorkerEpoch w = wf.join();
  complete_all(wf, w, wf.claim(w, 1));
  EXPECT_EQ(ids(wf.claim(w, 9)), (Ids{5, 4, 2, 3, 6}));
}

TEST(Barrier, all_to_all_is_two_records_and_one_countdown) {
  constexpr std::uint64_t n = 10'000;
  Plan plan = plan_of({{n, 0}, {n, 0}});
  plan.dependencies.push_back({{range(1, n)}, {range(n + 1, n)}});
  TestWorkflow wf(plan);
  EXPECT_LE(wf.tx.entries.size(), 16U);
  const WorkerEpoch w = wf.join();
  const auto grants = wf.claim(w, n);
  complete_all(wf, w, grants);
  EXPECT_EQ(wf.state(2 * n), JobState::ready);
  EXPECT_EQ(wf.claim(w, 1)[0].token.job, JobId{n + 1});
}

TEST(Barrier, pairs_of_two_long_sweeps_are_as_many_barriers) {
  constexpr std::uint64_t n = 20'000;
  Plan plan = plan_of({{n, 0}, {n, 1}});
  for (std::uint64_t i = 1; i <= n; ++i) {
    plan.dependencies.push_back({{range(i, 1)}, {range(n + i, 1)}});
  }
  TestWorkflow wf(plan);
  const WorkerEpoch w = wf.join();
  complete_all(wf, w, wf.claim(w, 2));
  EXPECT_EQ(ids(wf.claim(w, 3)), (Ids{n + 1, n + 2, 3}));
}

}  // namespace
}  // namespace torc::claim
