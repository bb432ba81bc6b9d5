#include "tests/mutation/command_run.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <system_error>

namespace torc::mutation {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostPrinted = std::size_t{4} << 20;

[[noreturn]] void give_up(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

class Pipe {
 public:
  Pipe() {
    if (pipe2(ends_, O_CLOEXEC) != 0) give_up("pipe2");
    fcntl(ends_[0], F_SETFL, O_NONBLOCK);
  }
  ~Pipe() {
    close(ends_[0]);
    close_writer();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  [[nodiscard]] int reader() const { return ends_[0]; }
  [[nodiscard]] int writer() const { return ends_[1]; }
  void close_writer() {
    if (ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }
  // false: its end was reached. What is more than kMostPrinted is read and forgotten.
  bool drain(std::string& into) const {
    char buffer[65536];
    while (true) {
      const ssize_t got = read(ends_[0], buffer, sizeof buffer);
      if (got == 0) return false;
      if (got < 0) return errno == EAGAIN || errno == EINTR;
      if (into.size() < kMostPrinted) into.append(buffer, static_cast<std::size_t>(got));
    }
  }

 private:
  int ends_[2] = {-1, -1};
};

void limit(int resource, std::uint64_t most) {
  const rlimit both{most, most};
  (void)setrlimit(static_cast<__rlimit_resource>(resource), &both);
}

// In the child: calls that are safe after fork() alone.
const char* become(const Surroundings& where, const char* directory) {
  if (chdir(directory) != 0) return "chdir";
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, kMostFile);
  if (!kSanitized) limit(RLIMIT_AS, kMostAddressSpace);
  if (where.user) {
    if (syscall(SYS_setgroups, 0, nullptr) != 0) return "setgroups";
    if (setresgid(*where.user, *where.user, *where.user) != 0) return "setresgid";
    if (setresuid(*where.user, *where.user, *where.user) != 0) return "setresuid";
  }
  umask(022);
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return "prctl";
  return nullptr;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

void count(const rusage& used, CommandEnd& end) {
  end.peak_memory = std::max(end.peak_memory, static_cast<std::uint64_t>(used.ru_maxrss) * 1024);
  end.cpu_seconds += seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
}

// All children of this process: commands run one at a time, so what is there now was left behind
// by the last one.
void end_children(CommandEnd& end) {
  while (true) {
    const std::string self = std::to_string(getpid());
    std::ifstream children("/proc/self/task/" + self + "/children");
    bool any = false;
    for (pid_t child = 0; children >> child; any = true) {
      ::kill(child, SIGKILL);
      rusage used{};
      if (wait4(child, nullptr, 0, &used) == child) count(used, end);
    }
    if (!any) return;
  }
}

std::vector<std::string> environment_of(const Surroundings& where) {
  std::vector<std::string> env{
      "PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8",
      "TMPDIR=" + where.tmpdir.string(),   "TORC_NODE_DIR=" + where.node.string(),
      "HOME=" + where.home.string(),       "XDG_CONFIG_HOME=" + where.home.string()};
  if (kSanitized) {
    const std::string code = "exitcode=" + std::to_string(kSanitizerExit);
    env.push_back("ASAN_OPTIONS=" + code + ":allocator_may_return_null=1:quarantine_size_mb=16" +
                  ":hard_rss_limit_mb=" + std::to_string(kMostSanitizedMemory >> 20));
    env.push_back("UBSAN_OPTIONS=print_stacktrace=1:" + code);
    env.push_back("LSAN_OPTIONS=" + code);
  }
  return env;
}

}  // namespace

CommandEnd run_command(const Surroundings& where, const std::vector<std::string>& words) {
  Pipe out;
  Pipe err;
  std::vector<std::string> argv{where.program.string()};
  argv.insert(argv.end(), words.begin(), words.end());
  std::vector<std::string> env = environment_of(where);
  const std::vector<char*> argv_pointers = pointers_to(argv);
  const std::vector<char*> env_pointers = pointers_to(env);
  const Clock::time_point begun = Clock::now();
  const pid_t child = fork();
  if (child < 0) give_up("fork");
  if (child == 0) {
    dup2(open("/dev/null", O_RDONLY), 0);
    dup2(out.writer(), 1);
    dup2(err.writer(), 2);
    const char* failed = become(where, where.directory.c_str());
    if (failed == nullptr) execve(argv_pointers[0], argv_pointers.data(), env_pointers.data());
    dprintf(2, "cannot start it: %s: %s\n", failed != nullptr ? failed : "execve", strerror(errno));
    _exit(127);
  }
  out.close_writer();
  err.close_writer();
  const int ended = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  if (ended < 0) give_up("pidfd_open");
  CommandEnd end;
  pollfd sources[] = {{ended, POLLIN, 0}, {out.reader(), POLLIN, 0}, {err.reader(), POLLIN, 0}};
  while ((sources[0].revents & POLLIN) == 0) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(kMostTime - (Clock::now() - begun));
    if (left.count() <= 0) {
      end.timed_out = true;
      ::kill(child, SIGKILL);
    }
    (void)poll(sources, 3, end.timed_out ? -1 : static_cast<int>(left.count()));
    if (!out.drain(end.out)) sources[1].fd = -1;
    if (!err.drain(end.err)) sources[2].fd = -1;
  }
  close(ended);
  int status = 0;
  rusage used{};
  if (wait4(child, &status, 0, &used) != child) give_up("wait4");
  end.wall_seconds = std::chrono::duration<double>(Clock::now() - begun).count();
  count(used, end);
  end_children(end);
  (void)out.drain(end.out);
  (void)err.drain(end.err);
  if (WIFEXITED(status)) end.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  return end;
}

}  // namespace torc::mutation
