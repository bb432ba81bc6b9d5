// Asks Slurm whether it would take the batch scripts of a workflow, without submitting any:
// `sbatch --test-only`.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "lib/slurm/verdict.h"
#include "lib/workflow/context/context.h"
#include "lib/workflow/plan/batch_scripts.h"

namespace torc::workflow {

// Where sbatch reads a script: from its file, as when the user submits it, or, where there is no
// such file, from standard input.
enum class ReadFrom : std::uint8_t { its_file, standard_input };

// For all scripts together: who types a command is not kept waiting by a Slurm that is stuck.
inline constexpr std::chrono::seconds kForAllScripts{5};

// Whether there is an sbatch, or another program of Slurm's, on PATH.
[[nodiscard]] bool can_ask_slurm(const Context& context, const char* program = "sbatch");

// What sbatch says of each script, in their order, asked once each, one after the other. After
// `limit` the sbatch that runs is killed with all that it has started (SIGKILL to its process
// group), and the remaining scripts are not asked about; both are `unanswered`. Blocks for as long,
// and for as long as the kernel needs to end that sbatch. nullopt: there are no scripts.
// Precondition: can_ask_slurm(), else none is answered.
//
// The environment is the user's, SBATCH_… included, without what an allocation would add to it
// (slurm::is_for_sbatch()).
[[nodiscard]] std::optional<std::vector<slurm::Answer>> ask_slurm(
    const Context& context, const std::vector<BatchScript>& scripts, ReadFrom from,
    std::chrono::nanoseconds limit = kForAllScripts);

}  // namespace torc::workflow
