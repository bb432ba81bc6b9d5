// Keys that are accepted and change nothing where they stand: rules that no end of a job reaches,
// multipliers of nothing, handlers that no job has.
#pragma once

#include "lib/spec/reader.h"
#include "lib/spec/workflow.h"

namespace torc::spec {

// A warning for each. Where a name differs between the jobs of an entry nothing is said of it.
void warn_of_idle_keys(const Session& session, const Workflow& workflow);

// The first of `;`, `&&`, `||`, `|`, `&` or a line end that stands between two commands of a shell
// line, outside of quotes and brackets: what is written before the line is for the first of them
// only. Empty: there is none.
[[nodiscard]] std::string_view command_separator(std::string_view line);

}  // namespace torc::spec
