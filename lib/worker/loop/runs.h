// The commands of one worker that its host has: by the numbers of the state machine and by those of
// the host.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "lib/exec/run/process_host.h"
#include "lib/worker/machine/claimed_job.h"

namespace torc::worker {

struct HostedRun {
  enum class Kind : std::uint8_t { job, recovery, action };
  Run run{};
  exec::RunId id{};
  Kind kind = Kind::job;
  std::shared_ptr<Load> load;  // null: an action
  bool ended = false;          // its output may be open still
};

class Runs {
 public:
  void add(HostedRun run) {
    by_id_[static_cast<std::uint64_t>(run.id)] = run.run;
    runs_.emplace(run.run, std::move(run));
  }
  [[nodiscard]] HostedRun* find(Run run) {
    const auto found = runs_.find(run);
    return found == runs_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] HostedRun* find(exec::RunId id) {
    const auto found = by_id_.find(static_cast<std::uint64_t>(id));
    return found == by_id_.end() ? nullptr : find(found->second);
  }
  void remove(const HostedRun& run) {
    by_id_.erase(static_cast<std::uint64_t>(run.id));
    runs_.erase(Run{run.run});
  }
  // The smallest one, from 1, that no job has which runs.
  [[nodiscard]] std::uint32_t free_slot() const {
    std::vector<bool> taken(runs_.size() + 2);
    for (const auto& [run, hosted] : runs_) {
      if (hosted.kind != HostedRun::Kind::job || hosted.ended) continue;
      if (hosted.load->slot < taken.size()) taken[hosted.load->slot] = true;
    }
    std::uint32_t slot = 1;
    while (taken[slot]) ++slot;
    return slot;
  }
  [[nodiscard]] bool empty() const { return runs_.empty(); }
  [[nodiscard]] std::vector<HostedRun> all() const {
    std::vector<HostedRun> out;
    for (const auto& [run, hosted] : runs_) out.push_back(hosted);
    return out;
  }

 private:
  std::map<Run, HostedRun> runs_;
  std::unordered_map<std::uint64_t, Run> by_id_;
};

}  // namespace torc::worker
