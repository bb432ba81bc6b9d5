// Looks at what running trees use: ends those beyond their memory limit, keeps their peaks and what
// they read and wrote, and takes samples of those that ask for them. Nothing is looked at before a
// command has run for a while. Internal to lib/exec: include process_host.h.
#pragma once

#include <sys/types.h>

#include <vector>

#include "lib/base/clock.h"
#include "lib/exec/machine/cgroup.h"
#include "lib/exec/process/run_trees.h"
#include "lib/exec/process/termination.h"
#include "lib/exec/run/look_pace.h"

namespace torc::exec {

// All calls from the host's thread. A process that cannot be looked at counts as using nothing.
class ResourceMonitor {
 public:
  // All outlive it.
  ResourceMonitor(const Clock& clock, RunTrees& trees, Termination& termination,
                  OomKills& oom_kills)
      : clock_(clock), trees_(trees), termination_(termination), oom_kills_(oom_kills) {}

  // Looks at all that is due, and says in the table when the next look is. Does nothing before
  // RunTable::next_look().
  std::vector<Sample> look();

 private:
  void look_at(RunKey key, Run& run, BootTime now, std::vector<Sample>& samples);

  const Clock& clock_;
  RunTrees& trees_;
  Termination& termination_;
  OomKills& oom_kills_;
  LookBudget budget_;
};

}  // namespace torc::exec
