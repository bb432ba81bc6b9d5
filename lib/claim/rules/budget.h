// What a workflow may use in all. An attempt is paid for when it is over, by the time from its
// start to its end; until then it counts with its declared runtime, or with nothing if it declared
// none.
#pragma once

#include <chrono>
#include <cstdint>

#include "lib/claim/rules/job.h"
#include "lib/claim/rules/plan.h"

namespace torc::claim {

// The budget of the workflow and how far it is spent.
struct Expense {
  Usage most;      // 0: without bound
  Usage spent;     // by attempts that are over
  Usage promised;  // to those that are claimed or run, by their declared runtime
  auto operator<=>(const Expense&) const = default;
};

// What a job takes for each moment that it runs.
struct Rate {
  std::uint64_t cores = 0;
  std::uint64_t millinodes = 0;  // thousandths of a node
};
// A job of several nodes takes them whole. Of one node a job takes its CPUs over those of its
// worker, at most all; `worker_cpus` 0: not known, all.
[[nodiscard]] Rate rate_of(const Requirement& need, std::uint32_t worker_cpus);
[[nodiscard]] Usage cost(const Rate& rate, std::chrono::milliseconds time);
// From its start to its end; 0: it never started.
[[nodiscard]] std::chrono::milliseconds time_of(const Outcome& outcome);
void add(Usage& to, const Usage& what);            // up to the most that is counted
[[nodiscard]] Usage left(const Expense& expense);  // of what is bounded
// How many more jobs of this cost may begin; UINT64_MAX: any number.
[[nodiscard]] std::uint64_t affordable(const Expense& expense, const Usage& cost);

// Whether the budget keeps every job of a class from being claimed, whoever asks.
[[nodiscard]] bool is_beyond(const Expense& expense, const Requirement& need);
// By each of its alternatives.
[[nodiscard]] bool is_beyond(const Expense& expense, const JobClass& job_class);

}  // namespace torc::claim
