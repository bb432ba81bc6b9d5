// Keys that are accepted and change nothing where they stand: rules that no end of a job reaches,
// multipliers of nothing, handlers that no job has.
#pragma once

#include "lib/spec/language/workflow.h"
#include "lib/spec/read/session.h"

namespace torc::spec {

// A warning for each. Where a name differs between the jobs of an entry nothing is said of it.
void warn_of_idle_keys(const Session& session, const Workflow& workflow);

}  // namespace torc::spec
