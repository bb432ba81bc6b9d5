// Writing into a user's workflow file what a command has found out.
#pragma once

#include <string>
#include <string_view>

#include "bin/app.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::cli {

// Where it goes: the workflow file `spec` itself, which is the one that a symbolic link names, or
// `output` (not empty), which may not be there yet.
Result<Path> place_to_write(const App& app, const std::string& spec, const std::string& output);

// `to`, which place_to_write() has told, has this text from now on: all of it or, after an error,
// none. The workflow file keeps its mode and its owner. Error invalid: it is not what was loaded
// any more, or no regular file; nothing was written.
Result<void> write_spec(const workflow::LoadedSpec& loaded, const Path& to, std::string_view text,
                        const std::string& output);

}  // namespace torc::cli
