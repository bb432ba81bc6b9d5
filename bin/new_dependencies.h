// Who waits for whom in a new workflow file, against the store that was made from an older one.
#pragma once

#include "bin/numbering.h"
#include "bin/refusals.h"
#include "lib/base/result.h"
#include "lib/claim/claimer.h"

namespace torc::cli {

// That the jobs which are there wait for the same ones as there, on the same conditions. Of each
// entry where they do not, the first such job is added to `refusals`. Costs what the dependencies
// cost, not what the jobs do.
Result<void> compare_dependencies(const claim::Reader& reader, const claim::Plan& plan,
                                  const Numbering& numbers, Refusals& refusals);

// What the jobs that are new wait for, by the numbers of the store.
[[nodiscard]] std::vector<claim::DependencySet> new_dependencies(const claim::Plan& plan,
                                                                 const Numbering& numbers);

}  // namespace torc::cli
