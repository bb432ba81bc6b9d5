// The jobs that the actions of a workflow name.
#pragma once

#include <vector>

#include "lib/spec/expand/reference.h"
#include "lib/spec/language/workflow.h"
#include "lib/spec/sweep/range.h"
#include "lib/spec/text/source.h"

namespace torc::spec {

// Of each action, in the order of Workflow::actions: normalised, empty for those that name none.
// Reports names that are not there, and actions about jobs that are about none.
[[nodiscard]] std::vector<std::vector<Range>> jobs_of_actions(const Workflow& workflow,
                                                              Resolver& job_names, Report& report);

}  // namespace torc::spec
