// The ledger of allocations as it is shown: by `torc allocations`, `torc status` and `torc submit`.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/base/text/table.h"
#include "lib/claim/queries/allocations.h"
#include "lib/claim/rules/allocation.h"
#include "lib/claim/tables/transaction.h"

namespace torc::report {

struct AllocationRow {
  std::uint32_t number = 0;
  claim::Allocation allocation;
  std::string scheduler;       // its name
  double used_core_hours = 0;  // by attempts that have ended
};
struct AllocationList {
  std::vector<AllocationRow> rows;  // in the order of their numbers
  std::vector<claim::Scheduler> schedulers;
  std::vector<claim::LeftNode> left_nodes;  // that further ones are asked for without
  WallTime answered_at{};                   // what the queue said is of then; 0: nobody knows
};
enum class Which : std::uint8_t { live, all };
// Error corrupt: a record cannot be read.
[[nodiscard]] Result<AllocationList> list_allocations(const claim::Reader& reader, Which which);

[[nodiscard]] std::uint64_t count_of(const AllocationList& list, claim::AllocationStage stage);

// "queued", "surplus" of one that is being canceled, "ended (canceled)".
[[nodiscard]] std::string say_stage(const claim::Allocation& allocation);
// Core-hours that it was granted so far; 0: not known, or none.
[[nodiscard]] double granted_core_hours(const claim::Allocation& allocation, WallTime now);

[[nodiscard]] Table allocation_table(const std::vector<AllocationRow>& rows, WallTime now);
[[nodiscard]] nlohmann::ordered_json to_json(const AllocationList& list, WallTime now);

// What a person should know first: schedulers that are stopped, intents that wait for a login node,
// submissions that are tried again. A sentence each.
[[nodiscard]] std::vector<std::string> concerns_of(const AllocationList& list, WallTime now);

}  // namespace torc::report
