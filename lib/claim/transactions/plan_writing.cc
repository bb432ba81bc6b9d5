#include "lib/claim/transactions/plan_writing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "lib/claim/queries/allocations.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/scheduling/firing.h"
#include "lib/claim/scheduling/ready_queue.h"
#include "lib/claim/tables/allocation_record.h"
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
  for (const Action& action : plan.actions) {
    const std::uint32_t of = action.schedule ? action.schedule->scheduler : 1;
    if (action.schedule && (of == 0 || of > plan.schedulers.size()))
      return bad_plan(fmt::format("an action asks for allocations of scheduler {} of {}", of,
                                  plan.schedulers.size()));
  }
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
  for (std::size_t i = 0; i < plan.schedulers.size(); ++i)
    tx.put(scheduler_key(static_cast<std::uint32_t>(i + 1)), encode(plan.schedulers[i]));
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

namespace {

Result<void> replace_budget(Transaction& tx, State& state, const Usage& most) {
  Tally tally = state.tally();
  const Key key(Table::expense);
  const auto value = tx.get(key);
  if (most == Usage{}) {
    tx.erase(key);
    tally.rules &= static_cast<std::uint8_t>(~rule::kBudget);
    tx.put(Key(Table::tally), encode(tally));
    return {};
  }
  Expense expense{most, {}, {}};
  if (value) {
    const auto known = decode_expense(*value);
    if (!known) state.damaged(key);
    if (known) expense = *known;
    expense.most = most;
  } else if (tally.of(JobState::claimed) + tally.of(JobState::running) + tally.ending > 0) {
    return Error{ErrorKind::busy, "a budget cannot begin while jobs run that it does not count",
                 "wait until they have ended (`torc hold --all`), then try again"};
  }
  tx.put(key, encode(expense));
  tally.rules |= rule::kBudget;
  tx.put(Key(Table::tally), encode(tally));
  return {};
}

// The heads of the queues are put in another order.
// A run that was cut off begins with the first command: which of the old ones ended well tells
// nothing of the new.
Result<void> replace_actions(Transaction& tx, State& state,
                             const std::vector<ActionRecipe>& actions) {
  if (actions.empty()) return {};
  if (state.tally().live_workers > 0)
    return Error{ErrorKind::busy, "workers at work would go on with the actions as they were", ""};
  for (const ActionRecipe& changed : actions) {
    const Key key = action_key(changed.number);
    const auto value = tx.get(key);
    auto action = value ? decode_action(*value) : std::nullopt;
    if (!action) {
      state.damaged(key);
      return state.sound();
    }
    action->recipe = changed.recipe;
    tx.put(key, encode(*action));
    const Key run_of_workflow = run_key(changed.number, WorkerEpoch{});
    const auto run_value = tx.get(run_of_workflow);
    auto run = run_value ? decode_run(*run_value) : std::nullopt;
    if (!run || run->state != RunState::due || run->done == 0) continue;
    run->done = 0;
    tx.put(run_of_workflow, encode(*run));
  }
  return {};
}

void replace_rules(Transaction& tx, State& state, const WorkflowTerms& terms) {
  Tally tally = state.tally();
  if (terms.pending_failed) {
    tally.rules = static_cast<std::uint8_t>(*terms.pending_failed
                                                ? tally.rules | rule::kPendingFailed
                                                : tally.rules & ~unsigned{rule::kPendingFailed});
  }
  if (terms.sort && tally.ordered) {
    forget_order(tx);
    tally.ordered = can_be_ordered(*terms.sort, tally.rules);
    if (tally.ordered) order_heads(tx, state, *terms.sort);
  }
  tx.put(Key(Table::tally), encode(tally));
}

// By their names.
Result<void> replace_schedulers(Transaction& tx, const std::vector<Scheduler>& said) {
  if (said.empty()) return {};
  TORC_ASSIGN(std::vector<Scheduler> all, read_schedulers(tx));
  for (const Scheduler& now : said) {
    auto at = std::ranges::find(all, now.name, &Scheduler::name);
    if (at == all.end()) {
      at = all.insert(at, now);
    } else {
      *at = restarted(taken_over(*at, now));
    }
    tx.put(scheduler_key(static_cast<std::uint32_t>(at - all.begin() + 1)), encode(*at));
  }
  return {};
}

}  // namespace

Result<void> replace_terms(Transaction& tx, const WorkflowTerms& terms) {
  if (terms.settings) tx.put(Key(Table::settings), *terms.settings);
  tx.put(Key(Table::edition), Value().varint(tx.sequence()));
  State state(tx);
  TORC_TRY(replace_actions(tx, state, terms.actions));
  if (terms.max_failures || terms.sort) {
    const Key key(Table::workflow);
    const auto value = tx.get(key);
    const std::string kept(value ? *value : std::string_view());
    auto record = decode_workflow(kept);
    if (!record) {
      state.damaged(key);
      return state.sound();
    }
    if (terms.max_failures) record->max_failures = *terms.max_failures;
    if (terms.sort) record->sort = *terms.sort;
    tx.put(key, encode(*record));
  }
  if (terms.sort || terms.pending_failed) replace_rules(tx, state, terms);
  if (terms.budget) TORC_TRY(replace_budget(tx, state, *terms.budget));
  TORC_TRY(replace_schedulers(tx, terms.schedulers));
  return state.sound();
}

}  // namespace torc::claim
