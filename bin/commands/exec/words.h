// What the words of torc exec say: a command, and where its values come from.
#pragma once

#include <string>
#include <vector>

#include "bin/commands/exec/options.h"
#include "lib/base/result.h"

namespace torc::cli {

// Between commands and values, and between values: ":::", "::::", ":::+", "::::+".
[[nodiscard]] const std::vector<std::string>& source_marks();

// The same options with `commands` and `sources` as the words, -a and -C say them. Where nobody
// names values and there is a place for one, or stdin is a pipe or a file, these are the lines of
// stdin. Errors (invalid): no command; things that do not go together.
Result<ExecOptions> with_sources(const ExecOptions& typed);

}  // namespace torc::cli
