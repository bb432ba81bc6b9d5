// What a worker does about workers that died: what they left to be ended, actions that they had,
// jobs that may have killed them.
#include <sys/wait.h>

#include <cerrno>

#include "lib/claim/queries/workers.h"
#include "lib/claim/rules/lease.h"
#include "lib/claim/transactions/exchange.h"
#include "lib/claim/transactions/live.h"
#include "lib/claim/transactions/membership.h"
#include "lib/claim/transactions/reset.h"
#include "lib/worker/loop/session_fixture.h"
#include "lib/worker/setup/worker_setup.h"

namespace torc::worker {
namespace {

using namespace std::chrono_literals;
using claim::EndCause;
using claim::JobState;

class AfterALoss : public SessionTest {
 protected:
  ~AfterALoss() override {
    for (const int fd : go_) {
      if (fd >= 0) close(fd);
    }
    if (heir_ > 0) waitpid(heir_, nullptr, 0);
  }

  void commit(const std::function<Result<void>(claim::Transaction&)>& body) {
    const auto done = open()->commit(0, body);
    ASSERT_TRUE(done.ok()) << done.error().text();
  }
  // A worker of another node, which dies after what it does here.
  void join() {
    commit([&](claim::Transaction& tx) -> Result<void> {
      claim::WorkerInfo info;
      info.host = "n2";
      TORC_ASSIGN(dead_, claim::register_worker(tx, info));
      return {};
    });
  }
  claim::Answer say(claim::Exchange exchange) {
    claim::Answer answer;
    exchange.worker = dead_;
    exchange.now = clock_.wall_now();
    commit([&](claim::Transaction& tx) -> Result<void> {
      TORC_ASSIGN(answer, claim::exchange(tx, exchange));
      return {};
    });
    return answer;
  }
  std::vector<claim::Grant> claim_some(std::uint32_t jobs) {
    claim::Exchange exchange;
    exchange.offer.emplace();
    exchange.offer->cpus = exchange.offer->total_cpus = jobs;
    exchange.offer->memory = exchange.offer->total_memory = mebibytes(1024);
    exchange.offer->max_jobs = jobs;
    return say(exchange).grants;
  }
  std::vector<claim::Grant> claim_one() { return claim_some(1); }
  static Result<void> expire(claim::Transaction& tx, claim::WorkerEpoch worker, EndCause why) {
    const auto known = claim::read_worker(tx, worker);
    if (!known) return Error{ErrorKind::corrupt, "no such worker", ""};
    TORC_ASSIGN(const bool done,
                claim::expire_worker(tx, worker, known->renewals, known->last_seen, 5, why));
    if (!done) return Error{ErrorKind::corrupt, "it lives", ""};
    return {};
  }
  // Another process that finds the lease run out, but only when the session has waited for it.
  void expect_expiry() {
    ASSERT_EQ(pipe(go_), 0);
    heir_ = fork();
    ASSERT_GE(heir_, 0);
    if (heir_ == 0) {
      close(go_[1]);
      char word = 0;
      if (read(go_[0], &word, 1) != 1) _exit(1);
      const auto done = open()->commit(
          0, [&](claim::Transaction& tx) { return expire(tx, dead_, EndCause::lease_lost); });
      _exit(done.ok() ? 0 : 2);
    }
    const BootTime begun = clock_.boot_now();
    host_.meanwhile = [this, begun](BootTime) {
      if (expired_ || clock_.boot_now() - begun < 4min) return false;
      int status = 0;
      EXPECT_EQ(write(go_[1], "x", 1), 1);
      EXPECT_GT(waitpid(std::exchange(heir_, -1), &status, 0), 0);
      EXPECT_EQ(status, 0);
      expired_ = true;
      return true;
    };
  }

  claim::WorkerEpoch dead_{};
  int go_[2] = {-1, -1};
  pid_t heir_ = -1;
  bool expired_ = false;
};

constexpr const char* kOneJob = "jobs: [{name: a, command: x}]\n";

TEST_F(AfterALoss, a_job_that_is_to_run_again_after_its_dead_worker_has_ended_it_is_waited_for) {
  make(kOneJob);
  join();
  claim::Exchange start;
  start.starts = {{claim_one().at(0).token, clock_.wall_now()}};
  say(start);
  const claim::JobRange all[] = {{JobId{1}, 1}};
  commit([&](claim::Transaction& tx) -> Result<void> {
    TORC_TRY(claim::reset_jobs(tx, all, claim::Force::yes, clock_.wall_now()));
    return {};
  });
  expect_expiry();
  EXPECT_EQ(run().end, WorkerEnd::workflow_finished);
  EXPECT_TRUE(expired_) << "it left while the job was still to be ended";
  EXPECT_EQ(host_.started, 1);
  EXPECT_EQ(job(1).state, JobState::completed);
  EXPECT_TRUE(said("waiting for 1 canceled job that another worker has to end"));
}

TEST_F(AfterALoss, a_slot_that_a_dead_worker_still_holds_is_waited_for) {
  make("jobs: [{name: \"j{i}\", command: x, max_parallel: 1, parameters: {i: \"1:2\"}}]\n");
  join();
  ASSERT_EQ(claim_one().size(), 1U);
  const claim::JobRange first[] = {{JobId{1}, 1}};
  commit([&](claim::Transaction& tx) -> Result<void> {
    TORC_TRY(claim::cancel_jobs(tx, first, clock_.wall_now()));
    return {};
  });
  expect_expiry();
  EXPECT_EQ(run().end, WorkerEnd::workflow_finished);
  EXPECT_EQ(job(2).state, JobState::completed);
}

TEST_F(AfterALoss, an_action_that_a_dead_worker_had_is_waited_for_and_run) {
  make(std::string(kOneJob) +
       "actions: [{trigger_type: on_jobs_complete, action_type: run_commands, jobs: [a],"
       " commands: [y]}]\n");
  join();
  claim::Exchange end;
  claim::Finished finished;
  finished.token = claim_one().at(0).token;
  finished.outcome.cause = EndCause::exited;
  finished.outcome.exit_code = 0;
  end.finishes = {finished};
  say(end);
  claim::Exchange wish;
  wish.offer.emplace();
  wish.wish.due = true;
  ASSERT_EQ(say(wish).actions.size(), 1U);
  expect_expiry();
  const WorkerSummary summary = run();
  EXPECT_EQ(summary.end, WorkerEnd::workflow_finished);
  EXPECT_EQ(summary.workflow.actions.ended, 1U);
  EXPECT_EQ(summary.workflow.actions.running, 0U);
  EXPECT_EQ(host_.commands.size(), 1U);
  EXPECT_LT(seen_.size(), 50U) << "it asks no oftener than an idle worker does";
  EXPECT_TRUE(said("waiting for 1 action that another worker runs"));
}

// --- jobs that may have killed their worker ---

class Suspects : public AfterALoss {
 protected:
  Suspects() {
    setup_.machine.cpus = 4;
    host_.outcome = [this] {
      started_.push_back(clock_.boot_now());
      return std::nullopt;
    };
    host_.meanwhile = [this](BootTime deadline) {
      if (host_.running_now.empty()) return false;
      most_ = std::max(most_, host_.running_now.size());
      // All end a minute after the first began.
      if (deadline < started_.front() + 1min) return false;
      clock_.jump_to(started_.front() + 1min);
      while (!host_.running_now.empty())
        host_.end(host_.running_now.front(), ScriptedHost::ended_by_itself(0));
      return true;
    };
  }
  // j1 is lost with a worker that said nothing of its start.
  void make_with_a_suspect(const std::string& more) {
    make("jobs: [{name: \"j{i}\", command: x, parameters: {i: \"1:3\"}" + more + "}]\n");
    lose_first(1);
  }
  void lose_first(std::uint32_t jobs) {
    join();
    ASSERT_EQ(claim_some(jobs).size(), jobs);
    commit([&](claim::Transaction& tx) { return expire(tx, dead_, EndCause::worker_lost); });
    ASSERT_TRUE(claim::is_suspect(job(jobs)));
  }
  // The first `times` starts are prevented by a mount that does not answer.
  void prevent_starts(int times) {
    host_.outcome = [this, times]() -> std::optional<exec::Ended> {
      started_.push_back(clock_.boot_now());
      if (host_.started > times) return ScriptedHost::ended_by_itself(0);
      exec::Ended ended;
      ended.how = exec::Ending::not_started;
      ended.failed_at = exec::StartStep::directory;
      ended.os_errno = ENOTCONN;
      return ended;
    };
  }

  std::vector<BootTime> started_;
  std::size_t most_ = 0;
};

TEST_F(Suspects, run_alone_at_first_and_with_others_when_their_worker_has_survived_that) {
  make_with_a_suspect("");
  EXPECT_EQ(run().completed, 3U);
  ASSERT_EQ(started_.size(), 3U);
  EXPECT_GE(started_[1] - started_[0], 10s);
  EXPECT_LT(started_[2] - started_[0], 15s);
  EXPECT_EQ(most_, 3U);
  EXPECT_TRUE(said("'j1' runs alone for a while: an earlier worker was lost with it"));
  EXPECT_FALSE(claim::is_suspect(job(1)));
}

TEST_F(Suspects, wait_for_one_another_no_longer_than_their_probation) {
  make("jobs: [{name: \"j{i}\", command: x, parameters: {i: \"1:4\"}}]\n");
  lose_first(3);
  EXPECT_EQ(run().completed, 4U);
  ASSERT_EQ(started_.size(), 4U);
  for (std::size_t i = 1; i < started_.size(); ++i) {
    EXPECT_GE(started_[i] - started_[i - 1], 10s);
    EXPECT_LT(started_[i] - started_[i - 1], 12s) << "it asks when the probation ends";
  }
  EXPECT_EQ(most_, 4U);
}

TEST_F(Suspects, that_a_dead_mount_keeps_from_starting_are_not_charged_with_it) {
  make_with_a_suspect("");
  prevent_starts(12);
  EXPECT_EQ(run().completed, 3U);
  EXPECT_EQ(job(1).stopped, 0U);
  EXPECT_EQ(job(1).lost, 0U);
  EXPECT_EQ(job(1).attempt, 2U) << "the one that was lost and the one that ran";
}

TEST_F(Suspects, that_cannot_be_started_here_are_soon_for_others) {
  make("jobs: [{name: \"j{i}\", command: x, parameters: {i: \"1:12\"}}]\n");
  lose_first(1);
  prevent_starts(12);
  std::optional<BootTime> back;
  bool had = false;
  events_.progress = [&](const claim::WorkflowState& w) {
    had = had || w.of(JobState::claimed) == 1;
    if (had && !back && w.of(JobState::ready) == 12) back = clock_.boot_now();
  };
  EXPECT_EQ(run().completed, 12U);
  ASSERT_TRUE(back);
  EXPECT_LT(*back - started_.front(), 5s) << "it kept it until its starts had failed five times";
}

TEST_F(Suspects, whose_next_loss_would_be_the_last_one_run_alone_to_their_end) {
  make_with_a_suspect(", crash_limit: 1");
  EXPECT_EQ(run().completed, 3U);
  ASSERT_EQ(started_.size(), 3U);
  EXPECT_GE(started_[1] - started_[0], 1min);
  EXPECT_EQ(most_, 2U);
}

// --- what is in the way of reports ---

TEST(WorkerTuning, a_process_that_is_stuck_in_its_commit_is_left_well_before_a_lease_is_fenced) {
  EXPECT_LE(2 * workflow::worker_tuning().replica_wait, claim::fencing_limit(10s));
}

TEST_F(AfterALoss, refused_starts_keep_nothing_from_being_told) {
  make("jobs: [{name: \"j{i}\", command: x, parameters: {i: \"1:2\"}}]\n");
  setup_.machine.cpus = 2;
  std::optional<BootTime> started, told;
  host_.outcome = [&] {
    if (!started) started = clock_.boot_now();
    return std::nullopt;
  };
  host_.refuses = [&] { return started && !told; };
  events_.progress = [&](const claim::WorkflowState& w) {
    if (!told && w.of(JobState::running) == 1) told = clock_.boot_now();
  };
  host_.meanwhile = [&](BootTime) {
    if (!told || host_.running_now.empty()) return false;
    host_.end(host_.running_now.front(), ScriptedHost::ended_by_itself(0));
    return true;
  };
  EXPECT_EQ(run().completed, 2U);
  ASSERT_TRUE(started && told);
  EXPECT_LT(*told - *started, 10s);
}

}  // namespace
}  // namespace torc::worker
