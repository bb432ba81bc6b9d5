// The part of verify_state about limits and the budget: recounts what they say is taken.
#pragma once

#include <cstdint>
#include <map>

#include "lib/base/result.h"
#include "lib/claim/audit/verify_plan.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

// `occupied`: the jobs that are claimed, run, or were canceled and not yet ended, with the worker
// of each.
Result<void> audit_quota(const Reader& reader, const PlanTables& plan,
                         const std::map<std::uint64_t, std::uint64_t>& occupied);

// The counters of actions, who runs which, and that each one that is due is listed.
Result<void> audit_actions(const Reader& reader);

}  // namespace torc::claim
