#include "lib/exec/watchdog/watchdog.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <new>
#include <string>

#include "lib/exec/machine/procfs.h"
#include "lib/exec/start/launch.h"

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

using Worker = std::function<int(WatchedLease&)>;

// Runs `worker` below a watchdog, in this process, which ends as a torc would.
[[noreturn]] void run_guarded(const Worker& worker, Clock& clock,
                              const std::function<void()>& between_kills) {
  auto split = split_off_watchdog(clock, between_kills);
  if (!split) _exit(99);
  if (auto* lease = std::get_if<std::unique_ptr<WatchedLease>>(&*split)) _exit(worker(**lease));
  const auto& ended = std::get<WorkerEnded>(*split);
  if (ended.signal != 0) die_of(ended.signal);
  _exit(ended.exit_code);
}

// The same in a process of its own; its status.
int status_of(const Worker& worker, const std::function<void()>& between_kills = {},
              Clock* clock = nullptr) {
  const pid_t guarded = fork();
  if (guarded == 0) {
    SystemClock system;
    run_guarded(worker, clock != nullptr ? *clock : system, between_kills);
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

// The lease is due at once. Its jobs are stopped first, and ended when nobody has asked the store.
TEST(Watchdog, ends_what_a_worker_started_that_does_not_renew_its_lease) {
  const int status = status_of([](WatchedLease& lease) {
    const pid_t job = fork();
    if (job == 0) {
      for (;;) pause();
    }
    SystemClock clock;
    const std::chrono::milliseconds limit(60);
    lease.hold(clock.boot_now() - limit, limit);
    int ended = 0;
    waitpid(job, &ended, 0);
    return WIFSIGNALED(ended) && WTERMSIG(ended) == SIGKILL && lease.fenced() ? 1 : 0;
  });
  EXPECT_EQ(WEXITSTATUS(status), 1);
}

// The thread that ends the worker when its watchdog has died is held between the two kills, so that
// the worker surely sees the end of its job.
TEST(Watchdog, that_dies_makes_its_worker_s_lease_lost_before_a_job_ends_of_it) {
  Pipe said;
  const int status = status_of(
      [&](WatchedLease& lease) {
        const pid_t job = fork();
        if (job == 0) {
          for (;;) pause();
        }
        SystemClock clock;
        lease.hold(clock.boot_now(), std::chrono::hours(1));
        char word = lease.stands() ? 's' : 'x';
        (void)!write(said.ends[1], &word, 1);
        kill(getppid(), SIGKILL);
        int ended = 0;
        waitpid(job, &ended, 0);
        word = WIFSIGNALED(ended) && WTERMSIG(ended) == SIGKILL && lease.fenced() ? 'l' : 'x';
        (void)!write(said.ends[1], &word, 1);
        return 0;
      },
      [] {
        for (;;) pause();
      });
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  char words[2] = {};
  ASSERT_EQ(read(said.ends[0], words, 1), 1);
  ASSERT_EQ(read(said.ends[0], words + 1, 1), 1);
  EXPECT_EQ(words[0], 's');
  EXPECT_EQ(words[1], 'l') << "its end could be taken for the job's own";
}

TEST(Watchdog, that_has_gone_leaves_no_lease_that_stands) {
  Pipe said;
  status_of(
      [&](WatchedLease& lease) {
        SystemClock clock;
        lease.hold(clock.boot_now(), std::chrono::hours(1));
        const auto watchdog = static_cast<pid_t>(lease.process().pid);
        kill(watchdog, SIGKILL);
        while (getppid() == watchdog) {
        }
        const char word = lease.stands() ? 's' : 'l';
        (void)!write(said.ends[1], &word, 1);
        return 0;
      },
      [] {
        for (;;) pause();
      });
  char word = 0;
  ASSERT_EQ(read(said.ends[0], &word, 1), 1);
  EXPECT_EQ(word, 'l');
}

// Moved by hand, in memory that all processes share. It stands far back, so that what is due by it
// is due at once by the timers of the kernel: who waits for a time looks again and again.
class WatchedClock final : public Clock {
 public:
  WatchedClock()
      : shared_(new (mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Shared) {}
  ~WatchedClock() override { munmap(shared_, sizeof(Shared)); }
  WatchedClock(const WatchedClock&) = delete;
  WatchedClock& operator=(const WatchedClock&) = delete;
  [[nodiscard]] BootTime boot_now() const override {
    ++shared_->looks;
    return BootTime(shared_->now.load());
  }
  [[nodiscard]] WallTime wall_now() const override {
    return std::chrono::duration_cast<WallTime>(boot_now());
  }
  void sleep_for(std::chrono::nanoseconds duration) override { shared_->now += duration.count(); }
  // Until another process has looked at it, and what it did then is over: it looks again.
  void await_looks() const {
    for (const std::uint64_t enough = shared_->looks + 3; shared_->looks < enough;) sched_yield();
  }

 private:
  struct Shared {
    std::atomic<std::int64_t> now{1'000'000};
    std::atomic<std::uint64_t> looks{0};
  };
  Shared* shared_;
};

// To the watchdog, which passes it on.
void terminate_by_watchdog() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  kill(getppid(), SIGTERM);
  int got = 0;
  sigwait(&set, &got);
}

// One that drains may have been told long ago.
TEST(Watchdog, takes_a_request_from_before_a_pause_for_no_haste_in_it) {
  WatchedClock clock;
  Pipe said;
  const int status = status_of(
      [&](WatchedLease& lease) -> int {
        const std::chrono::seconds limit(30);  // it is asked about for half of that
        lease.hold(clock.boot_now(), limit);
        terminate_by_watchdog();
        clock.sleep_for(limit);
        lease.look(clock.boot_now());
        clock.await_looks();
        clock.sleep_for(std::chrono::seconds(6));
        clock.await_looks();
        const char word = lease.paused() ? 'p' : 'x';
        (void)!write(said.ends[1], &word, 1);
        terminate_by_watchdog();
        clock.sleep_for(std::chrono::seconds(6));
        for (;;) pause();
      },
      {}, &clock);
  said.close_end(1);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  char word = 0;
  ASSERT_EQ(read(said.ends[0], &word, 1), 1) << "the first request ended it";
  EXPECT_EQ(word, 'p');
}

char state_of(pid_t pid) {
  const auto stat = read_stat(pid);
  return stat ? stat->state : '-';
}

void await_state(pid_t pid, char state) {
  while (state_of(pid) != state) sched_yield();
}

// The worker waits for a program that has not been executed, and so does not stand still at once:
// the watchdog waits for that, and a SIGCONT falls into the time before it has stopped itself.
TEST(Watchdog, that_is_told_to_go_on_before_it_has_stopped_goes_on) {
  std::string directory = (std::filesystem::temp_directory_path() / "torc-watch-XXXXXX").string();
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  const std::string fifo = directory + "/fifo";  // nobody reads it at first
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  Pipe said;
  const pid_t guarded = fork();
  if (guarded == 0) {
    setpgid(0, 0);  // of a group that nobody could continue nothing stops
    SystemClock clock;
    run_guarded(
        [&](WatchedLease&) {
          const pid_t job = fork();
          if (job == 0) {
            setsid();
            for (;;) pause();
          }
          (void)!write(said.ends[1], &job, sizeof job);
          auto launcher = Launcher::create();
          std::string shell = "/bin/sh";
          std::string word = "true";
          char* words[] = {shell.data(), word.data(), nullptr};
          char* environment[] = {nullptr};
          LaunchPlan plan;
          plan.program = "/bin/true";
          plan.words = words;
          plan.environment = environment;
          plan.stdout_path = fifo.c_str();
          const Launched launched = (*launcher)->launch(plan);
          return launched.pid != 0 ? 7 : 8;
        },
        clock, {});
  }
  pid_t job = 0;
  ASSERT_EQ(read(said.ends[0], &job, sizeof job), static_cast<ssize_t>(sizeof job));
  const Family below = children_of(guarded);
  ASSERT_EQ(below.pids.size(), 1U);
  await_state(below.pids.front(), 'D');
  kill(guarded, SIGTSTP);
  await_state(job, 'T');
  kill(guarded, SIGCONT);
  const int reader = open(fifo.c_str(), O_RDONLY | O_NONBLOCK);
  int status = 0;
  ASSERT_EQ(waitpid(guarded, &status, WUNTRACED), guarded);
  EXPECT_FALSE(WIFSTOPPED(status)) << "it stopped after it had been told to go on";
  if (WIFSTOPPED(status)) {
    kill(guarded, SIGKILL);
    waitpid(guarded, &status, 0);
  } else {
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
  }
  close(reader);
  std::filesystem::remove_all(directory);
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
