#include "lib/exec/procfs.h"

#include <dirent.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

namespace torc::exec {
namespace {

// Of /proc/PID/stat: USER_HZ, which the kernel fixes at 100 for programs on all that torc runs on.
constexpr std::uint64_t kTick = 10'000;  // microseconds

std::vector<pid_t> parse_numbers(std::string_view text) {
  std::vector<pid_t> numbers;
  while (!text.empty()) {
    pid_t number = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failure != std::errc{}) break;
    numbers.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (!text.empty()) text.remove_prefix(1);
  }
  return numbers;
}

std::string read_from(int fd, bool from_start) {
  std::string text;
  char buffer[8192];
  for (;;) {
    const ssize_t n = from_start ? pread(fd, buffer, sizeof buffer, static_cast<off_t>(text.size()))
                                 : ::read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(n));
  }
}

std::vector<pid_t> children_by_scan(pid_t parent) {
  std::vector<pid_t> found;
  for (const pid_t pid : numbers_in("/proc")) {
    if (const auto stat = read_stat(pid); stat && stat->parent == parent) found.push_back(pid);
  }
  return found;
}

}  // namespace

std::optional<std::string> read_small_file(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::string text = read_from(fd, false);
  close(fd);
  return text;
}

std::optional<ProcessStat> read_stat(pid_t pid) {
  const auto text = read_small_file("/proc/" + std::to_string(pid) + "/stat");
  // The name stands in parentheses and may hold anything, parentheses and blanks included.
  const auto name_end = text ? text->rfind(')') : std::string::npos;
  if (name_end == std::string::npos || name_end + 2 >= text->size()) return std::nullopt;
  std::string_view rest = std::string_view(*text).substr(name_end + 2);
  ProcessStat stat;
  std::uint64_t ticks = 0;
  for (int field = 3; field <= 22 && !rest.empty(); ++field) {
    const std::string_view word = rest.substr(0, rest.find(' '));
    const auto number = [&](auto& value) {
      std::from_chars(word.data(), word.data() + word.size(), value);
    };
    if (field == 3) stat.state = word.front();
    if (field == 4) number(stat.parent);
    if (field == 5) number(stat.group);
    if (field == 6) number(stat.session);
    if (field >= 14 && field <= 17) {
      std::uint64_t part = 0;
      number(part);
      ticks += part;
    }
    if (field == 22) number(stat.start);
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
  }
  stat.cpu_time = std::chrono::microseconds(ticks * kTick);
  return stat;
}

std::vector<pid_t> numbers_in(const std::string& directory) {
  std::vector<pid_t> numbers;
  DIR* dir = opendir(directory.c_str());
  if (dir == nullptr) return numbers;
  while (const dirent* entry = readdir(dir)) {
    const std::string_view name = entry->d_name;
    pid_t number = 0;
    const auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (failure == std::errc{} && end == name.data() + name.size()) numbers.push_back(number);
  }
  closedir(dir);
  return numbers;
}

namespace {

// Its new memory is there and the environment not yet: an address of 0 as its end. A kernel thread
// has no memory, one that has ended neither.
bool is_being_executed(pid_t pid) {
  constexpr int kState = 3;
  constexpr int kSize = 23;
  constexpr int kEnvironmentEnd = 51;
  const auto text = read_small_file("/proc/" + std::to_string(pid) + "/stat");
  const auto name_end = text ? text->rfind(')') : std::string::npos;
  if (name_end == std::string::npos || name_end + 2 >= text->size()) return false;
  std::string_view rest = std::string_view(*text).substr(name_end + 2);
  for (int field = kState; !rest.empty(); ++field) {
    const std::string_view word = rest.substr(0, rest.find_first_of(" \n"));
    if (field == kSize && word == "0") return false;
    if (field == kEnvironmentEnd) return word == "0";
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
  }
  return false;
}

}  // namespace

std::optional<std::string> environment_of(pid_t pid) {
  constexpr timespec kNap{0, 100'000};
  constexpr int kMostNaps = 500;
  const std::string path = "/proc/" + std::to_string(pid) + "/environ";
  auto text = read_small_file(path);
  for (int naps = 0; text && text->empty() && naps < kMostNaps; ++naps) {
    const bool later = is_being_executed(pid);
    if (later) nanosleep(&kNap, nullptr);
    text = read_small_file(path);  // it may have come between the two looks
    if (!later) break;
  }
  return text;
}

std::optional<std::string> environment_value(pid_t pid, std::string_view name) {
  const auto text = environment_of(pid);
  if (!text) return std::nullopt;
  std::string_view rest = *text;
  while (!rest.empty()) {
    const std::string_view entry = rest.substr(0, rest.find('\0'));
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=') {
      return std::string(entry.substr(name.size() + 1));
    }
    rest.remove_prefix(std::min(rest.size(), entry.size() + 1));
  }
  return std::nullopt;
}

std::vector<pid_t> children_of(pid_t pid) {
  const std::string task = "/proc/" + std::to_string(pid) + "/task";
  std::vector<pid_t> found;
  for (const pid_t tid : numbers_in(task)) {
    const auto text = read_small_file(task + "/" + std::to_string(tid) + "/children");
    if (!text) {
      if (access((task + "/" + std::to_string(tid) + "/stat").c_str(), F_OK) != 0)
        continue;  // thread gone
      return children_by_scan(pid);
    }
    const auto numbers = parse_numbers(*text);
    found.insert(found.end(), numbers.begin(), numbers.end());
  }
  return found;
}

std::vector<pid_t> descendants_of(pid_t pid) {
  std::vector<pid_t> found = children_of(pid);
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (const pid_t child : children_of(found[i])) {
      // A pid that is used again while this walks could close a circle.
      if (std::find(found.begin(), found.end(), child) == found.end()) found.push_back(child);
    }
  }
  return found;
}

ChildrenFile::ChildrenFile(pid_t tid)
    : fd_(open(("/proc/self/task/" + std::to_string(tid) + "/children").c_str(),
               O_RDONLY | O_CLOEXEC)) {}

ChildrenFile::~ChildrenFile() {
  if (fd_ >= 0) close(fd_);
}

std::vector<pid_t> ChildrenFile::read() const {
  return parse_numbers(read_from(fd_, true));
}

}  // namespace torc::exec
