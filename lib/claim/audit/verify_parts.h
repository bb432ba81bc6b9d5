// The parts of verify_state. The first is what never changes once written: spans, templates,
// barriers and who is upstream of them. What it learns serves the checks of the part that does
// change.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "lib/base/result.h"
#include "lib/claim/tables/tables.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

struct PlanTables {
  std::vector<Span> spans;  // of all jobs, in order
  std::map<std::uint64_t, Barrier> barriers;
  std::uint64_t jobs = 0;
  std::uint8_t rules = 0;                                     // of `rule`, as the records have them
  [[nodiscard]] const Span& span_of(std::uint64_t id) const;  // precondition: 1 <= id <= jobs
};

// An error names the first contradiction.
Result<PlanTables> audit_plan(const Reader& reader);

// Where added jobs come from, and that no definition is lost. `jobs`: how many there are.
Result<void> audit_additions(const Reader& reader, std::uint64_t jobs);

// Limits and the budget: recounts what they say is taken. `occupied`: the jobs that are claimed,
// run, or were canceled and not yet ended, with the worker of each.
Result<void> audit_quota(const Reader& reader, const PlanTables& plan,
                         const std::map<std::uint64_t, std::uint64_t>& occupied);

// The counters of actions, who runs which, and that each one that is due is listed.
Result<void> audit_actions(const Reader& reader);

// Schedulers and the ledger of allocations: its counts, and that those that live are listed.
Result<void> audit_allocations(const Reader& reader);

// Gangs, the nodes that are listed by group, and what groups keep nodes for: that jobs, leases and
// these agree, and no node is part of two gangs.
Result<void> audit_gangs(const Reader& reader, const PlanTables& plan);

// That the heads of the ready queues are listed as they are, where they are to be.
Result<void> audit_order(const Reader& reader);

// `jobs`: how many there are.
Result<void> audit_user_data(const Reader& reader, std::uint64_t jobs);

}  // namespace torc::claim
