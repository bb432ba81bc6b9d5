// Changes by people and by jobs: who makes them has no bell, and rings those of idle workers.
#pragma once

#include <cstdint>
#include <functional>

#include "bin/app.h"
#include "lib/workflow/change/trial.h"

namespace torc::cli {

// Commits to `store`, or tries to for a dry run, and then rings as many idle workers as there is
// more work for, or all when the workflow is over, by the rule of workers
// (lib/worker/bell/ringer.h). Whether they hear it nobody learns, and nobody waits for it. `anew`:
// asked after each run of the body, how many jobs were ready and may be for others now; empty:
// none.
Result<void> change_and_ring(const App& app, store::Store& store, bool dry_run,
                             const store::Store::Body& body,
                             const std::function<std::uint64_t()>& anew = {});
// The same for what makes several.
workflow::MakeChange ringing_change(const App& app, store::Store& store, bool dry_run);

}  // namespace torc::cli
