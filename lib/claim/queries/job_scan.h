// The jobs of a workflow one after the other, read without changing anything.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "lib/base/result.h"
#include "lib/claim/rules/job.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

// Visits jobs in id order; with a state, only those, without reading the others where an index
// exists (ready, claimed, running, and those set aside: failed, canceled, terminated, held). Error
// corrupt when it meets a record that cannot be read, or that does not agree with the templates and
// the counters; `visit` may have been called before. It makes no more steps than there are jobs and
// records.
Result<void> scan_jobs(const Reader& reader, std::optional<JobState> state,
                       const std::function<bool(JobId, const Job&)>& visit);
// The same of some jobs, which there are, whatever their state.
Result<void> scan_jobs_of(const Reader& reader, const std::vector<JobRange>& jobs,
                          const std::function<bool(JobId, const Job&)>& visit);

// The direct upstream jobs that a blocked job still waits for, in id order, at most `limit`.
[[nodiscard]] std::vector<JobId> waits_for(const Reader& reader, JobId id, std::size_t limit);

}  // namespace torc::claim
