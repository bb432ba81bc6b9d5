// How a command is to be run, and what of that can go wrong before it runs.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/units.h"

namespace torc::exec {

// What is to be known of a command once it runs.
struct RunTerms {
  std::chrono::nanoseconds time_limit{0};  // 0: none
  // Of the whole tree, as memory_use.h counts it: beyond this it is killed; 0: none. It is looked
  // at from 100 ms after the start on, at least once a second, and more often as it comes near.
  ByteCount memory_limit;
  // How often Wakeup::samples is to tell of it, as often as the share of processor time that looks
  // may take allows; 0: not at all.
  std::chrono::nanoseconds sample_every{0};
  int termination_signal = 15;
  std::chrono::nanoseconds termination_lead = std::chrono::seconds(30);  // signal -> SIGKILL
};

// Paths absolute.
struct Command : RunTerms {
  std::string line;              // as the user wrote it; see argv_of() for when a shell is used
  std::vector<std::string> env;  // environment, "NAME=value"
  // More of it, that many commands have in common: what `env` does not set. May be null.
  std::shared_ptr<const std::vector<std::string>> common_env;
  std::string directory;    // working directory
  std::string stdout_path;  // empty: /dev/null
  std::string stderr_path;  // empty: /dev/null; equal to stdout_path: both to one file
  // Open files in place of these paths; 3 or higher, -1: none. The caller closes them, after the
  // end of the command if it wants.
  int stdout_fd = -1;
  int stderr_fd = -1;
  // Why they could not be opened for these paths: the start fails with it, and opens nothing; 0:
  // nothing is known of that.
  int stdout_errno = 0;
  int stderr_errno = 0;
  // Of the command itself, not of these files, which are made under the caller's; none: as that.
  std::optional<mode_t> umask;
  std::vector<std::uint32_t> cpus;  // logical CPUs that it may run on; empty: as this process
  // The options of the srun that makes a step of Slurm for it (StepHost); empty: none, it is run by
  // this process.
  std::vector<std::string> step;
};

// How the shell is called that runs the line: {"/bin/sh", "-c"}, unless its first line is that of a
// script, and names another one: of "#!/bin/bash -e" {"/bin/bash", "-e", "-c"}. Those that take a
// script by -c, and mean the same by it, count as shells: sh, bash, dash, ksh, zsh.
[[nodiscard]] std::vector<std::string> shell_of(std::string_view line);

// The words of a command that needs no shell, or those of shell_of() and the line. No shell is
// needed when the line has no character with a meaning to it beyond blanks and simple quotes, and
// its first word is no builtin or keyword
// (`true`, `false` and plain `echo` are run as the programs of that name, which do the same).
[[nodiscard]] std::vector<std::string> argv_of(const std::string& line);

// What could not be done when a command was not started.
enum class StartStep : std::uint8_t { none, directory, stdout_file, stderr_file, cpus, execute };
[[nodiscard]] std::string_view to_string(StartStep step);  // "the working directory", …

}  // namespace torc::exec
