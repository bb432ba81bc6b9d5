// Runs a command that works for a store as a process of its own, below a watchdog.
#pragma once

#include <string>

#include "bin/app.h"

namespace torc::cli {

// `command` runs in a child of this process, with App::watched. This process waits for its end and
// for everything that it left behind, and gives its exit code; it ends of the same signal. Of one
// that nobody at the terminal sent it tells, and how to go on: with `again`, empty: by others.
Exit under_watchdog(const App& app, const std::string& again, const RunCommand& command);

// `command` runs in a child of this process, and anew in another one each time that was killed
// (SIGKILL), at most exec::kMostReplacements times within exec::kReplacementsWithin. For what
// nobody else would start again: `torc supervise` says so by kSupervised in the environment.
Result<Exit> replaced_when_killed(const App& app, const RunCommand& command);

// Since when, in seconds since 1970; empty: `torc supervise` is not the batch script itself.
inline constexpr const char* kSupervised = "TORC_SUPERVISED";
[[nodiscard]] inline bool is_supervised(const App& app) {
  return app.env(kSupervised).has_value();
}

}  // namespace torc::cli
