#include "lib/exec/run/strays.h"

namespace torc::exec {

void Strays::add(pid_t pid, const Stray& stray) {
  if (all_.emplace(pid, stray).second && stray.owner) ++counts_[*stray.owner];
}

void Strays::remove(pid_t pid) {
  const auto it = all_.find(pid);
  if (it == all_.end()) return;
  if (it->second.owner) {
    const auto count = counts_.find(*it->second.owner);
    if (--count->second == 0) counts_.erase(count);
  }
  all_.erase(it);
}

const Stray* Strays::find(pid_t pid) const {
  const auto it = all_.find(pid);
  return it == all_.end() ? nullptr : &it->second;
}

std::vector<pid_t> Strays::all() const {
  std::vector<pid_t> pids;
  for (const auto& [pid, stray] : all_) pids.push_back(pid);
  return pids;
}

std::vector<pid_t> Strays::of(RunKey key) const {
  std::vector<pid_t> pids;
  if (!any_of(key)) return pids;
  for (const auto& [pid, stray] : all_) {
    if (stray.owner == key) pids.push_back(pid);
  }
  return pids;
}

void Strays::claim_hidden(RunKey oldest, std::optional<RunKey> next) {
  for (auto& [pid, stray] : all_) {
    if (stray.owner || stray.newest < oldest || (next && *next <= stray.newest)) continue;
    stray.owner = oldest;
    ++counts_[oldest];
  }
}

}  // namespace torc::exec
