// How much memory processes use, as a limit should count it: what they made (anonymous memory) and
// what they share in memory (tmpfs, shared memory). Pages of mapped files are left out, since the
// kernel drops those when it needs room. A process that has gone uses nothing.
#pragma once

#include <sys/types.h>

#include <vector>

#include "lib/base/units.h"

namespace torc::exec {

struct MemoryUse {
  ByteCount now;           // pages that several of the processes share count in each of them
  ByteCount largest_peak;  // the largest resident size that one of them has had
};
// One small file of /proc for each process.
[[nodiscard]] MemoryUse quick_memory_use(const std::vector<pid_t>& processes);

// Pages that n processes share count a n-th in each. The kernel walks all pages of the processes
// for this. A process that does not let itself be looked into, and any before Linux 4.14, counts as
// above.
[[nodiscard]] ByteCount exact_memory_use(const std::vector<pid_t>& processes);

}  // namespace torc::exec
