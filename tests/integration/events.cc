#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "tests/integration/harness.h"
#include "tests/integration/harness_internal.h"

namespace torc::itest {
namespace {

using SteadyClock = std::chrono::steady_clock;

}  // namespace

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
    if (poll(fds.data(), fds.size(), static_cast<int>(left.count())) < 0 && errno != EINTR)
      give_up("poll");
  }
}

Fifo::Fifo(Path path) : path_(std::move(path)) {
  if (mkfifo(path_.c_str(), 0666) != 0) give_up("cannot make " + path_.string());
  // For reading and writing: never at its end, whoever comes and goes.
  fd_ = open(path_.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (fd_ < 0) give_up("cannot open " + path_.string());
  (void)fcntl(fd_, F_SETPIPE_SZ, 1 << 20);  // jobs must not wait while the test does something else
}

Fifo::~Fifo() {
  close(fd_);
}

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

NewNames::NewNames(const Path& directory)
    : directory_(directory), fd_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
  if (fd_ < 0) give_up("cannot watch " + directory.string());
  watch();
}

NewNames::~NewNames() {
  close(fd_);
}

void NewNames::watch() {
  (void)inotify_add_watch(fd_, directory_.c_str(), IN_CREATE | IN_MOVED_TO);
  std::error_code ignored;  // a directory may go while it is listed
  for (const auto& entry : std::filesystem::directory_iterator(directory_, ignored)) {
    (void)inotify_add_watch(fd_, entry.path().c_str(), IN_CREATE | IN_MOVED_TO | IN_ONLYDIR);
  }
}

void NewNames::pump() {
  alignas(inotify_event) char buffer[1 << 14];
  while (read(fd_, buffer, sizeof buffer) > 0) any_ = true;
  watch();
}

Timer::Timer(std::chrono::nanoseconds duration)
    : fd_(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)) {
  itimerspec when{};
  when.it_value.tv_sec = static_cast<time_t>(duration.count() / 1'000'000'000);
  when.it_value.tv_nsec = static_cast<long>(duration.count() % 1'000'000'000);
  if (fd_ < 0 || timerfd_settime(fd_, 0, &when, nullptr) != 0) give_up("timerfd");
}

Timer::~Timer() {
  close(fd_);
}

void Timer::pump() {
  std::uint64_t expirations = 0;
  passed_ = passed_ || read(fd_, &expirations, sizeof expirations) == sizeof expirations;
}

bool wait_for_line(Fifo& fifo, std::string_view line, Process& writer) {
  return wait_until({&writer, &fifo}, [&] { return fifo.has(line) || !writer.running(); }) &&
         fifo.has(line);
}

}  // namespace torc::itest
