// Jobs that are recovered without a person: in the commit in which their end is reported.
#include "lib/claim/rules/recovery.h"

#include <gtest/gtest.h>

#include "lib/claim/queries/queries.h"
#include "lib/claim/queries/retry_counts.h"
#include "lib/claim/testing/test_retries.h"
#include "lib/claim/transactions/live.h"

namespace torc::claim {
namespace {

using std::chrono::seconds;

// Jobs of 100 MiB, of which no more than 1 GiB is to be had.
Plan recovering_plan(std::uint64_t jobs = 1) {
  Plan plan = plan_of({{jobs, 0}});
  plan.classes.front().need.memory = mebibytes(100);
  Handler& handler = plan.handlers.emplace_back();
  handler.memory_ceiling = mebibytes(1024);
  handler.recoveries = 3;
  plan.templates.front().handler = 1;
  return plan;
}

Finished out_of_memory(const ClaimToken& token) {
  Finished f{token, JobState::failed, {}};
  f.outcome.cause = EndCause::out_of_memory;
  f.outcome.exit_code = 137;
  return f;
}
Finished exited_saying(const ClaimToken& token, Trouble said) {
  Finished f = Clocked::failed(token);
  f.said = said;
  return f;
}
std::uint32_t recoveries_of(const Clocked& c, std::uint64_t id) {
  return read_retries(c.wf.tx, JobId{id}, c.wf.job(id)).recoveries;
}

TEST(RecoveredJob, gets_more_of_what_it_ran_out_of_and_runs_again_in_the_same_commit) {
  Clocked c(recovering_plan());
  const Grant first = c.at(kNoon).grants.at(0);
  const auto answer = c.at(kNoon, {out_of_memory(first.token)});
  ASSERT_EQ(answer.grants.size(), 1U);
  EXPECT_EQ(read_class(c.wf.tx, answer.grants[0].job_class).need.memory, mebibytes(192));
  EXPECT_EQ(c.wf.job(1).attempt, 2U);
  EXPECT_EQ(recoveries_of(c, 1), 1U);
  EXPECT_EQ(answer.workflow.of(JobState::failed), 0U) << "nobody ever saw it failed";
}

TEST(RecoveredJob, is_so_no_oftener_than_the_workflow_says_and_anew_after_a_retry) {
  Plan plan = recovering_plan();
  plan.classes.front().need.memory = mebibytes(10);  // which has room to grow
  Clocked c(plan);
  for (int round = 0; round < 2; ++round) {
    auto grants = c.at(kNoon).grants;
    for (int n = 0; n < 3; ++n) {
      grants = c.at(kNoon, {out_of_memory(grants.at(0).token)}).grants;
      ASSERT_EQ(grants.size(), 1U) << n;
    }
    EXPECT_TRUE(c.at(kNoon, {out_of_memory(grants.at(0).token)}).grants.empty());
    EXPECT_EQ(c.wf.state(1), JobState::failed);
    EXPECT_EQ(recoveries_of(c, 1), 3U);
    if (round > 0) return;
    ++c.wf.tx.number;
    const JobRange all[] = {range(1, 1)};
    ASSERT_TRUE(retry_jobs(c.wf.tx, all).ok());
  }
}

TEST(RecoveredJob, is_none_that_failed_for_its_own_error_or_for_what_has_to_be_mended) {
  for (const Trouble said : {Trouble::unknown, Trouble::mend}) {
    Clocked c(recovering_plan());
    c.at(kNoon, {exited_saying(c.at(kNoon).grants.at(0).token, said)});
    EXPECT_EQ(c.wf.state(1), JobState::failed) << to_string(said);
    EXPECT_EQ(recoveries_of(c, 1), 0U);
  }
}

TEST(RecoveredJob, waits_where_it_failed_for_what_may_be_back_a_little_later) {
  Clocked c(recovering_plan());
  const auto failed = exited_saying(c.at(kNoon).grants.at(0).token, Trouble::transient);
  EXPECT_TRUE(c.at(kNoon, {failed}).grants.empty());
  EXPECT_EQ(c.wf.state(1), JobState::delayed);
  EXPECT_TRUE(c.at(kNoon + seconds(29)).grants.empty());
  EXPECT_EQ(c.at(kNoon + seconds(30)).grants.size(), 1U);
}

TEST(RecoveredJob, is_so_once_for_one_end_however_often_and_by_whomever_it_is_told) {
  Clocked c(recovering_plan());
  const Finished end = out_of_memory(c.at(kNoon).grants.at(0).token);
  const WorkerEpoch other = c.wf.join();
  c.at(kNoon, {end, end});
  EXPECT_EQ(recoveries_of(c, 1), 1U);
  for (const WorkerEpoch teller : {c.worker, other}) {
    Exchange again;
    again.worker = teller;
    again.now = kNoon;
    again.finishes = {end};
    const auto answer = c.wf.say(again);
    ASSERT_TRUE(answer.ok());
    EXPECT_EQ(answer->refused.size(), 1U);
  }
  EXPECT_EQ(recoveries_of(c, 1), 1U);
  EXPECT_EQ(c.wf.job(1).attempt, 2U);
}

// It has looked at the output, and dies before its commit: to the store the job still runs.
TEST(RecoveredJob, loses_no_recovery_by_a_worker_that_dies_before_it_has_told) {
  Clocked c(recovering_plan());
  c.wf.start(c.worker, c.at(kNoon).grants.at(0).token);
  ASSERT_TRUE(*c.die());
  EXPECT_EQ(c.wf.state(1), JobState::ready);
  EXPECT_EQ(recoveries_of(c, 1), 0U);
  c.at(kNoon, {out_of_memory(c.at(kNoon).grants.at(0).token)});
  EXPECT_EQ(recoveries_of(c, 1), 1U);
  EXPECT_EQ(c.wf.job(1).attempt, 3U);
}

TEST(RecoveredJob, may_lose_one_worker_more_for_each_recovery_and_no_other) {
  Plan plan = recovering_plan();
  plan.templates.front().crash_limit = 1;
  Clocked c(plan);
  for (std::uint32_t n = 1; n <= 3; ++n) {
    c.wf.start(c.worker, c.at(kNoon).grants.at(0).token);
    ASSERT_TRUE(*c.die());
    ASSERT_EQ(c.wf.state(1), JobState::ready) << n;
    EXPECT_EQ(recoveries_of(c, 1), n);
    EXPECT_EQ(c.wf.job(1).lost, n) << "it stays suspected";
  }
  c.wf.start(c.worker, c.at(kNoon).grants.at(0).token);
  ASSERT_TRUE(*c.die());
  EXPECT_EQ(c.wf.state(1), JobState::failed);
}

TEST(RecoveredJob, is_left_to_a_rule_of_its_handler_that_is_for_the_end) {
  Plan plan = recovering_plan();
  RetryRule rule;
  rule.on = {FailureCause::oom};
  rule.max_retries = 1;
  plan.handlers.front().rules.push_back(rule);
  Clocked c(plan);
  const auto again = c.at(kNoon, {out_of_memory(c.at(kNoon).grants.at(0).token)}).grants;
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(read_class(c.wf.tx, again[0].job_class).need.memory, mebibytes(100));
  c.at(kNoon, {out_of_memory(again[0].token)});
  EXPECT_EQ(c.wf.state(1), JobState::failed) << "the rule has no retry left";
  EXPECT_EQ(recoveries_of(c, 1), 0U);
}

TEST(RecoveredJob, waits_for_a_person_only_when_it_is_recovered_no_more) {
  Plan plan = recovering_plan(2);
  plan.pending_failed = true;
  Clocked c(plan);
  const auto grants = c.at(kNoon).grants;
  ASSERT_EQ(grants.size(), 2U);
  c.at(kNoon, {out_of_memory(grants[0].token), Clocked::failed(grants[1].token)});
  EXPECT_EQ(c.wf.state(1), JobState::claimed);
  EXPECT_EQ(c.wf.state(2), JobState::pending_failed);
}

TEST(RecoveredJob, has_failed_when_it_has_all_that_there_is) {
  Plan plan = recovering_plan();
  plan.classes.front().need.memory = mebibytes(1024);
  Clocked c(plan);
  c.at(kNoon, {out_of_memory(c.at(kNoon).grants.at(0).token)});
  EXPECT_EQ(c.wf.state(1), JobState::failed);
}

// What follows a failure for good does not follow one that is recovered.
TEST(RecoveredJob, does_not_set_off_what_waits_for_its_failure) {
  Plan plan = recovering_plan();
  plan.templates.push_back(plan.templates.front());
  plan.templates[1].first = JobId{2};
  DependencySet rescue;
  rescue.conditional = {{range(1, 1), Condition::afternotok}};
  rescue.members = {range(2, 1)};
  plan.dependencies.push_back(rescue);
  Clocked c(plan);
  c.at(kNoon, {out_of_memory(c.at(kNoon).grants.at(0).token)});
  EXPECT_EQ(c.wf.state(2), JobState::blocked);
}

TEST(RetryCounts, of_a_store_of_before_say_nothing_of_recoveries) {
  const std::string before = encode(RetryCounts{2, {1, 4}, 0});
  const auto read = decode_retries(before);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->recoveries, 0U);
  const std::string with = encode(RetryCounts{2, {1, 4}, 2});
  EXPECT_EQ(with, before + std::string(1, '\x02'));
  EXPECT_EQ(decode_retries(with)->recoveries, 2U);
  EXPECT_FALSE(decode_retries(before + std::string(1, '\0')));
}

}  // namespace
}  // namespace torc::claim
