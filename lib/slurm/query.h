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
#include "lib/base/units.h"

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

// `ended`, `cut_off` and `given_up` are only what Slurm shows, see ask_about().
enum class AllocationState : std::uint8_t {
  active,
  ended,
  cut_off,   // ended by its time limit or on somebody's word: not by what ran in it
  given_up,  // this run of it: Slurm has heard nothing of a node, or begins another run
  unknown
};

// What Slurm says of one run of an allocation.
struct AllocationNow {
  AllocationState state = AllocationState::unknown;
  std::vector<std::string> nodes = {};  // that belong to it now; of an active one, never empty
  WallTime start = {};                  // of an active one
  std::optional<WallTime> end = {};     // of an active one; nullopt: no limit, or not told
  bool operator==(const AllocationNow&) const = default;
};

// Several allocations by one squeue; each that was asked for is in the answer. Only a whole line
// counts, in which the Slurm that this host asks shows that id and names that cluster as its own:
//   ended     it tells that start, and a state that an allocation reaches when its processes have
//             ended, and never leaves
//   cut_off   such a state that says why: CANCELLED, DEADLINE, PREEMPTED or TIMEOUT
//   given_up  it tells that start and NODE_FAIL or BOOT_FAIL; or the id runs, or waits for its run,
//             with a later start: it was requeued. On a node that Slurm does not reach its
//             processes may go on.
//   active    it tells that start and that it runs, with as many nodes as it says it has; where no
//             start was asked for, which is all that can be said then, any start
// Everything else is `unknown`: an id that is not known (any more, or to another cluster), REVOKED
// (it runs on another cluster of the federation), two lines that disagree, a list of nodes that was
// cut, a failure of any kind.
using AllocationAnswer = std::map<Allocation, AllocationNow>;
[[nodiscard]] AllocationAnswer ask_about(const RunProgram& run,
                                         const std::vector<Allocation>& allocations);

// What an answer says of the part that ran on `node` (Slurm's name of it; empty: not known). Of an
// active allocation that does not have the node any more: given_up.
[[nodiscard]] AllocationState state_on(const AllocationNow& allocation, const std::string& node);

// When an allocation began and will end. nullopt: no limit, or not known. The end can change while
// the allocation runs (scontrol update).
struct AllocationTimes {
  std::optional<WallTime> start;
  std::optional<WallTime> end;
  bool assumed = false;  // the end: Slurm told none, and the batch script has a walltime
  bool asked = false;    // the end: squeue told it just now
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
// end. The variables are as old as the allocation, which may have been made longer since, or been
// suspended: when their end is near at `now`, by kNearEnd, or past, squeue is asked, too, but not
// in the first minutes (kJustBegun). No `run`: Slurm is not asked.
inline constexpr std::chrono::minutes kNearEnd{10};
inline constexpr std::chrono::minutes kJustBegun{2};
[[nodiscard]] AllocationTimes allocation_times(const RunProgram& run, const std::string& cluster,
                                               const std::string& job_id,
                                               const AllocationVariables& variables, WallTime now);

// The name by which Slurm calls the node of a step (SLURMD_NODENAME), where the nodes of its
// allocation (SLURM_JOB_NODELIST) have it; empty: not known, so a list of nodes says nothing of it.
[[nodiscard]] std::string node_name(const std::optional<std::string>& own,
                                    const std::optional<std::string>& all);

// What Slurm says that it granted an allocation on `node`, as it calls it. nullopt: not known, or
// it does not count memory.
[[nodiscard]] std::optional<ByteCount> granted_memory(const RunProgram& run,
                                                      const std::string& job_id,
                                                      const std::string& node);
// The same of an answer that somebody has kept: what `scontrol show job -d -o` prints, in whole
// lines.
[[nodiscard]] std::optional<ByteCount> told_memory(std::string_view details,
                                                   const std::string& job_id,
                                                   const std::string& node);

// What this cluster is configured to, as `scontrol show config` says it; nullopt: not known.
struct ClusterTimes {
  std::optional<std::chrono::seconds> kill_wait;  // from SIGTERM to SIGKILL
  // SlurmdTimeout: a node that was not heard of for so long is given up.
  std::optional<std::chrono::seconds> slurmd_timeout;
};
[[nodiscard]] ClusterTimes cluster_times(const RunProgram& run);

}  // namespace torc::slurm
