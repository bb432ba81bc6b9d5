// Whose fault it is that a command was not started.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/exec/run/process_host.h"
#include "lib/worker/machine/event.h"

namespace torc::worker {

// What the command needs to be found: directory, output files, program where it is named by a
// path, the directories of PATH where it is not. Absolute.
using StartPaths = std::vector<std::string>;

// `mounted_before`, `mounted_now`: /proc/self/mountinfo when the worker began and now. A file that
// is not there is missing only where the mount is still there under which it lay. Precondition:
// ended.how is not_started.
[[nodiscard]] Blame blame_for(const exec::Ended& ended, const StartPaths& paths,
                              std::string_view mounted_before, std::string_view mounted_now);

// Of a command, for that. A shell finds by itself what it needs.
[[nodiscard]] StartPaths paths_of(const exec::Command& command);

}  // namespace torc::worker
