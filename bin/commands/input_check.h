// Input files that are not there and that no job makes, before anything runs.
#pragma once

#include <string>
#include <vector>

#include "bin/app.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::cli {

// Adds a warning to the diagnostics of a file that was read: they may still come.
Result<void> note_missing_inputs(const App& app, workflow::LoadedSpec& loaded);

// Error invalid: jobs of the store that are not over (of `only`; null: of all) need some in
// `directory`, so that nothing is `begun` ("started", "submitted"); `again` is the command that
// does it when they are there. Only a warning where actions run commands, which may fetch them.
Result<void> require_inputs(const App& app, store::Store& store, const Path& directory,
                            std::string_view begun, const std::string& again,
                            const std::vector<claim::JobRange>* only = nullptr);

}  // namespace torc::cli
