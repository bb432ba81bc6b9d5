// What of an allocation's time is left unused at its end: by this a worker goes, and what is said
// before of the walltime that a job needs.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "lib/base/clock.h"

namespace torc {

struct EndMargins {
  WallTime begun{};                 // when the worker was set up
  WallTime headroom{};              // before the end; of short allocations a tenth
  WallTime buffer{};                // the same, also of short ones
  std::optional<WallTime> limit{};  // as the user says, by the clock
};

// By when a worker's jobs must have ended; nullopt: no end is known.
[[nodiscard]] std::optional<WallTime> usable_until(std::optional<WallTime> allocation_end,
                                                   const EndMargins& margins);

// How long before that they get their termination signal: `lead`, or less where all the worker's
// time until then, `usable`, is short.
[[nodiscard]] std::chrono::nanoseconds lead_within(std::chrono::nanoseconds lead,
                                                   std::chrono::nanoseconds usable);

// What a workflow says of the end of its allocations.
struct KeptFree {
  std::chrono::seconds headroom{};  // sigkill_headroom_seconds
  std::chrono::seconds buffer{};    // compute_node_expiration_buffer_seconds
  std::chrono::seconds lead{};      // sigterm_lead_seconds
};

// From the start of an allocation until its workers claim jobs, as it is reckoned with here: Slurm
// starts the batch script, srun the workers, and these open the store. It may be more.
inline constexpr std::chrono::seconds kStartUp{15};

// The longest runtime that a worker accepts in an allocation of this walltime, where it claims its
// first jobs kStartUp after its beginning.
[[nodiscard]] std::chrono::seconds longest_runtime(std::chrono::seconds walltime,
                                                   const KeptFree& kept);

// The shortest walltime, in whole minutes as Slurm counts, in which a job of this runtime is
// started; none is shorter by a minute.
[[nodiscard]] std::chrono::seconds shortest_walltime(std::chrono::seconds runtime,
                                                     const KeptFree& kept);

// "of a walltime up to 60 s (sigkill_headroom_seconds), up to 30 s (sigterm_lead_seconds) and about
// 15 s to start are not for jobs": why a runtime that is no longer than the walltime may not fit.
[[nodiscard]] std::string say_kept_free(const KeptFree& kept);

}  // namespace torc
