// Why a job that waits is not claimed, as far as the workflow itself knows: what it depends on,
// limits, the budget. Whether any worker could take it is could_fit()'s matter.
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

// A limit that leaves too little for a job that has `amount` of it, when it runs.
struct HeldBack {
  LimitState by;
  std::uint32_t amount = 1;
};

struct Obstacles {
  std::vector<Awaited> awaited;   // of a blocked or held job, the first in id order
  std::uint64_t awaiting = 0;     // how many there are; one counts once for each condition
  std::vector<HeldBack> limits;   // of a ready one: those that leave it too little
  std::optional<Expense> budget;  // of a ready one: what is left is less than it may need
  std::optional<Awaited> cause;   // of a canceled one: what became of this job
  [[nodiscard]] bool none() const { return awaited.empty() && limits.empty() && !budget && !cause; }
};

// Costs what the job and the jobs that it waits for cost, at most `most` of these are told.
[[nodiscard]] Obstacles obstacles_of(const Reader& reader, JobId id, std::size_t most);

// Jobs that have some of the limit, the first in the order of their workers. Looks at all jobs that
// workers hold.
[[nodiscard]] std::vector<JobId> holders_of(const Reader& reader, std::uint32_t limit,
                                            std::size_t most);

// Of a job that was canceled for what became of another one: the job with which that began, which
// was not itself passed over. Any other job: itself.
[[nodiscard]] JobId root_of_cancellation(const Reader& reader, JobId id);

}  // namespace torc::claim
