// What Slurm's accounting keeps of allocations and their steps, as sacct tells it: for people, and
// for figures; nothing is decided by it. What it does not tell is left out. A site may have none.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/units.h"
#include "lib/slurm/query.h"

namespace torc::slurm {

// One run of an allocation, or one of its steps.
struct Accounted {
  std::string allocation;  // "1234", "1234_7": as allocation_name() of own_allocation.h has it
  std::string step;        // "batch", "extern", "0"; empty: the allocation itself
  std::string cluster;
  std::string name;
  std::string state;  // Slurm's word: "COMPLETED"
  std::optional<std::uint32_t> exit_code = {};
  std::optional<std::uint32_t> signal = {};  // that ended it; 0: none did
  WallTime start{};                          // 0: it has not begun, or is not told; as below
  WallTime end{};
  std::chrono::seconds elapsed{0};
  std::uint64_t nodes = 0;  // how many; 0: not told, as below
  std::uint64_t cpus = 0;   // on all of them together
  std::string node_list = {};
  std::optional<ByteCount> max_rss = {};             // of the task that had most; only of steps
  std::optional<std::chrono::seconds> ave_cpu = {};  // CPU time, the mean of its tasks; of steps
  bool operator==(const Accounted&) const = default;
};

struct Accounting {
  std::vector<Accounted> rows;
  // Why there is no answer, or no whole one: a clause ("Slurm accounting storage is disabled").
  std::string failure = {};
};

// By one sacct for some hundred allocations; all runs of one that was requeued. Of what is printed
// only whole lines count, with as many fields as were asked for, which are of allocations that were
// asked about; at most kMostAccounted of them. `run` bounds time and bytes; after a failure nothing
// more is asked. Blocks: not for a worker.
inline constexpr std::size_t kMostAccounted = 100'000;
[[nodiscard]] Accounting ask_accounting(const RunProgram& run,
                                        const std::vector<std::string>& allocations);

// "1234K", "2.5G", "0": as sacct tells memory. nullopt: something else.
[[nodiscard]] std::optional<ByteCount> accounted_memory(std::string_view text);
// "1-02:03:04", "00:01:05", "00:00.123". nullopt: something else.
[[nodiscard]] std::optional<std::chrono::seconds> accounted_time(std::string_view text);

}  // namespace torc::slurm
