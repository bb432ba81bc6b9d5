#include "lib/exec/watchdog/kept_child.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "lib/exec/end/kill_tree.h"

namespace torc::exec {
namespace {

using namespace std::chrono_literals;

bool asks_this_to_stop(int number) {
  return number == SIGTERM || number == SIGINT || number == SIGHUP || number == SIGQUIT;
}

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> found;
  found.reserve(words.size() + 1);
  for (const std::string& word : words) found.push_back(const_cast<char*>(word.c_str()));
  found.push_back(nullptr);
  return found;
}

}  // namespace

KeptChild::KeptChild() {
  sigemptyset(&watched_);
  for (const int s : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGURG}) {
    struct sigaction action {};
    if (sigaction(s, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) continue;
    sigaddset(&watched_, s);
  }
  sigaddset(&watched_, SIGCHLD);
  signal(SIGCHLD, SIG_DFL);  // it may have been ignored: the child's end would not be told
  pthread_sigmask(SIG_BLOCK, &watched_, &before_);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
}

Result<pid_t> KeptChild::fork_one() {
  end_ = {};
  const pid_t pid = fork();
  if (pid < 0) {
    Error error = os_error(errno, "cannot make a process for the worker",
                           "raise the limit of processes (ulimit -u)");
    error.kind = ErrorKind::busy;
    return error;
  }
  if (pid == 0) {
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    return 0;
  }
  pid_ = pid;
  return pid;
}

Result<void> KeptChild::start(const std::vector<std::string>& argv,
                              const std::vector<std::string>& environment) {
  const auto words = pointers(argv);
  const auto variables = pointers(environment);
  TORC_ASSIGN(const pid_t pid, fork_one());
  if (pid == 0) {
    execvpe(words[0], words.data(), variables.data());
    _exit(127);
  }
  return {};
}

void KeptChild::reap() {
  int status = 0;
  for (;;) {
    const pid_t pid = waitpid(-1, &status, WNOHANG);
    if (pid < 0 && errno == EINTR) continue;
    if (pid <= 0) return;
    if (pid != pid_) continue;
    pid_ = -1;
    if (WIFEXITED(status)) end_.exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) end_.signal = WTERMSIG(status);
  }
}

int KeptChild::wait(std::optional<std::chrono::nanoseconds> time) {
  timespec limit{};
  if (time) {
    limit.tv_sec = static_cast<time_t>(*time / 1s);
    limit.tv_nsec = static_cast<long>((*time % 1s).count());
  }
  for (;;) {
    siginfo_t info{};
    const int number = sigtimedwait(&watched_, &info, time ? &limit : nullptr);
    if (number < 0 && errno == EAGAIN) return 0;
    if (number < 0) continue;
    if (number == SIGCHLD) {
      const bool ran = running();
      reap();
      if (ran && !running()) return SIGCHLD;
      continue;  // somebody that the child had left behind
    }
    from_parent_ = info.si_code == SI_USER && info.si_pid == getppid();
    told_to_stop_ = told_to_stop_ || asks_this_to_stop(number);
    return number;
  }
}

void KeptChild::send(int number) const {
  if (running()) ::kill(pid_, number);
}

void KeptChild::end_what_is_left() const {
  constexpr timespec kNap{0, 10'000'000};
  constexpr int kMostNaps = 200;
  for (int naps = 0; naps < kMostNaps; ++naps) {
    const Leftovers left = kill_below(getpid());
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    if (left == Leftovers::none) return;
    nanosleep(&kNap, nullptr);
  }
}

Result<std::optional<ChildEnd>> replace_when_killed(Clock& clock, const TellKilled& tell) {
  KeptChild child;
  Replacements replacements;
  for (;;) {
    TORC_ASSIGN(const pid_t pid, child.fork_one());
    if (pid == 0) return std::optional<ChildEnd>();
    for (int number = child.wait(); number != SIGCHLD; number = child.wait()) {
      // Also what Slurm's stepd sends: with proctrack/cgroup it tells its own children alone. Where
      // it tells all processes of the step, a worker takes the second for an echo.
      if (number != SIGURG) child.send(number);
    }
    if (!was_killed(child.end(), child.told_to_stop())) return std::optional(child.end());
    child.end_what_is_left();
    const BootTime now = clock.boot_now();
    const bool again = replacements.allow(now);
    tell(child.end(), again ? replacements.recent(now) : 0);
    if (!again) return std::optional(child.end());
  }
}

}  // namespace torc::exec
