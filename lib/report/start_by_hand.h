// The commands by which people start workers themselves, without a batch script, for jobs that need
// more than `torc run` has by itself: named resources, which a worker is told of, and several
// nodes, which only workers of a group have together. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/amounts.h"
#include "lib/base/resources.h"
#include "lib/claim/rules/plan.h"

namespace torc::report {

struct HandStart {
  std::string command;  // "torc run wf.torc --resource fpga=2"
  std::string where{};  // "where there is that"; empty: here
  bool operator==(const HandStart&) const = default;
};

// For jobs of these classes, of each the alternative that needs least of that: `torc run` where
// there is something for it, or nothing at all is known; then one with the named resources of all
// jobs of one node; then workers of groups, at most three of them. Whether a node has the CPUs, the
// memory, the GPUs and the time is not looked at. `store`: as a word of a command.
[[nodiscard]] std::vector<HandStart> hand_starts(const std::string& store,
                                                 const std::vector<claim::JobClass>& classes);
// "torc run wf.torc, or torc worker wf.torc --group nodes (on each of 2 nodes)"
[[nodiscard]] std::string say(const std::vector<HandStart>& starts);
// " --label gpu --resource fpga=2": of a worker that serves jobs of this class.
[[nodiscard]] std::string worker_flags(const claim::JobClass& job_class);

// " --resource fpga=2": of a worker that has so much; of all that there is, some.
[[nodiscard]] std::string resource_flag(const Amount& amount);
// "cpus=4", "memory=3072m": of `torc set`.
[[nodiscard]] std::string setting_of(const ResourceKind& kind, std::uint64_t amount);

}  // namespace torc::report
