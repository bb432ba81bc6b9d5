// What a worker works by, from its command line, its machine and its workflow.
#pragma once

#include "lib/exec/machine/cpus.h"
#include "lib/exec/node/node_ledger.h"
#include "lib/worker/loop/registration.h"

namespace torc::worker {

// `ledger`: of the node; null: the worker has all of its machine. `begun`: when it came.
[[nodiscard]] Terms terms_of(const Registration& registration, const WorkerSetup& setup,
                             const exec::NodeLedger* ledger, const Clock& clock, BootTime begun);
// Of the CPUs that this process may run on: those that the node's ledger gives this worker, or,
// without one, as many as it may use.
Result<exec::CpuPool> cpus_to_bind(const WorkerSetup& setup, const exec::NodeLedger* ledger);

}  // namespace torc::worker
