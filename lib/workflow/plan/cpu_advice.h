// Jobs that need more CPUs than the allocations of their scheduler have on a node.
#pragma once

#include <vector>

#include "lib/workflow/plan/workflow_plan.h"

namespace torc::workflow {

// Warns of each such entry, once, among `loaded.diagnostics`, which stay in the order of the file.
// Nothing where the expansion is not there.
void advise_of_cpus(LoadedSpec& loaded);

}  // namespace torc::workflow
