// How a step ended of which its keeper told nothing, because Slurm, or somebody, killed it. Values.
#pragma once

#include <chrono>
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
// Whether that is what sacct says where nothing is accounted, so that asking again is of no use.
[[nodiscard]] bool has_no_accounting(std::string_view words);

// Slurm says the same of a step whose allocation has no time any more: only a job that has run for
// its own limit, where it has one, has timed out.
[[nodiscard]] Ended of_job(Ended judged, std::chrono::nanoseconds time_limit,
                           std::chrono::nanoseconds ran);

}  // namespace torc::exec
