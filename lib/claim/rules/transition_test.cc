#include "lib/claim/rules/transition.h"

#include <gtest/gtest.h>

namespace torc::claim {
namespace {

constexpr WorkerEpoch kAda{3};
constexpr WorkerEpoch kBob{4};
constexpr WallTime kNow{1000};

Job claimed() {
  Job job;
  job.state = JobState::ready;
  return claim(job, kAda, 7, kNow);
}
Job running() {
  return std::get<Job>(start(claimed(), kAda, {{JobId{1}, 1, 7}, kNow}));
}

Finished end(std::uint32_t attempt, std::uint64_t sequence, JobState state = JobState::completed) {
  Finished f;
  f.token = {JobId{1}, attempt, sequence};
  f.state = state;
  return f;
}

bool is_refused(const Decision& decision, Refusal why) {
  const auto* refusal = std::get_if<Refusal>(&decision);
  return refusal != nullptr && *refusal == why;
}

TEST(Transition, the_end_of_an_allocation_is_no_fault_of_the_job) {
  Finished cut = end(1, 7, JobState::ready);
  cut.outcome.cause = EndCause::allocation_ended;
  const Decision decision = finish(running(), kAda, cut);
  ASSERT_TRUE(std::holds_alternative<Job>(decision));
  EXPECT_EQ(std::get<Job>(decision).stopped, 1U);
}

TEST(Transition, a_loss_says_how_the_worker_was_lost) {
  EXPECT_EQ(lose(running(), 5, kNow).outcome.cause, EndCause::worker_lost);
  EXPECT_EQ(lose(running(), 5, kNow, EndCause::lease_lost).outcome.cause, EndCause::lease_lost);
  EXPECT_EQ(lose(running(), 5, kNow, EndCause::allocation_ended).lost, 1U)
      << "a job that takes its allocation with it must not do so for ever";
}

TEST(Transition, a_worker_that_only_fell_silent_was_not_crashed_by_its_job) {
  Job job = lose(running(), 1, kNow, EndCause::lease_lost);
  EXPECT_EQ(job.state, JobState::ready);
  EXPECT_EQ(job.lost, 0U);
  EXPECT_FALSE(is_suspect(job));
  job = lose(claim(job, kAda, 8, kNow), 1, kNow, EndCause::lease_lost);
  EXPECT_TRUE(is_suspect(job)) << "the second silence with the same job";
  job = lose(claim(job, kAda, 9, kNow), 1, kNow, EndCause::lease_lost);
  EXPECT_EQ(job.state, JobState::failed) << "it ran alone";
}

TEST(Transition, a_job_that_its_worker_died_with_is_a_suspect_until_it_ends) {
  Job job = lose(claimed(), 2, kNow);
  ASSERT_TRUE(is_suspect(job)) << "its start may be untold";
  job = claim(job, kBob, 8, kNow);
  EXPECT_FALSE(is_suspect(std::get<Job>(finish(job, kBob, end(2, 8, JobState::ready)))));
  Finished unstarted = end(2, 8, JobState::ready);
  unstarted.outcome.cause = EndCause::not_started;
  EXPECT_TRUE(is_suspect(std::get<Job>(finish(job, kBob, unstarted))));
  EXPECT_FALSE(is_suspect(retry(cancel(lose(job, 9, kNow), kNow))));
}

TEST(Transition, what_ends_under_a_live_worker_was_charged_wrongly) {
  const Job once = claim(lose(running(), 3, kNow), kBob, 8, kNow);
  ASSERT_EQ(once.lost, 1U);
  EXPECT_EQ(std::get<Job>(finish(once, kBob, end(2, 8, JobState::ready))).lost, 0U);
  Finished unstarted = end(2, 8, JobState::ready);
  unstarted.outcome.cause = EndCause::not_started;
  EXPECT_EQ(std::get<Job>(finish(once, kBob, unstarted)).lost, 1U) << "it has shown nothing";
}

TEST(Transition, a_loss_counts_against_a_suspect_from_its_claim_on) {
  const Job job = claim(lose(claimed(), 3, kNow), kBob, 8, kNow);
  EXPECT_EQ(lose(job, 3, kNow).lost, 1U) << "its start may be untold";
  EXPECT_EQ(lose(job, 3, kNow, EndCause::lease_lost).lost, 1U);
}

TEST(Transition, a_suspect_that_was_never_started_is_given_back_as_if_it_had_not_been_claimed) {
  const Job before = lose(claimed(), 3, kNow);
  const Job after = std::get<Job>(
      give_back(claim(before, kBob, 8, kNow), kBob, {JobId{1}, 2, 8}, kNow + WallTime(9)));
  EXPECT_EQ(after.stopped, 0U);
  EXPECT_EQ(after.attempt, before.attempt);
  EXPECT_EQ(after.outcome, before.outcome);
  EXPECT_TRUE(is_suspect(after));
}

TEST(Transition, a_suspect_with_one_chance_left_is_to_be_entirely_alone) {
  EXPECT_EQ(alone(lose(claimed(), 3, kNow)), Alone::among_suspects);
  EXPECT_EQ(alone(lose(claimed(), 0, kNow)), Alone::among_suspects) << "there is no limit";
  EXPECT_EQ(alone(lose(claimed(), 1, kNow)), Alone::entirely);
  const Job once = lose(running(), 3, kNow);
  EXPECT_EQ(alone(once), Alone::among_suspects);
  EXPECT_EQ(alone(lose(claim(once, kBob, 8, kNow), 3, kNow)), Alone::entirely);
  EXPECT_EQ(alone(lose(running(), 3, kNow, EndCause::lease_lost)), Alone::no);
}

TEST(Transition, what_is_cut_off_with_its_allocation_is_no_suspect_and_is_given_up_at_last) {
  Job job = running();
  for (std::uint32_t times = 1; times < kMostStops; ++times) {
    job = cut_off(job, 1, kNow + WallTime(5));
    EXPECT_EQ(job.state, JobState::ready);
    EXPECT_EQ(job.stopped, times);
    EXPECT_EQ(job.lost, 0U);
    EXPECT_EQ(job.suspicion, Suspicion::none);
    EXPECT_EQ(job.outcome.cause, EndCause::allocation_ended);
    EXPECT_EQ(job.outcome.started_at, kNow);
    const std::uint32_t attempt = job.attempt + 1;
    job = claim(job, kAda, 7 + times, kNow);
    job = std::get<Job>(start(job, kAda, {{JobId{1}, attempt, 7 + times}, kNow}));
  }
  EXPECT_EQ(cut_off(job, 9, kNow).state, JobState::terminated) << "it may fit into none";
}

TEST(Transition, what_was_retried_often_is_not_unheard_of_while_it_is_seen_to_run) {
  Job job = running();
  job.attempt = kUnheard;
  EXPECT_EQ(cut_off(job, 1, kNow).state, JobState::ready);
  job.state = JobState::claimed;
  EXPECT_EQ(cut_off(job, 1, kNow).state, JobState::failed);
}

TEST(Transition, what_is_cut_off_before_it_started_is_not_counted_and_goes_on_but_not_for_ever) {
  Job job = cut_off(claimed(), 2, kNow);
  EXPECT_EQ(job.state, JobState::ready);
  EXPECT_EQ(job.stopped, 0U);
  job = claimed();
  job.attempt = 2 * kUnheard;
  EXPECT_EQ(cut_off(job, 2, kNow).state, JobState::failed);
  EXPECT_EQ(cut_off(job, 0, kNow).state, JobState::ready);
}

TEST(Transition, however_fast_it_kills_a_job_has_one_loss_more_than_its_limit_at_most) {
  Job job;
  job.state = JobState::ready;
  std::uint64_t sequence = 1;
  while (job.state == JobState::ready) job = lose(claim(job, kAda, ++sequence, kNow), 2, kNow);
  EXPECT_EQ(job.state, JobState::failed);
  EXPECT_EQ(job.attempt, 3U);
}

TEST(Transition, a_claim_makes_a_token_of_its_own) {
  const Job job = claimed();
  EXPECT_EQ(job.state, JobState::claimed);
  EXPECT_EQ(token_of(JobId{1}, job), (ClaimToken{JobId{1}, 1, 7}));
}

TEST(Transition, every_part_of_the_token_counts) {
  EXPECT_TRUE(is_refused(finish(running(), kAda, end(2, 7)), Refusal::superseded));
  EXPECT_TRUE(is_refused(finish(running(), kAda, end(1, 8)), Refusal::superseded));
  EXPECT_TRUE(is_refused(finish(running(), kBob, end(1, 7)), Refusal::superseded));
  EXPECT_TRUE(std::holds_alternative<Job>(finish(running(), kAda, end(1, 7))));
}

TEST(Transition, a_job_finishes_once) {
  const Job done = std::get<Job>(finish(running(), kAda, end(1, 7)));
  EXPECT_TRUE(is_refused(finish(done, kAda, end(1, 7)), Refusal::finished));
}

TEST(Transition, a_job_that_nobody_claimed_has_no_token) {
  Job job;
  job.state = JobState::ready;
  EXPECT_TRUE(is_refused(finish(job, WorkerEpoch{}, end(0, 0)), Refusal::superseded));
}

TEST(Transition, a_job_may_finish_before_its_start_was_reported) {
  const Job done = std::get<Job>(finish(claimed(), kAda, end(1, 7, JobState::failed)));
  EXPECT_EQ(done.state, JobState::failed);
}

TEST(Transition, a_start_told_twice_changes_nothing) {
  EXPECT_TRUE(std::holds_alternative<Unchanged>(
      start(running(), kAda, {{JobId{1}, 1, 7}, kNow + WallTime(1)})));
}

TEST(Transition, a_canceled_job_must_not_start) {
  Job job = claimed();
  job.state = JobState::canceled;
  EXPECT_TRUE(is_refused(start(job, kAda, {{JobId{1}, 1, 7}, kNow}), Refusal::canceled));
}

TEST(Transition, a_job_canceled_while_it_ran_is_over_only_when_its_worker_says_so) {
  const Job canceled = cancel(running(), kNow + WallTime(5));
  EXPECT_EQ(canceled.state, JobState::canceled);
  EXPECT_EQ(canceled.revoked, Revoked::ending);
  EXPECT_EQ(canceled.outcome.cause, EndCause::canceled);
  EXPECT_EQ(canceled.outcome.started_at, running().outcome.started_at);
  EXPECT_TRUE(is_revoked(canceled, {JobId{1}, 1, 7}, kAda));
  EXPECT_FALSE(is_revoked(canceled, {JobId{1}, 1, 7}, kBob));
  EXPECT_FALSE(is_revoked(canceled, {JobId{1}, 1, 8}, kAda));
  const Job again = retry(canceled);
  EXPECT_EQ(again.state, JobState::canceled);
  EXPECT_EQ(ended(again, nullptr).state, JobState::ready);
  EXPECT_EQ(ended(canceled, nullptr).state, JobState::canceled);
  EXPECT_EQ(ended(canceled, nullptr).revoked, Revoked::no);
}

TEST(Transition, a_retry_forgives_the_attempts_and_losses_so_far) {
  Job job = lose(running(), 1, kNow);
  job = retry(job);
  EXPECT_EQ(job.state, JobState::ready);
  EXPECT_EQ(job.attempt, 1U);
  EXPECT_EQ(job.forgiven, 1U);
  EXPECT_EQ(job.lost, 0U);
  EXPECT_EQ(job.outcome.cause, EndCause::worker_lost);
  EXPECT_EQ(retry(cancel(Job{}, kNow)), release(Job{})) << "never begun: nothing is left of it";
}

TEST(Transition, a_claim_given_back_leaves_no_trace_but_a_start_does) {
  Job untouched;
  untouched.state = JobState::ready;
  EXPECT_EQ(std::get<Job>(give_back(claimed(), kAda, {JobId{1}, 1, 7}, kNow)), untouched);
  const Job stopped = std::get<Job>(give_back(running(), kAda, {JobId{1}, 1, 7}, kNow));
  EXPECT_EQ(stopped.attempt, 1U);
  EXPECT_EQ(stopped.outcome.cause, EndCause::stopped);
  EXPECT_TRUE(is_refused(give_back(stopped, kAda, {JobId{1}, 1, 7}, kNow), Refusal::superseded));
}

TEST(Transition, the_outcome_of_the_attempt_before_stays_until_the_next_one_starts) {
  Job job = std::get<Job>(finish(running(), kAda, end(1, 7, JobState::ready)));
  job.outcome.exit_code = 3;
  job = claim(job, kBob, 9, kNow);
  EXPECT_EQ(job.outcome.exit_code, 3);
  EXPECT_EQ(std::get<Job>(start(job, kBob, {{JobId{1}, 2, 9}, kNow})).outcome.exit_code, -1);
}

TEST(Transition, the_loss_of_workers_is_counted_up_to_the_limit) {
  EXPECT_EQ(lose(running(), 2, kNow).state, JobState::ready);
  EXPECT_EQ(lose(running(), 2, kNow).lost, 1U);
  EXPECT_EQ(lose(running(), 1, kNow).state, JobState::failed);
  EXPECT_EQ(lose(running(), 0, kNow).state, JobState::ready);
  EXPECT_EQ(lose(running(), 2, kNow).outcome.started_at, kNow);
}

TEST(Transition, a_job_that_was_only_claimed_is_not_charged_with_the_loss_of_its_worker) {
  const Job lost = lose(claimed(), 1, kNow);
  EXPECT_EQ(lost.state, JobState::ready);
  EXPECT_EQ(lost.lost, 0U);
  EXPECT_EQ(lost.attempt, 1U) << "it may have started unheard of";
  EXPECT_EQ(lost.outcome.cause, EndCause::worker_lost);
}

TEST(Transition, a_job_that_takes_its_workers_with_it_unheard_of_is_given_up_at_last) {
  Job job = claimed();
  job.attempt = 2 * kUnheard - 1;
  EXPECT_EQ(lose(job, 2, kNow).state, JobState::ready);
  ++job.attempt;
  EXPECT_EQ(lose(job, 2, kNow).state, JobState::failed);
  EXPECT_EQ(lose(job, 0, kNow).state, JobState::ready);
}

TEST(Transition, stops_are_counted_apart_from_losses) {
  Finished stopped = end(1, 7, JobState::ready);
  stopped.outcome.cause = EndCause::stopped;
  Job job = std::get<Job>(finish(running(), kAda, stopped));
  EXPECT_EQ(job.stopped, 1U);
  EXPECT_EQ(job.lost, 0U);
  EXPECT_EQ(std::get<Job>(give_back(running(), kAda, {JobId{1}, 1, 7}, kNow)).stopped, 1U);
  EXPECT_EQ(lose(running(), 5, kNow).stopped, 0U);
  stopped.outcome.cause = EndCause::exited;
  EXPECT_EQ(std::get<Job>(finish(running(), kAda, stopped)).stopped, 1U) << "nobody asked it to";
  stopped.checkpointed = true;
  EXPECT_EQ(std::get<Job>(finish(running(), kAda, stopped)).stopped, 0U);
}

}  // namespace
}  // namespace torc::claim
