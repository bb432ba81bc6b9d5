#include "lib/claim/scheduling/firing.h"

#include <algorithm>
#include <set>

#include "lib/claim/scheduling/allocation_book.h"

namespace torc::claim {
namespace {

constexpr WorkerEpoch kNobody{};

// The run of an action that asked for allocations: it has ended with that.
ActionRun asked_for(std::uint32_t nth, WorkerEpoch worker, WallTime now) {
  ActionRun run;
  run.state = RunState::ended;
  run.nth = nth;
  run.worker = worker;
  run.outcome.cause = EndCause::exited;
  run.outcome.exit_code = 0;
  run.outcome.started_at = run.outcome.ended_at = now;
  return run;
}

}  // namespace

void write_actions(Transaction& tx, const Plan& plan) {
  if (plan.actions.empty()) return;
  State state(tx);
  std::set<std::uint32_t> waiting;  // for jobs
  for (const DependencySet& set : plan.dependencies) {
    if (set.action != 0) waiting.insert(set.action);
  }
  ActionTally tally;
  tally.actions = plan.actions.size();
  for (std::uint32_t n = 1; n <= plan.actions.size(); ++n) {
    const Action& action = plan.actions[n - 1];
    tx.put(action_key(n), encode(action));
    if (action.trigger == Trigger::workflow_start && !action.schedule) ++tally.gates;
    if (action.trigger == Trigger::workflow_complete) ++tally.armed;
    const bool of_jobs =
        action.trigger == Trigger::jobs_ready || action.trigger == Trigger::jobs_complete;
    const bool now = action.trigger == Trigger::workflow_start || (of_jobs && !waiting.contains(n));
    if (!now) continue;
    if (action.schedule) {
      want_for_action(tx, state, n, *action.schedule, {});
      tx.put(run_key(n, kNobody), encode(asked_for(1, kNobody, {})));
      ++tally.ended;
      continue;
    }
    ActionRun run;
    run.state = RunState::due;
    run.nth = 1;
    ++tally.due;
    tx.put(run_key(n, kNobody), encode(run));
    tx.put(due_key(n), {});
  }
  tx.put(Key(Table::action), encode(tally));
}

void fire(Transaction& tx, State& state, std::uint32_t number) {
  Firing firing(tx, state, kNobody, {});
  const auto action = firing.action(number);
  if (!action) return;
  firing.set_off(number, *action, firing.run_of(number, kNobody));
  firing.store();
}

ActionTally& Firing::numbers() {
  if (!tally_) {
    const Key key(Table::action);
    const auto value = tx_.get(key);
    const auto read = value ? decode_action_tally(*value) : std::nullopt;
    if (!read) state_.damaged(key);
    tally_ = stored_ = read.value_or(ActionTally{});
  }
  return *tally_;
}

ActionTally Firing::tally() {
  return numbers();
}

void Firing::store() {
  if (tally_ && *tally_ != stored_) tx_.put(Key(Table::action), encode(*tally_));
  tally_.reset();
}

std::optional<Action> Firing::action(std::uint32_t number) {
  const Key key = action_key(number);
  const auto value = tx_.get(key);
  auto action = value ? decode_action(*value) : std::nullopt;
  if (!action) state_.damaged(key);
  return action;
}

ActionRun Firing::run_of(std::uint32_t number, WorkerEpoch worker) {
  const Key key = run_key(number, worker);
  const auto value = tx_.get(key);
  if (!value) return {};
  const auto run = decode_run(*value);
  if (!run) state_.damaged(key);
  return run.value_or(ActionRun{});
}

void Firing::put(std::uint32_t number, WorkerEpoch worker, const ActionRun& run) {
  tx_.put(run_key(number, worker), encode(run));
}

// The trigger has come true.
void Firing::set_off(std::uint32_t number, const Action& action, ActionRun run) {
  if (run.nth > 0 && !action.persistent) return;
  if (run.state == RunState::due) return;
  if (run.state == RunState::running) {
    run.again = true;
    return put(number, kNobody, run);
  }
  ActionTally& t = numbers();
  if (run.state == RunState::ended) {
    --t.ended;
    if (is_failed(run)) --t.failed;
  }
  if (action.trigger == Trigger::workflow_complete) {
    --t.armed;
    if (action.persistent) ++t.spent;
  }
  if (action.schedule) {
    want_for_action(tx_, state_, number, *action.schedule, now_);
    has_asked_ = true;
    ++t.ended;
    return put(number, kNobody, asked_for(run.nth + 1, kNobody, now_));
  }
  ActionRun next;
  next.state = RunState::due;
  next.nth = run.nth + 1;
  ++t.due;
  put(number, kNobody, next);
  tx_.put(due_key(number), {});
}

void Firing::end(std::uint32_t number, const Action& action, WorkerEpoch of, ActionRun run) {
  ActionTally& t = numbers();
  run.state = RunState::ended;
  const bool again = std::exchange(run.again, false);
  if (raw(of) == 0) --t.running;
  ++t.ended;
  if (is_failed(run)) ++t.failed;
  if (action.trigger == Trigger::workflow_start) --t.gates;
  put(number, of, run);
  if (again) set_off(number, action, run);
}

void Firing::give_back(std::uint32_t number, ActionRun run) {
  ActionTally& t = numbers();
  run.state = RunState::due;
  --t.running;
  ++t.due;
  put(number, kNobody, run);
  tx_.put(due_key(number), {});
}

void Firing::report(const ActionReport& report, Lease& lease) {
  const auto known = action(report.action);
  if (!known) return;
  const WorkerEpoch of = is_of_worker(known->trigger) ? worker_ : kNobody;
  ActionRun run = run_of(report.action, of);
  if (run.state != RunState::running || run.worker != worker_ || run.claim != report.claim) return;
  run.done = std::max(run.done, report.done);
  if (report.what == ActionReport::What::went_on) return put(report.action, of, run);
  std::erase(lease.actions, report.action);
  if (report.what == ActionReport::What::returned && raw(of) == 0)
    return give_back(report.action, run);
  const WallTime started = run.outcome.started_at;
  run.outcome = report.outcome;
  run.outcome.started_at = started;
  if (run.outcome.ended_at == WallTime{}) run.outcome.ended_at = now_;
  end(report.action, *known, of, run);
}

ActionGrant Firing::grant(std::uint32_t number, WorkerEpoch of, Lease& lease) {
  ActionTally& t = numbers();
  ActionRun run = run_of(number, of);
  if (raw(of) == 0) {
    --t.due;
    ++t.running;
    tx_.erase(due_key(number));
  } else {
    run.nth = 1;
  }
  run.state = RunState::running;
  run.worker = worker_;
  run.claim = tx_.sequence();
  run.outcome = {};
  run.outcome.started_at = now_;
  put(number, of, run);
  lease.actions.insert(std::upper_bound(lease.actions.begin(), lease.actions.end(), number),
                       number);
  return {number, run.claim, run.nth, run.done};
}

std::optional<std::uint32_t> Firing::first_due() {
  const auto entry = tx_.seek(Key(Table::due_action));
  if (!entry || !is_in(Table::due_action, entry->key)) return std::nullopt;
  if (entry->key.size() != 5) {
    state_.damaged(entry->key);
    return std::nullopt;
  }
  return static_cast<std::uint32_t>(number_at(entry->key, 1, 4));
}

// Not before what else was set off has ended: it is the last thing that happens.
void Firing::fire_complete() {
  const ActionTally& t = numbers();
  if (t.armed == 0 || t.due > 0 || t.running > 0) return;
  for (std::uint32_t n = 1; n <= t.actions; ++n) {
    const auto one = action(n);
    if (!one) return;  // of a count that is wrong no end may be in sight
    if (one->trigger != Trigger::workflow_complete) continue;
    const ActionRun run = run_of(n, kNobody);
    if (run.state == RunState::armed) set_off(n, *one, run);
  }
}

std::vector<ActionGrant> Firing::take(const ActionWish& wish, bool finished, Lease& lease) {
  std::vector<ActionGrant> grants;
  if (wish.worker_start || wish.worker_complete) {
    const std::uint64_t all = numbers().actions;
    for (std::uint32_t n = 1; n <= all; ++n) {
      const auto one = action(n);
      if (!one) break;
      const bool wanted = (wish.worker_start && one->trigger == Trigger::worker_start) ||
                          (wish.worker_complete && one->trigger == Trigger::worker_complete);
      if (!wanted || run_of(n, worker_).nth != 0) continue;
      if (!one->schedule) {
        grants.push_back(grant(n, worker_, lease));
        continue;
      }
      want_for_action(tx_, state_, n, *one->schedule, now_);
      has_asked_ = true;
      ++numbers().ended;
      put(n, worker_, asked_for(1, worker_, now_));
    }
  }
  if (!wish.due) return grants;
  if (finished && wish.workflow_over) fire_complete();
  if (numbers().due > 0) {
    const auto due = first_due();
    // A worker looks it up in the list that it has.
    if (due && *due <= numbers().actions && action(*due)) {
      grants.push_back(grant(*due, kNobody, lease));
    } else {
      state_.damaged(Key(Table::due_action));
    }
  }
  return grants;
}

void Firing::went_on() {
  ActionTally& t = numbers();
  if (t.spent == 0) return;
  for (std::uint32_t n = 1; n <= t.actions; ++n) {
    const auto one = action(n);
    if (!one) return;
    if (one->trigger != Trigger::workflow_complete || !one->persistent) continue;
    ActionRun run = run_of(n, kNobody);
    if (run.state != RunState::ended) continue;
    --t.ended;
    if (is_failed(run)) --t.failed;
    run.state = RunState::armed;
    ++t.armed;
    --t.spent;
    put(n, kNobody, run);
  }
}

void drop_runs(Transaction& tx, State& state, WorkerEpoch worker, const Lease& lease,
               const Departure& departure) {
  Firing firing(tx, state, worker, departure.now);
  for (const std::uint64_t id : lease.actions) {
    const auto number = static_cast<std::uint32_t>(id);
    const auto action = firing.action(number);
    if (!action) return;
    const WorkerEpoch of = is_of_worker(action->trigger) ? worker : kNobody;
    ActionRun run = firing.run_of(number, of);
    if (run.state != RunState::running || run.worker != worker)
      return state.damaged(run_key(number, of));
    if (departure.charge == Charge::yes) ++run.lost;
    if (raw(of) == 0 && run.lost < kMostActionLosses) {
      firing.give_back(number, run);
      continue;
    }
    run.outcome.cause = departure.why;
    run.outcome.ended_at = departure.now;
    firing.end(number, *action, of, run);
  }
  firing.store();
}

}  // namespace torc::claim
