// Runs a command that works for a store as a process of its own, below a watchdog.
#pragma once

#include <string>

#include "bin/app.h"

namespace torc::cli {

// `command` runs in a child of this process, with App::watched. This process waits for its end and
// for everything that it left behind, and gives its exit code; it ends of the same signal. Of one
// that nobody at the terminal sent it tells, and how to go on: with `again`, empty: by others.
Exit under_watchdog(const App& app, const std::string& again, const RunCommand& command);

}  // namespace torc::cli
