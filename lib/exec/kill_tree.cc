#include "lib/exec/kill_tree.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "lib/exec/procfs.h"

namespace torc::exec {

std::size_t kill_below(pid_t top) {
  std::set<std::pair<pid_t, std::uint64_t>> told;
  for (;;) {
    std::size_t dying = 0;
    bool any_new = false;
    for (const pid_t pid : descendants_of(top)) {
      const auto stat = read_stat(pid);
      // Its parent may be frozen and never take the dead one away.
      if (!stat || stat->state == 'Z' || stat->state == 'X') continue;
      if (::kill(pid, SIGKILL) != 0) continue;
      ++dying;
      any_new = told.emplace(pid, stat->start).second || any_new;
    }
    if (!any_new) return dying;
  }
}

namespace {

using Marked = std::set<std::pair<pid_t, std::uint64_t>>;

bool has_all(pid_t pid, const std::vector<std::string>& marks) {
  const auto environment = environment_of(pid);
  if (!environment) return false;
  const std::string all = '\0' + *environment;
  return std::all_of(marks.begin(), marks.end(), [&](const std::string& mark) {
    return all.find('\0' + mark + '\0') != std::string::npos;
  });
}

// Those that have not ended.
Marked alive(const Marked& marked) {
  Marked left;
  for (const auto& [pid, start] : marked) {
    const auto stat = read_stat(pid);
    if (stat && stat->start == start && stat->state != 'Z' && stat->state != 'X')
      left.emplace(pid, start);
  }
  return left;
}

}  // namespace

std::size_t kill_marked(const std::vector<std::string>& marks) {
  constexpr timespec kNap{0, 1'000'000};
  constexpr int kMostNaps = 1000;
  if (has_all(getpid(), marks)) return 0;
  Marked told;
  for (bool any_new = true; any_new;) {
    any_new = false;
    for (const pid_t pid : numbers_in("/proc")) {
      const auto stat = read_stat(pid);
      if (!stat || stat->state == 'Z' || told.contains({pid, stat->start})) continue;
      if (!has_all(pid, marks) || ::kill(pid, SIGKILL) != 0) continue;
      told.emplace(pid, stat->start);
      any_new = true;
    }
  }
  for (int naps = 0; naps < kMostNaps && !(told = alive(told)).empty(); ++naps)
    nanosleep(&kNap, nullptr);
  return told.size();
}

}  // namespace torc::exec
