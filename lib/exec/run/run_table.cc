#include "lib/exec/run/run_table.h"

#include <algorithm>

namespace torc::exec {

Run& RunTable::add(RunKey key, Run run) {
  if (const auto old = by_group_.find(run.group); old != by_group_.end()) {
    // The kernel gave the number again, so the old run's group has no members any more.
    runs_.at(old->second).group_gone = true;
  }
  by_group_.insert_or_assign(run.group, key);
  if (run.deadline) deadlines_.emplace(*run.deadline, key);
  want_look(run.memory.next);
  return runs_.insert_or_assign(key, std::move(run)).first->second;
}

void RunTable::remove(RunKey key) {
  const auto it = runs_.find(key);
  if (it == runs_.end()) return;
  set_deadline(key, std::nullopt);
  const auto group = by_group_.find(it->second.group);
  if (group != by_group_.end() && group->second == key) by_group_.erase(group);
  std::erase(leaderless_, key);
  runs_.erase(it);
}

void RunTable::lose_leader(RunKey key, int status) {
  Run* run = find(key);
  if (run == nullptr) return;
  run->leader_gone = true;
  run->status = status;
  leaderless_.push_back(key);
}

void RunTable::set_deadline(RunKey key, std::optional<BootTime> deadline) {
  Run* run = find(key);
  if (run == nullptr) return;
  if (run->deadline) deadlines_.erase({*run->deadline, key});
  run->deadline = deadline;
  if (deadline) deadlines_.emplace(*deadline, key);
}

Run* RunTable::find(RunKey key) {
  const auto it = runs_.find(key);
  return it == runs_.end() ? nullptr : &it->second;
}

std::optional<RunKey> RunTable::by_session(pid_t session) const {
  const auto it = by_group_.find(session);
  if (it == by_group_.end()) return std::nullopt;
  return it->second;
}

void RunTable::want_look(BootTime at) {
  next_look_ = std::min(next_look_.value_or(at), at);
}

void RunTable::shift_deadlines(std::chrono::nanoseconds by) {
  for (auto& [key, run] : runs_) {
    if (run.deadline && *run.deadline < BootTime::max() - by) set_deadline(key, *run.deadline + by);
  }
}

std::optional<BootTime> RunTable::next_deadline() const {
  if (deadlines_.empty()) return std::nullopt;
  return deadlines_.begin()->first;
}

std::optional<RunKey> RunTable::due(BootTime now) const {
  if (deadlines_.empty() || deadlines_.begin()->first > now) return std::nullopt;
  return deadlines_.begin()->second;
}

std::optional<RunKey> RunTable::oldest() const {
  if (runs_.empty()) return std::nullopt;
  return runs_.begin()->first;
}

std::optional<RunKey> RunTable::after(RunKey key) const {
  const auto next = runs_.upper_bound(key);
  if (next == runs_.end()) return std::nullopt;
  return next->first;
}

}  // namespace torc::exec
