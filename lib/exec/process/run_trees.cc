#include "lib/exec/process/run_trees.h"

#include <signal.h>
#include <unistd.h>

#include <string>

#include "lib/exec/machine/procfs.h"

namespace torc::exec {

void RunTrees::adopt() {
  const std::vector<pid_t> found = children_.all();
  // What came from a command that a slot began must find it here.
  if (!found.empty()) lane_.make_runs(std::chrono::nanoseconds(0));
  for (const pid_t pid : found) {
    const auto key = runs_.by_session(pid);
    const bool is_leader = key && !runs_.find(*key)->leader_gone;
    if (!is_leader && strays_.find(pid) == nullptr && !children_.is_left_alone(pid)) adopt_one(pid);
  }
}

void RunTrees::adopt_one(pid_t pid) {
  const auto owner = owner_of(pid);
  if (owner && runs_.find(*owner) == nullptr) {
    // A slot has not told yet that the command began, or how it ended: this is found again then.
    if (lane_.is_of_lane(*owner)) return;
    ::kill(pid, SIGKILL);  // of a command whose end was reported: it had hidden then
    return;
  }
  // Where they are not listed, those of other threads, which are not ours, look the same.
  if (!owner && !children_.are_listed()) return;
  strays_.add(pid, {owner, runs_.last_key()});
}

// By the session, else by the variable that every command gets; nothing when a process has left the
// one and cleared the other.
std::optional<RunKey> RunTrees::owner_of(pid_t pid) const {
  if (const Stray* stray = strays_.find(pid)) return stray->owner;
  if (const auto key = runs_.by_session(getsid(pid))) return key;
  const auto value = environment_value(pid, RunTag::kVariable);
  return value ? tag_.key_in(*value) : std::nullopt;
}

void RunTrees::claim_hidden(RunKey key) {
  if (strays_.empty() || runs_.oldest() != key) return;
  strays_.claim_hidden(key, runs_.after(key));
}

std::vector<pid_t> RunTrees::processes_of(RunKey key) const {
  const Run& run = *runs_.find(key);
  std::vector<pid_t> found;
  const auto add = [&](pid_t top) {
    found.push_back(top);
    const auto below = descendants_of(top).pids;
    found.insert(found.end(), below.begin(), below.end());
  };
  if (!run.leader_gone) add(run.group);
  for (const pid_t pid : strays_.of(key)) add(pid);
  return found;
}

std::vector<pid_t> RunTrees::outside_group(RunKey key) const {
  const Run& run = *runs_.find(key);
  std::vector<pid_t> found;
  const auto add_below = [&](pid_t top) {
    for (const pid_t pid : descendants_of(top).pids) {
      if (getpgid(pid) != run.group) found.push_back(pid);
    }
  };
  if (!run.leader_gone) add_below(run.group);
  for (const pid_t pid : strays_.of(key)) {
    if (getpgid(pid) != run.group) found.push_back(pid);
    add_below(pid);
  }
  return found;
}

bool RunTrees::is_gone(RunKey key) {
  Run& run = *runs_.find(key);
  if (!run.group_gone && ::kill(-run.group, 0) != 0) {
    run.group_gone = true;  // ESRCH; or EPERM: members of another user, who are beyond our reach
  }
  return run.group_gone && !strays_.any_of(key);
}

void RunTrees::signal(RunKey key, int signal) {
  const std::vector<pid_t> outside = outside_group(key);
  signal_group(*runs_.find(key), signal);
  for (const pid_t pid : outside) ::kill(pid, signal);
}

void RunTrees::kill(RunKey key) {
  Run& run = *runs_.find(key);
  run.phase = Phase::killed;
  runs_.set_deadline(key, std::nullopt);
  signal_group(run, SIGKILL);
  if (run.limits != nullptr) run.limits->kill();
  kill_strays(key);
  unsettled_ = unsettled_ || run.leader_gone;
}

void RunTrees::signal_group(Run& run, int signal) {
  if (run.group_gone) return;
  // A process of the group's number, though the leader is reaped: the number is another's now.
  if (run.leader_gone && ::kill(run.group, 0) == 0) {
    run.group_gone = true;
    return;
  }
  ::kill(-run.group, signal);
}

void RunTrees::kill_strays(RunKey key) {
  for (const pid_t pid : strays_.of(key)) {
    if (::kill(pid, SIGKILL) == 0) continue;
    strays_.remove(pid);
    children_.leave_alone(pid);
  }
}

void RunTrees::kill_all_strays() const {
  for (const pid_t pid : strays_.all()) ::kill(pid, SIGKILL);
}

}  // namespace torc::exec
