// Commands stop and go on with the lease in whose name they run, and time in which they could not
// run does not count against their limits. Internal to lib/exec: include process_host.h.
#pragma once

#include <chrono>
#include <optional>

#include "lib/base/clock.h"
#include "lib/exec/end/kill_tree.h"
#include "lib/exec/end/watched_lease.h"
#include "lib/exec/process/run_trees.h"

namespace torc::exec {

// All calls from the host's thread. The watchdog stops and continues the commands by itself:
// whoever is first, and each continues those that it stopped.
class LeasePause {
 public:
  // What is below `process` stops while `lease` (null: none, nothing is ever paused) is paused. All
  // outlive it.
  LeasePause(const Clock& clock, WatchedLease* lease, pid_t process, RunTrees& trees)
      : clock_(clock), lease_(lease), process_(process), trees_(trees) {}

  // As of the last follow().
  [[nodiscard]] bool is_on() const { return on_; }
  // The lease was lost: nothing goes on in its name.
  [[nodiscard]] bool is_lost() const { return lease_ != nullptr && lease_->fenced(); }
  // While it is on: when follow() is to be called again, because not all that is to stand still
  // could be looked at.
  [[nodiscard]] std::optional<BootTime> next_stop() const { return next_stop_; }

  // Stops all commands or has them go on, as the lease is now; one that was lost meanwhile ends
  // those of them that are still stopped, and leaves the rest to whoever ends them. Shifts
  // deadlines by the time that the pause took. Whether it has begun or ended.
  bool follow();
  // After a sleep that was to end at `alarm` (nullopt: whenever something happens): if it ended
  // later than can be, this process did not run, and deadlines are shifted by that, which is the
  // result. Of a pause only the time before it, the rest when it is over.
  std::chrono::nanoseconds note_lost_time(std::optional<BootTime> alarm);

 private:
  void stop_commands();

  const Clock& clock_;
  WatchedLease* lease_;
  pid_t process_;
  RunTrees& trees_;
  bool on_ = false;
  StoppedProcesses stopped_;  // by this process
  std::optional<BootTime> next_stop_;
};

}  // namespace torc::exec
