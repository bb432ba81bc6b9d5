// Working for a store on this machine until it is done: shared by `torc run` and `torc exec`.
#pragma once

#include <memory>

#include "bin/worker.h"

namespace torc::cli {

// A laptop that slept loses its lease and goes on as a new worker, a few times.
Result<WorkerSummary> work_here(const App& app, std::unique_ptr<store::Store> store,
                                const WorkerSetup& setup, const WorkerEvents& events);

// Also when the worker itself could not go on.
[[nodiscard]] Exit exit_of(const WorkerSummary& summary);

}  // namespace torc::cli
