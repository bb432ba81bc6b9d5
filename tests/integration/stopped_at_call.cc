#include "tests/integration/stopped_at_call.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

extern char** environ;

namespace torc::itest {
namespace {

bool is_counted(std::uint64_t number) {
  switch (number) {
    case SYS_write:
    case SYS_writev:
    case SYS_pwrite64:
    case SYS_openat:
    case SYS_close:
    case SYS_fsync:
    case SYS_fdatasync:
    case SYS_ftruncate:
    case SYS_fallocate:
    case SYS_linkat:
    case SYS_unlinkat:
    case SYS_renameat2:
    case SYS_mkdirat:
    case SYS_flock:
    case SYS_clone:
    case SYS_clone3:
    case SYS_wait4:
    case SYS_waitid:
    case SYS_pipe2:
    case SYS_kill:
    case SYS_exit_group:
#ifdef SYS_link
    case SYS_link:
    case SYS_unlink:
    case SYS_rename:
    case SYS_mkdir:
    case SYS_vfork:
    case SYS_fork:
#endif
    case SYS_renameat:
      return true;
    default:
      return false;
  }
}

[[noreturn]] void start(const Launch& launch) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (text.starts_with("TORC_") || text.starts_with("SLURM_")) continue;
    if (!launch.env.contains(std::string(text.substr(0, text.find('=')))))
      environment.emplace_back(text);
  }
  for (const auto& [name, value] : launch.env) environment.push_back(name + "=" + value);
  const auto pointers = [](const std::vector<std::string>& words) {
    std::vector<char*> all;
    for (const auto& word : words) all.push_back(const_cast<char*>(word.c_str()));
    all.push_back(nullptr);
    return all;
  };
  const auto argv = pointers(launch.argv);
  const auto env = pointers(environment);
  const int null = open("/dev/null", O_RDWR);
  for (const int fd : {0, 1, 2}) dup2(null, fd);
  if (chdir(launch.directory.c_str()) == 0 && ptrace(PTRACE_TRACEME, 0, 0, 0) == 0)
    execve(argv[0], argv.data(), env.data());
  _exit(126);
}

}  // namespace

KilledAt kill_at_call(const Launch& launch, std::uint64_t stop) {
  KilledAt killed;
  const pid_t first = fork();
  if (first == 0) start(launch);
  int status = 0;
  if (first < 0 || waitpid(first, &status, 0) != first || !WIFSTOPPED(status)) return killed;
  ptrace(PTRACE_SETOPTIONS, first, 0,
         PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE);
  ptrace(PTRACE_SYSCALL, first, 0, 0);
  std::uint64_t number = 0;  // of the system call that was begun last
  while (true) {
    const pid_t pid = waitpid(-1, &status, __WALL);
    if (pid < 0 && errno == EINTR) continue;
    if (pid < 0) return killed;
    if (WIFEXITED(status) || WIFSIGNALED(status)) {
      if (pid != first) continue;
      killed.was_killed = WIFSIGNALED(status);
      if (WIFEXITED(status)) killed.exit_code = WEXITSTATUS(status);
      return killed;
    }
    long signal = 0;
    if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
      __ptrace_syscall_info info{};
      ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof info, &info);
      const bool is_before = info.op == PTRACE_SYSCALL_INFO_ENTRY;
      if (is_before) number = info.entry.nr;
      if (is_counted(number) && ++killed.calls == stop) {
        killed.where =
            std::string(is_before ? "before" : "after") + " system call " + std::to_string(number);
        kill(first, SIGKILL);
        continue;
      }
    } else if (status >> 16 == 0 && WSTOPSIG(status) != SIGSTOP && WSTOPSIG(status) != SIGTRAP) {
      signal = WSTOPSIG(status);
    }
    ptrace(PTRACE_SYSCALL, pid, 0, signal);
  }
}

}  // namespace torc::itest
