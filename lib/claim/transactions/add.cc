#include "lib/claim/transactions/add.h"

#include <fmt/format.h>

#include "lib/claim/tables/state.h"
#include "lib/claim/tables/tables.h"
#include "lib/claim/transactions/plan_joining.h"
#include "lib/claim/transactions/plan_parts.h"

namespace torc::claim {
Result<JobRange> add_jobs(Transaction& tx, Plan addition, Origin origin) {
  State state(tx);
  Tally tally = state.tally();
  TORC_TRY(state.sound());
  const std::uint64_t before = tally.jobs();
  const std::uint64_t barriers = last_barrier(state);
  TORC_TRY(state.sound());
  if (addition.budget != Usage{} || addition.pending_failed || addition.max_failures != 0)
    return bad_plan(
        "an addition sets what only the workflow itself can: budget, limits on failures");
  TORC_ASSIGN(const CheckedPlan checked, check_plan(addition, before + 1, barriers));
  if (!checked.members.empty() && checked.members.front().first <= before) {
    return bad_plan(fmt::format("job {} exists already and cannot be made to wait",
                                checked.members.front().first));
  }
  origin.jobs = {JobId{before + 1}, checked.jobs - before};
  write_definitions(tx, addition);
  if (origin.jobs.count == 0) return origin.jobs;
  TORC_TRY(renumber_classes(tx, addition));
  (void)renumber_handlers(tx, state, addition);
  write_templates(tx, addition);
  const Begun begun = write_barriers(tx, state, addition, barriers, before);
  cut_upstream(checked.upstream,
               [&](const UpstreamRun& run) { extend_upstream(tx, state, run, before + 1); });
  ReadyQueues queues(tx, state, tally.ordered);
  write_spans(tx, queues, tally, make_spans(addition, checked.members), begun.open);
  queues.store();
  note_origin(tx, state, origin);
  tally.rules |= rules_of(addition);
  follow_classes(tx, state, addition.few_classes, tally);
  tx.put(Key(Table::tally), encode(tally));
  TORC_TRY(state.sound());
  TORC_TRY(pass_over_members(tx, begun.doomed, origin.at));
  return origin.jobs;
}

}  // namespace torc::claim
