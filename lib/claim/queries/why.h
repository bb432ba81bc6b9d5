// Why a job that waits is not claimed, as far as the workflow itself knows: what it depends on, the
// limit of its entry, the budget. Whether any worker could take it is could_fit()'s matter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "lib/claim/queries/queries.h"
#include "lib/claim/rules/budget.h"
#include "lib/claim/rules/job.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

struct Awaited {
  JobId job{};
  JobState state = JobState::blocked;
  Condition condition = Condition::afterok;
};

struct Obstacles {
  std::vector<Awaited> awaited;     // of a blocked or held job, the first in id order
  std::uint64_t awaiting = 0;       // how many there are; one counts once for each condition
  std::optional<LimitState> limit;  // of a ready one: as many of its entry run as may
  std::optional<Expense> budget;    // of a ready one: what is left is less than it may need
  std::optional<Awaited> cause;     // of a canceled one: what became of this job
  [[nodiscard]] bool none() const { return awaited.empty() && !limit && !budget && !cause; }
};

// Costs what the job and the jobs that it waits for cost, at most `most` of these are told.
[[nodiscard]] Obstacles obstacles_of(const Reader& reader, JobId id, std::size_t most);

// Of a job that was canceled for what became of another one: the job with which that began, which
// was not itself passed over. Any other job: itself.
[[nodiscard]] JobId root_of_cancellation(const Reader& reader, JobId id);

}  // namespace torc::claim
