// What sbatch, or torc with it, would refuse of a scheduler's options: all of it, before there is a
// store. Its keys are checked where they are read (lib/spec/read/scheduler_reader.cc).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/result.h"
#include "lib/slurm/options.h"
#include "lib/spec/language/workflow.h"

namespace torc::slurm {

using Defaults = std::vector<std::pair<std::string, std::string>>;  // slurm_defaults

struct Refusal {
  std::string key;  // of the scheduler, or the option of slurm_defaults
  Error error;      // invalid
};

// Of its key `extra`. `options`, when given, receives those that are fine.
[[nodiscard]] std::vector<Refusal> refusals_of_extra(const spec::SlurmScheduler& scheduler,
                                                     std::vector<SbatchOption>* options = nullptr);
[[nodiscard]] std::vector<Refusal> refusals_of_defaults(
    const spec::SlurmScheduler& scheduler, const Defaults& defaults,
    std::vector<SbatchOption>* options = nullptr);

}  // namespace torc::slurm
