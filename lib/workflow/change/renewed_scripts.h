// The batch scripts of a store whose workflow file changed.
#pragma once

#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/workflow/context/context.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::workflow {

struct RenewedScripts {
  std::vector<std::string> written;  // below the store: "slurm/main.sbatch"
  // As they were: a person has edited them, or they are of another template than the built-in one.
  std::vector<std::string> left;
};

// Writes those scripts of the store that are no longer what `loaded` makes of them, if they are
// what the copy of the file in the store makes of them; that is to be replaced afterwards. An Error
// says which could not be made or written.
Result<RenewedScripts> renew_scripts(const Context& context, const Path& store,
                                     const LoadedSpec& loaded);

}  // namespace torc::workflow
