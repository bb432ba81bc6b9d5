// From flags, Slurm's environment and the machine to what a worker may use: shared by `torc worker`
// and `torc run`.
#pragma once

#include "bin/app.h"
#include "bin/commands.h"
#include "bin/worker.h"

namespace torc::cli {

enum class Place : unsigned char { allocation, laptop };  // `torc worker`, `torc run`

// `sigkill_headroom` of the spec: jobs end that long before an allocation does.
// How a store is opened by who works on it for long.
[[nodiscard]] store::Tuning worker_tuning();

Result<WorkerSetup> make_worker_setup(const App& app, const WorkerOptions& options,
                                      const Path& store, Place place,
                                      std::chrono::seconds sigkill_headroom);

// The spec's execution_config and directory, read from the store.
Result<WorkflowSettings> read_settings(store::Store& store);

// "exit code 3", "signal 9 (Killed)", "time limit (152)", "could not start: No such file or
// directory".
[[nodiscard]] std::string show_outcome(const claim::Outcome& outcome);

}  // namespace torc::cli
