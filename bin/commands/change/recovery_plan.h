// torc recover: what failed and what is proposed, read from a store; and doing it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bin/app.h"
#include "lib/report/recovery.h"

namespace torc::cli {

struct FailedGroups {
  std::vector<report::FailedGroup> groups;  // by trouble, then by the number of the first job
  std::vector<claim::Ceilings> most;        // of each
  std::uint64_t jobs = 0;
  std::uint64_t not_read = 0;    // whose output was not looked at
  std::uint64_t unreadable = 0;  // of whose output some cannot be read here
};
Result<FailedGroups> failed_groups(const App& app, store::Store& store);

// Sets what is proposed and lets the jobs run again, in one commit for at most some thousands of
// them: those that are still as they were seen. Whoever is cut off has done whole jobs of it, and
// the rest failed as before. Gives how many run again.
Result<std::uint64_t> recover(const App& app, store::Store& store, const report::FailedGroup& group,
                              const report::Proposal& proposal);

}  // namespace torc::cli
