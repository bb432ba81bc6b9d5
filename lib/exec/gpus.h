// Which GPUs this process may use, and the variable by which a program is told of its share.
#pragma once

#include <string>
#include <vector>

#include "lib/exec/machine.h"

namespace torc::exec {

struct Gpus {
  std::vector<std::string> ids;
  std::string variable;  // empty without GPUs
  std::string from;
};

// A visible-devices variable that is set says all, also that there is none; then what Slurm
// granted; only outside of Slurm what the node has.
[[nodiscard]] Gpus find_gpus(const GetEnv& env, const std::string& root);

}  // namespace torc::exec
