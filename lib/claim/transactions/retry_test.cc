#include "lib/claim/scheduling/retry.h"

#include <gtest/gtest.h>

#include <utility>

#include "lib/claim/queries/queries.h"
#include "lib/claim/rules/transition.h"
#include "lib/claim/testing/test_retries.h"
#include "lib/claim/testing/test_workflow.h"
#include "lib/claim/transactions/live.h"
#include "lib/claim/transactions/override.h"
#include "lib/claim/transactions/reset.h"

namespace torc::claim {
namespace {

using std::chrono::seconds;

TEST(Retry, without_a_handler_a_failed_job_stays_failed) {
  Clocked c(plan_of({{1, 0}}));
  const auto grant = c.at(kNoon).grants.at(0);
  c.at(kNoon, {Clocked::failed(grant.token)});
  EXPECT_EQ(c.wf.state(1), JobState::failed);
}

TEST(Retry, a_job_is_tried_again_as_often_as_its_rule_says) {
  Clocked c(plan_with(every_code()));
  auto grants = c.at(kNoon).grants;
  for (int retry = 0; retry < 2; ++retry) {
    grants = c.at(kNoon, {Clocked::failed(grants.at(0).token)}).grants;
    ASSERT_EQ(grants.size(), 1U) << retry;
  }
  EXPECT_TRUE(c.at(kNoon, {Clocked::failed(grants.at(0).token)}).grants.empty());
  EXPECT_EQ(c.wf.state(1), JobState::failed);
  EXPECT_EQ(c.wf.job(1).attempt, 3U);
}

TEST(Retry, counts_that_cannot_be_read_are_not_taken_for_none) {
  Clocked c(plan_with(every_code()));
  c.at(kNoon, {Clocked::failed(c.at(kNoon).grants.at(0).token)});
  const Job running = c.wf.job(1);
  ASSERT_EQ(running.attempt, 2U);
  std::string& counts = c.wf.tx.entries.at(std::string(std::string_view(Key(Table::retries, 1))));
  const std::string whole = std::exchange(counts, "\xff");
  Exchange request;
  request.worker = c.worker;
  request.now = kNoon;
  request.finishes = {Clocked::failed(token_of(JobId{1}, running))};
  ++c.wf.tx.number;
  const auto before = c.wf.tx.entries;
  const auto answer = exchange(c.wf.tx, request);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().kind, ErrorKind::corrupt);
  c.wf.tx.entries = before;
  c.wf.tx.entries.at(std::string(std::string_view(Key(Table::retries, 1)))) = whole;
  c.wf.check();
}

TEST(Retry, what_a_person_lets_run_again_has_all_its_retries_again) {
  Clocked c(plan_with(every_code()));
  auto grants = c.at(kNoon).grants;
  for (int n = 0; n < 3; ++n) grants = c.at(kNoon, {Clocked::failed(grants.at(0).token)}).grants;
  ASSERT_EQ(c.wf.state(1), JobState::failed);
  const JobRange all = range(1, 1);
  ASSERT_TRUE(retry_jobs(c.wf.tx, {&all, 1}).ok());
  grants = c.at(kNoon).grants;
  for (int n = 0; n < 2; ++n) grants = c.at(kNoon, {Clocked::failed(grants.at(0).token)}).grants;
  EXPECT_EQ(grants.size(), 1U);
}

TEST(Retry, a_rule_with_a_script_counts_only_when_the_script_succeeded) {
  RetryRule rule = every_code();
  rule.script = "mend";
  Clocked c(plan_with(rule, 2));
  const auto grants = c.at(kNoon).grants;
  c.at(kNoon, {Clocked::failed(grants.at(0).token), Clocked::failed(grants.at(1).token, true)});
  EXPECT_EQ(c.wf.state(1), JobState::failed);
  EXPECT_TRUE(is_live(c.wf.state(2)));
}

TEST(Retry, a_delayed_job_is_granted_when_its_time_has_come_and_not_before) {
  RetryRule rule = every_code();
  rule.backoff = seconds(60);
  Clocked c(plan_with(rule));
  const auto grant = c.at(kNoon).grants.at(0);
  Answer answer = c.at(kNoon, {Clocked::failed(grant.token)});
  EXPECT_TRUE(answer.grants.empty());
  EXPECT_EQ(c.wf.state(1), JobState::delayed);
  EXPECT_FALSE(answer.workflow.finished());
  EXPECT_EQ(answer.next_due, seconds(60));
  answer = c.at(kNoon + seconds(59));
  EXPECT_TRUE(answer.grants.empty());
  EXPECT_EQ(answer.next_due, seconds(1));
  answer = c.at(kNoon + seconds(60));
  ASSERT_EQ(answer.grants.size(), 1U);
  EXPECT_EQ(answer.next_due, std::nullopt);
  c.at(kNoon + seconds(60), {Clocked::failed(answer.grants.front().token)});
  EXPECT_EQ(c.wf.job(1).delay, seconds(120));
}

TEST(Retry, a_delayed_job_keeps_no_other_waiting) {
  RetryRule rule = every_code();
  rule.backoff = seconds(60);
  Clocked c(plan_with(rule, 30));
  const auto grants = c.at(kNoon).grants;
  ASSERT_EQ(grants.size(), 10U);
  std::vector<Finished> finishes;
  for (const Grant& g : grants) finishes.push_back(Clocked::failed(g.token));
  EXPECT_EQ(ids(c.at(kNoon, finishes).grants).front(), 11U);
}

TEST(Retry, a_clock_that_is_far_ahead_shifts_a_delay_and_no_more) {
  RetryRule rule = every_code();
  rule.backoff = seconds(60);
  Clocked c(plan_with(rule));
  const auto grant = c.at(kNoon).grants.at(0);
  const WallTime wrong = kNoon + std::chrono::hours(24 * 365);
  c.at(wrong, {Clocked::failed(grant.token)});
  EXPECT_EQ(c.at(kNoon).grants.size(), 1U);
}

TEST(Retry, what_a_wrong_clock_wrote_is_found_behind_what_waits_rightly) {
  RetryRule rule = every_code();
  rule.backoff = seconds(60);
  Clocked c(plan_with(rule, 2));
  const auto grants = c.at(kNoon).grants;
  c.at(kNoon, {Clocked::failed(grants.at(0).token)});
  const WallTime wrong = kNoon + std::chrono::hours(24 * 365);
  Exchange request;  // one that asks for nothing, so that it makes nothing ready
  request.worker = c.worker;
  request.now = wrong;
  request.finishes = {Clocked::failed(grants.at(1).token)};
  ASSERT_TRUE(c.wf.say(request).ok());
  EXPECT_EQ(ids(c.at(kNoon + seconds(1)).grants), (std::vector<std::uint64_t>{2}));
  EXPECT_EQ(c.wf.state(1), JobState::delayed);
}

TEST(Retry, a_clock_that_is_behind_waits_at_most_twice_as_long) {
  EXPECT_FALSE(is_due(kNoon, seconds(60), kNoon - seconds(1)));
  EXPECT_FALSE(is_due(kNoon, seconds(60), kNoon - seconds(120)));
  EXPECT_TRUE(is_due(kNoon, seconds(60), kNoon - seconds(121)));
}

TEST(Retry, a_delayed_job_can_be_canceled_held_and_let_run_at_once) {
  RetryRule rule = every_code();
  rule.backoff = seconds(60);
  Clocked c(plan_with(rule, 3));
  std::vector<Finished> finishes;
  for (const Grant& g : c.at(kNoon).grants) finishes.push_back(Clocked::failed(g.token));
  c.at(kNoon, finishes);
  const JobRange first = range(1, 1);
  const JobRange second = range(2, 1);
  const JobRange third = range(3, 1);
  ++c.wf.tx.number;
  ASSERT_TRUE(cancel_jobs(c.wf.tx, {&first, 1}, kNoon).ok());
  ASSERT_TRUE(hold_jobs(c.wf.tx, {&second, 1}).ok());
  ASSERT_TRUE(retry_jobs(c.wf.tx, {&third, 1}).ok());
  c.wf.check();
  EXPECT_EQ(c.wf.state(1), JobState::canceled);
  EXPECT_EQ(c.wf.state(2), JobState::held);
  EXPECT_EQ(ids(c.at(kNoon).grants), (std::vector<std::uint64_t>{3}));
  ASSERT_TRUE(release_jobs(c.wf.tx, {&second, 1}, kNoon).ok());
  EXPECT_EQ(ids(c.at(kNoon).grants), (std::vector<std::uint64_t>{2}));
}

TEST(Retry, memory_grows_with_each_retry_up_to_the_ceiling) {
  RetryRule rule = every_code();
  rule.max_retries = 9;
  rule.memory_multiplier = 2;
  Plan plan = plan_with(rule);
  plan.classes.front().need.memory = mebibytes(2);
  Clocked c(plan);
  auto grants = c.at(kNoon).grants;
  for (const std::uint64_t expected : {4U, 6U, 6U}) {
    grants = c.at(kNoon, {Clocked::failed(grants.at(0).token)}).grants;
    ASSERT_EQ(grants.size(), 1U);
    EXPECT_EQ(read_class(c.wf.tx, grants.at(0).job_class).need.memory, mebibytes(expected));
  }
}

// The 1 MiB that is counted for a job without a declaration limits nothing, twice as much would.
TEST(Retry, memory_grows_only_where_some_was_declared) {
  RetryRule rule = every_code();
  rule.memory_multiplier = 2;
  Clocked c(plan_with(rule));
  const auto again = c.at(kNoon, {Clocked::failed(c.at(kNoon).grants.at(0).token)}).grants.at(0);
  EXPECT_EQ(read_class(c.wf.tx, again.job_class).need.memory, Requirement{}.memory);
}

Finished ended_by(EndCause cause, const ClaimToken& token) {
  const bool killed = cause == EndCause::timed_out;
  Finished f{token, killed ? JobState::terminated : JobState::failed, {}};
  f.outcome.cause = cause;
  f.outcome.exit_code = 137;
  return f;
}

TEST(Retry, what_runs_out_of_memory_at_the_ceiling_is_not_tried_again) {
  RetryRule rule = every_code();
  rule.max_retries = 9;
  rule.memory_multiplier = 2;
  Plan plan = plan_with(rule);
  plan.classes.front().need.memory = mebibytes(2);  // at most 6
  Clocked c(plan);
  auto grants = c.at(kNoon).grants;
  for (int attempt = 1; attempt <= 3; ++attempt) {
    ASSERT_EQ(grants.size(), 1U) << attempt;
    grants = c.at(kNoon, {ended_by(EndCause::out_of_memory, grants[0].token)}).grants;
  }
  EXPECT_TRUE(grants.empty());
  EXPECT_EQ(c.wf.state(1), JobState::failed);
  EXPECT_EQ(c.wf.job(1).attempt, 3U);
}

TEST(Retry, what_runs_out_of_time_at_the_ceiling_is_not_tried_again_and_other_ends_are) {
  RetryRule rule = every_code();
  rule.max_retries = 9;
  rule.runtime_multiplier = 3;
  Plan plan = plan_with(rule);
  plan.classes.front().need.runtime = seconds(100);
  Clocked c(plan);
  const auto again = c.at(kNoon, {Clocked::failed(c.at(kNoon).grants.at(0).token)}).grants;
  ASSERT_EQ(again.size(), 1U) << "more time is not what it wanted";
  c.at(kNoon, {ended_by(EndCause::timed_out, again[0].token)});
  EXPECT_EQ(c.wf.state(1), JobState::terminated);
}

TEST(Retry, a_rule_that_grows_nothing_has_no_ceiling) {
  Clocked c(plan_with(every_code()));
  auto grants = c.at(kNoon).grants;
  for (const auto cause : {EndCause::out_of_memory, EndCause::timed_out}) {
    grants = c.at(kNoon, {ended_by(cause, grants.at(0).token)}).grants;
    ASSERT_EQ(grants.size(), 1U);
  }
}

TEST(Retry, memory_grows_no_further_than_the_largest_worker_where_no_scheduler_says_more) {
  RetryRule rule = every_code();
  rule.memory_multiplier = 10;
  Plan plan = plan_with(rule);
  plan.classes.front().need.memory = mebibytes(2);
  plan.handlers.front().memory_ceiling = {};
  TestWorkflow wf(plan);
  WorkerInfo info;
  info.host = "big";
  info.memory = mebibytes(5);
  ++wf.tx.number;
  const WorkerEpoch worker = *register_worker(wf.tx, info);
  const auto grant = wf.claim(worker, 1).at(0);
  ASSERT_TRUE(wf.finish(worker, grant.token, JobState::failed).ok());
  const Rank rank = *read_rank(wf.tx, JobId{1});
  EXPECT_EQ(read_class(wf.tx, rank.job_class).need.memory, mebibytes(5));
}

TEST(Retry, a_runtime_grows_only_where_one_was_declared) {
  RetryRule rule = every_code();
  rule.runtime_multiplier = 3;
  for (const std::int64_t declared : {0, 40}) {
    Plan plan = plan_with(rule);
    plan.classes.front().need.runtime = seconds(declared);
    Clocked c(plan);
    const auto again = c.at(kNoon, {Clocked::failed(c.at(kNoon).grants.at(0).token)}).grants.at(0);
    EXPECT_EQ(read_class(c.wf.tx, again.job_class).need.runtime, seconds(declared == 0 ? 0 : 100));
  }
}

TEST(Retry, a_rule_on_node_death_decides_when_a_worker_is_lost) {
  RetryRule rule;
  rule.on = {FailureCause::node_death};
  rule.max_retries = 1;
  rule.memory_multiplier = 2;
  Plan plan = plan_with(rule);
  plan.classes.front().need.memory = mebibytes(2);
  Clocked c(plan);
  c.wf.start(c.worker, c.at(kNoon).grants.at(0).token);
  ASSERT_TRUE(*c.die());
  EXPECT_EQ(c.wf.state(1), JobState::ready);
  const auto grant = c.at(kNoon).grants.at(0);
  EXPECT_EQ(read_class(c.wf.tx, grant.job_class).need.memory, mebibytes(4));
  c.wf.start(c.worker, grant.token);
  ASSERT_TRUE(*c.die());
  EXPECT_EQ(c.wf.state(1), JobState::failed);
}

TEST(Retry, a_job_that_had_not_started_is_not_charged_for_the_loss_of_its_worker) {
  RetryRule rule;
  rule.on = {FailureCause::node_death};
  rule.max_retries = 0;
  Clocked c(plan_with(rule));
  ASSERT_EQ(c.at(kNoon).grants.size(), 1U);
  ASSERT_TRUE(*c.die());
  EXPECT_EQ(c.wf.state(1), JobState::ready);
}

TEST(Retry, a_job_may_have_a_crash_limit_of_its_own) {
  Plan plan = plan_of({{1, 0}});
  plan.templates.front().crash_limit = 2;
  Clocked c(plan);
  for (const JobState after : {JobState::ready, JobState::failed}) {
    c.wf.start(c.worker, c.at(kNoon).grants.at(0).token);
    ASSERT_TRUE(*c.die());
    EXPECT_EQ(c.wf.state(1), after);
  }
}

TEST(Retry, a_checkpoint_uses_nothing_up) {
  Clocked c(plan_with(every_code()));
  auto grants = c.at(kNoon).grants;
  for (int n = 0; n < 70; ++n) {
    Finished f{grants.at(0).token, JobState::ready, {}};
    f.outcome.cause = EndCause::exited;
    f.outcome.exit_code = 85;
    f.checkpointed = true;
    grants = c.at(kNoon, {f}).grants;
    ASSERT_EQ(grants.size(), 1U);
  }
  EXPECT_EQ(grants.at(0).stopped, 0U);
  c.wf.start(c.worker, grants.at(0).token);
  ASSERT_TRUE(*c.die());
  EXPECT_EQ(c.wf.state(1), JobState::ready);
}

TEST(Retry, a_checkpoint_that_nobody_asked_for_counts_as_a_stop) {
  Clocked c(plan_with(every_code()));
  Finished f{c.at(kNoon).grants.at(0).token, JobState::ready, {}};
  f.outcome.cause = EndCause::exited;
  f.outcome.exit_code = 85;
  const auto grants = c.at(kNoon, {f}).grants;
  ASSERT_EQ(grants.size(), 1U);
  EXPECT_EQ(grants.at(0).stopped, 1U);
}

TEST(Retry, nothing_more_is_claimed_after_so_many_failures) {
  Plan plan = plan_of({{30, 0}});
  plan.max_failures = 2;
  Clocked c(plan);
  const auto grants = c.at(kNoon).grants;
  EXPECT_EQ(c.at(kNoon, {Clocked::failed(grants.at(0).token)}).grants.size(), 10U);
  const Answer answer = c.at(kNoon, {Clocked::failed(grants.at(1).token)});
  EXPECT_TRUE(answer.grants.empty());
  EXPECT_TRUE(answer.workflow.halted());
  EXPECT_FALSE(answer.workflow.finished());  // others run
  const JobRange one = range(1, 1);
  ASSERT_TRUE(retry_jobs(c.wf.tx, {&one, 1}).ok());
  EXPECT_FALSE(c.at(kNoon).grants.empty());
}

TEST(Retry, a_reset_takes_a_delayed_job_back_behind_its_dependency) {
  RetryRule rule = every_code();
  rule.backoff = seconds(60);
  Plan plan = plan_of({{1, 0}, {1, 0}});
  plan.dependencies.push_back({{range(1, 1)}, {range(2, 1)}});
  plan.handlers.push_back({{rule}, {}, {}});
  plan.templates.back().handler = 1;
  Clocked c(plan);
  ASSERT_TRUE(c.wf.finish(c.worker, c.at(kNoon).grants.at(0).token).ok());
  c.at(kNoon, {Clocked::failed(c.at(kNoon).grants.at(0).token)});
  ASSERT_EQ(c.wf.state(2), JobState::delayed);
  const JobRange first = range(1, 1);
  ++c.wf.tx.number;
  ASSERT_TRUE(reset_jobs(c.wf.tx, {&first, 1}, Force::no, kNoon).ok());
  c.wf.check();
  EXPECT_EQ(c.wf.state(2), JobState::blocked);
}

// --- what verify finds ---

class VerifyRetries : public testing::Test {
 protected:
  VerifyRetries() {
    const auto grant = c.at(kNoon).grants.at(0);
    c.at(kNoon, {Clocked::failed(grant.token)});
    EXPECT_EQ(c.wf.state(1), JobState::delayed);
  }
  static Plan plan() {
    RetryRule rule = every_code();
    rule.backoff = seconds(60);
    return plan_with(rule);
  }
  void expect_wrong(const std::string& part) {
    const auto sound = verify_state(c.wf.tx);
    ASSERT_FALSE(sound.ok()) << "not found: " << part;
    EXPECT_NE(sound.error().what.find(part), std::string::npos) << sound.error().what;
  }
  Clocked c{plan()};
};

TEST_F(VerifyRetries, a_delayed_job_that_nobody_would_try_again_is_found) {
  c.wf.tx.erase(delayed_key(kNoon + seconds(60), 1));
  expect_wrong("a delayed job is not listed as such");
}

TEST_F(VerifyRetries, a_delayed_job_that_is_listed_at_another_time_is_found) {
  c.wf.tx.erase(delayed_key(kNoon + seconds(60), 1));
  c.wf.tx.put(delayed_key(kNoon + seconds(61), 1), {});
  expect_wrong("a job that is not delayed until then is listed");
}

TEST_F(VerifyRetries, a_handler_that_is_lost_is_found) {
  c.wf.tx.erase(Key(Table::handler, 1));
  expect_wrong("job 1 has no failure handler, and names one");
}

TEST_F(VerifyRetries, a_job_of_a_class_that_does_not_exist_is_found) {
  c.wf.tx.put(Key(Table::own_rank, 1), encode(Rank{77, 0}));
  expect_wrong("job 1 has no readable resource class of its own");
}

TEST_F(VerifyRetries, counts_and_terms_of_jobs_that_do_not_exist_are_found) {
  c.wf.tx.put(Key(Table::retries, 2), encode(RetryCounts{0, {1}}));
  expect_wrong("job 2 does not exist");
}

// Its class, and what a job of it needs.
ByteCount memory_of(Clocked& c, std::uint64_t id) {
  State state(c.wf.tx);
  return state.job_class(state.rank_of(id)->job_class).need.memory;
}

RetryRule learning() {
  RetryRule rule = every_code();
  rule.memory_multiplier = 2;
  rule.learn = true;
  return rule;
}

TEST(Retry, by_a_rule_that_learns_gives_the_others_of_the_template_as_much) {
  Plan plan = plan_with(learning(), 30);
  plan.classes.at(0).need.memory = mebibytes(2);
  plan.templates.push_back(plan.templates.front());
  plan.templates.back().first = JobId{31};
  plan.templates.back().count = 5;
  Clocked c(plan);
  const auto grants = c.at(kNoon).grants;
  ASSERT_EQ(grants.size(), 10U);
  const Answer answer = c.at(kNoon, {Clocked::failed(grants.at(3).token)});
  EXPECT_EQ(memory_of(c, 4), mebibytes(4)) << "the one that failed";
  EXPECT_EQ(memory_of(c, 3), mebibytes(2)) << "it runs";
  for (std::uint64_t id = 11; id <= 30; ++id) EXPECT_EQ(memory_of(c, id), mebibytes(4)) << id;
  for (std::uint64_t id = 31; id <= 35; ++id)
    EXPECT_EQ(memory_of(c, id), mebibytes(2)) << id << " is of another template";
  EXPECT_EQ(answer.grants.size(), 10U) << "what was taught is claimed like all else";
}

TEST(Retry, by_a_rule_that_does_not_learn_gives_nobody_else_more) {
  RetryRule rule = learning();
  rule.learn = false;
  Plan plan = plan_with(rule, 30);
  plan.classes.at(0).need.memory = mebibytes(2);
  Clocked c(plan);
  c.at(kNoon, {Clocked::failed(c.at(kNoon).grants.at(0).token)});
  EXPECT_EQ(memory_of(c, 20), mebibytes(2));
}

TEST(Retry, teaches_a_bounded_number_of_jobs_by_one_failure_and_the_next_by_another) {
  Plan plan = plan_with(learning(), 5'000);
  plan.classes.at(0).need.memory = mebibytes(2);
  Clocked c(plan);
  const auto grants = c.at(kNoon).grants;
  c.at(kNoon, {Clocked::failed(grants.at(0).token), Clocked::failed(grants.at(1).token)});
  EXPECT_EQ(memory_of(c, 1'001), mebibytes(4));
  EXPECT_EQ(memory_of(c, 1'002), mebibytes(2));
  std::optional<ClaimToken> untaught;
  for (int n = 0; n < 200 && !untaught; ++n) {
    for (const Grant& g : c.at(kNoon).grants) {
      if (!untaught && raw(g.token.job) > 1'001) untaught = g.token;
    }
  }
  ASSERT_TRUE(untaught.has_value());
  EXPECT_EQ(memory_of(c, 1'500), mebibytes(2));
  c.at(kNoon, {Clocked::failed(*untaught)});
  EXPECT_EQ(memory_of(c, 1'500), mebibytes(4));
}

TEST(Retry, a_job_that_a_person_has_given_other_terms_keeps_them) {
  Plan plan = plan_with(learning(), 12);
  plan.classes.at(0).need.memory = mebibytes(2);
  Clocked c(plan);
  const auto grants = c.at(kNoon).grants;
  Setting setting;
  setting.needs = {{"cpus", 3}, {"memory", mebibytes(1).value + 1}};
  const JobRange one = range(11, 1);
  ASSERT_TRUE(set_jobs(c.wf.tx, {&one, 1}, setting).ok());
  c.at(kNoon, {Clocked::failed(grants.at(0).token)});
  EXPECT_EQ(memory_of(c, 11), ByteCount{mebibytes(1).value + 1});
  EXPECT_EQ(memory_of(c, 12), mebibytes(4));
}

}  // namespace
}  // namespace torc::claim
