#include <gtest/gtest.h>

#include "lib/claim/queries/workers.h"
#include "lib/claim/testing/test_workflow.h"
#include "lib/claim/transactions/live.h"

namespace torc::claim {
namespace {

using Ids = std::vector<std::uint64_t>;

Result<bool> expire(TestWorkflow& wf, WorkerEpoch worker, std::uint32_t crash_limit) {
  const std::uint64_t observed = read_worker(wf.tx, worker)->renewals;
  ++wf.tx.number;
  auto expired = expire_worker(wf.tx, worker, observed, kNoon, crash_limit);
  wf.check();
  return expired;
}

TEST(Worker, a_lost_worker_s_jobs_run_again_with_their_attempt_used_up) {
  TestWorkflow wf(plan_of({{4, 0}}));
  const WorkerEpoch w = wf.join();
  const auto grants = wf.claim(w, 3);
  wf.start(w, grants[0].token);
  ASSERT_TRUE(*expire(wf, w, 5));
  EXPECT_EQ(wf.job(1).state, JobState::ready);
  EXPECT_EQ(wf.job(1).attempt, 1U);
  EXPECT_EQ(wf.job(1).lost, 1U);
  EXPECT_EQ(wf.job(2).lost, 0U) << "it had not started";
  EXPECT_EQ(wf.job(1).outcome.cause, EndCause::worker_lost);
  EXPECT_EQ(read_worker(wf.tx, w)->status, WorkerStatus::expired);
  ASSERT_TRUE(*expire(wf, wf.join(), 5));
  EXPECT_EQ(wf.state(4), JobState::ready);
}

TEST(Worker, suspects_have_a_worker_to_themselves_and_innocent_ones_are_suspects_no_more) {
  TestWorkflow wf(plan_of({{6, 0}}));
  const WorkerEpoch w = wf.join();
  wf.start(w, wf.claim(w, 2)[0].token);
  ASSERT_TRUE(*expire(wf, w, 5));
  const WorkerEpoch busy = wf.join();
  const WorkerEpoch idle = wf.join();
  const auto alone = wf.claim(idle, TestWorkflow::offer(4));
  ASSERT_EQ(ids(alone), (Ids{1})) << "and nothing beside it, nor ahead";
  EXPECT_TRUE(alone[0].alone);
  EXPECT_EQ(alone[0].lost, 1U);
  const auto second = wf.claim(busy, 4);
  ASSERT_EQ(ids(second), (Ids{2}));
  ASSERT_TRUE(wf.finish(busy, second[0].token, JobState::ready).ok());
  EXPECT_FALSE(is_suspect(wf.job(2)));
  EXPECT_EQ(ids(wf.claim(busy, 4)), (Ids{2, 3, 4, 5}));
  EXPECT_EQ(wf.finish(idle, alone[0].token)->workflow.of(JobState::completed), 1U);
}

// Three suspects, 1-3, and as many others.
struct Aftermath {
  Aftermath() {
    const WorkerEpoch w = wf.join();
    (void)wf.claim(w, 3);
    EXPECT_TRUE(*expire(wf, w, 5));
  }
  TestWorkflow wf{plan_of({{6, 0}})};
};

TEST(Worker, suspects_are_granted_one_by_one_beside_others_that_have_outlived_their_probation) {
  Aftermath after;
  const WorkerEpoch w = after.wf.join();
  // A worker asks only when the newest one has.
  EXPECT_EQ(ids(after.wf.claim(w, 4)), (Ids{1}));
  EXPECT_EQ(ids(after.wf.claim(w, 4)), (Ids{2}));
  EXPECT_EQ(ids(after.wf.claim(w, 4)), (Ids{3}));
  EXPECT_EQ(ids(after.wf.claim(w, 2)), (Ids{4, 5})) << "and others come after them";
}

TEST(Worker, no_suspect_is_granted_beside_what_is_none) {
  Aftermath after;
  const WorkerEpoch w = after.wf.join();
  const auto first = after.wf.claim(w, 1);
  ASSERT_EQ(ids(first), (Ids{1}));
  ASSERT_TRUE(after.wf.finish(w, first[0].token, JobState::ready).ok());  // innocent
  EXPECT_EQ(ids(after.wf.claim(w, 2)), (Ids{1, 4})) << "2 may kill, and 1 would be lost with it";
  EXPECT_EQ(ids(after.wf.claim(w, 2)), (Ids{5, 6}));
  EXPECT_EQ(ids(after.wf.claim(after.wf.join(), 2)), (Ids{2}));
}

TEST(Worker, the_suspect_that_was_granted_last_is_the_prime_one_and_waits_for_an_empty_worker) {
  Aftermath after;
  TestWorkflow& wf = after.wf;
  const WorkerEpoch w = wf.join();
  for (int i = 0; i < 3; ++i) (void)wf.claim(w, 4);
  ASSERT_TRUE(*expire(wf, w, 5));
  EXPECT_EQ(wf.job(1).suspicion, Suspicion::suspect);
  EXPECT_EQ(wf.job(2).suspicion, Suspicion::suspect);
  EXPECT_EQ(wf.job(3).suspicion, Suspicion::prime) << "the others had outlived their probation";
  const WorkerEpoch next = wf.join();
  EXPECT_EQ(ids(wf.claim(next, 4)), (Ids{1}));
  EXPECT_EQ(ids(wf.claim(next, 4)), (Ids{2}));
  EXPECT_EQ(ids(wf.claim(next, 1)), (Ids{4})) << "3 would take 1 and 2 with it";
  const auto prime = wf.claim(wf.join(), 4);
  ASSERT_EQ(ids(prime), (Ids{3}));
  EXPECT_TRUE(prime[0].alone);
  EXPECT_EQ(wf.job(3).attempt, 3U);
}

TEST(Worker, a_suspect_that_comes_back_unstarted_has_not_been_stopped) {
  Aftermath after;
  const WorkerEpoch w = after.wf.join();
  Exchange back;
  back.worker = w;
  back.returns = {after.wf.claim(w, 4)[0].token};
  ASSERT_TRUE(after.wf.say(back).ok());
  EXPECT_EQ(after.wf.job(1).attempt, 1U);
  EXPECT_EQ(after.wf.job(1).stopped, 0U);
  EXPECT_EQ(after.wf.job(1).outcome.cause, EndCause::worker_lost);
}

TEST(Worker, of_a_worker_that_was_cut_off_no_job_is_a_suspect) {
  TestWorkflow wf(plan_of({{2, 0}}));
  const WorkerEpoch w = wf.join();
  wf.start(w, wf.claim(w, 2)[0].token);
  const std::uint64_t observed = read_worker(wf.tx, w)->renewals;
  ++wf.tx.number;
  ASSERT_TRUE(
      *expire_worker(wf.tx, w, observed, kNoon, 1, EndCause::allocation_ended, {}, Charge::stop));
  wf.check();
  for (const std::uint64_t id : {1, 2}) {
    EXPECT_EQ(wf.state(id), JobState::ready);
    EXPECT_EQ(wf.job(id).suspicion, Suspicion::none);
    EXPECT_EQ(wf.job(id).outcome.cause, EndCause::allocation_ended);
  }
  EXPECT_EQ(wf.job(1).stopped, 1U);
  EXPECT_EQ(wf.job(2).stopped, 0U);
  EXPECT_EQ(ids(wf.claim(wf.join(), 2)), (Ids{1, 2}));
}

TEST(Worker, a_busy_worker_passes_over_suspects_also_when_it_counts_jobs_only) {
  TestWorkflow wf(plan_of({{3, 0}}));
  const WorkerEpoch busy = wf.join();
  ASSERT_EQ(ids(wf.claim(busy, 1)), (Ids{1}));
  const WorkerEpoch w = wf.join();
  ASSERT_EQ(ids(wf.claim(w, 1)), (Ids{2}));
  ASSERT_TRUE(*expire(wf, w, 5));
  Offer offer = TestWorkflow::offer(8);
  offer.ignore_resources = true;
  offer.prefetch = 8;
  EXPECT_EQ(ids(wf.claim(busy, offer)), (Ids{3}));
  EXPECT_EQ(ids(wf.claim(busy, offer)), (Ids{}));
  EXPECT_EQ(ids(wf.claim(wf.join(), offer)), (Ids{2}));
}

TEST(Worker, what_is_still_to_be_ended_keeps_the_workflow_from_being_finished) {
  TestWorkflow wf(plan_of({{1, 0}}));
  const WorkerEpoch w = wf.join();
  wf.claim(w, 1);
  const JobRange all[] = {range(1, 1)};
  ++wf.tx.number;
  ASSERT_TRUE(cancel_jobs(wf.tx, all, kNoon).ok());
  wf.check();
  EXPECT_EQ(read_workflow(wf.tx)->ending, 1U);
  EXPECT_FALSE(read_workflow(wf.tx)->finished());
  ASSERT_TRUE(*expire(wf, w, 5));
  EXPECT_EQ(read_workflow(wf.tx)->ending, 0U);
  EXPECT_TRUE(read_workflow(wf.tx)->finished());
}

TEST(Worker, a_job_that_loses_too_many_workers_fails) {
  TestWorkflow wf(plan_of({{1, 0}}));
  for (int i = 0; i < 2; ++i) {
    const WorkerEpoch w = wf.join();
    wf.start(w, wf.claim(w, 1)[0].token);
    ASSERT_TRUE(*expire(wf, w, 2));
  }
  EXPECT_EQ(wf.state(1), JobState::failed);
  EXPECT_EQ(wf.job(1).lost, 2U);
}

// Nobody is known to have died of the job: the worker lives, and says so.
TEST(Worker, a_loss_that_is_not_charged_to_its_jobs_ends_none_of_them) {
  TestWorkflow wf(plan_of({{1, 0}}));
  for (int i = 0; i < 7; ++i) {
    const WorkerEpoch w = wf.join();
    wf.start(w, wf.claim(w, 1)[0].token);
    const std::uint64_t observed = read_worker(wf.tx, w)->renewals;
    ++wf.tx.number;
    ASSERT_TRUE(*expire_worker(wf.tx, w, observed, kNoon, 2, EndCause::lease_lost, {}, Charge::no));
    wf.check();
  }
  EXPECT_EQ(wf.state(1), JobState::ready);
  EXPECT_EQ(wf.job(1).lost, 0U);
  EXPECT_EQ(wf.job(1).attempt, 7U);
  EXPECT_EQ(wf.job(1).outcome.cause, EndCause::lease_lost);
}

TEST(Worker, of_a_barred_worker_nothing_counts_and_nobody_has_its_jobs_until_it_expires) {
  TestWorkflow wf(plan_of({{2, 0}}));
  const WorkerEpoch w = wf.join();
  const auto grants = wf.claim(w, 1);
  wf.start(w, grants[0].token);
  const std::uint64_t observed = read_worker(wf.tx, w)->renewals;
  ++wf.tx.number;
  ASSERT_FALSE(*bar_worker(wf.tx, w, observed - 1)) << "it renewed meanwhile";
  ASSERT_FALSE(*bar_worker(wf.tx, WorkerEpoch{999}, 0));
  ASSERT_TRUE(*bar_worker(wf.tx, w, observed));
  wf.check();
  EXPECT_TRUE(read_worker(wf.tx, w)->barred);
  EXPECT_EQ(read_worker(wf.tx, w)->status, WorkerStatus::registered);
  auto before = wf.tx.entries;
  EXPECT_TRUE(*bar_worker(wf.tx, w, observed)) << "another one comes to the same";
  Exchange words;
  words.worker = w;
  words.finishes = {{grants[0].token, JobState::failed, {}}};
  const auto refused = exchange(wf.tx, words);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::fenced);
  EXPECT_FALSE(release_worker(wf.tx, w, kNoon).ok());
  EXPECT_EQ(wf.tx.entries, before);
  EXPECT_EQ(wf.state(1), JobState::running);
  EXPECT_EQ(ids(wf.claim(wf.join(), 2)), (Ids{2}));
  ASSERT_TRUE(*expire(wf, w, 5));
  EXPECT_EQ(wf.state(1), JobState::ready);
}

TEST(Worker, a_worker_that_renewed_after_it_was_observed_is_not_expired) {
  TestWorkflow wf(plan_of({{1, 0}}));
  const WorkerEpoch w = wf.join();
  const std::uint64_t observed = read_worker(wf.tx, w)->renewals;
  wf.claim(w, 1);
  ++wf.tx.number;
  EXPECT_FALSE(*expire_worker(wf.tx, w, observed, kNoon, 5));
  EXPECT_EQ(wf.state(1), JobState::claimed);
  EXPECT_FALSE(*expire_worker(wf.tx, WorkerEpoch{999}, 0, kNoon, 5));
}

TEST(Worker, a_worker_that_lost_its_lease_cannot_finish_or_leave) {
  TestWorkflow wf(plan_of({{1, 0}}));
  const WorkerEpoch w = wf.join();
  const auto grants = wf.claim(w, 1);
  ASSERT_TRUE(*expire(wf, w, 5));
  const auto before = wf.tx.entries;
  EXPECT_EQ(wf.finish(w, grants[0].token).error().kind, ErrorKind::fenced);
  EXPECT_EQ(release_worker(wf.tx, w, kNoon).error().kind, ErrorKind::fenced);
  EXPECT_EQ(wf.tx.entries, before);
}

TEST(Worker, a_worker_that_leaves_gives_back_what_it_holds) {
  TestWorkflow wf(plan_of({{3, 0}}));
  const WorkerEpoch w = wf.join();
  const auto grants = wf.claim(w, 2);
  Exchange request;
  request.worker = w;
  request.starts.push_back({grants[1].token, kNoon});
  ASSERT_TRUE(wf.say(request).ok());
  ++wf.tx.number;
  ASSERT_TRUE(release_worker(wf.tx, w, kNoon).ok());
  wf.check();
  EXPECT_EQ(wf.job(1), untouched(JobState::ready));
  EXPECT_EQ(wf.job(2).attempt, 1U);  // it was started: that cannot be taken back
  EXPECT_EQ(wf.job(2).outcome.cause, EndCause::stopped);
  EXPECT_EQ(read_worker(wf.tx, w)->status, WorkerStatus::released);
  EXPECT_EQ(read_worker(wf.tx, w)->held, 0U);
}

TEST(Worker, one_registration_a_commit) {
  TestWorkflow wf(plan_of({{1, 0}}));
  wf.join();
  EXPECT_FALSE(register_worker(wf.tx, {}).ok());
}

TEST(Worker, what_a_worker_registers_is_read_back) {
  TestWorkflow wf(plan_of({{1, 0}}));
  WorkerInfo info;
  info.host = "n7";
  info.pid = 4711;
  info.pid_start = 99;
  info.boot_id = "boot";
  info.pid_namespace = "pid:[1]";
  info.above = {4700, 12, 1};
  info.user = "7 user:[1]";
  info.allocation = "12_3";
  info.cluster = "alpha";
  info.allocation_start = kNoon - WallTime(5);
  info.scheduler = "big";
  info.labels = "l";
  info.any_binding = true;
  info.ignores_resources = true;
  info.output_dir = "/out";
  info.cpus = 3;
  info.gpus = 2;
  info.memory = mebibytes(7);
  info.registered_at = kNoon;
  info.ends_at = kNoon + WallTime(1);
  info.lease_ttl = std::chrono::seconds(10);
  ++wf.tx.number;
  const auto w = read_worker(wf.tx, *register_worker(wf.tx, info));
  ASSERT_TRUE(w);
  EXPECT_EQ(w->info.host, "n7");
  EXPECT_EQ(w->info.pid, 4711U);
  EXPECT_EQ(w->info.pid_start, 99U);
  EXPECT_EQ(w->info.boot_id, "boot");
  EXPECT_EQ(w->info.pid_namespace, "pid:[1]");
  EXPECT_EQ(w->info.above, (std::vector<std::uint64_t>{4700, 12, 1}));
  EXPECT_EQ(w->info.user, "7 user:[1]");
  EXPECT_EQ(w->info.allocation, "12_3");
  EXPECT_EQ(w->info.cluster, "alpha");
  EXPECT_EQ(w->info.allocation_start, kNoon - WallTime(5));
  EXPECT_EQ(w->info.scheduler, "big");
  EXPECT_EQ(w->info.labels, "l");
  EXPECT_TRUE(w->info.any_binding);
  EXPECT_TRUE(w->info.ignores_resources);
  EXPECT_EQ(w->info.output_dir, "/out");
  EXPECT_EQ(w->info.cpus, 3U);
  EXPECT_EQ(w->info.gpus, 2U);
  EXPECT_EQ(w->info.memory, mebibytes(7));
  EXPECT_EQ(w->info.registered_at, kNoon);
  EXPECT_EQ(w->info.ends_at, kNoon + WallTime(1));
  EXPECT_EQ(w->info.lease_ttl, std::chrono::seconds(10));
  EXPECT_EQ(w->last_seen, kNoon);
}

TEST(Worker, successors_go_round_the_ring_of_live_workers) {
  TestWorkflow wf(plan_of({{1, 0}}));
  const WorkerEpoch a = wf.join();
  const WorkerEpoch b = wf.join();
  const WorkerEpoch c = wf.join();
  const WorkerEpoch d = wf.join();
  ++wf.tx.number;
  ASSERT_TRUE(release_worker(wf.tx, b, kNoon).ok());
  EXPECT_EQ(*successors(wf.tx, c, 2), (std::vector{d, a}));
  EXPECT_EQ(*successors(wf.tx, c, 9), (std::vector{d, a}));
  EXPECT_EQ(*successors(wf.tx, a, 1), (std::vector{c}));
  std::vector<WorkerEpoch> live_workers;
  EXPECT_TRUE(scan_workers(wf.tx, true, [&](const Worker& w) {
                return live_workers.push_back(w.epoch), true;
              }).ok());
  EXPECT_EQ(live_workers, (std::vector{a, c, d}));
  std::vector<WorkerEpoch> all;
  EXPECT_TRUE(scan_workers(wf.tx, false, [&](const Worker& w) {
                return all.push_back(w.epoch), true;
              }).ok());
  EXPECT_EQ(all, (std::vector{a, b, c, d}));
}

TEST(Worker, the_workers_of_a_host_and_the_hosts_are_known_without_a_walk) {
  TestWorkflow wf(plan_of({{1, 0}}));
  const auto join = [&](const std::string& host) {
    WorkerInfo info;
    info.host = host;
    ++wf.tx.number;
    return *register_worker(wf.tx, info);
  };
  const WorkerEpoch a = join("n1");
  const WorkerEpoch b = join("n2");
  const WorkerEpoch c = join("n1");
  wf.check();
  EXPECT_EQ(*workers_on(wf.tx, "n1"), (std::vector{a, c}));
  EXPECT_EQ(*workers_on(wf.tx, "n"), (std::vector<WorkerEpoch>{}));
  EXPECT_EQ(read_load(wf.tx)->workers, 3U);
  EXPECT_EQ(read_load(wf.tx)->hosts, 2U);
  ASSERT_TRUE(*expire(wf, b, 5));
  EXPECT_EQ(*workers_on(wf.tx, "n2"), (std::vector<WorkerEpoch>{}));
  EXPECT_EQ(read_load(wf.tx)->hosts, 1U);
  ASSERT_TRUE(*expire(wf, a, 5));
  EXPECT_EQ(*workers_on(wf.tx, "n1"), (std::vector{c}));
  EXPECT_EQ(read_load(wf.tx)->hosts, 1U);
  EXPECT_TRUE(*is_anybody_of(wf.tx, raw(c), raw(c)));
  EXPECT_FALSE(*is_anybody_of(wf.tx, 0, raw(c) - 1));
  EXPECT_FALSE(*is_anybody_of(wf.tx, raw(c) + 1, UINT64_MAX));
}

TEST(Worker, a_lease_is_as_long_as_the_worker_said_last) {
  using std::chrono::seconds;
  TestWorkflow wf(plan_of({{1, 0}}));
  const WorkerEpoch w = wf.join();
  EXPECT_EQ(read_worker(wf.tx, w)->ttl, seconds(300));
  Exchange request;
  request.worker = w;
  request.ttl = seconds(4000);
  ASSERT_TRUE(wf.say(request).ok());
  EXPECT_EQ(read_worker(wf.tx, w)->ttl, seconds(4000));
  request.ttl = seconds(0);
  ASSERT_TRUE(wf.say(request).ok());
  EXPECT_EQ(read_worker(wf.tx, w)->ttl, seconds(4000));
}

}  // namespace
}  // namespace torc::claim
