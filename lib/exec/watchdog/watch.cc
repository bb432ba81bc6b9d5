#include "lib/exec/watchdog/watch.h"

#include <malloc.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "lib/exec/machine/procfs.h"

namespace torc::exec {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::nanoseconds kFirstLook = 10ms;
constexpr std::chrono::nanoseconds kLastLook = 1s;
// For a worker that lost its lease and was told to stop, to do so by itself.
constexpr std::chrono::nanoseconds kPatience = 5s;

bool asks_to_stop(int number) {
  return number == SIGTERM || number == SIGINT || number == SIGHUP || number == SIGQUIT;
}

// This process will run when a filesystem hangs, perhaps the one that its program lies on: what it
// needs shall be in memory by then. Where the limit does not allow it, it mostly is all the same.
void stay_in_memory() {
  (void)descendants_of(getpid());
  (void)read_stat(getpid());
  (void)read_status(getpid());
  (void)mlockall(MCL_CURRENT | MCL_ONFAULT);
}

}  // namespace

sigset_t watched_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int s : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT}) {
    struct sigaction action {};
    if (sigaction(s, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) continue;
    sigaddset(&set, s);
  }
  sigaddset(&set, SIGCHLD);
  return set;
}

Watch::Watch(Clock& clock, LeasePage& page, pid_t worker, int wake_fd, int news_fd)
    : clock_(clock),
      page_(page),
      worker_(worker),
      wake_fd_(wake_fd),
      news_fd_(news_fd),
      look_again_(kFirstLook) {
  sigset_t watched = watched_signals();
  sigset_t stop;
  sigemptyset(&stop);
  if (sigismember(&watched, SIGTSTP) == 1) sigaddset(&stop, SIGTSTP);
  sigdelset(&watched, SIGTSTP);
  signal_fd_ = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
  stop_fd_ = signalfd(-1, &stop, SFD_CLOEXEC | SFD_NONBLOCK);
  timer_fd_ = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
  prctl(PR_SET_NAME, "torc-watchdog");
  malloc_trim(0);
  stay_in_memory();
}

Watch::~Watch() {
  for (const int fd : {signal_fd_, stop_fd_, timer_fd_, wake_fd_, news_fd_}) {
    if (fd >= 0) close(fd);
  }
}

WorkerEnded Watch::run() {
  pollfd fds[] = {{signal_fd_, POLLIN, 0},
                  {timer_fd_, POLLIN, 0},
                  {wake_fd_, POLLIN, 0},
                  {stop_fd_, POLLIN, 0}};
  while (!worker_gone_) {
    (void)poll(fds, 4, -1);
    std::uint64_t ignored = 0;
    (void)!read(timer_fd_, &ignored, sizeof ignored);
    (void)!read(wake_fd_, &ignored, sizeof ignored);
    handle_signals();
    reap();
    if (!worker_gone_ && fds[3].revents != 0) pause_with_worker();
    if (!worker_gone_) look_at_lease();
  }
  end_what_is_left();
  return ended_;
}

void Watch::tell_worker() const {
  const std::uint64_t one = 1;
  (void)!write(news_fd_, &one, sizeof one);
}

void Watch::look_at_lease() {
  const BootTime now = clock_.boot_now();
  switch (page_.look(now)) {
    case LeasePage::Phase::none:
    case LeasePage::Phase::held:
      stopped_.go_on();
      doubted_at_.reset();
      asked_in_pause_.reset();
      told_fenced_ = false;
      look_again_ = kFirstLook;
      set_timer(page_.due());
      return;
    case LeasePage::Phase::paused:
      return look_at_pause(now);
    case LeasePage::Phase::fenced:
      return look_at_fence(now);
  }
}

// Told to stop, the worker has not done so by itself, nor has it heard of its lease.
bool Watch::is_out_of_patience(BootTime now) const {
  return told_to_stop_ && now >= std::max(*told_to_stop_, *doubted_at_) + kPatience;
}

void Watch::look_at_pause(BootTime now) {
  if (!doubted_at_) {
    doubted_at_ = now;
    tell_worker();
  }
  // Again and again: the worker may have been about to start a job.
  if (page_.begin_sweep(LeasePage::Phase::paused)) {
    if (stopped_.stop_below(worker_) == Told::but_one_that_starts) look_again_ = kFirstLook;
    page_.end_sweep();
  }
  // One that was told before may be ending its jobs in its own time.
  if (asked_in_pause_ && now >= std::max(*asked_in_pause_, *doubted_at_) + kPatience) {
    page_.lose();
    return look_at_fence(now);
  }
  const BootTime again = now + look_again_;
  look_again_ = std::min(2 * look_again_, kLastLook);
  set_timer(std::min(again, page_.due().value_or(again)));
}

void Watch::look_at_fence(BootTime now) {
  if (!doubted_at_) doubted_at_ = now;
  if (!std::exchange(told_fenced_, true)) {
    look_again_ = kFirstLook;
    tell_worker();
  }
  if (page_.begin_sweep(LeasePage::Phase::fenced)) {
    kill_below(worker_);
    page_.end_sweep();
  }
  stopped_.forget();
  if (is_out_of_patience(now)) {
    ended_.given_up = true;
    ::kill(worker_, SIGKILL);
  }
  set_timer(now + look_again_);
  look_again_ = std::min(2 * look_again_, kLastLook);
}

void Watch::set_timer(std::optional<BootTime> at) {
  itimerspec when{};
  if (at) {
    const auto time = std::max(*at, BootTime(1));
    when.it_value.tv_sec = static_cast<time_t>(time / 1s);
    when.it_value.tv_nsec = static_cast<long>((time % 1s).count());
  }
  timerfd_settime(timer_fd_, TFD_TIMER_ABSTIME, &when, nullptr);
}

void Watch::handle_signals() {
  signalfd_siginfo info{};
  while (read(signal_fd_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    const int number = static_cast<int>(info.ssi_signo);
    if (number == SIGCHLD) continue;
    if (asks_to_stop(number)) {
      const BootTime now = clock_.boot_now();
      if (!told_to_stop_) told_to_stop_ = now;
      if (!asked_in_pause_ && page_.look(now) == LeasePage::Phase::paused) asked_in_pause_ = now;
    }
    pass_on(number);
  }
}

// Also what the keyboard sends: that goes to the group of this process, and the worker has left it.
void Watch::pass_on(int number) {
  if (!worker_gone_) ::kill(worker_, number);
}

// Nobody would end the jobs in time, so they stop too, in sessions of their own as they are. That
// is after the worker, which could start others. They go on when the worker has asked the store.
//
// The signal stays pending until all is ready for it. A SIGCONT that comes meanwhile takes it away,
// and nothing stops; had it been read and another one raised here, that would take the SIGCONT away
// instead, and nobody would send a second one.
void Watch::pause_with_worker() {
  (void)page_.begin_pause(clock_.boot_now());
  stop_worker_and_jobs();
  // The shell that waits for this process takes the terminal back when this process stops.
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, SIGTSTP);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);  // here it stops
  pthread_sigmask(SIG_BLOCK, &only, nullptr);
  page_.go_on(clock_.boot_now());
  doubted_at_.reset();  // its patience begins anew
  tell_worker();
  ::kill(worker_, SIGCONT);
}

// A worker that waits for a disk stops later, before it does anything else: that is not waited for.
void Watch::stop_worker_and_jobs() {
  constexpr timespec kNap{0, 1'000'000};
  constexpr int kMostNaps = 50;      // for the worker, and for what may never be seen
  constexpr int kMostOfAll = 2'000;  // for what it started, which runs as soon as it may
  ::kill(worker_, SIGSTOP);
  for (int naps = 0; naps < kMostOfAll; ++naps) {
    const auto stat = read_stat(worker_);
    const bool at_rest = stat && (stat->state == 'T' || has_ended(*stat));
    const Told told = stopped_.stop_below(worker_);
    if (told == Told::all && at_rest) return;
    if (told != Told::but_one_that_starts && naps >= kMostNaps) return;
    nanosleep(&kNap, nullptr);
  }
}

// False: there are no children any more.
bool Watch::reap() {
  int status = 0;
  for (;;) {
    const pid_t pid = waitpid(-1, &status, WNOHANG);
    if (pid == 0) return true;
    if (pid < 0 && errno == EINTR) continue;
    if (pid < 0) return false;
    if (pid != worker_) continue;
    worker_gone_ = true;
    if (WIFEXITED(status)) ended_.exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) ended_.signal = WTERMSIG(status);
  }
}

// Whatever the worker left behind has this process for its parent now. What waits for a disk is
// waited for, since it may still write, unless somebody has no time for that; what runs as another
// user and may not be killed is left behind.
void Watch::end_what_is_left() {
  told_to_stop_.reset();
  std::chrono::nanoseconds pause = kFirstLook;
  while (reap()) {
    const bool long_enough = pause >= kLastLook;
    if (kill_below(getpid()) == Leftovers::none && long_enough) return;
    if (told_to_stop_ && long_enough) return;
    pollfd fd{signal_fd_, POLLIN, 0};
    const auto limit = std::chrono::ceil<std::chrono::milliseconds>(pause);
    if (poll(&fd, 1, static_cast<int>(limit.count())) == 0) pause = std::min(2 * pause, kLastLook);
    handle_signals();
  }
}

}  // namespace torc::exec
