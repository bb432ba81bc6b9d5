// The gangs as the tables have them. Read without changing anything.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "lib/base/result.h"
#include "lib/claim/rules/gang.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

// The gang that a live worker is part of, as in Answer::gang: for one that has nothing to say for a
// while. nullopt: of none. This and what follows: Error corrupt when a record cannot be read.
Result<std::optional<GangPart>> read_gang_part(const Reader& reader, WorkerEpoch worker);

// All that some worker is still part of, those that are over too; until `visit` says false.
Result<void> scan_gangs(const Reader& reader, const std::function<bool(const Gang&)>& visit);

// Within a transaction that was no exchange: who is part of a gang that it has ended.
Result<std::vector<WorkerEpoch>> members_of_ended_gangs(const Reader& reader);

}  // namespace torc::claim
