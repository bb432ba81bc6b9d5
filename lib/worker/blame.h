// Whose fault it is that a command was not started.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/exec/process/process_host.h"

namespace torc::worker {

enum class Blame : std::uint8_t {
  job,     // its program
  node,    // a directory or file that this node cannot use
  unknown  // a filesystem does not answer, or is not mounted any more: of the files nothing is
           // known
};

// What the command needs to be found: directory, output files, program where it is named by a
// path, the directories of PATH where it is not. Absolute.
using StartPaths = std::vector<std::string>;

// `mounted_before`, `mounted_now`: /proc/self/mountinfo when the worker began and now. A file that
// is not there is missing only where the mount is still there under which it lay. Precondition:
// ended.how is not_started.
[[nodiscard]] Blame blame_for(const exec::Ended& ended, const StartPaths& paths,
                              std::string_view mounted_before, std::string_view mounted_now);

}  // namespace torc::worker
