// Jobs of a store that its workflow file knows nothing of: what of them stands against a run by the
// name of the file.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lib/base/result.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/tables/transaction.h"

namespace torc::workflow {

enum class Failed : std::uint8_t { is_over, is_retried };

// The first that may yet run and that a person brought, or a job that a person had brought. What
// jobs of the file have spawned belongs to those. `added`: jobs of the store alone, sorted
// (JobMatching). Error corrupt: nobody knows where they come from.
Result<std::optional<JobId>> first_beside_file(const claim::Reader& reader,
                                               const std::vector<claim::JobRange>& added,
                                               Failed failed);

}  // namespace torc::workflow
