// The process above a worker: the one that the user, srun or ssh started. It forks, and its child
// becomes the worker; itself it stays behind as a watchdog that never touches a file outside of
// /proc, so that no filesystem that hangs can hold it up.
//
// It ends the jobs of a worker that has not renewed its lease in time, everything that a worker
// leaves behind however that ended, and passes signals on. docs/maintainer/execution.md has the
// whole story.
#pragma once

#include <functional>
#include <memory>
#include <variant>

#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/exec/end/watched_lease.h"

namespace torc::exec {

// How the worker ended, told in the watchdog when nothing below it is left.
struct WorkerEnded {
  int exit_code = -1;     // -1: by a signal
  int signal = 0;         // that ended it
  bool given_up = false;  // it hung without a lease, was told to stop and killed by the watchdog
};

// Returns twice: in the child, which is the worker, with its lease; in the calling process, when
// the worker and all its processes have gone, with the worker's end. Must be called while the
// process has one thread, with nothing open that a fork would share to its harm. In the worker the
// signals and their mask are as they were before. Error (busy): no process can be made, or no
// thread in the child, where it is returned then: the other one is told of that end.
using Split = std::variant<std::unique_ptr<WatchedLease>, WorkerEnded>;
//
// `between_kills` is for tests: called in the worker whose watchdog has died, after its jobs were
// killed and before it kills itself, in a thread of its own.
Result<Split> split_off_watchdog(Clock& clock, std::function<void()> between_kills = {});

// Ends this process as the signal would, without a core file.
[[noreturn]] void die_of(int signal);

}  // namespace torc::exec
