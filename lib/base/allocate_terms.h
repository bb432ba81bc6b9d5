// How allocations of a scheduler come and go by themselves, as the workflow file states it and the
// claims go by it: the same values for both.
#pragma once

#include <chrono>
#include <cstdint>

namespace torc {

// When allocations of a scheduler are asked for, and how many.
struct AllocateTerms {
  std::uint32_t min = 0;   // allocations that are there as long as there is anything left for them
  std::uint32_t max = 16;  // at most so many live (queued or running) at once
  std::uint32_t max_queued = 4;  // of these, that wait in the queue
  // Of these, that may be asked for by jobs that are not ready yet but will be soon.
  std::uint32_t backlog = 0;
  // In thousandths of its granted core-hours that jobs must fill, by expectation.
  std::uint32_t min_utilization = 500;
  // An allocation whose workers all have had nothing for so long ends itself.
  std::chrono::seconds workers_idle{30};
  // Of all allocations of the scheduler together; 0: without bound.
  double budget_core_hours = 0;
  double budget_node_hours = 0;
  bool operator==(const AllocateTerms&) const = default;
};

}  // namespace torc
