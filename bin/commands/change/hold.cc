// torc hold: jobs are not claimed until they are released.
#include "bin/commands/change/change.h"
#include "bin/commands/commands.h"

namespace torc::cli {
namespace {

Result<Exit> run_hold(const App& app, const ChangeOptions& options) {
  const ChangeKind kind{"held", "would hold", claim::states_with(claim::trait::kHoldable),
                        claim::hold_jobs};
  return run_change(app, options, kind, {});
}

}  // namespace

void add_hold(Command& c) {
  auto& o = add_change(c, "Keep jobs from being claimed until they are released");
  add_all(c, o.jobs, "all jobs that are ready, delayed or blocked");
  add_state(c, o.jobs, claim::states_with(claim::trait::kHoldable));
  c.run([&o](const App& app) { return run_hold(app, o); });
}

}  // namespace torc::cli
