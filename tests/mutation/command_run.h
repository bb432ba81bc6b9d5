// One torc command as a process under limits: how it ended, what it printed, how much it took.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/path.h"
#include "lib/base/sanitizer.h"

namespace torc::mutation {

// A sanitized program is compiled without optimization.
inline constexpr std::chrono::seconds kMostTime{kSanitized ? 120 : 20};
inline constexpr std::uint64_t kMostAddressSpace = std::uint64_t{4} << 30;
inline constexpr std::uint64_t kMostMemory = std::uint64_t{1} << 30;
// A sanitizer reserves terabytes, of which it ends the program when so much is really there: what
// it keeps beside each byte, and blocks that were given back, included.
inline constexpr std::uint64_t kMostSanitizedMemory = std::uint64_t{3} << 30;
// Of a program that ended by a report of its sanitizer.
inline constexpr int kSanitizerExit = 86;
// Of a file that it writes: a command that copies what has no end is stopped by SIGXFSZ before the
// disk is full.
inline constexpr std::uint64_t kMostFile = std::uint64_t{2} << 30;

// Where and as whom commands run.
struct Surroundings {
  Path program;
  Path directory;             // the working directory
  Path tmpdir;                // the copies that a node keeps of a store are below it
  Path node;                  // the ledger of a node is below it
  Path home;                  // what a user keeps for himself
  std::optional<uid_t> user;  // none: as this process
};

struct CommandEnd {
  int exit_code = -1;  // -1: by a signal
  int signal = 0;
  bool timed_out = false;  // killed by us, past kMostTime
  std::uint64_t peak_memory = 0;
  double wall_seconds = 0;
  double cpu_seconds = 0;
  // The first 4 MiB of each.
  std::string out;
  std::string err;
};

// Every process that it leaves behind is killed, for which this process has to be a subreaper.
// Throws std::system_error when it cannot be started.
[[nodiscard]] CommandEnd run_command(const Surroundings& where,
                                     const std::vector<std::string>& words);

}  // namespace torc::mutation
