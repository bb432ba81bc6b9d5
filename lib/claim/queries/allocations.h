// The ledger of allocations, read without changing anything, and what is left to do for them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "lib/base/result.h"
#include "lib/claim/rules/allocation.h"
#include "lib/claim/rules/demand.h"
#include "lib/claim/tables/allocation_record.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

// Error corrupt, here and below: a record cannot be read.
[[nodiscard]] Result<AllocationBook> read_allocation_book(const Reader& reader);
// Whether anybody has to see to allocations, and how many passes over them were begun.
struct PassState {
  std::uint64_t passes = 0;
  bool has_work = false;  // some live, or are asked for as jobs need them
};
[[nodiscard]] Result<PassState> read_pass_state(const Reader& reader);
// In the order of the workflow file; empty: it has none.
[[nodiscard]] Result<std::vector<Scheduler>> read_schedulers(const Reader& reader);
// In the order of their numbers.
using Allocations = std::map<std::uint32_t, Allocation>;
// What it costs does not grow with those that have ended.
[[nodiscard]] Result<Allocations> read_live_allocations(const Reader& reader);
[[nodiscard]] Result<Allocations> read_allocations(const Reader& reader);

// Nodes that further allocations are asked for without.
[[nodiscard]] Result<std::vector<LeftNode>> read_left_nodes(const Reader& reader);

// Work that is left, by class, without what waits for a person. What limits or the budget let
// nobody claim now counts as `later`; of a workflow that has failed too often only what is held is
// left. So many spans of jobs, ready ranges and leases are looked at; of more, jobs that are not
// ready count by what was looked at.
inline constexpr std::size_t kMostSpansLooked = 20'000;
struct WorkOfStore {
  std::vector<WorkLeft> work;  // of classes with any
  bool is_whole = true;        // all was looked at: what is not here is not there
};
[[nodiscard]] Result<WorkOfStore> read_work(const Reader& reader);

}  // namespace torc::claim
