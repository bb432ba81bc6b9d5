// A program of a batch system that this host does not have.
#pragma once

#include "lib/slurm/verdict.h"

namespace torc::launcher {

// By the words of env(1), which starts it, and nothing else; a wrapper that lacks a program, and
// ends with the same exit code, may have done something before.
[[nodiscard]] bool is_missing_program(const slurm::SbatchOutput& output);

}  // namespace torc::launcher
