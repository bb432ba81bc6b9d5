// Asking Slurm, tolerant of its absence and of transient failures.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/result.h"

namespace torc::slurm {

struct CommandOutput {
  int exit_code = 0;  // 127: not found
  std::string out;
  std::string err;
};
// Runs a program with arguments and a time limit; comes from bin/.
using RunProgram = std::function<Result<CommandOutput>(const std::vector<std::string>& argv)>;

enum class AllocationState : std::uint8_t { active, ended, unknown };

// States of several allocations by one squeue. An id that squeue does not list is confirmed by `scontrol show
// job`: only a terminal state there, or "Invalid job id" from both, counts as ended; any failure is `unknown`.
[[nodiscard]] std::map<std::string, AllocationState> allocation_states(
    const RunProgram& run, const std::vector<std::string>& job_ids);

// When an allocation will end: SLURM_JOB_END_TIME (seconds since 1970) when set, else `squeue -h -j ID -o %e`.
// nullopt: no limit, or not known.
[[nodiscard]] std::optional<WallTime> allocation_end(const RunProgram& run, const std::string& job_id,
                                                     const std::optional<std::string>& end_time_variable);

// "n[1-3,7],login1" -> n1 n2 n3 n7 login1. Errors: invalid.
Result<std::vector<std::string>> expand_hostlist(std::string_view text);
// "90", "1:30:00", "2-12", "3-04:05:06", "UNLIMITED" (nullopt) as sbatch reads them.
Result<std::optional<std::chrono::seconds>> parse_time_limit(std::string_view text);

}  // namespace torc::slurm
