// Single jobs that wait in another class or at another priority than their template's: for what a
// person sets, and for what a failure handler makes grow. Absent for nearly all jobs.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/result.h"
#include "lib/claim/live.h"
#include "lib/claim/tables.h"

namespace torc::claim {

class State;

// Of a job; nullopt: no such job. For reading commands.
[[nodiscard]] std::optional<Rank> read_rank(const Reader& reader, JobId id);

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

// What is to be different; what is not given stays.
struct Setting {
  std::optional<std::int32_t> priority;
  std::optional<std::uint32_t> cpus;
  std::optional<std::uint32_t> gpus;
  std::optional<ByteCount> memory;
  std::optional<std::chrono::seconds> runtime;  // 0: none declared
  std::optional<std::string> label;             // empty: any worker
  std::optional<std::string> scheduler;         // empty: any worker
  [[nodiscard]] JobClass applied_to(JobClass job_class) const;
};

// Jobs wait by other terms from now on. An attempt that is under way keeps what it has; the next
// one has the new. A ready job goes before those of its priority that became ready later. Completed
// jobs, and those that are so already, are left alone.
Result<Change> set_jobs(Transaction& tx, JobRanges jobs, const Setting& setting);

}  // namespace torc::claim
