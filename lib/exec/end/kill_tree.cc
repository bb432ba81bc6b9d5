#include "lib/exec/end/kill_tree.h"

#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "lib/base/number.h"
#include "lib/exec/machine/machine.h"
#include "lib/exec/machine/procfs.h"

namespace torc::exec {
// Nothing here may wait for a process that is executing: see ProcessStatus.
Leftovers kill_below(pid_t top) {
  std::set<pid_t> told;
  for (;;) {
    std::size_t dying = 0;
    bool any_new = false;
    const Family family = descendants_of(top);
    bool complete = family.complete;
    for (const pid_t pid : family.pids) {
      const auto status = read_status(pid);
      // Its parent may be frozen and never take the dead one away.
      if (status && has_ended(*status)) continue;
      if (::kill(pid, SIGKILL) != 0) continue;
      ++dying;
      if (status) any_new = told.insert(pid).second || any_new;
      complete = complete && status;
    }
    if (any_new) continue;
    if (dying > 0) return Leftovers::some;
    return complete ? Leftovers::none : Leftovers::unknown;
  }
}

namespace {

// It gets a session of its own next, and then executes: as long as it has none it is not waited for
// to look at it.
bool is_just_started(pid_t pid, const ProcessStatus& status,
                     const std::optional<ProcessStatus>& parent) {
  if (parent && status.session != parent->session) return false;
  const auto stat = read_stat(pid);
  return stat && !stat->has_executed;
}

}  // namespace

Told StoppedProcesses::stop_below(pid_t top) {
  bool complete = true;
  bool one_starts = false;
  for (bool any_new = true; any_new;) {
    any_new = false;
    const auto above = read_status(top);
    const Family family = descendants_of(top);
    complete = family.complete;
    one_starts = false;
    // Each after its parent, so that no parent sees its children stopped.
    for (const pid_t pid : family.pids) {
      const auto status = read_status(pid);
      if (!status) complete = complete && is_free(pid);
      if (!status || has_ended(*status) || status->state == 'T') continue;
      if (status->parent == top && is_just_started(pid, *status, above)) {
        one_starts = true;
        continue;
      }
      const bool again = told_.contains(pid);
      if (again && status->state == 't') continue;  // its debugger decides
      // Again where somebody has continued it meanwhile, as Slurm does after a suspension.
      if (::kill(pid, SIGSTOP) != 0 || again) continue;
      told_.insert(pid);
      order_.push_back(pid);
      any_new = true;
    }
  }
  if (one_starts) return Told::but_one_that_starts;
  return complete ? Told::all : Told::but_what_was_not_seen;
}

void StoppedProcesses::go_on() {
  // One that has ended may be another process by now, which a SIGCONT does no harm.
  for (auto it = order_.rbegin(); it != order_.rend(); ++it) ::kill(*it, SIGCONT);
  forget();
}

void StoppedProcesses::end_children_of(pid_t parent) const {
  for (const pid_t pid : order_) {
    const auto status = read_status(pid);
    if (status && status->state == 'T' && status->parent == parent) ::kill(pid, SIGKILL);
  }
}

void StoppedProcesses::forget() {
  order_.clear();
  told_.clear();
}

namespace {

constexpr std::uint64_t kMostParts = 128;  // of a heterogeneous job of Slurm's

using Tagged = std::set<std::pair<pid_t, std::uint64_t>>;

enum class Found : std::uint8_t { nothing, tagged, unknown };

bool has_all(const std::string& environment, const std::vector<std::string>& tags) {
  const std::string all = '\0' + environment;
  return std::all_of(tags.begin(), tags.end(), [&](const std::string& tag) {
    return all.find('\0' + tag + '\0') != std::string::npos;
  });
}

std::string_view value_in(std::string_view environment, std::string_view name) {
  while (!environment.empty()) {
    const std::string_view entry = environment.substr(0, environment.find('\0'));
    if (entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name))
      return entry.substr(name.size() + 1);
    environment.remove_prefix(std::min(environment.size(), entry.size() + 1));
  }
  return {};
}

// Slurm tells the processes of all parts of a heterogeneous job the number of the first one, and
// those of the parts beside it. What such a job submits keeps these, and has another number.
bool is_of_part(const std::string& allocation, std::string_view environment, std::string_view job) {
  const std::string group = "SLURM_JOB_ID_HET_GROUP_";
  if (value_in(environment, group + "0") != job) return false;
  const auto parts = whole_number<std::uint64_t>(value_in(environment, "SLURM_HET_SIZE"));
  for (std::uint64_t i = 1; i < std::min(parts.value_or(0), kMostParts); ++i) {
    if (value_in(environment, group + std::to_string(i)) == allocation) return true;
  }
  return false;
}

// One without a number of Slurm's may have dropped it, and names no other.
bool names_another(const std::string& allocation, const std::string& environment) {
  const std::string_view job = value_in(environment, "SLURM_JOB_ID");
  if (allocation.empty() || job.empty() || job == allocation) return false;
  if (is_of_part(allocation, environment, job)) return false;
  // The last element of an array has the number of the whole. Beside another one the array may be
  // that of the allocation in which this one was submitted.
  if (value_in(environment, "SLURM_ARRAY_JOB_ID") != job) return true;
  return std::string(job).append("_").append(value_in(environment, "SLURM_ARRAY_TASK_ID")) !=
         allocation;
}

// By its real, effective, saved or filesystem user, which anybody may read. nullopt: not known.
std::optional<bool> is_of_this_user(pid_t pid, const std::string& proc) {
  const auto status = read_small_file(proc + "/" + std::to_string(pid) + "/status");
  const auto users = split(line_value(status.value_or(""), "Uid:"), '\t');
  if (users.size() != 4) return std::nullopt;
  return std::any_of(users.begin(), users.end(), [](const std::string& user) {
    return user == std::to_string(geteuid()) || user == std::to_string(getuid());
  });
}

// Of one that does not say itself, by those above it. An orphan is adopted by the first process
// or by one that was above its worker.
bool may_come_from(const Origin& origin, const ProcessStat& stat,
                   const std::vector<std::string>& tags, const std::string& proc) {
  constexpr int kLongestLine = 1000;
  pid_t parent = stat.parent;
  for (int i = 0; i < kLongestLine && parent > 1; ++i) {
    const auto above = read_stat(parent, proc);
    if (!above) return true;
    if (above->start < origin.start) {
      const auto& line = origin.above;
      return line.empty() ||
             std::find(line.begin(), line.end(), static_cast<std::uint64_t>(parent)) != line.end();
    }
    if (const auto environment = environment_of(parent, proc)) return has_all(*environment, tags);
    parent = above->parent;
  }
  return true;
}

Found look_at(pid_t pid, const ProcessStat& stat, const std::vector<std::string>& tags,
              const Origin& origin, const std::string& proc) {
  if (has_ended(stat) || stat.start < origin.start) return Found::nothing;
  if (const auto environment = environment_of(pid, proc)) {
    if (!has_all(*environment, tags)) return Found::nothing;
    if (!names_another(origin.allocation, *environment)) return Found::tagged;
  } else if (is_free(pid) || is_of_this_user(pid, proc) == false) {
    return Found::nothing;
  }
  return may_come_from(origin, stat, tags, proc) ? Found::unknown : Found::nothing;
}

struct Looked {
  ProcessStat stat;
  Found found = Found::nothing;
};
using AllLooked = std::map<pid_t, Looked>;

// What a tagged process has started is of it, too, whatever it did to its environment; but not what
// it submitted to Slurm. Of one whose parent has ended nobody knows that any more.
void add_children(AllLooked& all, const Origin& origin, const std::string& proc) {
  const auto is_child_of_tagged = [&](pid_t pid, const Looked& one) {
    const auto parent = all.find(one.stat.parent);
    if (parent == all.end() || parent->second.found != Found::tagged) return false;
    if (parent->second.stat.start > one.stat.start || pid == getpid()) return false;
    const auto environment = environment_of(pid, proc);
    return !(environment && names_another(origin.allocation, *environment)) &&
           is_of_this_user(pid, proc) == true;
  };
  for (bool any_new = true; any_new;) {
    any_new = false;
    for (auto& [pid, one] : all) {
      if (one.found == Found::tagged || has_ended(one.stat) || !is_child_of_tagged(pid, one))
        continue;
      one.found = Found::tagged;
      any_new = true;
    }
  }
}

// Those that have not ended, or of which it is not known.
Tagged alive(const Tagged& tagged, const std::string& proc) {
  Tagged left;
  for (const auto& [pid, start] : tagged) {
    if (presence_of({static_cast<std::uint64_t>(pid), start}, proc) != Presence::gone)
      left.emplace(pid, start);
  }
  return left;
}

// The first process of a namespace is always there. Where it is not listed (hidepid) others of
// other users are not either, nor those of this user that are not dumpable.
bool shows_all(const std::vector<pid_t>& listed) {
  return std::find(listed.begin(), listed.end(), 1) != listed.end();
}

// It is listed, and all of it is kept from this process (the lesser hidepid). What is wrong with it
// otherwise may pass.
bool is_hidden(pid_t pid, const std::string& proc) {
  const int fd = open((proc + "/" + std::to_string(pid) + "/stat").c_str(), O_RDONLY | O_CLOEXEC);
  const int error = errno;
  if (fd >= 0) close(fd);
  return fd < 0 && (error == EACCES || error == EPERM);
}

}  // namespace

Leftovers kill_tagged(const std::vector<std::string>& tags, const Origin& origin,
                      const std::string& proc) {
  constexpr timespec kNap{0, 1'000'000};
  constexpr int kMostNaps = 1000;
  constexpr timespec kPause{0, 20'000'000};
  constexpr int kMostLooksAgain = 3;
  // Another process's number would be killed where /proc is of another namespace.
  if (presence_of(this_process(), proc) != Presence::here) return Leftovers::unknown;
  const auto own = environment_of(getpid(), proc);
  if (!own) return Leftovers::unknown;
  if (has_all(*own, tags)) return Leftovers::some;
  Tagged told;
  bool complete = true;
  bool hidden = false;
  int looks_again = kMostLooksAgain;  // one may be in the middle of an execution, or just ending
  for (bool any_new = true; any_new || (!complete && looks_again-- > 0);) {
    if (!any_new) nanosleep(&kPause, nullptr);
    any_new = false;
    const auto all = numbers_in(proc);
    complete = all.has_value();
    hidden = all && !shows_all(*all);
    AllLooked looked;
    for (const pid_t pid : all.value_or(std::vector<pid_t>())) {
      const auto stat = read_stat(pid, proc);
      if (!stat && is_hidden(pid, proc)) {
        hidden = true;
        continue;
      }
      if (!stat) {
        complete = complete && is_free(pid);
        continue;
      }
      const bool again = told.contains({pid, stat->start});
      looked[pid] = {*stat, again ? Found::tagged : look_at(pid, *stat, tags, origin, proc)};
    }
    add_children(looked, origin, proc);
    for (const auto& [pid, one] : looked) {
      complete = complete && one.found != Found::unknown;
      if (one.found != Found::tagged || told.contains({pid, one.stat.start})) continue;
      const auto now = read_stat(pid, proc);  // another process may have its number by now
      if (now && now->start != one.stat.start) continue;
      if (::kill(pid, SIGKILL) != 0 && errno == ESRCH) continue;
      told.emplace(pid, one.stat.start);  // one that may not be killed is left over, too
      any_new = true;
    }
  }
  for (int naps = 0; naps < kMostNaps && !(told = alive(told, proc)).empty(); ++naps)
    nanosleep(&kNap, nullptr);
  if (!told.empty()) return Leftovers::some;
  if (!complete) return Leftovers::unknown;
  return hidden ? Leftovers::hidden : Leftovers::none;
}

}  // namespace torc::exec
