// Results that were thrown away, and that a new version of the workflow file speaks for again.
#pragma once

#include <vector>

#include "lib/base/result.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/tables/transaction.h"
#include "lib/spec/sweep/recipe.h"
#include "lib/workflow/change/job_matching.h"

namespace torc::workflow {

// The jobs that wait, or were removed, and whose last result was made by what the file says of them
// now, in this environment of all jobs, and of what these had spawned what completed; in id order.
// `matching`: of `plan` with the store; each of its segments has its number. Their files may have
// changed meanwhile (StaleSearch::unchanged).
Result<std::vector<JobId>> valid_again(const claim::Reader& reader, const claim::Plan& plan,
                                       const JobMatching& matching, const spec::Environment& env);

}  // namespace torc::workflow
