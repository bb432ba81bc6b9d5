// From the dependencies of the spec, one list for each condition, to those of the claims, where
// each job is a member of one set that holds all its conditions.
#pragma once

#include <vector>

#include "lib/claim/rules/plan.h"
#include "lib/spec/expand/expand.h"
#include "lib/spec/language/workflow.h"

namespace torc::workflow {

// Jobs with the same dependencies on the same conditions share one set, as in the spec.
[[nodiscard]] std::vector<claim::DependencySet> plan_dependencies(const spec::Workflow& workflow,
                                                                  const spec::Expansion& expansion);

// The limits, and for each entry of the expansion what its jobs have of them. An entry with
// max_parallel and a limit has the smaller of them.
struct PlannedLimits {
  std::vector<claim::Limit> limits;
  std::vector<std::vector<claim::LimitShare>> of_entry;
};
[[nodiscard]] PlannedLimits plan_limits(const spec::Workflow& workflow,
                                        const spec::Expansion& expansion);

[[nodiscard]] claim::Usage plan_budget(const spec::Budget& budget);

}  // namespace torc::workflow
