// Whether the tables agree with each other.
#pragma once

#include "lib/base/result.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

// Recounts everything: each job in exactly one state, counters, ready queues, barriers, holdings,
// dependencies respected by what has run. Names the first wrong thing. O(jobs).
Result<void> verify_state(const Reader& reader);

}  // namespace torc::claim
