// The launcher of Slurm: sbatch, squeue, sacct, scancel of this host's own cluster.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "lib/launcher/launcher.h"
#include "lib/slurm/run_command.h"

namespace torc::launcher {

struct SlurmSetup {
  slurm::RunCommand run;
  std::uint32_t user = 0;  // whose allocations are looked for: who runs this process
  // Of this host, as Slurm calls it (SLURM_CLUSTER_NAME in an allocation); empty: not known, and
  // asked for when somebody wants to know it (Launcher::cluster()).
  std::string cluster = {};
};

// What it submits goes to this host's own cluster, whatever SLURM_CLUSTERS and SBATCH_CLUSTERS say.
// A script that names another cluster itself is submitted there, and SubmitAnswer::cluster says so;
// listings say nothing of it.
//
// The command line outdoes the script: its --exclude counts instead of the script's, and the whole
// environment is exported.
[[nodiscard]] std::unique_ptr<Launcher> slurm_launcher(SlurmSetup setup);

}  // namespace torc::launcher
