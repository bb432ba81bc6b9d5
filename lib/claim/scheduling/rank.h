// Single jobs that wait in another class or at another priority than their template's: by what a
// person sets, or what a failure handler makes grow. Absent for nearly all jobs.
#pragma once

#include <cstdint>
#include <functional>

#include "lib/claim/tables/state.h"
#include "lib/claim/tables/tables.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

// Visits the runs of jobs in [first, first + count) that have one rank, in order. All are of
// `span`.
void each_rank(
    State& state, const Span& span, std::uint64_t first, std::uint64_t count,
    const std::function<void(const Rank&, std::uint64_t first, std::uint64_t count)>& visit);

// The number of this class: of an equal one that is there, else of a new one at the end. Looks at
// all classes.
[[nodiscard]] std::uint32_t find_or_add_class(Transaction& tx, State& state,
                                              const JobClass& job_class);

// Writes, or erases where it says no more than the span, the rank of its own that a job has.
void put_rank(Transaction& tx, State& state, std::uint64_t id, const Rank& rank);

}  // namespace torc::claim
