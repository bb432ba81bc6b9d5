// How a step ended of which its keeper told nothing, because Slurm, or somebody, killed it. Values.
#pragma once

#include <optional>
#include <string_view>

#include "lib/exec/run/process_host.h"

namespace torc::exec {

// By what srun wrote and how it ended itself. Not set: id and times.
[[nodiscard]] Ended judge_step(std::string_view words, const Ended& srun);

// A step of several nodes, of which srun is the command: by the lines of srun and slurmstepd in
// what the job wrote to its standard error, more than its exit code tells. Memory that ran out on a
// node; or not all nodes had begun it, or one was lost, which is not the job's doing. srun ends
// with 0 where all tasks but those of a lost node have.
[[nodiscard]] Ended judge_gang_step(std::string_view words, const Ended& srun);

// By Slurm's accounting, of a step of this name. nullopt: nothing final is told of it (yet).
// `rows`: as sacct --noheader --parsable2 --format=JobName,State,ExitCode prints them.
[[nodiscard]] std::optional<Ended> judge_accounted(std::string_view rows, std::string_view name);

}  // namespace torc::exec
