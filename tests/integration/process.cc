#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ostream>
#include <sstream>
#include <string>
#include <system_error>

#include "tests/integration/harness.h"
#include "tests/integration/harness_internal.h"

extern char** environ;

namespace torc::itest {
namespace {

int open_pidfd(pid_t pid) {
  return static_cast<int>(syscall(SYS_pidfd_open, pid, 0U));
}

std::vector<std::string> environment_of(const Launch& launch) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (text.starts_with("TORC_") || text.starts_with("SLURM_")) continue;
    if (launch.env.contains(std::string(text.substr(0, text.find('='))))) continue;
    all.emplace_back(text);
  }
  for (const auto& [name, value] : launch.env) all.push_back(name + "=" + value);
  // Workers of one test meet on a node of their own, and on another one with another $TMPDIR.
  const auto node = launch.env.find("TMPDIR");
  if (node != launch.env.end() && !launch.env.contains("TORC_NODE_DIR"))
    all.push_back("TORC_NODE_DIR=" + node->second);
  return all;
}

std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& s : strings) pointers.push_back(s.data());
  pointers.push_back(nullptr);
  return pointers;
}

// What the child does between fork and exec; the name of the step that failed.
const char* become(const Launch& launch) {
  if (setpgid(0, 0) != 0) return "setpgid";
  if (!launch.directory.empty() && chdir(launch.directory.c_str()) != 0) return "chdir";
  if (!launch.hostname.empty()) {
    if (unshare(CLONE_NEWUTS) != 0) return "unshare(CLONE_NEWUTS)";
    if (sethostname(launch.hostname.data(), launch.hostname.size()) != 0) return "sethostname";
  }
  if (!launch.etc.empty()) {
    if (unshare(CLONE_NEWNS) != 0) return "unshare(CLONE_NEWNS)";
    if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return "mount(private)";
    if (mount(launch.etc.c_str(), "/etc", nullptr, MS_BIND, nullptr) != 0) return "mount(/etc)";
  }
  if (launch.user) {
    if (syscall(SYS_setgroups, launch.groups.size(), launch.groups.data()) != 0) return "setgroups";
    if (setresgid(*launch.user, *launch.user, *launch.user) != 0) return "setresgid";
    if (setresuid(*launch.user, *launch.user, *launch.user) != 0) return "setresuid";
  }
  if (launch.umask) umask(*launch.umask);
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return "prctl";  // cleared by setresuid: after it
  sigset_t none;
  sigemptyset(&none);
  if (sigprocmask(SIG_SETMASK, &none, nullptr) != 0) return "sigprocmask";
  return nullptr;
}

}  // namespace

bool Ended::says(std::string_view text) const {
  return out.find(text) != std::string::npos || err.find(text) != std::string::npos;
}

std::ostream& operator<<(std::ostream& stream, const Ended& ended) {
  stream << "exit code " << ended.exit_code;
  if (ended.signal != 0) stream << ", signal " << ended.signal;
  if (ended.timed_out) stream << ", killed at the test's time limit";
  return stream << "\n--- stdout\n" << ended.out << "--- stderr\n" << ended.err << "---";
}

void Process::Stream::drain() {
  if (fd >= 0 && !read_available(fd, text)) {
    close(fd);
    fd = -1;
  }
}

Process::Process(const Launch& launch) {
  int out[2];
  int err[2];
  if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) give_up("pipe2");
  std::vector<std::string> argv = launch.argv;
  std::vector<std::string> env = environment_of(launch);
  const std::vector<char*> argv_pointers = pointers_to(argv);
  const std::vector<char*> env_pointers = pointers_to(env);
  pid_ = fork();
  if (pid_ < 0) give_up("fork");
  if (pid_ == 0) {
    const int null = open("/dev/null", O_RDONLY);
    dup2(null, 0);
    dup2(out[1], 1);
    dup2(err[1], 2);
    const char* failed = become(launch);
    if (failed == nullptr && launch.only_looks && !let_only_look(argv_pointers[0]))
      failed = "seccomp";
    if (failed == nullptr) execve(argv_pointers[0], argv_pointers.data(), env_pointers.data());
    dprintf(2, "cannot start %s: %s: %s\n", argv_pointers[0], failed != nullptr ? failed : "execve",
            strerror(errno));
    _exit(127);
  }
  close(out[1]);
  close(err[1]);
  out_.fd = out[0];
  err_.fd = err[0];
  fcntl(out_.fd, F_SETFL, O_NONBLOCK);
  fcntl(err_.fd, F_SETFL, O_NONBLOCK);
  pidfd_ = open_pidfd(pid_);
  if (pidfd_ < 0) give_up("pidfd_open");
  fcntl(pidfd_, F_SETFD, FD_CLOEXEC);
}

Process::~Process() {
  if (!ended_) {
    kill(SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  for (const int fd : {out_.fd, err_.fd, pidfd_}) {
    if (fd >= 0) close(fd);
  }
}

pid_t Process::worker() const {
  const auto program_of = [](pid_t pid) {
    std::error_code error;
    return std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/exe", error);
  };
  const std::string own = std::to_string(pid_);
  std::istringstream children(read_text("/proc/" + own + "/task/" + own + "/children"));
  // What else a watchdog has for children are the orphans of a dead worker.
  for (pid_t child = 0; children >> child;) {
    if (program_of(child) == program_of(pid_)) return child;
  }
  return 0;
}

void Process::kill(int signal) const {
  if (ended_) return;
  const bool to_both = signal == SIGKILL || signal == SIGSTOP || signal == SIGCONT;
  const pid_t below = to_both ? worker() : 0;
  const int below_fd = below > 0 ? open_pidfd(below) : -1;
  ::kill(pid_, signal);
  if (below_fd < 0) return;
  ::kill(below, signal);
  pollfd gone{below_fd, POLLIN, 0};
  if (signal == SIGKILL) (void)poll(&gone, 1, -1);
  close(below_fd);
}

void Process::pump() {
  if (!ended_) ended_ = waitpid(pid_, &status_, WNOHANG) == pid_;
  out_.drain();  // after the look at the process: what it printed at last is there when it has
                 // ended
  err_.drain();
}

std::vector<int> Process::fds() const {
  std::vector<int> fds;
  if (ended_) return fds;  // what its children may print later does not matter
  fds.push_back(pidfd_);
  for (const int fd : {out_.fd, err_.fd}) {
    if (fd >= 0) fds.push_back(fd);
  }
  return fds;
}

Ended Process::wait(std::chrono::seconds limit) {
  Ended result;
  if (!wait_until(
          {this}, [this] { return ended_; }, limit)) {
    result.timed_out = true;
    kill(SIGKILL);
    (void)wait_until({this}, [this] { return ended_; });
  }
  if (WIFEXITED(status_)) result.exit_code = WEXITSTATUS(status_);
  if (WIFSIGNALED(status_)) result.signal = WTERMSIG(status_);
  result.out = out_.text;
  result.err = err_.text;
  return result;
}

bool Process::wait_for_output(std::string_view text, std::chrono::seconds limit) {
  const auto there = [&] { return out_.text.find(text) != std::string::npos; };
  return wait_until(
             {this}, [&] { return there() || ended_; }, limit) &&
         there();
}

Ended run(const Launch& launch, std::chrono::seconds limit) {
  return Process(launch).wait(limit);
}

Witness::Witness(pid_t pid) : fd_(open_pidfd(pid)), gone_(fd_ < 0) {
  if (fd_ >= 0) fcntl(fd_, F_SETFD, FD_CLOEXEC);
}

Witness::~Witness() {
  if (fd_ >= 0) close(fd_);
}

void Witness::pump() {
  if (gone_) return;
  pollfd poll_one{fd_, POLLIN, 0};
  gone_ = poll(&poll_one, 1, 0) == 1;
}

std::vector<int> Witness::fds() const {
  return gone_ ? std::vector<int>{} : std::vector<int>{fd_};
}

}  // namespace torc::itest
