#include "lib/exec/run/events.h"

#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>

#include "lib/exec/machine/procfs.h"

namespace torc::exec {
namespace {

// Whether a thread blocks SIGCHLD, by the line "SigBlk:" of its status. A thread that has gone
// blocks it.
bool blocks_child_signal(pid_t tid) {
  const auto status = read_small_file("/proc/self/task/" + std::to_string(tid) + "/status");
  const auto mask = line_number(status.value_or(""), "SigBlk:", 16);
  return !mask || (*mask >> (SIGCHLD - 1) & 1) != 0;
}

// A thread that takes SIGCHLD drops it, since nobody handles it there, and sleep() would go on
// through the end of a command.
Result<void> check_other_threads() {
  // Where they cannot be listed nothing speaks against them: this is about mistakes in programs.
  for (const pid_t tid : numbers_in("/proc/self/task").value_or(std::vector<pid_t>())) {
    if (blocks_child_signal(tid)) continue;
    return Error{ErrorKind::invalid,
                 "thread " + std::to_string(tid) + " of this process does not block SIGCHLD",
                 "create the process host before other threads are started", 0};
  }
  return {};
}

// What does not fit makes the descriptor readable again.
void empty(int fd) {
  std::array<char, 4 * sizeof(signalfd_siginfo)> buffer;
  [[maybe_unused]] const ssize_t n = read(fd, buffer.data(), buffer.size());
}

}  // namespace

Result<void> Events::open() {
  sigset_t child_signal;
  sigemptyset(&child_signal);
  sigaddset(&child_signal, SIGCHLD);
  signal(SIGCHLD, SIG_DFL);  // where it is ignored, nothing is left of children to be waited for
  pthread_sigmask(SIG_BLOCK, &child_signal, &signals_before_);
  took_signal_ = true;
  TORC_TRY(check_other_threads());
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  child_signals_ = signalfd(-1, &child_signal, SFD_CLOEXEC | SFD_NONBLOCK);
  timer_ = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
  if (epoll_ < 0 || child_signals_ < 0 || timer_ < 0) {
    return os_error(errno, "cannot make the descriptors that commands are watched with",
                    "raise the limit of open files (ulimit -n)");
  }
  TORC_TRY(watch(child_signals_));
  return watch(timer_);
}

Events::~Events() {
  for (const int fd : {epoll_, child_signals_, timer_}) {
    if (fd >= 0) close(fd);
  }
  if (took_signal_) pthread_sigmask(SIG_SETMASK, &signals_before_, nullptr);
}

Result<void> Events::watch(int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0) return {};
  return os_error(errno, "cannot watch descriptor " + std::to_string(fd));
}

void Events::unwatch(int fd) {
  epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
}

// Sets the timer only for another moment: in a busy worker most sleeps end long before.
Result<void> Events::set_alarm(std::optional<BootTime> at) {
  if (at == alarm_) return {};
  itimerspec when{};
  if (at) {
    const auto left = std::max(*at - clock_.boot_now(), BootTime(1));
    when.it_value.tv_sec = static_cast<time_t>(left / std::chrono::seconds(1));
    when.it_value.tv_nsec = static_cast<long>((left % std::chrono::seconds(1)).count());
  }
  if (timerfd_settime(timer_, 0, &when, nullptr) != 0) {
    return os_error(errno, "cannot set the timer of time limits");
  }
  alarm_ = at;
  return {};
}

void Events::mute_children(bool mute) {
  if (mute == muted_) return;
  epoll_event event{};
  event.events = mute ? 0 : static_cast<std::uint32_t>(EPOLLIN);
  event.data.fd = child_signals_;
  if (epoll_ctl(epoll_, EPOLL_CTL_MOD, child_signals_, &event) == 0) muted_ = mute;
}

Result<Events::Woken> Events::sleep(bool at_once) {
  std::array<epoll_event, 64> events;
  const int n = epoll_wait(epoll_, events.data(), events.size(), at_once ? 0 : -1);
  if (n < 0 && errno != EINTR) return os_error(errno, "cannot wait for commands");
  Woken woken;
  for (int i = 0; i < n; ++i) {
    const int fd = events[static_cast<std::size_t>(i)].data.fd;
    if (fd == child_signals_) {
      empty(fd);
      woken.by_children = true;
    } else if (fd == timer_) {
      empty(fd);
      alarm_.reset();
    } else {
      woken.readable.push_back(fd);
    }
  }
  return woken;
}

bool Events::comes_within(std::chrono::milliseconds time) const {
  epoll_event event{};
  return epoll_wait(epoll_, &event, 1, static_cast<int>(time.count())) > 0;
}

}  // namespace torc::exec
