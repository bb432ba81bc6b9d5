// torc plan --write: schedulers, and which jobs are bound to them, in the workflow file.
#pragma once

#include <string>

#include "bin/app.h"
#include "bin/commands/prepare/known_cluster.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::cli {

struct PlanWriteOptions {
  bool write = false;
  std::string account;  // empty: one of the user's, as the cluster tells it
  std::string output;   // a new file; empty: the workflow file itself
  bool overwrite = false;
  bool dry_run = false;
};

// The recommended choice of each group of jobs by partition. Precondition: loaded.expansion; it was
// read from the file `spec`. Errors: invalid (schedulers are there and not to be replaced, a job
// that no partition can hold, no account, Slurm refuses all choices, what edits_for() says).
Result<Exit> write_plan(const App& app, const std::string& spec, const workflow::LoadedSpec& loaded,
                        const KnownCluster& known, bool asks_slurm,
                        const PlanWriteOptions& options);

}  // namespace torc::cli
