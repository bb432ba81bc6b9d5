// Starts the commands of a batch system for libraries: as the user would, from where they are.
#pragma once

#include "lib/slurm/run_command.h"
#include "lib/workflow/context/context.h"

namespace torc::workflow {

// Each command gets the user's environment without what an allocation or a job told this process of
// itself (slurm::passes_to_batch_system()); what it is given besides counts instead of a variable
// of the same name. After its limit it is killed with all that it has started (SIGKILL to its
// process group)..
[[nodiscard]] slurm::RunCommand command_runner(const Context& context);

}  // namespace torc::workflow
