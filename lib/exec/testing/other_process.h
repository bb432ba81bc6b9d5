// For tests that look at processes: bodies that run in processes of their own, as other users, in
// namespaces of their own, without descriptors.
#pragma once

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "lib/exec/machine/machine.h"
#include "lib/exec/machine/procfs.h"

namespace torc::exec {

inline constexpr uid_t kSomebody = 65534;

// The exit code of a child that runs it; below 0: of a signal.
inline int in_child(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// As the first process of a pid namespace with a /proc of its own, mounted with `options`.
// Precondition: root.
inline int in_namespace(const char* options, const std::function<int()>& body) {
  return in_child([&] {
    if (unshare(CLONE_NEWNS | CLONE_NEWPID) != 0) return 99;
    return in_child([&] {
      if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return 98;
      if (options != nullptr && mount("proc", "/proc", "proc", 0, options) != 0) return 97;
      return body();
    });
  });
}

// From here on this process is another user's, and as visible as if it had been started by them.
inline bool become_somebody() {
  return setgroups(0, nullptr) == 0 && setgid(kSomebody) == 0 && setuid(kSomebody) == 0 &&
         prctl(PR_SET_DUMPABLE, 1) == 0;
}

// No descriptor can be had from here on.
inline void use_up_descriptors() {
  rlimit most{};
  getrlimit(RLIMIT_NOFILE, &most);
  most.rlim_cur = 64;
  setrlimit(RLIMIT_NOFILE, &most);
  while (dup(0) >= 0 || open("/dev/null", O_RDONLY) >= 0) {
  }
}

// A process that waits until it is killed, with this environment; killed at the end.
class Sleeper {
 public:
  enum class Dumpable : unsigned char { no, yes };
  explicit Sleeper(std::vector<std::string> environment, Dumpable dumpable = Dumpable::yes) {
    std::array<int, 2> ready{};
    if (pipe2(ready.data(), O_CLOEXEC) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      std::vector<char*> env;
      for (std::string& entry : environment) env.push_back(entry.data());
      env.push_back(nullptr);
      if (dumpable == Dumpable::yes) {
        execle("/bin/sleep", "sleep", "1000", nullptr, env.data());
        _exit(127);
      }
      prctl(PR_SET_DUMPABLE, 0);
      close(ready[1]);
      for (;;) pause();
    }
    close(ready[1]);
    char none = 0;
    (void)!read(ready[0], &none, 1);  // until it has executed, or is not dumpable
    close(ready[0]);
    const auto stat = read_stat(pid_);
    start_ = stat ? stat->start : 0;
  }
  ~Sleeper() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;

  [[nodiscard]] ProcessIdentity identity() const {
    return {static_cast<std::uint64_t>(pid_), start_};
  }
  [[nodiscard]] bool lives() const { return presence_of(identity()) == Presence::here; }

 private:
  pid_t pid_ = -1;
  std::uint64_t start_ = 0;
};

}  // namespace torc::exec
