// The other end of StepHost, within a step of Slurm: runs one command and tells its worker how it
// ended. docs/maintainer/execution.md has the whole story.
#pragma once

#include <string>

#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/exec/step/step_message.h"

namespace torc::exec {

// The command gets the environment of this process (`environment`, null-terminated), which must be
// one of its own with a single thread. Signals that Slurm sends to the step are the command's: this
// process minds none of them. When the worker, or the srun of this step, has gone, the command's
// whole tree is killed. While that srun is stopped the command is, too, a second later at most.
//
// The result is the exit code for Slurm to see: the command's, 128 and the signal that ended it, or
// as a shell says that it could not be executed. Error: nobody wants this step any more, or
// commands cannot be run here.
Result<int> keep_step(Clock& clock, const std::string& name, StepKey key, char** environment);

}  // namespace torc::exec
