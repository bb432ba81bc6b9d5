#include "lib/slurm/step_options.h"

#include <fmt/format.h>

#include <algorithm>

namespace torc::slurm {

// --mpi=none: one task that is no rank; where a site's default is pmix each start would cost a
// server of it. --wait and --kill-on-bad-exit: whatever a site has set.
std::vector<std::string> step_options(const StepShape& shape) {
  constexpr std::uint64_t kMegabyte = 1 << 20;
  const std::uint64_t memory =
      shape.memory == ByteCount{} ? 0 : std::max<std::uint64_t>(shape.memory.value / kMegabyte, 1);
  std::vector<std::string> options{"--nodes=1",
                                   "--ntasks=1",
                                   "--nodelist=" + shape.node,
                                   "--exact",
                                   fmt::format("--cpus-per-task={}", shape.cpus),
                                   memory == 0 ? "--mem=0" : fmt::format("--mem={}M", memory),
                                   "--job-name=" + shape.name,
                                   "--mpi=none",
                                   "--input=none",
                                   "--export=ALL",
                                   "--wait=0",
                                   "--kill-on-bad-exit=0"};
  if (shape.gpus)
    options.push_back(*shape.gpus == 0 ? "--gres=none" : fmt::format("--gres=gpu:{}", *shape.gpus));
  if (!shape.binds) options.emplace_back("--cpu-bind=none");
  return options;
}

std::string step_time(std::chrono::nanoseconds longest) {
  constexpr std::int64_t kMost = 365L * 24 * 60;
  const auto minutes = std::chrono::floor<std::chrono::minutes>(longest).count() + 2;
  return fmt::format("--time={}", std::clamp<std::int64_t>(minutes, 1, kMost));
}

void set_step_time(std::vector<std::string>& options, std::chrono::nanoseconds longest) {
  std::erase_if(options, [](const auto& option) { return option.starts_with("--time="); });
  if (longest != std::chrono::nanoseconds::max()) options.push_back(step_time(longest));
}

}  // namespace torc::slurm
