#include "tests/integration/harness.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <stdexcept>
#include <system_error>

extern char** environ;

namespace torc::itest {
namespace fs = std::filesystem;
namespace {

using SteadyClock = std::chrono::steady_clock;

// A test that cannot be set up ends there; GoogleTest reports what was thrown.
[[noreturn]] void give_up(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

int open_pidfd(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0U)); }

// Appends what can be read now; false at the end of the stream.
bool read_available(int fd, std::string& text) {
  char buffer[1 << 16];
  for (;;) {
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n > 0) {
      text.append(buffer, static_cast<std::size_t>(n));
    } else if (n == 0) {
      return false;
    } else if (errno != EINTR) {
      return errno == EAGAIN;
    }
  }
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
  if (launch.user) {
    if (syscall(SYS_setgroups, 0, nullptr) != 0) return "setgroups";
    if (setresgid(*launch.user, *launch.user, *launch.user) != 0) return "setresgid";
    if (setresuid(*launch.user, *launch.user, *launch.user) != 0) return "setresuid";
  }
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return "prctl";  // cleared by setresuid: after it
  sigset_t none;
  sigemptyset(&none);
  if (sigprocmask(SIG_SETMASK, &none, nullptr) != 0) return "sigprocmask";
  return nullptr;
}

}  // namespace

// --- files
// ------------------------------------------------------------------------------------------------------

Scratch::Scratch() {
  const char* root = std::getenv("TMPDIR");
  std::string name = std::string(root != nullptr && root[0] == '/' ? root : "/tmp") + "/torc-itest-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) give_up("cannot make " + name);
  path_ = fs::canonical(name);
  fs::permissions(path_, fs::perms(0755));
}

Scratch::~Scratch() {
  std::error_code error;
  fs::remove_all(path_, error);
  if (error) std::fprintf(stderr, "cannot remove %s: %s\n", path_.c_str(), error.message().c_str());
}

std::string read_text(const Path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void write_text(const Path& file, std::string_view text) {
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  if (!out) give_up("cannot write " + file.string());
}

std::map<std::string, std::string> contents(const Path& directory) {
  std::map<std::string, std::string> all;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    all[entry.path().lexically_relative(directory)] = entry.is_regular_file() ? read_text(entry.path()) : "";
  }
  return all;
}

// --- waiting
// ----------------------------------------------------------------------------------------------------

bool wait_until(const std::vector<Source*>& sources, const std::function<bool()>& done,
                std::chrono::seconds limit) {
  const auto deadline = SteadyClock::now() + limit;
  for (;;) {
    std::vector<pollfd> fds;
    for (Source* source : sources) {
      source->pump();
      for (const int fd : source->fds()) fds.push_back({fd, POLLIN, 0});
    }
    if (done()) return true;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - SteadyClock::now());
    if (left.count() <= 0 || fds.empty()) return false;
    if (poll(fds.data(), fds.size(), static_cast<int>(left.count())) < 0 && errno != EINTR) give_up("poll");
  }
}

Fifo::Fifo(Path path) : path_(std::move(path)) {
  if (mkfifo(path_.c_str(), 0666) != 0) give_up("cannot make " + path_.string());
  // For reading and writing: never at its end, whoever comes and goes.
  fd_ = open(path_.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (fd_ < 0) give_up("cannot open " + path_.string());
  (void)fcntl(fd_, F_SETPIPE_SZ, 1 << 20);  // jobs must not wait while the test does something else
}

Fifo::~Fifo() { close(fd_); }

void Fifo::pump() {
  (void)read_available(fd_, rest_);
  std::size_t begin = 0;
  for (std::size_t end; (end = rest_.find('\n', begin)) != std::string::npos; begin = end + 1) {
    lines_.push_back(rest_.substr(begin, end - begin));
  }
  rest_.erase(0, begin);
}

bool Fifo::has(std::string_view line) const {
  return std::find(lines_.begin(), lines_.end(), line) != lines_.end();
}

// Every reader takes one end of line, byte by byte, as shells do.
void Fifo::open_gate(std::size_t readers) {
  const std::string lines(readers, '\n');
  if (write(fd_, lines.data(), lines.size()) != static_cast<ssize_t>(lines.size())) give_up("gate");
}

DeletedNames::DeletedNames(const Path& directory) : fd_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
  if (fd_ < 0 || inotify_add_watch(fd_, directory.c_str(), IN_DELETE | IN_MOVED_FROM) < 0) {
    give_up("cannot watch " + directory.string());
  }
}

DeletedNames::~DeletedNames() { close(fd_); }

void DeletedNames::pump() {
  alignas(inotify_event) char buffer[1 << 14];
  for (ssize_t n; (n = read(fd_, buffer, sizeof buffer)) > 0;) {
    for (const char* at = buffer; at < buffer + n;) {
      const auto* event = reinterpret_cast<const inotify_event*>(at);
      if (event->len > 0) names_.emplace_back(event->name);
      at += sizeof(inotify_event) + event->len;
    }
  }
}

bool DeletedNames::has(std::string_view name) const {
  return std::find(names_.begin(), names_.end(), name) != names_.end();
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

std::vector<int> Witness::fds() const { return gone_ ? std::vector<int>{} : std::vector<int>{fd_}; }

// --- processes
// --------------------------------------------------------------------------------------------------

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
    ::kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  for (const int fd : {out_.fd, err_.fd, pidfd_}) {
    if (fd >= 0) close(fd);
  }
}

void Process::kill(int signal) const {
  if (!ended_) ::kill(pid_, signal);
}

void Process::pump() {
  if (!ended_) ended_ = waitpid(pid_, &status_, WNOHANG) == pid_;
  out_.drain();  // after the look at the process: what it printed at last is there when it has ended
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
  if (!wait_until({this}, [this] { return ended_; }, limit)) {
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
  return wait_until({this}, [&] { return there() || ended_; }, limit) && there();
}

Ended run(const Launch& launch, std::chrono::seconds limit) { return Process(launch).wait(limit); }

// --- torc
// -------------------------------------------------------------------------------------------------------

Workplace::Workplace() : directory_(scratch_.path() / "work") {
  fs::create_directory(directory_);
  new_tmpdir("tmp");
}

Path Workplace::write(const std::string& name, std::string_view text) const {
  const Path file = directory_ / name;
  fs::create_directories(file.parent_path());
  write_text(file, text);
  return file;
}

Path Workplace::new_tmpdir(const std::string& name) const {
  const Path directory = scratch_.path() / name;
  fs::create_directory(directory);
  fs::permissions(directory, fs::perms(01777));  // as a temporary directory is: other users, too
  return directory;
}

Launch Workplace::torc(std::vector<std::string> arguments) const {
  Launch launch;
  launch.argv = {TORC_PROGRAM};
  launch.argv.insert(launch.argv.end(), arguments.begin(), arguments.end());
  launch.env["TMPDIR"] = scratch_.path() / "tmp";
  launch.directory = directory_;
  return launch;
}

Ended Workplace::run(std::vector<std::string> arguments) const { return itest::run(torc(std::move(arguments))); }

std::unique_ptr<Process> Workplace::start(std::vector<std::string> arguments) const {
  return std::make_unique<Process>(torc(std::move(arguments)));
}

nlohmann::json Workplace::json(std::vector<std::string> arguments) const {
  arguments.emplace_back("--json");
  const Ended ended = run(arguments);
  auto value = nlohmann::json::parse(ended.out, nullptr, false);
  if (!value.is_discarded()) return value;
  ADD_FAILURE() << "no JSON from torc " << arguments.front() << ": " << ended;
  return nullptr;
}

std::map<std::string, nlohmann::json> Workplace::jobs(const std::string& store) const {
  std::map<std::string, nlohmann::json> jobs;
  for (const nlohmann::json& job : json({"jobs", store})) jobs[job.value("name", "")] = job;
  return jobs;
}

// --- the machine
// ------------------------------------------------------------------------------------------------

bool own_mounts() {
  // As root the mounts alone; else as the root of a user namespace, where small disks can be mounted, too.
  const uid_t user = geteuid();
  const gid_t group = getegid();
  const int flags = user == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER;
  if (unshare(flags) == 0) {
    if (user != 0) {
      write_text("/proc/self/setgroups", "deny");
      write_text("/proc/self/uid_map", "0 " + std::to_string(user) + " 1");
      write_text("/proc/self/gid_map", "0 " + std::to_string(group) + " 1");
    }
    if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0) return true;
  }
  const std::string why = std::string("no mount namespace for this test: ") + strerror(errno);
  if (std::getenv("TORC_TEST_SKIP_NAMESPACES") != nullptr) {
    std::printf("skipped: %s\n", why.c_str());
  } else {
    ADD_FAILURE() << why << "; set TORC_TEST_SKIP_NAMESPACES=1 to leave out the tests that need one";
  }
  return false;
}

void mount_small_disk(const Path& directory, std::size_t bytes) {
  fs::create_directories(directory);
  const std::string options = "mode=0777,size=" + std::to_string(bytes);
  if (mount("none", directory.c_str(), "tmpfs", 0, options.c_str()) != 0) give_up("cannot mount a tmpfs");
}

void fill_disk(const Path& file) {
  const int fd = open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) give_up("cannot make " + file.string());
  const std::string block(4096, 'x');
  while (write(fd, block.data(), block.size()) > 0) {
  }
  const bool full = errno == ENOSPC;
  close(fd);
  if (!full) give_up("cannot fill the disk of " + file.string());
}

std::uint64_t test_seed() {
  const char* given = std::getenv("TORC_TEST_SEED");
  const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  std::printf("seed %llu (repeat with TORC_TEST_SEED=%llu)\n", static_cast<unsigned long long>(seed),
              static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  return seed;
}

}  // namespace torc::itest
