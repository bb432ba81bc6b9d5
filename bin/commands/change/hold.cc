// torc hold: jobs wait until they are released.
#include "bin/commands/change/change_jobs.h"

namespace torc::cli {

void add_hold(Command& c) {
  auto& o = add_change(c, "Keep jobs from being claimed until they are released");
  add_all(c, o.jobs, "all jobs that are ready, delayed or blocked");
  add_state(c, o.jobs, claim::states_with(claim::trait::kHoldable));
  c.run([&o](const App& app) {
    const auto holdable = claim::states_with(claim::trait::kHoldable);
    return run_change(app, o, {"held", "would hold", holdable, claim::hold_jobs});
  });
}

}  // namespace torc::cli
