#include "lib/exec/machine/procfs.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "lib/base/number.h"

namespace torc::exec {
namespace {

// Of /proc/PID/stat: USER_HZ, which the kernel fixes at 100 for programs on all that torc runs on.
constexpr std::uint64_t kTick = 10'000;  // microseconds

// PF_FORKNOEXEC of the kernel, in the flags that /proc/PID/stat shows.
constexpr std::uint64_t kForkNoExec = 0x40;

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

// Of /proc/PID/stat from the third field on. Before it the name stands in parentheses, and may hold
// anything, parentheses and blanks included.
std::optional<std::string> stat_fields(pid_t pid, const std::string& proc) {
  const auto text = read_small_file(proc + "/" + std::to_string(pid) + "/stat");
  const auto name_end = text ? text->rfind(')') : std::string::npos;
  if (name_end == std::string::npos || name_end + 2 >= text->size()) return std::nullopt;
  return text->substr(name_end + 2);
}

// nullopt: it was cut off by an error.
std::optional<std::string> read_from(int fd, bool from_start) {
  std::string text;
  char buffer[8192];
  for (;;) {
    const ssize_t n = from_start ? pread(fd, buffer, sizeof buffer, static_cast<off_t>(text.size()))
                                 : ::read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return std::nullopt;
    if (n == 0) return text;
    text.append(buffer, static_cast<std::size_t>(n));
  }
}

Family children_by_scan(pid_t parent) {
  Family found;
  const auto all = numbers_in("/proc");
  if (!all) return {{}, false};
  for (const pid_t pid : *all) {
    const auto stat = read_stat(pid);
    if (stat && stat->parent == parent) found.pids.push_back(pid);
    if (!stat && !is_free(pid)) found.complete = false;
  }
  return found;
}

}  // namespace

std::optional<std::string> read_small_file(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::optional<std::string> text = read_from(fd, false);
  close(fd);
  return text;
}

std::string_view line_value(std::string_view text, std::string_view name) {
  for (std::size_t at = 0; (at = text.find(name, at)) != std::string_view::npos; ++at) {
    if (at > 0 && text[at - 1] != '\n') continue;
    std::string_view value = text.substr(at + name.size());
    value = value.substr(0, value.find('\n'));
    value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
    return value;
  }
  return {};
}

std::optional<std::uint64_t> line_number(std::string_view text, std::string_view name, int base) {
  return leading_number<std::uint64_t>(line_value(text, name), base);
}

std::vector<std::string> split(std::string_view list, char separator) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(separator), list.size());
    parts.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return parts;
}

bool is_free(pid_t number) {
  return ::kill(number, 0) != 0 && errno == ESRCH;
}

std::optional<ProcessStat> read_stat(pid_t pid, const std::string& proc) {
  constexpr int kLast = 22;
  const auto text = stat_fields(pid, proc);
  if (!text) return std::nullopt;
  std::string_view rest = *text;
  ProcessStat stat;
  std::uint64_t ticks = 0;
  bool whole = false;
  for (int field = 3; field <= kLast && !rest.empty(); ++field) {
    const std::string_view word = rest.substr(0, rest.find(' '));
    if (word.empty()) return std::nullopt;
    const auto number = [&](auto& value) {
      const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), value);
      whole = field == kLast && failure == std::errc{} && end == word.data() + word.size() &&
              rest.size() > word.size();  // a number that is cut off is another one
    };
    if (field == 3) stat.state = word.front();
    if (field == 4) number(stat.parent);
    if (field == 5) number(stat.group);
    if (field == 6) number(stat.session);
    if (field == 9) {
      std::uint64_t flags = 0;
      number(flags);
      stat.has_executed = (flags & kForkNoExec) == 0;
    }
    if (field >= 14 && field <= 17) {
      std::uint64_t part = 0;
      number(part);
      ticks += part;
    }
    if (field == 20) number(stat.threads);
    if (field == kLast) number(stat.start);
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
  }
  if (!whole) return std::nullopt;
  stat.cpu_time = std::chrono::microseconds(ticks * kTick);
  return stat;
}

bool has_ended(const ProcessStat& stat) {
  return stat.state == 'X' || stat.state == 'x' || (stat.state == 'Z' && stat.threads <= 1);
}

std::optional<ProcessStatus> read_status(pid_t pid) {
  const std::string text = read_small_file("/proc/" + std::to_string(pid) + "/status").value_or("");
  const std::string_view state = line_value(text, "State:");
  if (state.empty()) return std::nullopt;
  const auto number = [&](std::string_view name) { return line_number(text, name).value_or(0); };
  return ProcessStatus{state.front(), static_cast<pid_t>(number("PPid:")),
                       static_cast<pid_t>(number("NSsid:")), number("Threads:")};
}

bool has_ended(const ProcessStatus& status) {
  return status.state == 'X' || status.state == 'x' || (status.state == 'Z' && status.threads <= 1);
}

std::optional<std::vector<pid_t>> numbers_in(const std::string& directory) {
  DIR* dir = opendir(directory.c_str());
  if (dir == nullptr) return std::nullopt;
  std::vector<pid_t> numbers;
  errno = 0;
  while (const dirent* entry = readdir(dir)) {
    if (const auto number = whole_number<pid_t>(entry->d_name)) numbers.push_back(*number);
    errno = 0;
  }
  const bool whole = errno == 0;
  closedir(dir);
  if (!whole) return std::nullopt;
  return numbers;
}

namespace {

// Its new memory is there and the environment not yet: an address of 0 as its end. A kernel thread
// has no memory, one that has ended neither. nullopt: it cannot be looked at, or has gone.
std::optional<bool> is_being_executed(pid_t pid, const std::string& proc) {
  constexpr int kState = 3;
  constexpr int kSize = 23;
  constexpr int kEnvironmentEnd = 51;
  const auto text = stat_fields(pid, proc);
  if (!text) return std::nullopt;
  std::string_view rest = *text;
  for (int field = kState; !rest.empty(); ++field) {
    const std::string_view word = rest.substr(0, rest.find_first_of(" \n"));
    if (field == kSize && word == "0") return false;
    if (field == kEnvironmentEnd) return word == "0";
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
  }
  return false;
}

// As read_small_file(). What has no memory any more, or never had (a kernel thread), shows nothing;
// newer kernels (6.18 does) refuse to open the file then, older ones show an empty one.
std::optional<std::string> shown_environment(const std::string& path) {
  errno = 0;
  auto text = read_small_file(path);
  if (!text && errno == ESRCH) return std::string();
  return text;
}

// The memory of a process whose first thread has ended is seen through its other threads.
std::optional<std::string> environment_by_threads(pid_t pid, const std::string& proc) {
  const std::string task = proc + "/" + std::to_string(pid) + "/task";
  const auto threads = numbers_in(task);
  if (!threads) return std::nullopt;
  for (const pid_t tid : *threads) {
    auto text = shown_environment(task + "/" + std::to_string(tid) + "/environ");
    if (!text || !text->empty()) return text;
  }
  return std::string();
}

}  // namespace

std::optional<std::string> environment_of(pid_t pid, const std::string& proc) {
  constexpr timespec kNap{0, 100'000};
  constexpr int kMostNaps = 500;
  const std::string path = proc + "/" + std::to_string(pid) + "/environ";
  auto text = shown_environment(path);
  for (int naps = 0; text && text->empty(); ++naps) {
    const auto later = is_being_executed(pid, proc);
    if (!later || naps == kMostNaps) return std::nullopt;
    if (*later) nanosleep(&kNap, nullptr);
    text = shown_environment(path);  // it may have come between the two looks
    if (*later) continue;
    if (text && text->empty()) return environment_by_threads(pid, proc);
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

Family children_of(pid_t pid) {
  const std::string task = "/proc/" + std::to_string(pid) + "/task";
  const auto threads = numbers_in(task);
  if (!threads) return {{}, is_free(pid)};
  Family found;
  for (const pid_t tid : *threads) {
    const std::string thread = task + "/" + std::to_string(tid);
    const auto text = read_small_file(thread + "/children");
    if (!text) {
      const bool there = access((thread + "/stat").c_str(), F_OK) == 0;
      if (!there && (errno == ENOENT || errno == ESRCH)) continue;  // it ended
      return children_by_scan(pid);
    }
    const auto numbers = parse_numbers(*text);
    found.pids.insert(found.pids.end(), numbers.begin(), numbers.end());
  }
  return found;
}

Family descendants_of(pid_t pid) {
  Family found = children_of(pid);
  for (std::size_t i = 0; i < found.pids.size(); ++i) {
    const Family below = children_of(found.pids[i]);
    found.complete = found.complete && below.complete;
    for (const pid_t child : below.pids) {
      // A pid that is used again while this walks could close a circle.
      if (std::find(found.pids.begin(), found.pids.end(), child) == found.pids.end())
        found.pids.push_back(child);
    }
  }
  return found;
}

ChildrenFile::ChildrenFile(pid_t tid)
    : file_(open(("/proc/self/task/" + std::to_string(tid) + "/children").c_str(),
                 O_RDONLY | O_CLOEXEC)) {}

std::vector<pid_t> ChildrenFile::read() const {
  return parse_numbers(read_from(file_.get(), true).value_or(""));
}

bool ChildrenFile::is_empty() const {
  char byte = 0;
  return file_ && pread(file_.get(), &byte, 1, 0) == 0;
}

}  // namespace torc::exec
