// How what is planned comes to a workflow that is there: shared by add_jobs() and reshape().
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/base/result.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/tables/origin.h"
#include "lib/claim/tables/state.h"
#include "lib/claim/tables/tables.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

// The highest number of a barrier; 0: there is none.
[[nodiscard]] std::uint64_t last_barrier(State& state);

// Finds classes and limits of `plan` again among those there are, and puts down the others: from
// now on its templates name classes by the numbers of the store. The numbers of its classes there
// are the answer.
Result<std::vector<std::uint32_t>> renumber_classes(Transaction& tx, Plan& plan);
// The same of failure handlers: the numbers there, at their positions here, from 1 on.
std::vector<std::uint32_t> renumber_handlers(Transaction& tx, State& state, Plan& plan);

// The new barriers that do not just wait.
struct Begun {
  std::vector<std::uint64_t> open;    // from the start; ascending
  std::vector<std::uint64_t> doomed;  // cannot open any more
};
// Those of the plan, numbered from barriers + 1 on, with what is to go by the jobs that are there:
// those up to `before`.
[[nodiscard]] Begun write_barriers(Transaction& tx, State& state, const Plan& plan,
                                   std::uint64_t barriers, std::uint64_t before);
// Puts the barriers of `added`, which are newer than all there are, to the runs that it overlaps,
// cutting them where it begins and ends. Runs that began at or above `fresh` do not exist yet.
void extend_upstream(Transaction& tx, State& state, const UpstreamRun& added, std::uint64_t fresh);

// Whether the heads of the queues are to be kept in order may be another question now.
void follow_classes(Transaction& tx, State& state, std::size_t few_classes, Tally& tally);
void note_origin(Transaction& tx, State& state, const Origin& origin);
Result<void> pass_over_members(Transaction& tx, const std::vector<std::uint64_t>& barriers,
                               WallTime now);

}  // namespace torc::claim
