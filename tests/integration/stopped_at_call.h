// A program that is killed at one of its system calls: before it, or when the kernel has done it.
#pragma once

#include <cstdint>
#include <string>

#include "tests/integration/harness.h"

namespace torc::itest {

struct KilledAt {
  bool was_killed = false;  // false: it ended before
  int exit_code = -1;       // of one that ended
  std::uint64_t calls = 0;  // the stops that were counted
  std::string where;        // for people: the number of the system call, before or after it
};

// Runs it, and kills it at the stop with that number, from 1; 0: never. Counted is what could
// change something outside of the process, before and after: writing, making, removing and renaming
// files, locks, starting processes and waiting for them. What it starts goes on by itself. Needs
// ptrace(2), which every user may on his own processes.
[[nodiscard]] KilledAt kill_at_call(const Launch& launch, std::uint64_t stop);

}  // namespace torc::itest
