// Runs one program to its end and gives back what it printed: for asking squeue and the like. Apart
// from any ProcessHost of the same process: neither reaps or kills the other's children, in
// whatever threads they are.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/base/units.h"

namespace torc::exec {

struct ProgramRequest {
  std::vector<std::string> argv;         // argv[0] is looked for along PATH; no shell
  std::vector<std::string> environment;  // complete, "NAME=value"
  std::string input = {};                // what it reads on its standard input
  std::chrono::nanoseconds time_limit =
      std::chrono::seconds(30);            // then SIGKILL to its process group
  ByteCount output_limit = mebibytes(16);  // of each stream; what comes after it is dropped
};

struct ProgramOutput {
  int exit_code = -1;  // 127: not found; 126: cannot be executed; -1: ended by a signal
  int signal = 0;
  bool timed_out = false;
  bool truncated = false;  // the output limit was reached
  std::string out;
  std::string err;
};

// Blocks the calling thread. Returns when the program has ended, also when something that it left
// behind keeps its output open: what is left in its process group is killed. Errors: busy (no
// process, thread or descriptor can be had now), invalid (no argv).
Result<ProgramOutput> run_program(const ProgramRequest& request);

}  // namespace torc::exec
