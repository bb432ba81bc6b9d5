// Who waits for whom in a new workflow file, against the store that was made from an older one.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lib/base/result.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/tables/transaction.h"
#include "lib/workflow/change/job_number_map.h"

namespace torc::workflow {

// The jobs that are there and wait for other ones there than in the file, or on other conditions:
// of each entry the first. Costs what the dependencies cost, not what the jobs do.
Result<std::vector<JobId>> differing_dependencies(const claim::Reader& reader,
                                                  const claim::Plan& plan,
                                                  const JobNumberMap& numbers);

// The number of the first action that other jobs set off there than in the file; nullopt: none.
// Looks at all that jobs and actions wait for.
Result<std::optional<std::uint32_t>> differing_action(const claim::Reader& reader,
                                                      const claim::Plan& plan,
                                                      const JobNumberMap& numbers);

// What the jobs that are new wait for, by the numbers of the store.
[[nodiscard]] std::vector<claim::DependencySet> new_dependencies(const claim::Plan& plan,
                                                                 const JobNumberMap& numbers);

}  // namespace torc::workflow
