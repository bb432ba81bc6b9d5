// The options of the srun that makes a step of one node for one job: mode slurm.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/quantities.h"

namespace torc::slurm {

struct StepShape {
  std::string node;  // as Slurm names it
  std::string name;  // that squeue and sacct show
  std::uint32_t cpus = 1;
  ByteCount memory;  // 0: none is declared. It may use all that the allocation has on the node, and
                     // takes nothing of it from others
  std::optional<std::uint32_t> gpus;  // of the node's; nullopt: the node has none
  bool binds = false;                 // tasks to CPUs, as the site has it
};
// Side by side with the steps of other jobs: each takes CPUs, memory and GPUs of its own (--exact).
// Without --mem steps would follow one another.
[[nodiscard]] std::vector<std::string> step_options(const StepShape& shape);

// --time, which Slurm looks at every half minute and counts in minutes: of a step that whoever
// started it ends within `longest`. Slurm ends it only where that did not.
[[nodiscard]] std::string step_time(std::chrono::nanoseconds longest);
// In place of the one that is there; the longest time that there is: none.
void set_step_time(std::vector<std::string>& options, std::chrono::nanoseconds longest);

}  // namespace torc::slurm
