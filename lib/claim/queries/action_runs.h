// The actions of a workflow and their runs, read without changing anything.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "lib/base/result.h"
#include "lib/claim/rules/action.h"
#include "lib/claim/rules/job.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

// By number; nothing where there are none. Error corrupt: one of them cannot be read.
[[nodiscard]] Result<std::vector<Action>> read_actions(const Reader& reader);
// For reading commands.
[[nodiscard]] ActionTally read_action_tally(const Reader& reader);
// The runs of an action, of the workflow or by worker. Error corrupt: one of them cannot be read.
Result<void> scan_runs(const Reader& reader, std::uint32_t number,
                       const std::function<bool(WorkerEpoch, const ActionRun&)>& visit);

}  // namespace torc::claim
