// The lives of a worker. One that lost its lease has lost its jobs, not its purpose: it comes back
// as a new worker as soon as the store can be used again, which may be minutes later when its
// filesystem failed. docs/maintainer/execution.md, "A worker that cannot renew its lease".
#pragma once

#include <chrono>
#include <functional>

#include "lib/worker/loop/worker.h"

namespace torc::worker {

// With a store that cannot be used, before a worker that lost its lease gives up.
inline constexpr std::chrono::minutes kComeBack{10};

// Opens the store, registers, works. `life` counts from 1.
using Life = std::function<Result<WorkerSummary>(int life)>;
// Lets time pass; the signal that told this process to stop meanwhile, 0: none.
using Pause = std::function<int(std::chrono::nanoseconds)>;

// Waits for the signals of a worker, which must be blocked.
[[nodiscard]] int pause_for_signals(std::chrono::nanoseconds time);

// This many leases lost within so long end it: a filesystem that hangs again and again is left
// alone. What was longer ago is forgotten, or a laptop could be suspended only so often.
inline constexpr std::size_t kMostLosses = 3;
inline constexpr std::chrono::hours kLossesWithin{1};

// Lives, and again after each loss of the lease, but for kMostLosses within kLossesWithin. Only an
// Error of the first life, and one that says that the store is there and no longer one for this
// program, ends it at once; any other says no more than that the store cannot be seen now. A
// life that saw the store deleted or replaced is the last. What was
// told to stop while it waited has the summary of the life before, as interrupted. No life begins
// after one that was told to stop, whatever that came to: its failure is the Error of all.
Result<WorkerSummary> live(Clock& clock, const WorkerEvents& events, const Life& life,
                           const Pause& pause = pause_for_signals);

}  // namespace torc::worker
