// --workdir: where jobs run, for commands that make a store or work for one.
#pragma once

#include <string>

#include "bin/app.h"
#include "bin/flags.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::cli {

Flag add_workdir(Command& c, std::string& given, const std::string& help);

// `given` as the user wrote it, as an absolute path without symbolic links; empty: empty. Error
// invalid: it is no directory.
Result<Path> named_workdir(const App& app, const std::string& given);

// The workflow file of a store that is to be made, whose jobs shall run in `workdir`; empty: here.
Result<workflow::LoadedSpec> load_spec_for(const App& app, const std::string& file,
                                           const Path& workdir);

// Where a worker of `store` runs jobs: in `given`, or else where the store says. Error not_found:
// there is no such directory; nothing can be started.
Result<Path> workdir_of(const App& app, const std::string& given,
                        const workflow::WorkflowSettings& settings, const Path& store);

}  // namespace torc::cli
