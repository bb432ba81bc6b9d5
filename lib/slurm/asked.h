// What an allocation gives its workers, as far as the options of sbatch say it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "lib/base/quantities.h"
#include "lib/slurm/options.h"
#include "lib/slurm/refusals.h"
#include "lib/spec/language/workflow.h"

namespace torc::slurm {

// Of each node. nullopt: it is not said, has no limit, or follows from more than is looked at here.
struct Asked {
  std::optional<std::uint32_t> cpus = {};
  // Nobody asked for CPUs: Slurm gives one a task, unless the site's defaults say otherwise.
  bool cpus_by_default = false;
  std::optional<ByteCount> memory = {};
  std::optional<std::chrono::seconds> walltime = {};
};

// Of two options with one name the later one counts.
[[nodiscard]] Asked asked_by(const std::vector<SbatchOption>& options);

// Of a scheduler's batch script. Options that would be refused are left out.
[[nodiscard]] Asked asked_by(const spec::SlurmScheduler& scheduler, const Defaults& defaults);

// Of the text of a batch script: its lines "#SBATCH …".
[[nodiscard]] Asked asked_by_script(std::string_view text);

}  // namespace torc::slurm
