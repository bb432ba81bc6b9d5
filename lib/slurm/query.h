// Asking Slurm, tolerant of its absence and of transient failures.
#pragma once

#include <chrono>
#include <cstdint>
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

// A number is that of an allocation in one cluster only, and one that Slurm requeues keeps its
// number and starts anew: only all three mean the run of which a worker was a part.
struct Allocation {
  std::string cluster;  // empty: not known
  std::string id;       // "1234", "1234_7"
  WallTime start{};     // as Slurm tells it; 0: not known
  bool operator==(const Allocation&) const = default;
  auto operator<=>(const Allocation&) const = default;
};

// `ended` and `cut_off` are only what Slurm shows to have ended, see allocation_states().
enum class AllocationState : std::uint8_t {
  active,
  ended,
  cut_off,  // ended by its time limit or on somebody's word: not by what ran in it
  unknown
};

// States of several allocations by one squeue; each that was asked for is in the answer. `ended`:
// the Slurm that this host asks shows that id, names that cluster as its own, tells that start, and
// a state that an allocation reaches when its processes have ended, and never leaves; `cut_off`:
// such a state that says why: CANCELLED, DEADLINE, PREEMPTED or TIMEOUT. Everything
// else is `unknown` or `active`: an id that is not known (any more, or to another cluster), another
// start (requeued), REVOKED (it runs on another cluster of the federation), NODE_FAIL and BOOT_FAIL
// (Slurm hears nothing of a node, on which processes may go on), a failure of any kind.
[[nodiscard]] std::map<Allocation, AllocationState> allocation_states(
    const RunProgram& run, const std::vector<Allocation>& allocations);

// When an allocation began and will end. nullopt: no limit, or not known. The end can change while
// the allocation runs (scontrol update).
struct AllocationTimes {
  std::optional<WallTime> start;
  std::optional<WallTime> end;
  bool assumed = false;  // the end: Slurm told none, and the batch script has a walltime
};
// The variables SLURM_JOB_START_TIME and SLURM_JOB_END_TIME, which Slurm sets from 23.02 on, or
// TORC_ALLOCATION_START and TORC_ALLOCATION_END, which torc's batch scripts set before that, who
// ask squeue once for all workers; and TORC_LATEST_END, when such a script began and its walltime.
// Seconds since 1970.
struct AllocationVariables {
  std::optional<std::string> start;
  std::optional<std::string> end;
  std::optional<std::string> latest_end = {};
};
// What the variables say where there is an end in them, else what one squeue does of this very job
// id and cluster; without a cluster only its end is believed. Where that says nothing, the latest
// end. No `run`: Slurm is not asked.
[[nodiscard]] AllocationTimes allocation_times(const RunProgram& run, const std::string& cluster,
                                               const std::string& job_id,
                                               const AllocationVariables& variables);

// From SIGTERM to SIGKILL, as this cluster has it (KillWait of `scontrol show config`). nullopt:
// not known.
[[nodiscard]] std::optional<std::chrono::seconds> kill_wait(const RunProgram& run);

}  // namespace torc::slurm
