// What may be missing of a workflow when keys of its store are: in words for its user.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/claim/tables/transaction.h"
#include "lib/store/lmdb/lmdb_remains.h"

namespace torc::report {

struct LostRecords {
  // Of these jobs it is not known whether they ran; a job that never ran has no record that could
  // be missing.
  struct Jobs {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
  };
  std::vector<std::string> kinds;  // "jobs", "ready queues", …
  std::vector<Jobs> jobs;          // ascending, disjoint

  [[nodiscard]] std::string show_kinds() const;
  [[nodiscard]] std::vector<std::string> show_jobs() const;  // the first of them
};

// `left`: what is not missing; how many jobs there are is taken from it where it says so.
[[nodiscard]] LostRecords describe_lost(const claim::Reader& left,
                                        const std::vector<store::KeyRange>& lost);

}  // namespace torc::report
