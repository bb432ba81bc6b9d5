#include "lib/exec/watchdog.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include <functional>

namespace torc::exec {
namespace {

// Both ends of a pipe; every process that is made later has them, too.
struct Pipe {
  Pipe() { EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0); }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  void close_end(int end) {
    if (ends[end] >= 0) close(std::exchange(ends[end], -1));
  }
  int ends[2] = {-1, -1};
};

// Runs `worker` below a watchdog, in a process of its own, which ends as a torc would; its status.
int status_of(const std::function<int(WatchedLease&)>& worker) {
  const pid_t guarded = fork();
  if (guarded == 0) {
    SystemClock clock;
    auto split = split_off_watchdog(clock);
    if (!split) _exit(99);
    if (auto* lease = std::get_if<std::unique_ptr<WatchedLease>>(&*split)) _exit(worker(**lease));
    const auto& ended = std::get<WorkerEnded>(*split);
    if (ended.signal != 0) die_of(ended.signal);
    _exit(ended.exit_code);
  }
  int status = 0;
  EXPECT_EQ(waitpid(guarded, &status, 0), guarded);
  return status;
}

TEST(Watchdog, ends_with_the_exit_code_of_its_worker) {
  const int status = status_of([](WatchedLease&) { return 7; });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST(Watchdog, ends_of_the_signal_of_its_worker_without_a_core) {
  const int status = status_of([](WatchedLease&) {
    prctl(PR_SET_DUMPABLE, 0);      // the worker may leave one
    std::signal(SIGSEGV, SIG_DFL);  // a sanitizer would make an exit of it
    raise(SIGSEGV);
    return 0;
  });
  ASSERT_TRUE(WIFSIGNALED(status)) << status;
  EXPECT_EQ(WTERMSIG(status), SIGSEGV);
  EXPECT_FALSE(WCOREDUMP(status));
}

TEST(Watchdog, is_the_process_that_its_worker_is_known_by) {
  const int status = status_of([](WatchedLease& lease) {
    return lease.process().pid == static_cast<std::uint64_t>(getppid()) ? 1 : 0;
  });
  EXPECT_EQ(WEXITSTATUS(status), 1);
}

// A process that nobody waits for, in a session of its own, deaf: it ends when it is killed.
void leave_behind(Pipe& pipe) {
  if (fork() != 0) return;
  setsid();
  signal(SIGTERM, SIG_IGN);
  if (fork() != 0) _exit(0);
  pipe.close_end(0);
  for (;;) pause();
}

TEST(Watchdog, leaves_nothing_of_its_worker_behind) {
  Pipe pipe;
  status_of([&](WatchedLease&) {
    leave_behind(pipe);
    return 0;
  });
  pipe.close_end(1);
  pollfd end{pipe.ends[0], POLLIN, 0};
  ASSERT_EQ(poll(&end, 1, 0), 1) << "somebody still has the other end";
  EXPECT_NE(end.revents & POLLHUP, 0);
}

// The lease began long ago, so that it is due at once.
TEST(Watchdog, ends_what_a_worker_started_that_does_not_renew_its_lease) {
  const int status = status_of([](WatchedLease& lease) {
    const pid_t job = fork();
    if (job == 0) {
      for (;;) pause();
    }
    SystemClock clock;
    lease.hold(clock.boot_now() - std::chrono::seconds(10), std::chrono::seconds(6));
    int ended = 0;
    waitpid(job, &ended, 0);
    return WIFSIGNALED(ended) && WTERMSIG(ended) == SIGKILL && lease.fenced() ? 1 : 0;
  });
  EXPECT_EQ(WEXITSTATUS(status), 1);
}

TEST(Watchdog, passes_signals_on) {
  const int status = status_of([](WatchedLease&) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, nullptr);
    kill(getppid(), SIGUSR1);
    int got = 0;
    sigwait(&set, &got);
    return got;
  });
  EXPECT_EQ(WEXITSTATUS(status), SIGUSR1);
}

}  // namespace
}  // namespace torc::exec
