// Jobs that may have one of several alternatives of what they need.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "lib/claim/queries/learned_times.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/queries/workers.h"
#include "lib/claim/testing/test_workflow.h"
#include "lib/claim/transactions/override.h"

namespace torc::claim {
namespace {

using std::chrono::seconds;
using Numbers = std::vector<std::uint32_t>;

// A GPU and 4 CPUs, or 8 CPUs.
JobClass gpu_or_cpus() {
  JobClass c;
  c.need.cpus = 4;
  c.need.gpus = 1;
  c.others.emplace_back().need.cpus = 8;
  return c;
}

Plan plan_of_class(JobClass job_class, std::uint64_t jobs) {
  Plan plan = plan_of({{jobs, 0}});
  plan.classes = {std::move(job_class)};
  return plan;
}

Offer offer_with(std::uint32_t cpus, std::uint32_t gpus) {
  Offer o = TestWorkflow::offer(100);
  o.cpus = o.total_cpus = cpus;
  o.gpus = o.total_gpus = gpus;
  return o;
}

Numbers alternatives(const std::vector<Grant>& grants) {
  Numbers out;
  for (const Grant& g : grants) out.push_back(g.alternative);
  return out;
}

class Alternatives : public testing::TestWithParam<bool> {
 protected:
  // Both with the heads of the queues in their order and without.
  static Plan plan(JobClass job_class, std::uint64_t jobs) {
    Plan plan = plan_of_class(std::move(job_class), jobs);
    if (GetParam()) plan.few_classes = 0;
    return plan;
  }
};
INSTANTIATE_TEST_SUITE_P(Order, Alternatives, testing::Bool());

TEST_P(Alternatives, each_job_has_the_first_that_fits_into_what_is_left) {
  TestWorkflow wf(plan(gpu_or_cpus(), 6));
  const WorkerEpoch w = wf.join();
  const auto grants = wf.claim(w, offer_with(24, 2));
  EXPECT_EQ(alternatives(grants), (Numbers{0, 0, 1, 1}));
  EXPECT_EQ(wf.job(2).alternative, 0U);
  EXPECT_EQ(wf.job(3).alternative, 1U);
}

TEST_P(Alternatives, a_worker_that_could_have_only_one_of_them_is_given_that) {
  TestWorkflow wf(plan(gpu_or_cpus(), 3));
  const WorkerEpoch w = wf.join();
  EXPECT_EQ(alternatives(wf.claim(w, offer_with(16, 0))), (Numbers{1, 1}));
  EXPECT_EQ(alternatives(wf.claim(w, offer_with(4, 1))), (Numbers{0}));
}

TEST_P(Alternatives, the_heaviest_is_tried_first) {
  JobClass c = gpu_or_cpus();
  c.others[0].weight = 1;
  TestWorkflow wf(plan(c, 3));
  const WorkerEpoch w = wf.join();
  EXPECT_EQ(alternatives(wf.claim(w, offer_with(12, 2))), (Numbers{1, 0}));
}

TEST_P(Alternatives, one_that_takes_longer_than_is_left_is_passed_over_for_one_that_does_not) {
  JobClass c = gpu_or_cpus();
  c.need.runtime = seconds(100);
  c.others[0].need.runtime = seconds(50);
  TestWorkflow wf(plan(c, 2));
  const WorkerEpoch w = wf.join();
  Offer offer = offer_with(64, 2);
  offer.remaining = seconds(60);
  EXPECT_EQ(alternatives(wf.claim(w, offer)), (Numbers{1, 1}));
}

TEST_P(Alternatives, a_job_that_is_given_back_may_have_another_one_next_time) {
  TestWorkflow wf(plan(gpu_or_cpus(), 1));
  const WorkerEpoch w = wf.join();
  const auto first = wf.claim(w, offer_with(8, 0));
  ASSERT_EQ(alternatives(first), (Numbers{1}));
  ASSERT_TRUE(wf.finish(w, first[0].token, JobState::ready).ok());
  EXPECT_EQ(wf.job(1).alternative, 1U) << "of the attempt that ended";
  const auto second = wf.claim(w, offer_with(8, 0));
  ASSERT_EQ(alternatives(second), (Numbers{1}));
  Exchange back;
  back.worker = w;
  back.now = kNoon;
  back.returns.push_back(second[0].token);
  EXPECT_TRUE(wf.say(back).ok());
  EXPECT_EQ(wf.job(1).alternative, 0U) << "it has none now";
  EXPECT_EQ(alternatives(wf.claim(w, offer_with(4, 1))), (Numbers{0}));
}

TEST_P(Alternatives, none_is_promised_to_a_job_that_waits_on_a_worker_for_others) {
  TestWorkflow wf(plan(gpu_or_cpus(), 3));
  const WorkerEpoch w = wf.join();
  Offer offer = offer_with(4, 1);
  offer.total_cpus = 64;
  offer.prefetch = 10;
  EXPECT_EQ(wf.claim(w, offer).size(), 1U);
}

TEST_P(Alternatives, the_budget_is_promised_what_the_one_that_was_taken_costs) {
  JobClass c = gpu_or_cpus();
  c.need.runtime = seconds(10);
  c.others[0].need.runtime = seconds(30);
  Plan p = plan(c, 4);
  p.budget.core = seconds(300);
  TestWorkflow wf(p);
  const WorkerEpoch w = wf.join();
  // 40 core-seconds with the GPU, and 240 without: then nothing can be paid for by CPUs alone.
  EXPECT_EQ(alternatives(wf.claim(w, offer_with(64, 1))), (Numbers{0, 1}));
  EXPECT_EQ(read_expense(wf.tx)->promised.core, seconds(280));
  EXPECT_EQ(wf.claim(w, offer_with(64, 0)).size(), 0U);
  EXPECT_TRUE(wf.finish(w, {JobId{2}, 1, wf.job(2).claim}).ok());
  EXPECT_EQ(read_expense(wf.tx)->promised.core, seconds(40));
}

TEST_P(Alternatives, a_limit_holds_for_all_of_them) {
  JobClass c = gpu_or_cpus();
  c.limits = {{1, 1}};
  Plan p = plan(c, 6);
  p.limits = {{"licence", 3, LimitKind::named}};
  TestWorkflow wf(p);
  const WorkerEpoch w = wf.join();
  EXPECT_EQ(alternatives(wf.claim(w, offer_with(64, 1))), (Numbers{0, 1, 1}));
}

TEST(JobsWithAlternatives, what_a_person_sets_holds_for_each_of_them) {
  TestWorkflow wf(plan_of_class(gpu_or_cpus(), 2));
  Setting setting;
  setting.needs["cpus"] = 2;
  ++wf.tx.number;
  ASSERT_TRUE(set_jobs(wf.tx, std::vector{range(1, 2)}, setting).ok());
  wf.check();
  const WorkerEpoch w = wf.join();
  EXPECT_EQ(alternatives(wf.claim(w, offer_with(4, 1))), (Numbers{0, 1}));
}

TEST(JobsWithAlternatives, a_person_may_change_one_that_runs) {
  JobClass c = gpu_or_cpus();
  c.need.runtime = c.others[0].need.runtime = seconds(10);
  Plan p = plan_of_class(c, 1);
  p.budget.core = seconds(1000);
  TestWorkflow wf(p);
  const WorkerEpoch w = wf.join();
  const auto grants = wf.claim(w, offer_with(8, 0));
  ASSERT_EQ(alternatives(grants), (Numbers{1}));
  Setting setting;
  setting.needs["runtime"] = 20;
  ++wf.tx.number;
  ASSERT_TRUE(set_jobs(wf.tx, std::vector{range(1, 1)}, setting).ok());
  wf.check();
  EXPECT_EQ(read_expense(wf.tx)->promised.core, seconds(160));
  EXPECT_TRUE(wf.finish(w, grants[0].token).ok());
}

TEST(JobsWithAlternatives, a_retry_gives_more_to_the_one_that_failed_alone) {
  JobClass c = gpu_or_cpus();
  c.need.memory = c.others[0].need.memory = mebibytes(100);
  Plan p = plan_of_class(c, 1);
  Handler& handler = p.handlers.emplace_back();
  handler.memory_ceiling = mebibytes(1000);
  torc::RetryRule& rule = handler.rules.emplace_back();
  rule.all_exit_codes = true;
  rule.max_retries = 1;
  rule.memory_multiplier = 2;
  p.templates[0].handler = 1;
  TestWorkflow wf(p);
  const WorkerEpoch w = wf.join();
  const auto grants = wf.claim(w, offer_with(8, 0));
  ASSERT_EQ(alternatives(grants), (Numbers{1}));
  EXPECT_TRUE(wf.finish(w, grants[0].token, JobState::failed).ok());
  const auto again = wf.claim(w, offer_with(64, 0));
  ASSERT_EQ(alternatives(again), (Numbers{1}));
  const JobClass now = read_class(wf.tx, again[0].job_class);
  EXPECT_EQ(now.need.memory, mebibytes(100));
  EXPECT_EQ(now.others[0].need.memory, mebibytes(200));
}

TEST(JobsWithAlternatives, how_long_jobs_take_is_learned_of_each_by_itself) {
  JobClass c = gpu_or_cpus();
  c.learns_from = 1;
  TestWorkflow wf(plan_of_class(c, 100));
  const WorkerEpoch w = wf.join();
  const auto grants = wf.claim(w, offer_with(20 * 8, 0));
  ASSERT_EQ(grants.size(), 20U);
  Exchange request;
  request.worker = w;
  request.now = kNoon;
  for (const Grant& g : grants) {
    ASSERT_EQ(g.alternative, 1U);
    Finished f;
    f.token = g.token;
    f.outcome.cause = EndCause::exited;
    f.outcome.started_at = kNoon;
    f.outcome.ended_at = kNoon + seconds(7);
    request.finishes.push_back(f);
  }
  ASSERT_TRUE(wf.say(request).ok());
  EXPECT_EQ(learned_time(wf.tx, c, 0), std::nullopt);
  EXPECT_EQ(learned_time(wf.tx, c, 1), seconds(7));
  EXPECT_EQ(wf.claim(w, offer_with(8, 0)).at(0).runtime, seconds(7));
}

TEST(JobsWithAlternatives, a_suspect_that_starts_alone_has_them_still) {
  TestWorkflow wf(plan_of_class(gpu_or_cpus(), 1));
  const WorkerEpoch w = wf.join();
  const auto grants = wf.claim(w, offer_with(4, 1));
  wf.start(w, grants.at(0).token);
  ++wf.tx.number;
  const auto lost = expire_worker(wf.tx, w, read_worker(wf.tx, w)->renewals, kNoon, 0,
                                  EndCause::worker_lost, kNoon);
  ASSERT_TRUE(lost.ok() && *lost);
  wf.check();
  const WorkerEpoch other = wf.join();
  const auto again = wf.claim(other, offer_with(8, 0));
  ASSERT_EQ(alternatives(again), (Numbers{1}));
  EXPECT_TRUE(again[0].alone);
}

TEST(JobsWithAlternatives, a_number_that_the_class_has_not_is_told_by_verify) {
  TestWorkflow wf(plan_of_class(gpu_or_cpus(), 1));
  const WorkerEpoch w = wf.join();
  (void)wf.claim(w, offer_with(8, 0));
  Job forged = wf.job(1);
  forged.alternative = 2;
  wf.tx.put(Key(Table::job, 1), encode(forged));
  const auto sound = verify_state(wf.tx);
  ASSERT_FALSE(sound.ok());
  EXPECT_NE(sound.error().text().find("an alternative that its class has not"), std::string::npos)
      << sound.error().text();
}

TEST(JobsWithAlternatives, a_worker_could_run_them_where_it_has_enough_for_one) {
  const JobClass c = gpu_or_cpus();
  EXPECT_TRUE(could_fit(c, offer_with(8, 0)));
  EXPECT_TRUE(could_fit(c, offer_with(4, 1)));
  EXPECT_EQ(mismatches_of(c, offer_with(7, 0)), mismatch::kGpus) << "what the first one lacks";
}

TEST(JobsWithAlternatives, none_of_them_is_of_several_nodes) {
  JobClass c = gpu_or_cpus();
  c.others[0].need.nodes = 2;
  store::MemoryState tx;
  EXPECT_FALSE(write_plan(tx, plan_of_class(c, 1)).ok());
}

}  // namespace
}  // namespace torc::claim
