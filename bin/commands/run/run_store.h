// `torc run STORE`, for commands that change something and then run it.
#pragma once

#include "bin/app.h"

namespace torc::cli {

// Works for a store on this machine until its workflow is over, with the flags of `torc run` as
// they are where none is given. `named`: the word that meant the store; where that is its workflow
// file, what that says is run. `app`: of a process below a watchdog (bin/guard.h).
Result<Exit> run_store(const App& app, const Path& store, const std::string& named);

}  // namespace torc::cli
