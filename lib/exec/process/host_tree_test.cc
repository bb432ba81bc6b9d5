#include <sys/prctl.h>
#include <sys/wait.h>

#include <array>
#include <csignal>
#include <future>
#include <thread>

#include "lib/exec/machine/machine.h"
#include "lib/exec/machine/procfs.h"
#include "lib/exec/process/host_fixture.h"

namespace torc::exec {
namespace {

using namespace std::chrono_literals;

class Tree : public HostTest {
 protected:
  // The process that wrote its number into a file, with its start time.
  [[nodiscard]] ProcessIdentity written_in(const std::string& name) const {
    const auto pid = static_cast<pid_t>(std::stol(text_of(name)));
    const auto stat = read_stat(pid);
    return {static_cast<std::uint64_t>(pid), stat ? stat->start : 0};
  }
};

// In a session of its own, with a parent that has ended; waits for nothing but a signal.
constexpr const char* kDaemon = "(setsid sh -c 'echo $$ >pid; echo daemon >&9; exec sleep 1000' &)";

TEST_F(Tree, a_background_process_ends_with_its_leader) {
  const RunId id = start("exec 9>fifo; sleep 1000 & exit 3");
  const Ended ended = end_of(id);
  EXPECT_EQ(ended.how, Ending::exited);
  EXPECT_EQ(ended.exit_code, 3);
  EXPECT_FALSE(anybody_left());
}

TEST_F(Tree, a_daemon_that_left_the_session_ends_with_its_leader) {
  const RunId id = start(std::string("exec 9>fifo; trap 'kill -9 $!; exit 4' TERM; ") + kDaemon +
                         "; sleep 1000 & wait");
  wait_for("daemon");
  const ProcessIdentity daemon = written_in("pid");
  ASSERT_EQ(presence_of(daemon), Presence::here);
  ASSERT_NE(getsid(static_cast<pid_t>(daemon.pid)), host_->leader(id));
  ::kill(host_->leader(id), SIGTERM);  // not by the host: it ends on its own
  const Ended ended = end_of(id);
  EXPECT_EQ(ended.how, Ending::exited);
  EXPECT_EQ(ended.exit_code, 4);
  EXPECT_EQ(presence_of(daemon), Presence::gone);
  EXPECT_FALSE(anybody_left());
}

TEST_F(Tree, generations_of_sessions_end_with_the_leader) {
  write_file("nest",
             "exec 9>fifo\n"
             "if [ $1 = 0 ]; then echo deepest >&9; exec sleep 1000; fi\n"
             "setsid sh nest $(($1 - 1)) &\nexec sleep 1000\n");
  const RunId id = start("sh nest 6; exit 0");
  wait_for("deepest");
  ::kill(host_->leader(id), SIGKILL);
  EXPECT_EQ(end_of(id).how, Ending::signaled);
  EXPECT_FALSE(anybody_left());
}

TEST_F(Tree, a_daemon_that_cleared_its_environment_ends_with_its_leader) {
  const RunId id = start(
      "exec 9>fifo; (env -i setsid sh -c 'echo hidden >&9; exec sleep 1000' &) ; "
      "exec sleep 1000");
  wait_for("hidden");
  ::kill(host_->leader(id), SIGKILL);
  end_of(id);
  EXPECT_FALSE(anybody_left());
}

TEST_F(Tree, daemons_of_a_command_that_still_runs_are_left_alone) {
  const RunId staying = start(std::string("exec 9>fifo; ") + kDaemon + "; exec sleep 1000");
  wait_for("daemon");
  const ProcessIdentity daemon = written_in("pid");
  EXPECT_EQ(run("sleep 1000 & exit 0").exit_code, 0);
  EXPECT_EQ(presence_of(daemon), Presence::here);
  host_->kill(staying);
  EXPECT_EQ(end_of(staying).how, Ending::stopped);
  EXPECT_EQ(presence_of(daemon), Presence::gone);
}

TEST_F(Tree, a_daemon_ends_with_its_own_command_while_others_run) {
  const RunId other = start("exec sleep 1000");
  const RunId id = start(std::string("exec 9>fifo; ") + kDaemon + "; exec sleep 1000");
  wait_for("daemon");
  ::kill(host_->leader(id), SIGKILL);
  end_of(id);
  EXPECT_FALSE(anybody_left());
  host_->kill(other);
  end_of(other);
}

TEST_F(Tree, a_hidden_daemon_ends_at_the_latest_with_the_last_command_it_can_be_of) {
  const RunId first = start("exec 9>fifo; echo first >&9; exec sleep 1000");
  wait_for("first");
  const RunId second = start(
      "exec 9>fifo; (env -i setsid sh -c 'echo $$ >pid; echo hidden >&9; exec sleep 1000' &) ; "
      "exec sleep 1000");
  wait_for("hidden");
  const ProcessIdentity daemon = written_in("pid");
  host_->kill(second);
  end_of(second);
  host_->kill(first);
  end_of(first);
  EXPECT_EQ(presence_of(daemon), Presence::gone);
  EXPECT_FALSE(anybody_left());
}

TEST_F(Tree, the_termination_signal_reaches_processes_outside_the_group) {
  const RunId id = start(
      "exec 9>fifo; setsid sh -c "
      "'trap \"kill -9 \\$!; echo saved >saved; exit 0\" TERM; sleep 1000 & echo ready >&9; wait'; "
      "exit 0");
  wait_for("ready");
  host_->stop(id, 1h);
  EXPECT_EQ(end_of(id).how, Ending::stopped);
  EXPECT_EQ(text_of("saved"), "saved\n");
  EXPECT_FALSE(anybody_left());
}

TEST_F(Tree, killing_all_ends_every_tree) {
  std::array<RunId, 3> ids{};
  for (RunId& id : ids) {
    id = start(std::string("exec 9>fifo; trap '' TERM; ") + kDaemon + "; sleep 1000; exit 0");
    wait_for("daemon");
  }
  host_->kill_all();
  for (std::size_t ended = 0; ended < ids.size();) {
    auto wakeup = host_->wait(std::nullopt);
    ASSERT_TRUE(wakeup.ok());
    for (const Ended& one : wakeup->ended) EXPECT_EQ(one.how, Ending::stopped);
    ended += wakeup->ended.size();
  }
  EXPECT_FALSE(anybody_left());
}

TEST_F(Tree, a_host_that_is_destroyed_leaves_nobody) {
  start(std::string("exec 9>fifo; trap '' TERM; ") + kDaemon + "; sleep 1000; exit 0");
  wait_for("daemon");
  start(
      "(env -i setsid sh -c 'exec 9>fifo; sleep 1000 & sleep 1000 & echo hidden >&9; wait' &); "
      "sleep 1000; exit 0");
  wait_for("hidden");
  host_.reset();
  EXPECT_FALSE(anybody_left());
  EXPECT_TRUE(children_of(getpid()).pids.empty());
}

TEST_F(Tree, orphans_that_end_early_are_reaped_while_the_command_runs) {
  const RunId id =
      start("exec 9>fifo; (setsid sh -c 'echo $$ >pid; echo daemon >&9' &) ; exec sleep 1000");
  wait_for("daemon");
  const auto pid = static_cast<pid_t>(std::stol(text_of("pid")));
  // Its end wakes the host, which has nothing to report; a second command's end is seen after it.
  while (::kill(pid, 0) == 0) EXPECT_EQ(run("true").exit_code, 0);
  host_->kill(id);
  end_of(id);
}

TEST_F(Tree, children_from_before_the_host_are_not_killed) {
  host_.reset();
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  const pid_t earlier = fork();
  if (earlier == 0) {
    char byte = 0;
    close(ends[1]);
    _exit(read(ends[0], &byte, 1) == 0 ? 0 : 1);
  }
  open_host(system_clock_);
  EXPECT_EQ(run("sleep 1000 & exit 0").exit_code, 0);
  host_.reset();
  EXPECT_EQ(::kill(earlier, 0), 0);
  EXPECT_EQ(waitpid(earlier, nullptr, WNOHANG), 0) << "it still runs";
  close(ends[1]);
  int status = 0;
  EXPECT_EQ(waitpid(earlier, &status, 0), earlier);
  EXPECT_EQ(status, 0);
  close(ends[0]);
}

TEST_F(Tree, a_host_is_refused_while_another_thread_takes_the_child_signal) {
  host_.reset();
  std::promise<void> runs;
  std::promise<void> may_end;
  std::thread other([&] {
    runs.set_value();
    may_end.get_future().wait();
  });
  runs.get_future().wait();
  const auto refused = ProcessHost::create(system_clock_);
  may_end.set_value();
  other.join();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::invalid);
}

TEST_F(Tree, a_host_works_in_a_thread_that_is_not_the_main_one) {
  host_.reset();
  sigset_t child_signal;
  sigset_t before;
  sigemptyset(&child_signal);
  sigaddset(&child_signal, SIGCHLD);
  pthread_sigmask(SIG_BLOCK, &child_signal, &before);
  std::thread([&] {
    open_host(system_clock_);
    const RunId id = start(std::string("exec 9>fifo; ") + kDaemon + "; exec sleep 1000");
    wait_for("daemon");
    ::kill(host_->leader(id), SIGKILL);
    EXPECT_EQ(end_of(id).signal, SIGKILL);
    EXPECT_FALSE(anybody_left());
    host_.reset();
  }).join();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_TRUE(children_of(getpid()).pids.empty());
}

// What a worker would be: starts a command, says its number, and is killed.
[[noreturn]] void be_a_worker(const Command& command, int report) {
  SystemClock clock;
  auto host = ProcessHost::create(clock);
  const auto id = host.ok() ? (*host)->start(command) : Result<RunId>(host.error());
  const pid_t leader = id.ok() ? (*host)->leader(*id) : 0;
  if (write(report, &leader, sizeof leader) != sizeof leader) _exit(1);
  for (;;) pause();
}

TEST_F(Tree, a_leader_dies_with_a_worker_that_is_killed) {
  host_.reset();
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  const Command sleeping = command("sleep 1000");
  const pid_t worker = fork();
  if (worker == 0) be_a_worker(sleeping, ends[1]);
  pid_t leader = 0;
  ASSERT_EQ(read(ends[0], &leader, sizeof leader), static_cast<ssize_t>(sizeof leader));
  ASSERT_GT(leader, 0);
  ::kill(worker, SIGKILL);
  EXPECT_EQ(waitpid(worker, nullptr, 0), worker);
  int status = 0;
  EXPECT_EQ(waitpid(leader, &status, 0), leader);  // an orphan of ours now
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  prctl(PR_SET_CHILD_SUBREAPER, 0);
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace torc::exec
