// Failures that wait for a person's decision.
#include <gtest/gtest.h>

#include "lib/claim/testing/test_retries.h"
#include "lib/claim/testing/test_workflow.h"
#include "lib/claim/transactions/live.h"
#include "lib/claim/transactions/reset.h"

namespace torc::claim {
namespace {

Plan undecided(std::uint64_t jobs, Condition condition) {
  Plan plan = plan_of({{jobs, 0}, {1, 0}});
  plan.pending_failed = true;
  DependencySet set;
  set.members = {range(jobs + 1, 1)};
  if (condition == Condition::afterok) {
    set.upstream = {range(1, jobs)};
    set.cancels = true;
  } else {
    set.conditional = {{range(1, jobs), condition}};
  }
  plan.dependencies = {set};
  return plan;
}

TEST(PendingFailed, a_failure_that_no_rule_is_for_keeps_what_follows_waiting) {
  for (const Condition c : {Condition::afterok, Condition::afternotok, Condition::afterany}) {
    Clocked w(undecided(1, c));
    const auto grant = w.at(kNoon).grants.at(0);
    EXPECT_TRUE(w.at(kNoon, {Clocked::failed(grant.token)}).grants.empty());
    EXPECT_EQ(w.wf.state(1), JobState::pending_failed);
    EXPECT_EQ(w.wf.state(2), JobState::blocked) << to_string(c);
    const auto workflow = read_workflow(w.wf.tx);
    EXPECT_TRUE(workflow->finished());
    EXPECT_FALSE(workflow->all_completed());
  }
}

TEST(PendingFailed, a_person_lets_it_run_again) {
  Clocked w(undecided(1, Condition::afternotok));
  const auto grant = w.at(kNoon).grants.at(0);
  w.at(kNoon, {Clocked::failed(grant.token)});
  const JobRange one = range(1, 1);
  EXPECT_EQ(retry_jobs(w.wf.tx, {&one, 1})->total(), 1U);
  EXPECT_EQ(w.wf.state(1), JobState::ready);
  EXPECT_EQ(w.at(kNoon).grants.at(0).token.attempt, 2U);
  w.wf.check();
}

TEST(PendingFailed, a_person_lets_the_failure_stand_and_what_follows_hears_of_it) {
  Clocked w(undecided(2, Condition::afternotok));
  const auto grants = w.at(kNoon).grants;
  Finished late = Clocked::failed(grants.at(1).token);
  late.state = JobState::terminated;
  late.outcome.cause = EndCause::timed_out;
  w.at(kNoon, {Clocked::failed(grants.at(0).token), late});
  const JobRange both = range(1, 2);
  const auto change = cancel_jobs(w.wf.tx, {&both, 1}, kNoon);
  EXPECT_EQ(change->changed[static_cast<std::size_t>(JobState::pending_failed)], 2U);
  EXPECT_EQ(w.wf.state(1), JobState::failed);
  EXPECT_EQ(w.wf.job(1).outcome.exit_code, 1);
  EXPECT_EQ(w.wf.state(2), JobState::terminated);
  EXPECT_EQ(w.wf.state(3), JobState::ready);
  EXPECT_EQ(cancel_jobs(w.wf.tx, {&both, 1}, kNoon)->total(), 0U);
  w.wf.check();
}

TEST(PendingFailed, the_end_is_counted_once) {
  Clocked w(undecided(1, Condition::afterok));
  const auto grant = w.at(kNoon).grants.at(0);
  w.at(kNoon, {Clocked::failed(grant.token)});
  const Answer again = w.at(kNoon, {Clocked::failed(grant.token)});
  ASSERT_EQ(again.refused.size(), 1U);
  EXPECT_EQ(again.refused[0].why, Refusal::finished);
}

TEST(PendingFailed, a_rule_that_is_for_the_end_has_the_word) {
  Plan plan = plan_with(every_code());
  plan.pending_failed = true;
  Clocked w(plan);
  auto grants = w.at(kNoon).grants;
  for (int n = 0; n < 3; ++n) grants = w.at(kNoon, {Clocked::failed(grants.at(0).token)}).grants;
  EXPECT_EQ(w.wf.state(1), JobState::failed);
}

TEST(PendingFailed, also_a_job_that_lost_too_many_workers_waits_for_a_decision) {
  Plan plan = plan_of({{1, 0}});
  plan.pending_failed = true;
  plan.templates.front().crash_limit = 1;
  Clocked w(plan);
  const auto grant = w.at(kNoon).grants.at(0);
  w.wf.start(w.worker, grant.token);
  ASSERT_TRUE(w.die().ok());
  EXPECT_EQ(w.wf.state(1), JobState::pending_failed);
}

TEST(PendingFailed, a_reset_forgets_it) {
  Clocked w(undecided(1, Condition::afterok));
  const auto grant = w.at(kNoon).grants.at(0);
  w.at(kNoon, {Clocked::failed(grant.token)});
  const JobRange one = range(1, 1);
  EXPECT_EQ(reset_jobs(w.wf.tx, {&one, 1}, Force::no, kNoon)->total(), 1U);
  EXPECT_EQ(w.wf.state(1), JobState::ready);
  w.wf.check();
}

}  // namespace
}  // namespace torc::claim
