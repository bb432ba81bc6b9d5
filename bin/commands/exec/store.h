// Where torc exec keeps its jobs, and how they come there.
#pragma once

#include <memory>
#include <optional>

#include "bin/app.h"
#include "bin/commands/exec/options.h"

namespace torc::cli {

// .torc-exec/20260501-120000 in the working directory, unless --store names another place.
inline constexpr const char* kExecDirectory = ".torc-exec";

// A store with all jobs, or why there is none, which was reported. It appears complete or not at
// all; those of the first values are read as they are needed, and never all of them are in memory.
struct MadeExecStore {
  std::unique_ptr<store::Store> store;
  std::optional<Exit> exit;
};
MadeExecStore make_exec_store(const App& app, const ExecOptions& options);

// --resume: that of --store, else the newest; what failed is ready again when that was asked for.
Result<std::unique_ptr<store::Store>> open_exec_store(const App& app, const ExecOptions& options);

// --dry-run.
Exit print_exec_commands(const App& app, const ExecOptions& options);

}  // namespace torc::cli
