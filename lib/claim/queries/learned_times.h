// What is known of how long the jobs of a template run.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "lib/claim/rules/learned_time.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

// `first`: the first job of the template. nullopt: none of its jobs has been measured.
[[nodiscard]] std::optional<LearnedTime> read_learned_time(const Reader& reader,
                                                           std::uint64_t first,
                                                           std::uint32_t alternative = 0);

// What the class goes by in place of its declared runtime; nullopt: by that. One look, where it
// learns.
[[nodiscard]] std::optional<std::chrono::seconds> learned_time(const Reader& reader,
                                                               const JobClass& job_class,
                                                               std::uint32_t alternative = 0);

// How long a job of the class is expected to run by that alternative, by what was learned; else as
// it says (expected_time()). 0: nobody knows.
[[nodiscard]] std::chrono::seconds expected_run(const Reader& reader, const JobClass& job_class,
                                                std::uint32_t alternative = 0);

// The class with the runtime that its template's jobs have shown, where it goes by that and there
// are enough of them: what counts for fit and order, and never for an end.
[[nodiscard]] JobClass as_learned(const Reader& reader, JobClass job_class);

}  // namespace torc::claim
