// What a worker does when it is not sure of its lease: after a sleep, and with a store that cannot
// be written.
#include <thread>

#include "lib/claim/queries/workers.h"
#include "lib/claim/transactions/membership.h"
#include "lib/worker/loop/session_fixture.h"

namespace torc::worker {
namespace {

using namespace std::chrono_literals;
using claim::EndCause;
using claim::JobState;

constexpr const char* kOne = "jobs: [{name: a, command: x}]\n";

class PausedSession : public SignaledSession {
 protected:
  PausedSession() {
    setup_.lease_ttl = 10min;
    events_.notice = [this](const std::string& line) {
      notices_.push_back(line);
      if (line.starts_with("stopped ")) stopped_at_ = clock_.boot_now();
      if (line.starts_with("this worker could not renew")) lost_at_ = clock_.boot_now();
    };
  }
  [[nodiscard]] std::function<void()> sleep(std::chrono::nanoseconds time) {
    return [this, time] { clock_.sleep_for(time); };
  }
  [[nodiscard]] std::function<void()> complete() {
    return [this] { end_it(ScriptedHost::ended_by_itself(0)); };
  }
  // As a worker of another host does it.
  void expire_it() {
    store::World elsewhere{disk_, clock_, entropy2_, "n2", "boot2", "ns", geteuid(), {}};
    elsewhere.replica_roots = {directory_ / "n2"};
    std::filesystem::create_directory(directory_ / "n2");
    auto store = store::Store::open(elsewhere, store_, {});
    ASSERT_TRUE(store.ok()) << store.error().text();
    const auto done = (*store)->commit(0, [&](claim::Transaction& tx) -> Result<void> {
      TORC_ASSIGN(const auto worker, claim::newest_worker(tx));
      TORC_TRY(claim::expire_worker(tx, worker->epoch, worker->renewals, clock_.wall_now(), 5,
                                    EndCause::lease_lost));
      return {};
    });
    EXPECT_TRUE(done.ok()) << done.error().text();
  }
  BootTime stopped_at_{}, lost_at_{};
};

TEST_F(PausedSession, after_a_long_sleep_jobs_go_on_when_nobody_has_taken_them_over) {
  make(kOne);
  const WorkerSummary summary = run_with({sleep(8h), complete()});
  EXPECT_EQ(summary.end, WorkerEnd::workflow_finished);
  EXPECT_EQ(summary.completed, 1U);
  EXPECT_EQ(host_.kills, 0);
  EXPECT_EQ(job(1).attempt, 1U);
  EXPECT_TRUE(said("stopped 1 running job: this worker could not renew its lease in time"));
  EXPECT_TRUE(said("its lease is still good: 1 running job goes on"));
}

// Its process is stopped with all others before it executes its program, which is waited for.
TEST_F(PausedSession, a_start_that_a_pause_falls_into_does_not_keep_the_store_from_being_asked) {
  exec::LeasePage page;
  exec::WatchedLease lease(page, -1, -1, exec::this_process());
  context_.watched = &lease;
  setup_.lease_ttl = 1s;
  make(kOne);
  host_.outcome = [&] {
    EXPECT_TRUE(page.begin_pause(clock_.boot_now()));
    page.go_on(clock_.boot_now());
    while (page.paused()) std::this_thread::yield();
    return std::optional(ScriptedHost::ended_by_itself(0));
  };
  EXPECT_EQ(run().completed, 1U);
}

// It was lost while the answer was on its way, and that is seen first.
TEST_F(PausedSession, an_answer_that_comes_after_the_lease_was_lost_counts_for_nothing) {
  exec::LeasePage page;
  exec::WatchedLease lease(page, -1, -1, exec::this_process());
  context_.watched = &lease;
  make(kOne);
  host_.readable = [&](int) { page.lose(); };
  EXPECT_EQ(run().end, WorkerEnd::lease_lost);
  EXPECT_TRUE(seen_.empty());
  EXPECT_EQ(host_.started, 0);
}

// The start hangs, on a mount that is dead, say: its worker's jobs are ended in time all the same.
TEST_F(PausedSession, a_start_that_hangs_prolongs_the_lease_once) {
  exec::LeasePage page;
  exec::WatchedLease lease(page, -1, -1, exec::this_process());
  context_.watched = &lease;
  setup_.lease_ttl = 1s;
  make(kOne);
  bool hung = false;
  host_.outcome = [&] {
    if (std::exchange(hung, true)) return std::optional(ScriptedHost::ended_by_itself(0));
    const auto pause = [&] {
      EXPECT_TRUE(page.begin_pause(clock_.boot_now()));
      page.go_on(clock_.boot_now());
    };
    pause();
    while (page.paused()) std::this_thread::yield();
    pause();
    // Each turn of the thread that asks reads the clock a few times.
    const std::uint64_t some_turns = clock_.looks() + 40;
    while (page.paused() && clock_.looks() < some_turns) std::this_thread::yield();
    EXPECT_TRUE(page.paused()) << "it was renewed a second time";
    return std::optional(ScriptedHost::ended_by_itself(0));
  };
  EXPECT_EQ(run().completed, 1U);  // the main thread asks
}

TEST_F(PausedSession, as_often_as_it_likes) {
  make(kOne);
  std::vector<std::function<void()>> days(20, sleep(24h));
  days.push_back(complete());
  EXPECT_EQ(run_with(std::move(days)).completed, 1U);
  EXPECT_EQ(host_.kills, 0);
  EXPECT_EQ(job(1).lost, 0U);
}

TEST_F(PausedSession, after_a_long_sleep_jobs_that_others_have_are_ended_and_do_not_go_on) {
  make(kOne, store::Engine::journal);
  const WorkerSummary summary = run_with({[&] {
    clock_.sleep_for(8h);
    expire_it();
  }});
  EXPECT_EQ(summary.end, WorkerEnd::lease_lost);
  EXPECT_EQ(host_.kills, 1);
  EXPECT_FALSE(said("its lease is still good"));
  EXPECT_EQ(job(1).state, JobState::ready);
}

TEST_F(PausedSession, an_end_that_comes_while_it_asks_counts_once_the_lease_stands) {
  make(kOne, store::Engine::journal);
  const WorkerSummary summary = run_with({[&] {
                                            disk_.full = true;
                                            clock_.sleep_for(8h);
                                          },
                                          complete(), sleep(20s), [&] { disk_.full = false; }});
  EXPECT_EQ(summary.completed, 1U);
  EXPECT_TRUE(said("no answer about the lease yet"));
  EXPECT_EQ(job(1).state, JobState::completed);
}

TEST_F(PausedSession, nor_is_an_end_reported_of_a_lease_that_was_lost) {
  make(kOne, store::Engine::journal);
  const WorkerSummary summary = run_with({[&] {
    disk_.full = true;
    clock_.sleep_for(8h);
    end_it(ScriptedHost::ended_by(SIGKILL));
  }});
  EXPECT_EQ(summary.end, WorkerEnd::lease_lost);
  EXPECT_EQ(summary.failed, 0U);
  EXPECT_TRUE(claim::is_live(job(1).state));  // as the store knows
}

TEST_F(PausedSession, a_store_that_does_not_answer_is_asked_for_as_long_as_a_whole_lease) {
  make(kOne, store::Engine::journal);
  BootTime woken{};
  const WorkerSummary summary = run_with({[&] {
    disk_.full = true;
    clock_.sleep_for(8h);
    woken = clock_.boot_now();
  }});
  EXPECT_EQ(summary.end, WorkerEnd::lease_lost);
  EXPECT_EQ(host_.kills, 1);
  EXPECT_GE(lost_at_ - woken, 10min);
  EXPECT_LT(lost_at_ - woken, 10min + 5s);
}

// Others may have them after a whole lease.
TEST_F(PausedSession, jobs_of_a_worker_that_cannot_renew_are_stopped_and_then_ended_in_time) {
  make(kOne, store::Engine::journal);
  BootTime renewed{};
  const WorkerSummary summary = run_with({[&] {
    disk_.full = true;
    renewed = clock_.boot_now();
  }});
  EXPECT_EQ(summary.end, WorkerEnd::lease_lost);
  EXPECT_EQ(host_.kills, 1);
  EXPECT_LE(stopped_at_ - renewed, 6min + 1s);
  EXPECT_LE(lost_at_ - renewed, 9min + 1s);
}

TEST_F(PausedSession, they_go_on_when_the_store_answers_before_that) {
  make(kOne, store::Engine::journal);
  bool filled = false;
  bool healed = false;
  host_.meanwhile = [&](BootTime) {
    if (host_.running_now.empty()) return false;
    if (!std::exchange(filled, true)) {
      disk_.full = true;
      return true;
    }
    if (stopped_at_ == BootTime{} || clock_.boot_now() < stopped_at_ + 2min) return false;
    if (!std::exchange(healed, true)) {
      disk_.full = false;
      return true;
    }
    if (!said("its lease is still good")) return false;
    end_it(ScriptedHost::ended_by_itself(0));
    return true;
  };
  EXPECT_EQ(run().completed, 1U);
  EXPECT_EQ(host_.kills, 0);
  EXPECT_EQ(job(1).attempt, 1U);
}

}  // namespace
}  // namespace torc::worker
