#include "lib/exec/process/host.h"

#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>

#include "lib/exec/machine/machine.h"

namespace torc::exec {
namespace {

// Whether a thread blocks SIGCHLD, by the line "SigBlk:" of its status. A thread that has gone
// blocks it.
bool blocks_child_signal(pid_t tid) {
  const auto status = read_small_file("/proc/self/task/" + std::to_string(tid) + "/status");
  const auto mask = line_number(status.value_or(""), "SigBlk:", 16);
  return !mask || (*mask >> (SIGCHLD - 1) & 1) != 0;
}

// A thread that takes SIGCHLD drops it, since nobody handles it there, and wait() would sleep
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

Result<void> add_to(int epoll, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0) return {};
  return os_error(errno, "cannot watch descriptor " + std::to_string(fd));
}

}  // namespace

Result<std::unique_ptr<ProcessHost>> ProcessHost::create(Clock& clock, WatchedLease* lease) {
  auto host = std::make_unique<Host>(clock, lease);
  TORC_TRY(host->open());
  return std::unique_ptr<ProcessHost>(std::move(host));
}

Result<RunId> ProcessHost::queue(const Command& /*command*/) {
  return Error{ErrorKind::unsupported, "this host starts one command after the other", ""};
}

void ProcessHost::let_run(std::size_t /*commands*/) {}

std::vector<RunId> ProcessHost::take_back() {
  return {};
}

Host::Host(Clock& clock, WatchedLease* lease)
    : clock_(clock),
      lease_(lease),
      process_(getpid()),
      thread_(static_cast<pid_t>(syscall(SYS_gettid))) {
  // The moment, since a process may have one host after another.
  identity_ = std::to_string(process_) + "-" + std::to_string(this_process().start) + "-" +
              std::to_string(clock.boot_now().count());
}

Result<void> Host::open() {
  sigset_t child_signal;
  sigemptyset(&child_signal);
  sigaddset(&child_signal, SIGCHLD);
  signal(SIGCHLD, SIG_DFL);  // where it is ignored, nothing is left of children to be waited for
  pthread_sigmask(SIG_BLOCK, &child_signal, &signals_before_);
  opened_ = true;
  TORC_TRY(check_other_threads());
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) {
    return os_error(errno, "this system cannot hand orphaned processes to torc",
                    "torc needs Linux 3.4 or later");
  }
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  child_signals_ = signalfd(-1, &child_signal, SFD_CLOEXEC | SFD_NONBLOCK);
  timer_ = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
  if (epoll_ < 0 || child_signals_ < 0 || timer_ < 0) {
    return os_error(errno, "cannot make the descriptors that commands are watched with",
                    "raise the limit of open files (ulimit -n)");
  }
  TORC_TRY(add_to(epoll_, child_signals_));
  TORC_TRY(add_to(epoll_, timer_));
  TORC_ASSIGN(launcher_, Launcher::create());
  // Beside others that want the CPUs, a command is begun and seen to have ended without waiting for
  // all of their turns, each of which is longer than a short command.
  launcher_->take_short_turns();
  // The kernel gives orphans to the first living thread of a subreaper, which is the main one.
  for (const pid_t tid : {process_, thread_}) {
    if (tid == process_ && !children_files_.empty()) continue;
    auto file = std::make_unique<ChildrenFile>(tid);
    if (file->there()) children_files_.push_back(std::move(file));
  }
  for (const pid_t child : children()) earlier_children_.insert(child);
  return {};
}

Host::~Host() {
  if (!opened_) return;
  if (launcher_ != nullptr) {
    if (lane_ != nullptr) lane_->set_width(0);
    end_everything();
    lane_.reset();
    prctl(PR_SET_CHILD_SUBREAPER, 0);
  }
  for (const int fd : {epoll_, child_signals_, timer_}) {
    if (fd >= 0) close(fd);
  }
  pthread_sigmask(SIG_SETMASK, &signals_before_, nullptr);
}

Result<void> Host::watch(int fd) {
  return add_to(epoll_, fd);
}

void Host::unwatch(int fd) {
  epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
}

pid_t Host::leader(RunId id) {
  if (is_of_lane(static_cast<RunKey>(id))) know_leaders(std::chrono::nanoseconds(0));
  const Run* run = runs_.find(static_cast<RunKey>(id));
  return run == nullptr || run->leader_gone ? 0 : run->group;
}

}  // namespace torc::exec
