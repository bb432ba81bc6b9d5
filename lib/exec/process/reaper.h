// Reaps the children of this process, finds out when the tree of a run has ended, and tells how it
// did and what it used. Internal to lib/exec: include process_host.h.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <vector>

#include "lib/base/clock.h"
#include "lib/exec/machine/cgroup.h"
#include "lib/exec/process/run_trees.h"
#include "lib/exec/run/lane.h"
#include "lib/exec/run/own_children.h"

namespace torc::exec {

// All calls from the host's thread.
class Reaper {
 public:
  // All outlive it. `oom_kills` counts what the kernel killed for lack of memory.
  Reaper(const Clock& clock, OwnChildren& children, RunTrees& trees, OomKills& oom_kills)
      : clock_(clock), children_(children), trees_(trees), oom_kills_(oom_kills) {}

  // Reaps what has ended. Of trees that have lost their leaders: finds orphans, kills what is to be
  // killed, and returns those of which nothing is left, which are no runs any more.
  std::vector<Ended> look();

  // Reaps a dead child, whosever it is. If it leads a run its group is killed before, so that no
  // other process can have got the group's number.
  void take(pid_t pid);
  // A run of the table whose leader a slot of the lane has reaped, and of which something may be
  // left: look() sees to that.
  void take_over(const LeaderEnd& end);
  // A command that has ended as a whole in its slot, and never was a run.
  [[nodiscard]] Ended end_of(const LeaderEnd& end);

 private:
  bool reap();  // whether any child was
  [[nodiscard]] Ended end_of(RunKey key, const Run& run, WallTime ended_at);
  [[nodiscard]] ByteCount peak_of(const Run& run);
  [[nodiscard]] bool killed_by_kernel(const Run& run);
  [[nodiscard]] bool killed_in_group(const Run& run);

  const Clock& clock_;
  OwnChildren& children_;
  RunTrees& trees_;
  OomKills& oom_kills_;
  ByteCount own_peak_;  // of this process's memory, when it was last looked at
};

}  // namespace torc::exec
