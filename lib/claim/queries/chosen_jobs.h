// Some jobs of a workflow, and what they need: for workers that take those alone.
#pragma once

#include <vector>

#include "lib/base/result.h"
#include "lib/claim/rules/job.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/rules/request.h"
#include "lib/claim/tables/state.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

// Whether one of the ranges, which ascend, has the job.
[[nodiscard]] bool has_job(const std::vector<JobRange>& ranges, std::uint64_t id);

// Whether one of the jobs of `of` is in the ranges, which ascend.
[[nodiscard]] bool has_one_of(const std::vector<JobRange>& ranges, JobRange of);

// How many there are in ranges that are disjoint.
[[nodiscard]] std::uint64_t jobs_in(const std::vector<JobRange>& ranges);

// `ranges` less `holes`; both sorted, disjoint.
[[nodiscard]] std::vector<JobRange> without(const std::vector<JobRange>& ranges,
                                            const std::vector<JobRange>& holes);

// The jobs, in any order, and all that they wait for, directly or not, on whatever condition and
// whether or not it has ended: ascending, no two touch. It costs a look at each span and each
// barrier of theirs. Precondition: there are such jobs.
Result<std::vector<JobRange>> with_upstreams(const Reader& reader,
                                             const std::vector<JobRange>& jobs);

// Of the ranges, as with_upstreams() has them, what may yet run. Read from the queues, from the
// list of delayed jobs and from the leases, not from the jobs.
[[nodiscard]] OpenJobs open_jobs(State& state, const std::vector<JobRange>& ranges);

// How many of them are in which state. Every record of theirs is read.
Result<Counts> count_jobs(const Reader& reader, const std::vector<JobRange>& ranges);

}  // namespace torc::claim
