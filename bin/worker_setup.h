// From flags, Slurm's environment and the machine to what a worker may use: shared by `torc worker`
// and `torc run`.
#pragma once

#include "bin/app.h"
#include "bin/commands.h"
#include "bin/outcome_text.h"
#include "bin/worker.h"
#include "lib/store/mount_facts.h"

namespace torc::cli {

enum class Place : unsigned char { allocation, laptop };  // `torc worker`, `torc run`

// How a store is opened by who works on it for long.
[[nodiscard]] store::Tuning worker_tuning();

// Why a lease of that length ends there although its worker lives; empty: it is long enough.
[[nodiscard]] std::string too_short(std::chrono::seconds lease, const store::MountFacts& facts);

// What the flags leave open, `settings` of the spec say: the lease, and what of an allocation is
// kept free at its end.
Result<WorkerSetup> make_worker_setup(const App& app, const WorkerOptions& options,
                                      const Path& store, Place place,
                                      const spec::RunSettings& settings);

// The spec's execution_config and directory, read from the store.
Result<WorkflowSettings> read_settings(store::Store& store);

}  // namespace torc::cli
