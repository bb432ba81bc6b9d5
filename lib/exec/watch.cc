#include "lib/exec/watch.h"

#include <malloc.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "lib/exec/kill_tree.h"
#include "lib/exec/procfs.h"

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

Watch::Watch(Clock& clock, LeasePage& page, pid_t worker, int wake_fd)
    : clock_(clock), page_(page), worker_(worker), wake_fd_(wake_fd), look_again_(kFirstLook) {
  const sigset_t watched = watched_signals();
  signal_fd_ = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
  timer_fd_ = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  prctl(PR_SET_NAME, "torc-watchdog");
  malloc_trim(0);
  stay_in_memory();
}

Watch::~Watch() {
  for (const int fd : {signal_fd_, timer_fd_, wake_fd_}) {
    if (fd >= 0) close(fd);
  }
}

WorkerEnded Watch::run() {
  pollfd fds[] = {{signal_fd_, POLLIN, 0}, {timer_fd_, POLLIN, 0}, {wake_fd_, POLLIN, 0}};
  while (!worker_gone_) {
    (void)poll(fds, 3, -1);
    std::uint64_t ignored = 0;
    (void)!read(timer_fd_, &ignored, sizeof ignored);
    (void)!read(wake_fd_, &ignored, sizeof ignored);
    handle_signals();
    reap();
    if (!worker_gone_) look_at_lease();
  }
  end_what_is_left();
  return ended_;
}

void Watch::look_at_lease() {
  const BootTime now = clock_.boot_now();
  (void)page_.fence_if_due(now);
  if (!page_.fenced()) {
    fenced_at_.reset();
    look_again_ = kFirstLook;
    set_timer(page_.due());
    return;
  }
  if (!fenced_at_) fenced_at_ = now;
  // Again and again: the worker may have been about to start a job.
  if (page_.begin_sweep()) {
    kill_below(worker_);
    page_.end_sweep();
  }
  if (told_to_stop_ && now >= std::max(*told_to_stop_, *fenced_at_) + kPatience) {
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
    if (asks_to_stop(number) && !told_to_stop_) told_to_stop_ = clock_.boot_now();
    pass_on(number);
    if (number == SIGTSTP) pause_with_worker();
  }
}

// Also what the keyboard sends: that goes to the group of this process, and the worker has left it.
void Watch::pass_on(int number) {
  if (!worker_gone_) ::kill(worker_, number);
}

// The shell that waits for this process takes the terminal back when this process stops.
void Watch::pause_with_worker() {
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, SIGTSTP);
  raise(SIGTSTP);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);  // here it stops
  pthread_sigmask(SIG_BLOCK, &only, nullptr);
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
    if (kill_below(getpid()) == 0 && long_enough) return;
    if (told_to_stop_ && long_enough) return;
    pollfd fd{signal_fd_, POLLIN, 0};
    const auto limit = std::chrono::ceil<std::chrono::milliseconds>(pause);
    if (poll(&fd, 1, static_cast<int>(limit.count())) == 0) pause = std::min(2 * pause, kLastLook);
    handle_signals();
  }
}

}  // namespace torc::exec
