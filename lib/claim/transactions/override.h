// What a person sets of single jobs while workers run: priority, resources, labels, scheduler. They
// wait by terms of their own from then on (rank.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/result.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/tables/transaction.h"
#include "lib/claim/transactions/live.h"

namespace torc::claim {

// What is to be different; what is not given stays.
struct Setting {
  std::optional<std::int32_t> priority;
  std::map<std::string_view, std::uint64_t> needs;  // by the word of a ResourceKind
  Amounts named = {};                               // an amount of 0: nothing of it
  std::optional<std::string> labels;                // as lib/base/labels.h writes them
  std::optional<std::string> scheduler;             // empty: any worker
  // Each of its alternatives needs so much then.
  [[nodiscard]] JobClass applied_to(JobClass job_class) const;
  void apply_to(Requirement& need) const;
};

// Jobs wait by other terms from now on. An attempt that is under way keeps what it has; the next
// one has the new. A ready job goes before those of its priority that became ready later. Completed
// jobs, and those that are so already, are left alone.
Result<Change> set_jobs(Transaction& tx, JobRanges jobs, const Setting& setting);

}  // namespace torc::claim
