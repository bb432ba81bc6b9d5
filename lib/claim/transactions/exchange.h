// The transaction of a worker that has something to say or wants jobs.
#pragma once

#include "lib/base/result.h"
#include "lib/claim/rules/request.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

// Finishes, starts, returns, renews the lease, then claims; no jobs before all actions of
// on_workflow_start have ended. Error fenced: the worker was expired or
// released; the caller stops everything it runs. Error corrupt: the tables contradict themselves.
// Error invalid: one of `finishes` is no end. After any Error the caller aborts the transaction.
// Stale tokens are answered in `refused`. A worker is granted no more than it can hold: 2^20 jobs.
// At most one exchange of a worker in one transaction: the sequence number tells its claims apart.
Result<Answer> exchange(Transaction& tx, const Exchange& request);

}  // namespace torc::claim
