// Commands that are queued: begun by the slots of a lane.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "lib/base/testing/no_threads.h"
#include "lib/exec/end/watched_lease.h"
#include "lib/exec/machine/procfs.h"
#include "lib/exec/process/host_fixture.h"

namespace torc::exec {
namespace {

using namespace std::chrono_literals;

class Queue : public HostTest {
 protected:
  RunId queue(const std::string& line) { return queue(command(line)); }
  RunId queue(const Command& what) {
    auto id = host_->queue(what);
    EXPECT_TRUE(id.ok()) << id.error().text();
    return id.ok() ? *id : RunId{};
  }
  // Until so many have ended or were declined.
  void wait_for_ends(std::size_t count) {
    while (ended_.size() + declined_.size() < count) {
      auto wakeup = host_->wait(std::nullopt);
      ASSERT_TRUE(wakeup.ok());
      for (const auto& b : wakeup->begun) begun_.push_back(b.id);
      for (const auto& d : wakeup->declined) declined_.push_back(d.id);
      for (const Ended& e : wakeup->ended) {
        EXPECT_NE(std::find(begun_.begin(), begun_.end(), e.id), begun_.end()) << "told to begin";
        ended_[e.id] = e;
      }
    }
  }
  void wait_for_begin(RunId id) {
    while (std::find(begun_.begin(), begun_.end(), id) == begun_.end()) {
      auto wakeup = host_->wait(std::nullopt);
      ASSERT_TRUE(wakeup.ok());
      for (const auto& b : wakeup->begun) begun_.push_back(b.id);
    }
  }
  std::vector<RunId> begun_;
  std::vector<RunId> declined_;
  std::map<RunId, Ended> ended_;
};

TEST_F(Queue, thousands_run_in_their_order_and_leave_nothing_behind) {
  constexpr std::size_t kJobs = 2000;
  Command quick = command("true");
  quick.stdout_path = quick.stderr_path = "";
  std::vector<RunId> queued;
  for (std::size_t i = 0; i < kJobs; ++i) queued.push_back(queue(quick));
  host_->let_run(3);
  wait_for_ends(kJobs);
  EXPECT_EQ(ended_.size(), kJobs);
  for (const auto& [id, ended] : ended_) {
    ASSERT_EQ(ended.how, Ending::exited);
    ASSERT_EQ(ended.exit_code, 0);
  }
  std::sort(begun_.begin(), begun_.end());
  EXPECT_EQ(begun_, queued) << "each once";
  EXPECT_EQ(host_->running(), 0U);
  EXPECT_TRUE(children_of(getpid()).pids.empty());
}

TEST_F(Queue, no_more_run_at_a_time_than_may) {
  for (int i = 0; i < 200; ++i) queue("mkdir lock && rmdir lock");
  host_->let_run(1);
  wait_for_ends(200);
  for (const auto& [id, ended] : ended_) EXPECT_EQ(ended.exit_code, 0) << "two met";
}

TEST_F(Queue, what_has_not_begun_is_taken_back_and_never_begins) {
  const std::vector<RunId> queued{queue("touch a"), queue("touch b")};
  EXPECT_EQ(host_->take_back(), queued);
  host_->let_run(2);
  queue("true");
  wait_for_ends(1);
  EXPECT_FALSE(std::filesystem::exists(directory_ / "a"));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "b"));
}

TEST_F(Queue, after_one_that_cannot_be_started_nothing_begins_until_it_is_taken_back) {
  Command lost = command("true");
  lost.directory = directory_ / "nowhere";
  const RunId bad = queue(lost);
  const RunId behind = queue("touch behind");
  host_->let_run(1);
  wait_for_ends(1);
  EXPECT_EQ(declined_, std::vector<RunId>{bad});
  EXPECT_EQ(host_->take_back(), std::vector<RunId>{behind});
  EXPECT_FALSE(std::filesystem::exists(directory_ / "behind"));
  const RunId next = queue("true");
  wait_for_ends(2);
  EXPECT_EQ(ended_[next].exit_code, 0);
}

TEST_F(Queue, what_it_comes_to_is_told_as_of_all_others) {
  host_->let_run(2);
  const RunId code = queue("exit 7");
  const RunId term = queue("kill -TERM $$");
  const RunId kill = queue("kill -KILL $$");
  const RunId busy = queue("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done");
  wait_for_ends(4);
  EXPECT_EQ(ended_[code].exit_code, 7);
  EXPECT_EQ(ended_[term].signal, SIGTERM);
  EXPECT_EQ(ended_[term].how, Ending::signaled);
  EXPECT_EQ(ended_[kill].signal, SIGKILL);
  EXPECT_EQ(ended_[kill].how, Ending::signaled);
  EXPECT_GT(ended_[busy].cpu_time.count(), 0);
  EXPECT_GE(ended_[busy].ended_at, ended_[busy].started_at);
}

// A slot reaps a short command by itself, but not what it leaves.
TEST_F(Queue, has_not_ended_before_all_that_came_of_it_has) {
  host_->let_run(1);
  for (const char* line :
       {"setsid sleep 1000 & exit 3",                     // out of its session
        "(sleep 1000 &) ; exit 3",                        // an orphan in its group
        "env -u TORC_RUN_ID setsid sleep 1000 & exit 3",  // that hides whose it is
        "setsid sh -c 'sleep 1000 & sleep 1000 & wait' & exit 3"}) {
    SCOPED_TRACE(line);
    const RunId id = queue(line);
    wait_for_ends(ended_.size() + 1);
    EXPECT_EQ(ended_[id].exit_code, 3);
    EXPECT_TRUE(descendants_of(getpid()).pids.empty());
    EXPECT_EQ(host_->running(), 0U);
  }
}

TEST_F(Queue, an_orphan_of_one_that_runs_is_left_alone_when_another_one_ends) {
  host_->let_run(2);
  const RunId holds = queue("exec 9>fifo; (setsid sleep 1000 &); echo up >&9; read line <gate");
  ASSERT_EQ(mkfifo((directory_ / "gate").c_str(), 0600), 0);
  wait_for_begin(holds);
  wait_for("up");
  const std::size_t before = descendants_of(getpid()).pids.size();
  for (int i = 0; i < 20; ++i) queue("true");
  wait_for_ends(20);
  EXPECT_EQ(descendants_of(getpid()).pids.size(), before);
  write_file("gate", "go\n");
  wait_for_ends(21);
  EXPECT_TRUE(descendants_of(getpid()).pids.empty());
}

TEST_F(Queue, one_that_runs_is_stopped_and_killed_like_all_others) {
  host_->let_run(2);
  const RunId gentle =
      queue("exec 9>fifo; trap 'kill -9 $!; exit 5' TERM; sleep 1000 & echo one >&9; wait");
  wait_for_begin(gentle);
  wait_for("one");
  host_->stop(gentle, 60s);
  wait_for_ends(1);
  EXPECT_EQ(ended_[gentle].how, Ending::stopped);
  EXPECT_EQ(ended_[gentle].exit_code, 5);
  const RunId rough = queue("exec 9>fifo; trap '' TERM; sleep 1000 & echo two >&9; wait");
  wait_for_begin(rough);
  wait_for("two");
  host_->kill(rough);
  wait_for_ends(2);
  EXPECT_EQ(ended_[rough].how, Ending::stopped);
  EXPECT_FALSE(anybody_left());
}

TEST_F(Queue, everything_is_killed_at_once) {
  host_->let_run(4);
  for (int i = 0; i < 4; ++i) queue("exec 9>fifo; sleep 1000");
  for (int i = 0; i < 4; ++i) queue("touch never");
  while (host_->running() < 4) ASSERT_TRUE(host_->wait(system_clock_.boot_now() + 1ms).ok());
  host_->kill_all();
  host_.reset();
  EXPECT_TRUE(descendants_of(getpid()).pids.empty());
  EXPECT_FALSE(anybody_left());
  EXPECT_FALSE(std::filesystem::exists(directory_ / "never"));
}

// It is stopped with all others, and its slot waits for it until it executes.
TEST_F(Queue, one_that_is_being_started_when_the_lease_is_in_doubt_never_begins) {
  WatchedLease lease;
  open_host(system_clock_, &lease);
  lease.hold(system_clock_.boot_now(), 1h);
  Command blocked = command("touch begun");
  ASSERT_EQ(mkfifo((directory_ / "nobody_reads").c_str(), 0600), 0);
  blocked.stdout_path = directory_ / "nobody_reads";
  const RunId id = queue(blocked);
  host_->let_run(1);
  // It leads its session, and opens its output.
  const auto waits = [] {
    for (const pid_t pid : descendants_of(getpid()).pids) {
      const auto status = read_status(pid);
      if (status && status->session == pid) return true;
    }
    return false;
  };
  while (!waits()) ASSERT_TRUE(host_->wait(system_clock_.boot_now() + 1ms).ok());
  lease.hold(system_clock_.boot_now() - 1h, 100ms);
  wait_for_ends(1);
  EXPECT_EQ(declined_, std::vector<RunId>{id});
  EXPECT_FALSE(std::filesystem::exists(directory_ / "begun"));
}

TEST_F(Queue, nothing_begins_while_the_lease_is_in_doubt) {
  WatchedLease lease;
  open_host(system_clock_, &lease);
  lease.hold(system_clock_.boot_now() - 1h, 1s);
  lease.look(system_clock_.boot_now());
  ASSERT_TRUE(lease.paused() || lease.fenced());
  const RunId id = queue("touch begun");
  host_->let_run(1);
  wait_for_ends(1);
  EXPECT_EQ(declined_, std::vector<RunId>{id});
  EXPECT_FALSE(std::filesystem::exists(directory_ / "begun"));
}

TEST_F(Queue, that_gets_no_threads_declines_what_waits_and_tries_again_when_it_is_let) {
  const RunId waits = queue("true");
  {
    const NoThreads scarce;
    host_->let_run(100);
  }
  const RunId later = queue("true");
  wait_for_ends(2);
  std::sort(declined_.begin(), declined_.end());
  EXPECT_EQ(declined_, (std::vector<RunId>{waits, later})) << "else they would wait for ever";
  EXPECT_TRUE(host_->take_back().empty());
  host_->let_run(0);
  host_->let_run(2);
  const RunId runs = queue("exit 3");
  wait_for_ends(3);
  EXPECT_EQ(ended_[runs].exit_code, 3);
}

}  // namespace
}  // namespace torc::exec
