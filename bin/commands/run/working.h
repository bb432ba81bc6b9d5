// Working for a store on this machine until it is done: shared by `torc run` and `torc exec`.
#pragma once

#include <memory>

#include "bin/app.h"
#include "lib/worker/loop/worker.h"

namespace torc::cli {

// A laptop that slept loses its lease and goes on as a new worker, a few times.
Result<worker::WorkerSummary> work_here(const App& app, std::unique_ptr<store::Store> store,
                                        const worker::WorkerSetup& setup,
                                        const worker::WorkerEvents& events);

// What `setup` says that the person should know.
void warn(const App& app, const worker::WorkerSetup& setup);

// Also when the worker itself could not go on.
[[nodiscard]] Exit exit_of(const worker::WorkerSummary& summary);

}  // namespace torc::cli
