// Which CPUs each of several jobs is bound to: disjoint sets, each of CPUs that lie near each
// other, by what hwloc knows of the machine.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/result.h"

namespace torc::exec {

using CpuList = std::vector<std::uint32_t>;  // logical CPUs, as the kernel numbers them; ascending

// A logical CPU and where it is. Numbers of different kinds have nothing to do with each other;
// what a machine does not have is one for all.
struct CpuPlace {
  std::uint32_t cpu = 0;
  std::uint32_t node = 0;   // NUMA
  std::uint32_t cache = 0;  // of the last level
  std::uint32_t core = 0;
  std::uint32_t thread = 0;  // of its core
};

// The CPUs on which this process may run. Error: hwloc cannot tell. `synthetic`: a machine that
// does not exist, as hwloc(7) describes one ("numa:2 l3:1 core:4 pu:2"), for tests.
Result<std::vector<CpuPlace>> find_cpus(const std::string& synthetic = {});

// Hands out CPUs of one worker; never one twice at a time. No threads, no system calls.
//
// take(n) gives one CPU of each of n idle cores as long as there are so many, and only then CPUs of
// cores that are in use: within the one last-level cache, else the one NUMA node, that fits with
// the fewest free CPUs (so that large places stay whole), else anywhere.
class CpuPool {
 public:
  explicit CpuPool(const std::vector<CpuPlace>& cpus);
  // Only of those that `usable` allows now: others may have been lent to other workers. nothing:
  // fewer are free, or `count` is 0.
  using Usable = std::function<bool(std::uint32_t cpu)>;
  [[nodiscard]] std::optional<CpuList> take(
      std::uint32_t count, const Usable& usable = [](std::uint32_t) { return true; });
  void give_back(const CpuList& cpus);

 private:
  struct Slot {
    CpuPlace place;
    bool taken = false;
  };
  enum class Level : std::uint8_t { cache, node, machine };
  using Indexes = std::vector<std::size_t>;
  [[nodiscard]] Indexes whole_cores(const Usable& usable) const;
  [[nodiscard]] Indexes free_slots(const Usable& usable) const;
  [[nodiscard]] Indexes best_group(const Indexes& candidates, Level level,
                                   std::uint32_t count) const;

  std::vector<Slot> slots_;
};

}  // namespace torc::exec
