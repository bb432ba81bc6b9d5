// What the demand for allocations is reckoned from (lib/claim/rules/demand.h), as the store has it.
#pragma once

#include <string>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/end_margins.h"
#include "lib/base/result.h"
#include "lib/claim/queries/allocations.h"
#include "lib/claim/rules/demand.h"
#include "lib/claim/rules/worker.h"
#include "lib/claim/tables/transaction.h"

namespace torc::allocate {

// Where jobs run or will: live workers, those of one allocation together, and live allocations
// without any. `now` by the asker's wall clock.
[[nodiscard]] std::vector<claim::Place> places_of(const std::vector<claim::Worker>& workers,
                                                  const claim::Allocations& live,
                                                  const std::vector<claim::Scheduler>& schedulers,
                                                  const KeptFree& kept, WallTime now);

// What it was granted in all of its runs, as far as its workers or the batch system told; of a live
// one the present run with its whole walltime.
[[nodiscard]] double granted_node_hours(const claim::Allocation& allocation);

// Error corrupt: a record cannot be read.
[[nodiscard]] Result<claim::DemandInput> read_demand(const claim::Reader& reader, WallTime now);

}  // namespace torc::allocate
