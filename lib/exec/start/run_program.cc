#include "lib/exec/start/run_program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <mutex>
#include <system_error>
#include <thread>

#include "lib/base/file/descriptor.h"
#include "lib/exec/start/launch.h"
#include "lib/exec/start/program_path.h"

namespace torc::exec {
namespace {

struct Pipe {
  Descriptor read_end;
  Descriptor write_end;  // 3 or higher, as Launcher wants it
};

bool make_pipe(Pipe& made) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return false;
  made.read_end = Descriptor(ends[0]);
  made.write_end = Descriptor(fcntl(ends[1], F_DUPFD_CLOEXEC, 3));
  close(ends[1]);
  return made.write_end && fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;
}

// A file without a name that holds `text`, at its beginning, so that nobody has to feed a pipe; 3
// or higher, as Launcher wants it.
bool make_input(const std::string& text, Descriptor& made) {
  const Descriptor low(memfd_create("input", MFD_CLOEXEC));
  if (!low) return false;
  made = Descriptor(fcntl(low.get(), F_DUPFD_CLOEXEC, 3));
  std::size_t written = 0;
  while (made && written < text.size()) {
    const ssize_t n = write(made.get(), text.data() + written, text.size() - written);
    if (n < 0 && errno != EINTR) return false;
    if (n > 0) written += static_cast<std::size_t>(n);
  }
  return made && lseek(made.get(), 0, SEEK_SET) == 0;
}

Error no_resources(const char* what) {
  Error error =
      os_error(errno, what, "look at the limits of processes and open files (ulimit -u, -n)");
  error.kind = ErrorKind::busy;
  return error;
}

// The child and the thread that starts and reaps it. A ProcessHost of this process reaps children
// of its own thread and orphans alone, so it leaves this one to its thread, which also outlives it:
// the kernel kills a launched process when the thread that launched it ends.
class Child {
 public:
  Child(const LaunchPlan& plan, Launcher& launcher, int ended_fd)
      : plan_(plan), launcher_(launcher), ended_fd_(ended_fd) {}

  // Once; the descriptor `ended_fd` is readable when the child has ended or was not started.
  bool start() {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);  // inherited: the thread takes nobody's signals
    bool started = true;
    try {
      thread_ = std::thread([this] { run(); });
    } catch (const std::system_error&) {
      started = false;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return started;
  }

  void kill_group() {
    const std::lock_guard lock(mutex_);
    doomed_ = true;
    if (pid_ != 0) ::kill(-pid_, SIGKILL);
  }

  void join() { thread_.join(); }
  [[nodiscard]] const Launched& launched() const { return launched_; }  // after join()
  [[nodiscard]] int status() const { return status_; }                  // after join()

 private:
  void run() {
    {
      const std::lock_guard lock(mutex_);
      launched_ = launcher_.launch(plan_);
      pid_ = launched_.pid;
      if (doomed_ && pid_ != 0) ::kill(-pid_, SIGKILL);
    }
    if (launched_.pid != 0) wait_and_reap();
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t n = write(ended_fd_, &one, sizeof one);
  }

  // Unreaped, the child holds its number, so that the signal meets no other group.
  void wait_and_reap() {
    siginfo_t info{};
    const auto id = static_cast<id_t>(launched_.pid);
    int seen = 0;
    while ((seen = waitid(P_PID, id, &info, WEXITED | WNOWAIT)) < 0 && errno == EINTR) {
    }
    const std::lock_guard lock(mutex_);
    if (seen == 0) ::kill(-pid_, SIGKILL);
    while (waitpid(launched_.pid, &status_, 0) < 0 && errno == EINTR) {
    }
    pid_ = 0;
  }

  const LaunchPlan& plan_;
  Launcher& launcher_;
  int ended_fd_;
  std::thread thread_;
  std::mutex mutex_;
  pid_t pid_ = 0;        // 0: not started yet, or reaped
  bool doomed_ = false;  // the time limit may pass before the thread runs
  Launched launched_;
  int status_ = 0;
};

// False at the end of the stream. Reads no more than a pipe can hold, so that a program that never
// stops writing cannot keep its time limit from being seen.
bool take_output(int fd, ByteCount limit, std::string& text, bool& truncated) {
  std::array<char, 16384> buffer;
  for (int reads = 0; reads < 64; ++reads) {
    const ssize_t n = read(fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno == EAGAIN;
    if (n == 0) return false;
    const std::size_t room = limit.value - std::min<std::size_t>(limit.value, text.size());
    const std::size_t kept = std::min(room, static_cast<std::size_t>(n));
    text.append(buffer.data(), kept);
    truncated = truncated || kept < static_cast<std::size_t>(n);
  }
  return true;
}

struct Channels {
  Pipe out;
  Pipe err;
  Descriptor ended;
  Descriptor timer;
};

bool open_channels(Channels& channels, std::chrono::nanoseconds limit) {
  if (!make_pipe(channels.out) || !make_pipe(channels.err)) return false;
  channels.ended = Descriptor(eventfd(0, EFD_CLOEXEC));
  channels.timer = Descriptor(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC));
  if (!channels.ended || !channels.timer) return false;
  limit = std::max(limit, std::chrono::nanoseconds(1));
  itimerspec when{};
  when.it_value.tv_sec = static_cast<time_t>(limit / std::chrono::seconds(1));
  when.it_value.tv_nsec = static_cast<long>((limit % std::chrono::seconds(1)).count());
  return timerfd_settime(channels.timer.get(), 0, &when, nullptr) == 0;
}

void collect(Channels& channels, Child& child, ByteCount limit, ProgramOutput& output) {
  std::array<pollfd, 4> polled{{{channels.ended.get(), POLLIN, 0},
                                {channels.timer.get(), POLLIN, 0},
                                {channels.out.read_end.get(), POLLIN, 0},
                                {channels.err.read_end.get(), POLLIN, 0}}};
  const auto take = [&](pollfd& stream, std::string& text) {
    if (!take_output(stream.fd, limit, text, output.truncated)) stream.fd = -1;
  };
  for (;;) {
    if (poll(polled.data(), polled.size(), -1) < 0) continue;
    if (polled[1].revents != 0) {
      output.timed_out = true;
      polled[1].fd = -1;
      child.kill_group();
    }
    if (polled[2].fd >= 0) take(polled[2], output.out);
    if (polled[3].fd >= 0) take(polled[3], output.err);
    if (polled[0].revents != 0) return;  // what it wrote before its end has just been read
  }
}

void judge(const Child& child, const std::string& program, ProgramOutput& output) {
  const Launched& launched = child.launched();
  if (launched.pid == 0) {
    output.exit_code = launched.os_errno == ENOENT || launched.os_errno == ENOTDIR ? 127 : 126;
    output.err = os_error(launched.os_errno, program).what;
    return;
  }
  if (WIFEXITED(child.status())) output.exit_code = WEXITSTATUS(child.status());
  if (WIFSIGNALED(child.status())) output.signal = WTERMSIG(child.status());
  if (!WIFSIGNALED(child.status())) output.timed_out = false;  // it was just in time
}

std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (std::string& text : strings) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Result<ProgramOutput> run_program(const ProgramRequest& request) {
  if (request.argv.empty()) return Error{ErrorKind::invalid, "no program to run", {}, 0};
  ProgramOutput output;
  ProgramPaths paths;
  const auto found = paths.find(request.argv[0], variable(request.environment, "PATH"), ".");
  if (found.path.empty()) {
    output.exit_code = found.os_errno == ENOENT ? 127 : 126;
    output.err = os_error(found.os_errno, request.argv[0]).what;
    return output;
  }

  std::vector<std::string> words = request.argv;
  words.insert(words.begin(), "/bin/sh");
  std::vector<std::string> environment = request.environment;
  std::vector<char*> word_pointers = pointers_to(words);
  std::vector<char*> environment_pointers = pointers_to(environment);
  Channels channels;
  if (!open_channels(channels, request.time_limit)) return no_resources("cannot make a pipe");
  Descriptor input;
  if (!request.input.empty() && !make_input(request.input, input))
    return no_resources("cannot keep the input of a program");
  TORC_ASSIGN(const auto launcher, Launcher::create());

  LaunchPlan plan;
  plan.program = found.path.c_str();
  plan.words = word_pointers.data();
  plan.environment = environment_pointers.data();
  plan.stdin_fd = input.get();
  plan.stdout_fd = channels.out.write_end.get();
  plan.stderr_fd = channels.err.write_end.get();
  Child child(plan, *launcher, channels.ended.get());
  if (!child.start()) return no_resources("cannot start a thread");
  collect(channels, child, request.output_limit, output);
  child.join();
  if (child.launched().pid == 0 && child.launched().failed_at == StartStep::none) {
    errno = child.launched().os_errno;
    return no_resources("cannot start a process");
  }
  judge(child, request.argv[0], output);
  return output;
}

}  // namespace torc::exec
