#include "lib/claim/transactions/plan_writing.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "lib/claim/queries/queries.h"
#include "lib/claim/scheduling/firing.h"
#include "lib/claim/scheduling/ready_queue.h"
#include "lib/claim/tables/state.h"
#include "lib/claim/tables/tables.h"
#include "lib/claim/transactions/plan_parts.h"

namespace torc::claim {
namespace {

void write_quota(Transaction& tx, const Plan& plan) {
  for (std::size_t i = 0; i < plan.limits.size(); ++i) {
    tx.put(Key(Table::limit).be32(static_cast<std::uint32_t>(i + 1)), encode(plan.limits[i]));
  }
  if (plan.budget != Usage{}) tx.put(Key(Table::expense), encode(Expense{plan.budget, {}, {}}));
}

}  // namespace

Result<void> write_plan(Transaction& tx, const Plan& plan) {
  TORC_ASSIGN(const CheckedPlan checked, check_plan(plan, 1, 0));
  tx.put(Key(Table::workflow), encode(WorkflowRecord{plan.sort, plan.max_failures, plan.name}));
  tx.put(Key(Table::settings), plan.settings);
  for (std::size_t i = 0; i < plan.classes.size(); ++i) {
    tx.put(Key(Table::job_class).be32(static_cast<std::uint32_t>(i)), encode(plan.classes[i]));
  }
  for (std::size_t i = 0; i < plan.handlers.size(); ++i)
    tx.put(Key(Table::handler, i + 1), encode(plan.handlers[i]));
  write_templates(tx, plan);
  write_definitions(tx, plan);
  for (const auto& [id, barrier] : barriers_of(plan, 0))
    tx.put(Key(Table::barrier, id), encode(barrier));
  cut_upstream(checked.upstream, [&](const UpstreamRun& run) {
    tx.put(Key(Table::upstream, run.first), encode(run));
  });
  write_quota(tx, plan);
  write_actions(tx, plan);
  Tally tally;
  State state(tx);
  ReadyQueues queues(tx, state, false);
  write_spans(tx, queues, tally, make_spans(plan, checked.members), {});
  tally.rules = rules_of(plan);
  tally.ordered = plan.classes.size() > plan.few_classes && can_be_ordered(plan.sort, tally.rules);
  if (tally.ordered) order_heads(tx, state, plan.sort);
  TORC_TRY(state.sound());
  tx.put(Key(Table::tally), encode(tally));
  return {};
}

Result<void> replace_recipe(Transaction& tx, JobId first, std::string_view recipe) {
  std::optional<Template> t = read_template(tx, first);
  if (!t || t->first != first) {
    return Error{ErrorKind::invalid, fmt::format("no entry begins at job {}", raw(first)), ""};
  }
  t->recipe = recipe;
  tx.put(Key(Table::job_template, raw(first)), encode(*t));
  tx.put(Key(Table::edition), Value().varint(tx.sequence()));
  return {};
}

}  // namespace torc::claim
