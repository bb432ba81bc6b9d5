// Which GPUs this process may use, and the variable by which a program is told of its share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/exec/machine/machine.h"

namespace torc::exec {

struct Gpus {
  std::vector<std::string> ids;
  std::string variable;  // empty without GPUs
  std::string from;
};

// A visible-devices variable that is set says all, also that there is none; then what Slurm
// granted; only outside of Slurm what the node has. HIP_VISIBLE_DEVICES counts, too, within what
// ROCR_VISIBLE_DEVICES leaves; an empty ZE_AFFINITY_MASK is to Intel's driver as if it were not
// set.
[[nodiscard]] Gpus find_gpus(const GetEnv& env, const std::string& root);

// The value by which `variable` leaves a program these GPUs and no other; none of them: no GPU.
[[nodiscard]] std::string visible_gpus(std::string_view variable,
                                       const std::vector<std::string>& ids);

// Whether a variable of this name makes programs of some maker see fewer GPUs. They count within
// what another one leaves (HIP within ROCR, CUDA for HIP), so that one which is left from outside
// can hide what a job was given.
[[nodiscard]] bool is_gpu_variable(std::string_view name);

}  // namespace torc::exec
