// Asks Slurm what `torc plan` says of allocations.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "bin/app.h"
#include "bin/commands/prepare/known_cluster.h"
#include "lib/cluster/show_choices.h"
#include "lib/spec/language/workflow.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::cli {

// All sbatch of one `torc plan`.
inline constexpr std::chrono::seconds kForAllChoices{15};

// The entry of slurm_schedulers for a choice of a group that no scheduler of the file is for.
[[nodiscard]] spec::SlurmScheduler scheduler_for(const cluster::Cluster& cluster,
                                                 const cluster::JobGroup& group,
                                                 const cluster::Choice& choice,
                                                 const std::string& account);

struct PlanQuestion {
  bool by_partition = false;  // what the file says of schedulers does not count
  bool asks_slurm = true;     // about the choices and the queue
  std::string account = {};   // empty: any of the user's
};

// Choices for each scheduler of the file, or, without any, each group of jobs by partition. By one
// squeue, and one `sbatch --test-only` a choice. Precondition: loaded.expansion.
Result<cluster::AllocationPlan> plan_allocations(const App& app, const workflow::LoadedSpec& loaded,
                                                 const KnownCluster& known,
                                                 const PlanQuestion& question);

}  // namespace torc::cli
