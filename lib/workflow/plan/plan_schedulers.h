// The schedulers of a workflow file as the ledger of allocations keeps them.
#pragma once

#include <string>
#include <vector>

#include "lib/claim/rules/allocation.h"
#include "lib/spec/language/workflow.h"

namespace torc::workflow {

// In the order of the file. Their scripts are those that render_scripts() names.
[[nodiscard]] std::vector<claim::Scheduler> plan_schedulers(const spec::Workflow& workflow);

// The file of each scheduler's batch script without its folder and ending, in their order; each is
// another one.
[[nodiscard]] std::vector<std::string> script_names(const spec::Workflow& workflow);

}  // namespace torc::workflow
