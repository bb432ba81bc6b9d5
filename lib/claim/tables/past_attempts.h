// Attempts of a job before its newest one: of them the job's own record tells nothing any more.
#pragma once

#include <cstdint>
#include <functional>

#include "lib/base/result.h"
#include "lib/claim/rules/job.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

// So many are kept of a job, the newest, where nobody has said otherwise.
inline constexpr std::uint32_t kKeptAttempts = 50;
inline constexpr std::uint32_t kMostKeptAttempts = 10'000;
[[nodiscard]] std::uint32_t kept_attempts(const Reader& reader);
// From 0 to kMostKeptAttempts. What a job has more is forgotten when a further one of it is kept.
void keep_attempts(Transaction& tx, std::uint32_t attempts);

// What an attempt made of its job, by its outcome alone: ready where its worker was lost or ended
// it.
[[nodiscard]] JobState state_of_end(const Outcome& outcome);

// To be called before the record of a job is written anew: keeps its newest attempt, where that has
// ended and its record is about to tell another one, or another end. What is kept of an attempt
// already stays. A job that runs once costs nothing.
void keep_attempt(Transaction& tx, std::uint64_t id, const Job& before, const Job& after);

// Those that are kept of a job, in their order, each as its record was; Job::state is what
// the attempt made of its job, by its outcome alone: ready where its worker was lost or ended it.
// `visit` returns whether to go on. Error corrupt: one cannot be read.
using VisitAttempt = std::function<bool(JobId id, const Job& attempt)>;
Result<void> scan_past_attempts(const Reader& reader, JobId id, const VisitAttempt& visit);
// Of all jobs.
Result<void> scan_past_attempts(const Reader& reader, const VisitAttempt& visit);

}  // namespace torc::claim
