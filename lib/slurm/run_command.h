// How a library starts a command of a batch system that it may not wait for without end: a function
// that main's world is in, which tells a command that ended from one that was killed.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"
#include "lib/base/units.h"
#include "lib/slurm/query.h"
#include "lib/slurm/verdict.h"

namespace torc::slurm {

struct Command {
  std::vector<std::string> argv;  // argv[0] is looked for along PATH; no shell
  // "NAME=value": besides the user's own variables, as passes_to_batch_system() leaves them.
  std::vector<std::string> environment = {};
  // Then the command is killed, with its process group.
  std::chrono::nanoseconds limit = std::chrono::seconds(30);
  ByteCount output_limit = mebibytes(16);  // of each stream
};

// Runs it to its end. Errors: it could not be started, so nothing has happened. A program that is
// not found ends with 127.
using RunCommand = std::function<Result<SbatchOutput>(const Command& command)>;

// The same command as those ask who only want to know what was printed. -1: it was killed.
[[nodiscard]] RunProgram run_program_of(RunCommand run, std::chrono::nanoseconds limit);

// Whether "NAME=value" of the user's environment, `all` of it, may go to what is submitted: what is
// for sbatch, without what torc itself told the process of its own allocation or job.
[[nodiscard]] bool passes_to_batch_system(std::string_view entry,
                                          const std::vector<std::string>& all);

}  // namespace torc::slurm
