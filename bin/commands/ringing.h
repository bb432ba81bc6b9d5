// Changes by people and by jobs: who makes them has no bell, and rings those of idle workers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "bin/app.h"
#include "lib/workflow/change/trial.h"

namespace torc::cli {

// What is kept of a change, so that it is told by `torc history` and `torc undo` can take it back.
struct Keeping {
  bool is_kept = true;  // false: no person made it
  // The name of the workflow file whose copy in the store the change replaces, and the copy before;
  // empty: it replaces none.
  std::string file = {};
  std::string text_before = {};
  std::uint64_t text_after = 0;  // claim::mark_of_text() of the copy that replaces it
};

// Commits to `store`, or tries to for a dry run, and then rings as many idle workers as there is
// more work for, or all when the workflow is over, by the rule of workers
// (lib/worker/bell/ringer.h). Whether they hear it nobody learns, and nobody waits for it. `anew`:
// asked after each run of the body, how many jobs were ready and may be for others now; empty:
// none.
Result<void> change_and_ring(const App& app, store::Store& store, bool dry_run,
                             const store::Store::Body& body,
                             const std::function<std::uint64_t()>& anew = {},
                             const Keeping& keeping = {});
// The same for what makes several.
workflow::MakeChange ringing_change(const App& app, store::Store& store, bool dry_run,
                                    Keeping keeping = {});

}  // namespace torc::cli
