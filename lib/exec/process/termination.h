// The way of a run from running to killed: on request, at its time limit, and for what it uses.
// Internal to lib/exec: include process_host.h.
#pragma once

#include <chrono>

#include "lib/base/clock.h"
#include "lib/exec/process/lease_pause.h"
#include "lib/exec/process/run_trees.h"

namespace torc::exec {

// All calls from the host's thread. Sends signals and notes why; that a tree has ended is another's
// matter (reaper.h). Unknown keys are ignored.
class Termination {
 public:
  // All outlive it. While `pause` is on, nothing that is told to end goes on.
  Termination(const Clock& clock, RunTrees& trees, const LeasePause& pause)
      : clock_(clock), trees_(trees), pause_(pause) {}

  // See ProcessHost::stop().
  void stop(RunKey key, std::chrono::nanoseconds lead);
  // SIGKILL. `cause` is why it ends, unless there is a cause already, or its leader has ended.
  void kill(RunKey key, Ending cause);
  // SIGKILL to every process of every run, also to what left the groups: the caller may be about to
  // end, and waits for nothing.
  void kill_all();
  // What is due by its deadline gets its termination signal, or is killed.
  void expire_deadlines();
  // All that comes to this process from here on is looked for, before the next one is told to end.
  void begin_turn() { adopted_ = false; }

 private:
  void terminate(RunKey key, Ending cause, std::chrono::nanoseconds lead);
  // By itself; it is not reaped yet, and its end will tell how.
  [[nodiscard]] static bool leader_has_ended(const Run& run);

  const Clock& clock_;
  RunTrees& trees_;
  const LeasePause& pause_;
  bool adopted_ = false;  // in this turn
};

}  // namespace torc::exec
