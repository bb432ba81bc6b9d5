// The rules of a worker's loop that only time, signals and bad nodes bring out.
#include <signal.h>

#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "lib/base/testing/no_threads.h"
#include "lib/claim/queries/workers.h"
#include "lib/claim/transactions/exchange.h"
#include "lib/claim/transactions/membership.h"
#include "lib/worker/bell/message.h"
#include "lib/worker/bell/udp_sender.h"
#include "lib/worker/loop/session_fixture.h"

namespace torc::worker {
namespace {

using namespace std::chrono_literals;
using claim::EndCause;
using claim::JobState;

constexpr const char* kOne = "jobs: [{name: a, command: x}]\n";
constexpr const char* kFour = "jobs: [{name: \"j{i}\", command: x, parameters: {i: \"1:4\"}}]\n";

TEST_F(SessionTest, runs_what_there_is_and_leaves) {
  make(kFour);
  const WorkerSummary summary = run();
  EXPECT_EQ(summary.end, WorkerEnd::workflow_finished);
  EXPECT_EQ(summary.completed, 4U);
}

// --- a bad node ---

exec::Ended not_started(exec::StartStep step, int os_errno) {
  exec::Ended ended;
  ended.how = exec::Ending::not_started;
  ended.failed_at = step;
  ended.os_errno = os_errno;
  return ended;
}

TEST_F(SessionTest, a_worker_leaves_after_three_starts_in_a_row_that_its_node_prevents) {
  make(kFour);
  host_.outcome = [] { return not_started(exec::StartStep::directory, EACCES); };
  const WorkerSummary summary = run();
  EXPECT_EQ(summary.end, WorkerEnd::broken);
  EXPECT_EQ(host_.started, 3);
  EXPECT_EQ(summary.workflow.of(JobState::ready), 4U) << "others may be able to run them";
  EXPECT_TRUE(said("cannot run jobs here: the working directory"));
}

TEST_F(SessionTest, a_working_directory_that_goes_away_counts_against_no_job) {
  make(kFour);
  host_.outcome = [&]() -> std::optional<exec::Ended> {
    if (host_.started <= 1) return ScriptedHost::ended_by_itself(0);
    return not_started(exec::StartStep::directory, ENOENT);
  };
  const WorkerSummary summary = run();
  EXPECT_EQ(summary.end, WorkerEnd::broken);
  EXPECT_EQ(summary.completed, 1U);
  EXPECT_EQ(host_.started, 2) << "no other can be started either";
  EXPECT_EQ(summary.workflow.of(JobState::ready), 3U);
  for (const std::uint64_t id : {2U, 3U, 4U}) {
    EXPECT_EQ(job(id).attempt, 0U) << id;
    EXPECT_EQ(job(id).stopped, 0U) << id;
  }
  EXPECT_TRUE(said("cannot run jobs here: the working directory"));
}

TEST_F(SessionTest, a_start_that_works_between_two_faulty_ones_shows_that_the_node_is_good) {
  make(kFour);
  host_.outcome = [&]() -> std::optional<exec::Ended> {
    if (host_.started % 3 == 0) return ScriptedHost::ended_by_itself(0);
    return not_started(exec::StartStep::stdout_file, ENOSPC);
  };
  const WorkerSummary summary = run();
  EXPECT_EQ(summary.end, WorkerEnd::workflow_finished);
}

// --- a filesystem that does not answer ---

TEST_F(SessionTest, starts_that_a_dead_mount_prevents_are_tried_again_and_count_for_nothing) {
  make(kFour);
  host_.outcome = [&]() -> std::optional<exec::Ended> {
    if (host_.started > 20) return ScriptedHost::ended_by_itself(0);
    return not_started(exec::StartStep::directory, host_.started % 2 == 0 ? ENOTCONN : EIO);
  };
  const WorkerSummary summary = run();
  EXPECT_EQ(summary.end, WorkerEnd::workflow_finished);
  EXPECT_EQ(summary.completed, 4U);
  EXPECT_EQ(summary.failed, 0U);
  EXPECT_EQ(job(1).stopped, 0U);
  EXPECT_TRUE(said("the filesystem of the working directory does not answer"));
}

TEST_F(SessionTest, a_program_whose_mount_has_gone_is_not_missing) {
  make("jobs: [{name: \"j{i}\", command: /nowhere/x, parameters: {i: \"1:4\"}}]\n");
  const std::string root = "21 1 8:1 / / rw - ext4 /dev/sda1 rw\n";
  setup_.mountinfo = [&] {
    const bool there = host_.started == 0 || host_.started > 6;
    return root + (there ? "40 21 0:50 / /nowhere rw - nfs4 server:/x rw\n" : "");
  };
  host_.outcome = [&]() -> std::optional<exec::Ended> {
    if (host_.started > 6) return ScriptedHost::ended_by_itself(0);
    return not_started(exec::StartStep::execute, ENOENT);
  };
  const WorkerSummary summary = run();
  EXPECT_EQ(summary.completed, 4U);
  EXPECT_EQ(summary.failed, 0U);
}

TEST_F(SessionTest, an_action_that_a_dead_mount_keeps_from_starting_is_tried_again) {
  make("actions: [{trigger_type: on_workflow_start, action_type: run_commands, commands: [y]}]\n" +
       std::string(kFour));
  host_.outcome = [&]() -> std::optional<exec::Ended> {
    if (host_.started > 1) return ScriptedHost::ended_by_itself(0);
    return not_started(exec::StartStep::directory, ENOTCONN);
  };
  const WorkerSummary summary = run();
  EXPECT_EQ(summary.workflow.actions.failed, 0U);
  EXPECT_EQ(summary.completed, 4U);
  ASSERT_EQ(host_.commands.size(), 6U);
  EXPECT_EQ(host_.commands[1].line, "y") << "no job runs before it";
}

TEST_F(SessionTest, failures_that_lie_hours_apart_are_not_a_mount_that_stays_dead) {
  make(kFour);
  host_.outcome = [&]() -> std::optional<exec::Ended> {
    if (host_.started > 4) return ScriptedHost::ended_by_itself(0);
    clock_.sleep_for(3h);
    return not_started(exec::StartStep::directory, ENOTCONN);
  };
  const WorkerSummary summary = run();
  EXPECT_EQ(summary.end, WorkerEnd::workflow_finished);
  EXPECT_EQ(summary.completed, 4U);
}

TEST_F(SessionTest, a_worker_whose_mount_stays_dead_leaves_after_some_minutes) {
  make(kFour);
  host_.outcome = [] { return not_started(exec::StartStep::directory, ENOTCONN); };
  const BootTime begun = clock_.boot_now();
  const WorkerSummary summary = run();
  EXPECT_EQ(summary.end, WorkerEnd::broken);
  EXPECT_GE(clock_.boot_now() - begun, 10min);
  EXPECT_EQ(summary.workflow.of(JobState::ready), 4U);
  for (const std::uint64_t id : {1U, 2U, 3U, 4U}) EXPECT_EQ(job(id).attempt, 0U) << id;
  EXPECT_TRUE(
      said("cannot run jobs here, for 10 minutes now: the filesystem of the working directory"));
}

class OneDeadMount : public SessionTest {
 protected:
  // The first of 41 jobs needs a mount that does not answer, the others take `time` each.
  WorkerSummary run_with_others_of(std::chrono::nanoseconds time) {
    make(
        "jobs: [{name: bad, command: bad}, {name: \"j{i}\", command: good, parameters: {i: "
        "\"1:40\"}}]\n");
    setup_.max_parallel_jobs = 1;
    host_.outcome = [this, time]() -> std::optional<exec::Ended> {
      if (host_.commands.back().line.find("bad") != std::string::npos)
        return not_started(exec::StartStep::directory, ESTALE);
      clock_.jump_to(clock_.boot_now() + time);
      return ScriptedHost::ended_by_itself(0);
    };
    return run();
  }
};

TEST_F(OneDeadMount, keeps_no_other_job_waiting) {
  const WorkerSummary summary = run_with_others_of(1s);
  EXPECT_EQ(summary.completed, 40U);
  EXPECT_EQ(summary.end, WorkerEnd::broken) << "nothing could be started for ten minutes";
  EXPECT_EQ(job(1).state, JobState::ready);
  EXPECT_LE(job(1).stopped, 1U);
}

TEST_F(OneDeadMount, is_the_fault_of_the_job_where_all_others_can_be_started_for_ten_minutes) {
  const WorkerSummary summary = run_with_others_of(4min);
  EXPECT_EQ(summary.completed, 40U);
  EXPECT_EQ(summary.end, WorkerEnd::workflow_finished);
  EXPECT_EQ(job(1).state, JobState::failed);
}

TEST_F(SessionTest, a_program_that_is_missing_is_the_job_s_own_fault) {
  make(kFour);
  host_.outcome = [] { return not_started(exec::StartStep::execute, ENOENT); };
  const WorkerSummary summary = run();
  EXPECT_EQ(summary.end, WorkerEnd::workflow_finished);
  EXPECT_EQ(summary.failed, 4U);
}

// --- what a job is told of GPUs ---

class GpuSession : public SessionTest {
 protected:
  GpuSession() {
    setup_.machine.gpus = {"2", "3"};
    setup_.machine.gpu_variable = "ROCR_VISIBLE_DEVICES";
    context_.environment = environment_;
  }
  // Of the only job: what it was started with, empty where it was not.
  std::string value(const std::string& name) {
    const exec::Command& command = host_.commands.at(0);
    for (const auto* list : {&command.env, command.common_env.get()}) {
      for (const std::string& e : *list) {
        if (e.starts_with(name + "=")) return e.substr(name.size() + 1);
      }
    }
    return "";
  }

 private:
  char rocr_[32] = "ROCR_VISIBLE_DEVICES=2,3";
  char hip_[32] = "HIP_VISIBLE_DEVICES=1";
  char ordinal_[32] = "GPU_DEVICE_ORDINAL=0,1";
  char home_[32] = "HOME=/h";
  char* environment_[5] = {rocr_, hip_, ordinal_, home_, nullptr};
};

constexpr const char* kOneGpu =
    "resource_requirements: [{name: g, num_gpus: 1}]\n"
    "jobs: [{name: a, command: x, resource_requirements: g}]\n";

TEST_F(GpuSession, a_job_sees_its_gpus_whatever_the_worker_was_started_with) {
  make(kOneGpu);
  run();
  EXPECT_EQ(value("ROCR_VISIBLE_DEVICES"), "2");
  EXPECT_EQ(value("HIP_VISIBLE_DEVICES"), "") << "it would count within the one that is left";
  EXPECT_EQ(value("GPU_DEVICE_ORDINAL"), "");
  EXPECT_EQ(value("HOME"), "/h");
}

TEST_F(GpuSession, what_the_workflow_sets_is_meant_within_a_job_s_share) {
  make(std::string("env: {HIP_VISIBLE_DEVICES: \"0\"}\n") + kOneGpu);
  run();
  EXPECT_EQ(value("ROCR_VISIBLE_DEVICES"), "2");
  EXPECT_EQ(value("HIP_VISIBLE_DEVICES"), "0");
}

TEST_F(GpuSession, who_counts_jobs_only_leaves_these_variables_alone) {
  setup_.max_parallel_jobs = 1;
  make(kOneGpu);
  run();
  EXPECT_EQ(value("ROCR_VISIBLE_DEVICES"), "2,3");
  EXPECT_EQ(value("HIP_VISIBLE_DEVICES"), "1");
}

TEST_F(GpuSession, jobs_with_a_part_of_a_gpu_see_one_and_the_same) {
  make(
      "resource_requirements: [{name: g, num_gpus: 0.5}]\n"
      "jobs: [{name: a, command: x, resource_requirements: g}]\n");
  run();
  EXPECT_EQ(value("ROCR_VISIBLE_DEVICES"), "2");
  EXPECT_EQ(value("TORC_NUM_GPUS"), "1");
}

TEST_F(GpuSession, a_job_sees_what_it_has_of_what_has_a_name) {
  setup_.machine.gpu_kinds = {"gpus", "gpus/mi300"};
  setup_.machine.pieces = {{"port", "8000"}, {"port", "8001"}};
  setup_.machine.sums = {{"scratch", 20'000}};
  make(
      "resource_requirements: [{name: g, resources: {gpus/mi300: 1, port: 2, Scratch: 2.5}}]\n"
      "jobs: [{name: a, command: x, resource_requirements: g}]\n");
  run();
  EXPECT_EQ(value("ROCR_VISIBLE_DEVICES"), "3");
  EXPECT_EQ(value("TORC_NUM_GPUS"), "1");
  EXPECT_EQ(value("TORC_RESOURCE_PORT"), "8000,8001");
  EXPECT_EQ(value("TORC_RESOURCE_SCRATCH"), "2.5");
}

TEST_F(GpuSession, all_gpus_are_counted_where_the_job_runs) {
  make(
      "resource_requirements: [{name: g, num_gpus: all}]\n"
      "jobs: [{name: a, command: x, resource_requirements: g}]\n");
  run();
  EXPECT_EQ(value("ROCR_VISIBLE_DEVICES"), "2,3");
  EXPECT_EQ(value("TORC_NUM_GPUS"), "2");
}

// --- nothing fits ---

constexpr const char* kHuge =
    "resource_requirements: [{name: huge, num_cpus: 5000}]\n"
    "jobs:\n"
    "  - {name: a, command: x, resource_requirements: huge}\n"
    "  - {name: b, command: x, depends_on: [a]}\n";

TEST_F(SessionTest, while_later_jobs_may_fit_a_worker_waits_ten_minutes_for_one_that_fits_now) {
  make(kHuge);
  const BootTime begun = clock_.boot_now();
  EXPECT_EQ(run().end, WorkerEnd::nothing_fits);
  EXPECT_GE(clock_.boot_now() - begun, 10min);
  EXPECT_LT(clock_.boot_now() - begun, 11min);
  EXPECT_LT(seen_.size(), 40U) << "it asks every 30 s at last";
  EXPECT_FALSE(said("cannot be written")) << "to find nothing is no error";
}

TEST_F(SessionTest, a_worker_that_serves_everybody_does_not_wait_for_others) {
  make(kHuge);
  setup_.any_scheduler = true;
  const BootTime begun = clock_.boot_now();
  EXPECT_EQ(run().end, WorkerEnd::nothing_fits);
  EXPECT_LT(clock_.boot_now() - begun, 1min);
}

// --- stops and losses ---

TEST_F(SignaledSession, a_job_cut_off_by_the_end_of_the_allocation_says_so_and_runs_again) {
  make(kOne);
  setup_.ends_at = clock_.wall_now() + 1h;
  std::optional<WallTime> told_at;
  host_.meanwhile = [&](BootTime) {
    if (host_.stops.empty() || host_.running_now.empty()) return false;
    told_at = clock_.wall_now();
    end_it(stopped_by(SIGTERM));
    return true;
  };
  EXPECT_EQ(run().end, WorkerEnd::time_up);
  ASSERT_TRUE(told_at);
  EXPECT_LE(*told_at, *setup_.ends_at);
  EXPECT_EQ(job(1).state, JobState::ready);
  EXPECT_EQ(job(1).outcome.cause, EndCause::allocation_ended);
  EXPECT_EQ(job(1).outcome.signal, SIGTERM);
  EXPECT_EQ(job(1).stopped, 1U);
}

TEST_F(SignaledSession, the_fifth_stop_ends_a_job_for_good_whatever_was_lost_before) {
  make(kOne);
  for (int life = 1; life <= 5; ++life) {
    EXPECT_EQ(job(1).state, JobState::ready) << life;
    clock_.sleep_for(1s);
    run_with({[] { signal_to_worker(SIGTERM); }, [&] { end_it(ScriptedHost::ended_by(SIGTERM)); }});
  }
  EXPECT_EQ(job(1).state, JobState::terminated);
  EXPECT_EQ(job(1).attempt, 5U);
}

TEST_F(SignaledSession, attempts_lost_with_their_workers_are_no_stops) {
  make(kOne);
  for (int loss = 1; loss <= 4; ++loss) {
    auto store = open();
    claim::WorkerEpoch dead{};
    claim::Exchange exchange;
    exchange.offer.emplace();
    exchange.offer->cpus = exchange.offer->total_cpus = 1;
    exchange.offer->memory = exchange.offer->total_memory = mebibytes(1024);
    exchange.offer->max_jobs = 1;
    const auto commit = [&](const store::Store::Body& body) {
      const auto done = store->commit(0, body);
      ASSERT_TRUE(done.ok()) << done.error().text();
    };
    commit([&](claim::Transaction& tx) -> Result<void> {
      TORC_ASSIGN(dead, claim::register_worker(tx, {}));
      return {};
    });
    exchange.worker = dead;
    commit([&](claim::Transaction& tx) -> Result<void> {
      TORC_ASSIGN(const claim::Answer answer, claim::exchange(tx, exchange));
      exchange.starts = {{answer.grants.at(0).token, {}}};
      return {};
    });
    exchange.offer.reset();
    commit([&](claim::Transaction& tx) -> Result<void> {
      TORC_TRY(claim::exchange(tx, exchange));
      return {};
    });
    commit([&](claim::Transaction& tx) -> Result<void> {
      TORC_TRY(claim::expire_worker(tx, dead, claim::read_worker(tx, dead)->renewals, {}, 5));
      return {};
    });
  }
  ASSERT_EQ(job(1).lost, 4U);
  run_with({[] { signal_to_worker(SIGTERM); }, [&] { end_it(ScriptedHost::ended_by(SIGTERM)); }});
  EXPECT_EQ(job(1).attempt, 5U);
  EXPECT_EQ(job(1).lost, 0U) << "its worker outlived it";
  EXPECT_EQ(job(1).stopped, 1U);
  EXPECT_EQ(job(1).state, JobState::ready);
}

// Else everything on other hosts is a moment later, and nobody knows why.
TEST_F(SessionTest, a_bell_that_only_this_host_can_ring_is_told_of) {
  make("jobs: [{name: a, command: x}]\n", store::Engine::journal);
  setup_.bell = true;
  setup_.bell_interface = "127.0.0.1";
  EXPECT_EQ(run().completed, 1U);
  EXPECT_TRUE(said("its bell is on a loopback address alone"));
}

// Rings the worker whose store it is when it has found nothing to do, and notes what it is told to
// expect.
class RingingStore final : public store::Store {
 public:
  explicit RingingStore(std::unique_ptr<store::Store> store) : store_(std::move(store)) {}

  Result<store::Commit> commit(std::uint64_t author, const Body& body) override {
    auto done = store_->commit(author, body);
    if (!done && author != 0 && !rang_) ring();
    return done;
  }
  void expect(std::uint64_t sequence) override {
    if (sequence != 0) expected = sequence;
    store_->expect(sequence);
  }
  Result<void> view(store::Freshness freshness,
                    const std::function<Result<void>(const claim::Reader&)>& body) override {
    return store_->view(freshness, body);
  }
  Result<void> maintain() override { return store_->maintain(); }
  [[nodiscard]] int changes_fd() const override { return store_->changes_fd(); }
  void clear_changes() override { store_->clear_changes(); }
  [[nodiscard]] const store::Identity& identity() const override { return store_->identity(); }
  [[nodiscard]] const Path& directory() const override { return store_->directory(); }
  void forget_copy() override { store_->forget_copy(); }
  [[nodiscard]] const std::string& note() const override { return store_->note(); }

  static constexpr std::uint64_t kCommit = 1000;
  static inline std::atomic<bool> rung{false};
  static inline std::atomic<std::uint64_t> expected{0};

 private:
  void ring() {
    rang_ = true;
    std::optional<claim::BellPlace> place;
    const auto seen = store_->view(store::Freshness::cached, [&](const claim::Reader& reader) {
      return claim::scan_workers(reader, true, [&](const claim::Worker& worker) {
        place = worker.info.bell;
        return false;
      });
    });
    ASSERT_TRUE(seen.ok() && place);
    UdpSender().send(place->addresses.front(),
                     render_bell({kCommit, 0}, identity().instance, place->key));
    rung = true;
  }

  std::unique_ptr<store::Store> store_;
  bool rang_ = false;
};

TEST_F(SessionTest, the_store_is_told_which_commit_a_bell_tells_of) {
  make("compute_node_wait_for_new_jobs_seconds: 600\njobs: [{name: a, command: x}]\n",
       store::Engine::journal);
  setup_.bell = true;
  setup_.bell_interface = "127.0.0.1";
  RingingStore::rung = false;
  RingingStore::expected = 0;
  expects_news = [] { return RingingStore::rung && RingingStore::expected == 0; };
  Session session(context_, setup_, events_, host_, nullptr);
  host_.awaits_store = [&] { return session.awaits_store() || expects_news(); };
  ASSERT_TRUE(session.run(std::make_unique<RingingStore>(open())).ok());
  EXPECT_TRUE(RingingStore::rung);
  EXPECT_EQ(RingingStore::expected, RingingStore::kCommit);
}

TEST_F(SessionTest, a_worker_that_gets_no_thread_says_so) {
  make("jobs: [{name: a, command: x}]\n");
  auto store = open();
  Session session(context_, setup_, events_, host_, nullptr);
  const NoThreads scarce;
  const auto summary = session.run(std::move(store));
  ASSERT_FALSE(summary.ok());
  EXPECT_EQ(summary.error().kind, ErrorKind::busy);
  EXPECT_NE(summary.error().text().find("cannot make a thread"), std::string::npos);
}

}  // namespace
}  // namespace torc::worker
