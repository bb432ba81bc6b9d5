// Asking Slurm, tolerant of its absence and of transient failures.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
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

// States of several allocations by one squeue; every id that was asked for is in the answer. An id
// that squeue does not list is confirmed by `scontrol show job`: only a terminal state there, or
// "Invalid job id" from both, counts as ended; any failure is `unknown`. A requeued allocation that
// waits to start again is `active`.
//
// At most kMaxConfirmations scontrol calls are made; ids beyond them are `unknown` this time. Ask
// only about allocations of the cluster whose squeue this host has: another cluster's ids are
// invalid here, and so "ended".
inline constexpr std::size_t kMaxConfirmations = 16;
[[nodiscard]] std::map<std::string, AllocationState> allocation_states(
    const RunProgram& run, const std::vector<std::string>& job_ids);

// When an allocation will end: SLURM_JOB_END_TIME (seconds since 1970) when set, else `squeue -h -j
// ID -o %e`. nullopt: no limit, or not known. The answer can change while the allocation runs
// (scontrol update).
[[nodiscard]] std::optional<WallTime> allocation_end(
    const RunProgram& run, const std::string& job_id,
    const std::optional<std::string>& end_time_variable);

// From SIGTERM to SIGKILL, as this cluster has it (KillWait of `scontrol show config`). nullopt:
// not known.
[[nodiscard]] std::optional<std::chrono::seconds> kill_wait(const RunProgram& run);

// "n[1-3,7],login1" -> n1 n2 n3 n7 login1; "r[0-1]n[08-10]" -> r0n08 r0n09 r0n10 r1n08 …: zero
// padding is kept, the last bracket varies fastest. Errors: invalid (brackets that do not match or
// nest, a range that runs backwards, more than kMaxHosts hosts, a name of more than 255 bytes).
inline constexpr std::size_t kMaxHosts = 100'000;
Result<std::vector<std::string>> expand_hostlist(std::string_view text);

// A time limit as sbatch reads it: "90" (minutes), "1:30" (minutes:seconds), "1:30:00", "2-12"
// (days-hours), "2-12:30", "3-04:05:06"; "UNLIMITED", "INFINITE", "-1" and zero: no limit
// (nullopt). Errors: invalid.
Result<std::optional<std::chrono::seconds>> parse_time_limit(std::string_view text);

}  // namespace torc::slurm
