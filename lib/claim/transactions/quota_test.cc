#include "lib/claim/scheduling/quota.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/rules/budget.h"

#include <gtest/gtest.h>

#include "lib/claim/queries/why.h"
#include "lib/claim/queries/workers.h"
#include "lib/claim/testing/test_workflow.h"
#include "lib/claim/transactions/live.h"
#include "lib/claim/transactions/set_limit.h"

namespace torc::claim {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Jobs 1 to `jobs` share a limit; those above do not.
Plan limited(std::uint64_t jobs, std::uint32_t most, std::uint64_t others = 0) {
  Plan plan = plan_of({{jobs, 0}});
  plan.classes.emplace_back().limits = {{1, 1}};
  plan.templates[0].job_class = 1;
  plan.limits = {{"work_{i}", most, LimitKind::entry}};
  if (others == 0) return plan;
  Template t;
  t.first = JobId{jobs + 1};
  t.count = others;
  plan.templates.push_back(t);
  return plan;
}

std::uint64_t used(const TestWorkflow& wf) {
  return read_limit(wf.tx, 1)->used;
}

TEST(Limits, no_more_jobs_are_granted_than_may_run) {
  TestWorkflow wf(limited(5, 2, 3));
  const WorkerEpoch worker = wf.join();
  EXPECT_EQ(ids(wf.claim(worker, 9)), (std::vector<std::uint64_t>{1, 2, 6, 7, 8}));
  EXPECT_EQ(used(wf), 2U);
  EXPECT_TRUE(wf.claim(wf.join(), 9).empty());
}

TEST(Limits, an_end_gives_the_slot_to_the_next) {
  TestWorkflow wf(limited(3, 1));
  const WorkerEpoch worker = wf.join();
  const auto first = wf.claim(worker, 9);
  ASSERT_EQ(ids(first), std::vector<std::uint64_t>{1});
  ASSERT_TRUE(wf.finish(worker, first[0].token, JobState::failed).ok());
  EXPECT_EQ(ids(wf.claim(worker, 9)), std::vector<std::uint64_t>{2});
}

TEST(Limits, a_release_and_an_expiry_give_slots_back) {
  TestWorkflow wf(limited(3, 2));
  const WorkerEpoch one = wf.join();
  const WorkerEpoch two = wf.join();
  ASSERT_EQ(wf.claim(one, 1).size(), 1U);
  ASSERT_EQ(wf.claim(two, 1).size(), 1U);
  ++wf.tx.number;
  ASSERT_TRUE(release_worker(wf.tx, one, kNoon).ok());
  EXPECT_EQ(used(wf), 1U);
  ++wf.tx.number;
  ASSERT_TRUE(*expire_worker(wf.tx, two, read_worker(wf.tx, two)->renewals, kNoon, 5));
  EXPECT_EQ(used(wf), 0U);
  wf.check();
}

LimitChange set_to(TestWorkflow& wf, std::uint32_t most) {
  ++wf.tx.number;
  const auto change = set_limit(wf.tx, 1, most);
  EXPECT_TRUE(change.ok());
  wf.check();
  return *change;
}

TEST(Limits, a_limit_that_is_raised_lets_as_many_more_start) {
  TestWorkflow wf(limited(5, 2));
  const WorkerEpoch worker = wf.join();
  ASSERT_EQ(wf.claim(worker, 9).size(), 2U);
  EXPECT_EQ(set_to(wf, 3).freed(), 1U);
  EXPECT_EQ(ids(wf.claim(worker, 9)), std::vector<std::uint64_t>{3});
}

TEST(Limits, a_limit_that_is_lowered_ends_nobody_and_starts_nobody_until_it_fits) {
  TestWorkflow wf(limited(5, 3));
  const WorkerEpoch worker = wf.join();
  const auto held = wf.claim(worker, 9);
  ASSERT_EQ(held.size(), 3U);
  const LimitChange change = set_to(wf, 1);
  EXPECT_EQ(change.freed(), 0U);
  EXPECT_EQ(change.after.used, 3U);
  EXPECT_EQ(change.before.most, 3U);
  for (std::size_t i = 0; i < 2; ++i) {
    ASSERT_TRUE(wf.finish(worker, held[i].token).ok());
    EXPECT_TRUE(wf.claim(worker, 9).empty());
  }
  ASSERT_TRUE(wf.finish(worker, held[2].token).ok());
  EXPECT_EQ(ids(wf.claim(worker, 9)), std::vector<std::uint64_t>{4});
}

TEST(Limits, none_at_all_lets_nothing_start_and_counts_whom_it_is_too_small_for) {
  TestWorkflow wf(limited(5, 3, 1));
  const LimitChange change = set_to(wf, 0);
  EXPECT_EQ(change.too_large, 5U) << "the other has nothing of it";
  EXPECT_EQ(ids(wf.claim(wf.join(), 9)), std::vector<std::uint64_t>{6});
}

TEST(Limits, what_the_file_says_is_kept_until_the_limit_is_that_again) {
  TestWorkflow wf(limited(5, 3));
  EXPECT_EQ(set_to(wf, 1).after.limit.before_set, 3U);
  EXPECT_EQ(set_to(wf, 2).after.limit.of_file(), 3U);
  EXPECT_EQ(read_limit(wf.tx, 1)->limit.before_set, 3U);
  set_to(wf, 3);
  EXPECT_FALSE(read_limit(wf.tx, 1)->limit.before_set);
  EXPECT_FALSE(set_limit(wf.tx, 2, 1).ok());
}

TEST(Limits, a_canceled_job_keeps_its_slot_until_its_worker_ended_it) {
  TestWorkflow wf(limited(2, 1));
  const WorkerEpoch worker = wf.join();
  const auto first = wf.claim(worker, 1);
  wf.start(worker, first[0].token);
  ++wf.tx.number;
  ASSERT_TRUE(cancel_jobs(wf.tx, std::vector<JobRange>{range(1, 1)}, kNoon).ok());
  wf.check();
  EXPECT_TRUE(wf.claim(wf.join(), 9).empty());
  ASSERT_TRUE(wf.finish(worker, first[0].token).ok());
  EXPECT_EQ(ids(wf.claim(worker, 9)), std::vector<std::uint64_t>{2});
}

TEST(Limits, a_prefetch_takes_half_of_its_share_of_the_slots) {
  TestWorkflow wf(limited(100, 21));
  const WorkerEpoch worker = wf.join();
  Offer offer = TestWorkflow::offer(1);
  offer.prefetch = 100;
  EXPECT_EQ(wf.claim(worker, offer).size(), 1U + 20 / 2);
}

TEST(Limits, a_ready_job_can_tell_that_its_limit_is_full) {
  TestWorkflow wf(limited(2, 1));
  EXPECT_TRUE(obstacles_of(wf.tx, JobId{2}, 9).none());
  (void)wf.claim(wf.join(), 9);
  const Obstacles found = obstacles_of(wf.tx, JobId{2}, 9);
  ASSERT_EQ(found.limits.size(), 1U);
  EXPECT_EQ(found.limits[0].by.limit.name, "work_{i}");
  EXPECT_EQ(holders_of(wf.tx, 1, 9), std::vector<JobId>{JobId{1}});
}

// Jobs 1 and 2 have 3 licences each, 3 and 4 one, 5 none; together at most three jobs run.
Plan licensed() {
  Plan plan = plan_of({{2, 0}, {2, 0}, {1, 0}});
  plan.limits = {{"licence", 4, LimitKind::named}, {"", 3, LimitKind::workflow}};
  plan.classes.resize(3);
  plan.classes[0].limits = {{1, 3}, {2, 1}};
  plan.classes[1].limits = {{1, 1}, {2, 1}};
  plan.classes[2].limits = {{2, 1}};
  for (std::uint32_t t = 0; t < 3; ++t) plan.templates[t].job_class = t;
  return plan;
}

TEST(NamedLimits, a_job_has_as_much_as_it_asks_for_and_others_pass_it) {
  TestWorkflow wf(licensed());
  const WorkerEpoch worker = wf.join();
  const auto granted = wf.claim(worker, 9);
  EXPECT_EQ(ids(granted), (std::vector<std::uint64_t>{1, 3, 5}));
  EXPECT_EQ(used(wf), 4U);
  EXPECT_EQ(read_limit(wf.tx, 2)->used, 3U);
  const Obstacles found = obstacles_of(wf.tx, JobId{2}, 9);
  ASSERT_EQ(found.limits.size(), 2U);
  EXPECT_EQ(found.limits[0].amount, 3U);
  EXPECT_EQ(holders_of(wf.tx, 1, 9), (std::vector<JobId>{JobId{1}, JobId{3}}));
  ASSERT_TRUE(wf.finish(worker, granted[1].token).ok());
  EXPECT_EQ(used(wf), 3U);
  EXPECT_EQ(ids(wf.claim(worker, 9)), std::vector<std::uint64_t>{4});
  wf.check();
}

TEST(NamedLimits, a_job_that_asks_for_more_than_is_left_waits_for_all_of_it) {
  TestWorkflow wf(licensed());
  const WorkerEpoch worker = wf.join();
  const auto granted = wf.claim(worker, 9);
  ASSERT_EQ(granted.size(), 3U);
  ASSERT_TRUE(wf.finish(worker, granted[0].token).ok());
  EXPECT_EQ(ids(wf.claim(worker, 1)), std::vector<std::uint64_t>{2});
  EXPECT_EQ(used(wf), 4U);
}

TEST(NamedLimits, what_a_lost_worker_had_is_free_again) {
  TestWorkflow wf(licensed());
  const WorkerEpoch lost = wf.join();
  ASSERT_EQ(wf.claim(lost, 9).size(), 3U);
  ++wf.tx.number;
  ASSERT_TRUE(*expire_worker(wf.tx, lost, read_worker(wf.tx, lost)->renewals, kNoon, 5));
  EXPECT_EQ(used(wf), 0U);
  EXPECT_EQ(read_limit(wf.tx, 2)->used, 0U);
  wf.check();
}

TEST(NamedLimits, a_prefetch_takes_half_of_a_share_in_whole_jobs) {
  Plan plan = plan_of({{100, 0}});
  plan.limits = {{"licence", 43, LimitKind::named}};
  plan.classes[0].limits = {{1, 4}};
  TestWorkflow wf(plan);
  Offer offer = TestWorkflow::offer(1);
  offer.prefetch = 100;
  // 39 are left for prefetches, of which 19 may be taken: 4 jobs.
  EXPECT_EQ(wf.claim(wf.join(), offer).size(), 1U + 4);
}

Plan with_budget(std::uint64_t jobs, Usage budget, seconds runtime, std::uint32_t cpus = 1) {
  Plan plan = plan_of({{jobs, 0}});
  plan.classes[0].need.runtime = runtime;
  plan.classes[0].need.cpus = cpus;
  plan.budget = budget;
  return plan;
}

TEST(Budget, what_runs_counts_with_its_declared_runtime) {
  TestWorkflow wf(with_budget(5, {hours(5), {}}, hours(1), 2));
  const WorkerEpoch worker = wf.join();
  EXPECT_EQ(wf.claim(worker, 64).size(), 2U);
  EXPECT_EQ(read_expense(wf.tx)->promised.core, hours(4));
  const Obstacles found = obstacles_of(wf.tx, JobId{3}, 9);
  EXPECT_TRUE(found.budget);
}

TEST(Budget, an_attempt_is_paid_for_by_its_time_whatever_its_end) {
  TestWorkflow wf(with_budget(5, {hours(5), {}}, hours(1), 2));
  const WorkerEpoch worker = wf.join();
  const auto grants = wf.claim(worker, 64);
  ASSERT_EQ(grants.size(), 2U);
  Exchange end;
  end.worker = worker;
  end.now = kNoon;
  for (const Grant& g : grants) {
    Finished f{g.token, JobState::ready, {}};
    f.outcome.cause = EndCause::exited;
    f.outcome.started_at = kNoon;
    f.outcome.ended_at = kNoon + std::chrono::minutes(15);
    end.finishes.push_back(f);
  }
  ASSERT_TRUE(wf.say(end).ok());
  EXPECT_EQ(read_expense(wf.tx)->spent.core, hours(1));
  EXPECT_EQ(read_expense(wf.tx)->promised.core, milliseconds(0));
  EXPECT_EQ(wf.claim(worker, 64).size(), 2U);  // four hours are left
}

TEST(Budget, a_claim_that_is_given_back_costs_nothing) {
  TestWorkflow wf(with_budget(1, {hours(1), {}}, hours(1)));
  const WorkerEpoch worker = wf.join();
  Exchange back;
  back.worker = worker;
  back.returns = {wf.claim(worker, 1).at(0).token};
  ASSERT_TRUE(wf.say(back).ok());
  EXPECT_EQ(read_expense(wf.tx)->spent, Usage{});
  EXPECT_EQ(wf.claim(worker, 1).size(), 1U);
}

TEST(Budget, without_declared_runtimes_it_ends_when_it_is_spent) {
  TestWorkflow wf(with_budget(5, {milliseconds(1), {}}, seconds(0)));
  const WorkerEpoch worker = wf.join();
  const auto grants = wf.claim(worker, 2);
  ASSERT_EQ(grants.size(), 2U);
  Exchange end;
  end.worker = worker;
  Finished f{grants[0].token, JobState::completed, {}};
  f.outcome.started_at = kNoon;
  f.outcome.ended_at = kNoon + seconds(1);
  end.finishes = {f};
  end.offer = TestWorkflow::offer(9);
  const auto answer = wf.say(end);
  ASSERT_TRUE(answer.ok());
  EXPECT_TRUE(answer->grants.empty());
  EXPECT_TRUE(answer->workflow.budget_holds);
}

TEST(Budget, a_dear_job_is_passed_over_for_one_that_fits) {
  Plan plan = plan_of({{1, 5}, {1, 0}});
  plan.classes[0].need.runtime = hours(2);
  plan.classes.push_back(JobClass{});
  plan.classes[1].need.runtime = hours(1);
  plan.templates[1].job_class = 1;
  plan.budget = {hours(1), {}};
  TestWorkflow wf(plan);
  EXPECT_EQ(ids(wf.claim(wf.join(), 9)), std::vector<std::uint64_t>{2});
}

TEST(BudgetRules, a_job_of_one_node_takes_the_part_of_it_that_its_cpus_are) {
  Requirement need;
  need.cpus = 16;
  EXPECT_EQ(rate_of(need, 64).millinodes, 250U);
  EXPECT_EQ(rate_of(need, 8).millinodes, 1000U);
  EXPECT_EQ(rate_of(need, 0).millinodes, 1000U);
  need.nodes = 3;
  EXPECT_EQ(rate_of(need, 64).millinodes, 3000U);
  EXPECT_EQ(rate_of(need, 64).cores, 48U);
}

TEST(BudgetRules, amounts_beyond_counting_stay_at_the_end_of_the_scale) {
  Requirement need;
  need.cpus = UINT32_MAX;
  need.nodes = UINT32_MAX;
  const Usage one = cost(rate_of(need, 1), hours(1'000'000));
  EXPECT_GT(one.core, hours(1'000'000'000));
  Expense expense;
  expense.most.core = expense.spent.core = expense.promised.core = one.core;
  EXPECT_EQ(affordable(expense, one), 0U);
}

}  // namespace
}  // namespace torc::claim
