#include "lib/slurm/run_command.h"

#include <algorithm>
#include <array>
#include <utility>

namespace torc::slurm {
namespace {

// What the batch script told its workers of its own allocation, and nothing of the next.
constexpr std::array<std::string_view, 8> kOfAllocation{
    "TORC_ALLOCATION_START", "TORC_ALLOCATION_END", "TORC_LATEST_END",     "TORC_JOB_DETAILS",
    "TORC_KILL_WAIT",        "TORC_STORE",          "TORC_SLURMD_TIMEOUT", "TORC_ALLOCATION_ID"};
constexpr std::string_view kOfUser = "TORC_WORKER_FLAGS";

}  // namespace

RunProgram run_program_of(RunCommand run, std::chrono::nanoseconds limit) {
  return
      [run = std::move(run), limit](const std::vector<std::string>& argv) -> Result<CommandOutput> {
        TORC_ASSIGN(SbatchOutput output, run({argv, {}, limit}));
        const int exit_code = output.truncated ? -1 : output.exit_code;
        return CommandOutput{exit_code, std::move(output.out), std::move(output.err)};
      };
}

bool passes_to_batch_system(std::string_view entry, const std::vector<std::string>& all) {
  if (!is_for_sbatch(entry)) return false;
  const std::string_view name = entry.substr(0, entry.find('='));
  if (!name.starts_with("TORC_") || name == kOfUser) return true;
  // A job is told of itself by variables of that name, whatever the user had called so.
  const bool in_job =
      std::ranges::any_of(all, [](const auto& one) { return one.starts_with("TORC_RUN_ID="); });
  return !in_job && std::ranges::find(kOfAllocation, name) == kOfAllocation.end();
}

}  // namespace torc::slurm
