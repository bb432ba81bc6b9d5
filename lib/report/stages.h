// How far the stages of a workflow are: the jobs of each entry of its file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/claim/rules/job.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/tables/transaction.h"

namespace torc::report {

struct StageCounts {
  std::string name;  // of the entry, as "align_{i}"
  claim::Counts counts{};
  [[nodiscard]] std::uint64_t of(claim::JobState s) const {
    return counts[static_cast<std::size_t>(s)];
  }
  [[nodiscard]] std::uint64_t jobs() const;
  // Not yet begun, or to begin again, unless a person keeps it from that.
  [[nodiscard]] std::uint64_t to_run() const;
};

// In the order of their first jobs. `of`: with these jobs alone, which ascend; null: with all. Jobs
// that the workflow file has no more are left out. Every record of the others is read.
Result<std::vector<StageCounts>> read_stages(const claim::Reader& reader,
                                             const std::vector<claim::JobRange>* of = nullptr);

}  // namespace torc::report
