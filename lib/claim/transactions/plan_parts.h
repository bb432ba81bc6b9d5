// How a plan becomes tables: shared by write_plan() of a new store and add_jobs() of one that is
// there.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/result.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/scheduling/ready_queue.h"
#include "lib/claim/tables/tables.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

// A run of jobs and the barrier that it belongs to, as member or as upstream.
struct Bound {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  Waiter waiter;
  [[nodiscard]] std::uint64_t end() const { return first + count; }
};

struct CheckedPlan {
  std::uint64_t jobs = 0;       // the highest number of a job
  std::vector<Bound> members;   // sorted by first job
  std::vector<Bound> upstream;  // the same
};

// `first`: the number that the plan's first job must have; those below it exist and may be
// upstream. `barriers`: how many numbers of barriers are taken; that of set i is i + 1 above.
[[nodiscard]] Result<CheckedPlan> check_plan(const Plan& plan, std::uint64_t first,
                                             std::uint64_t barriers);
[[nodiscard]] Error bad_plan(std::string what);

[[nodiscard]] std::vector<Span> make_spans(const Plan& plan, const std::vector<Bound>& members);
[[nodiscard]] std::vector<std::pair<std::uint64_t, Barrier>> barriers_of(const Plan& plan,
                                                                         std::uint64_t barriers);
// The spans and the queues of what is ready. `open`: barriers that are open from the start, sorted.
void write_spans(Transaction& tx, ReadyQueues& queues, Tally& tally, const std::vector<Span>& spans,
                 const std::vector<std::uint64_t>& open);
// The pieces of upstream jobs that count for the same barriers, in order.
void cut_upstream(const std::vector<Bound>& bounds,
                  const std::function<void(const UpstreamRun&)>& visit);

[[nodiscard]] std::uint8_t rules_of(const Plan& plan);    // of `rule`
void write_templates(Transaction& tx, const Plan& plan);  // and the indices of names
void write_definitions(Transaction& tx, const Plan& plan);

}  // namespace torc::claim
