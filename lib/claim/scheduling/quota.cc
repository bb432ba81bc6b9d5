#include "lib/claim/scheduling/quota.h"

#include <algorithm>

#include "lib/claim/queries/queries.h"

namespace torc::claim {

Slots::Counter& Slots::at(std::uint32_t limit) {
  const auto [it, added] = counters_.try_emplace(limit);
  if (!added) return it->second;
  const auto known = read_limit(tx_, limit);
  if (!known) {
    state_.damaged(Key(Table::limit).be32(limit));
    return it->second;
  }
  it->second = {known->limit.most, known->used, known->used};
  return it->second;
}

std::uint64_t Slots::free(std::uint32_t limit) {
  const Counter& c = at(limit);
  return c.used >= c.most ? 0 : c.most - c.used;
}

void Slots::take(const LimitShare& share) {
  at(share.number).used += share.amount;
}

void Slots::give_back(const LimitShare& share) {
  Counter& c = at(share.number);
  if (c.used < share.amount) return state_.damaged(slots_key(share.number));
  c.used -= share.amount;
}

void Slots::store() {
  for (auto& [limit, c] : counters_) {
    if (c.used == c.stored) continue;
    c.stored = c.used;
    if (c.used == 0) {
      tx_.erase(slots_key(limit));
    } else {
      tx_.put(slots_key(limit), Value().varint(c.used));
    }
  }
}

Expense& BudgetAccount::expense() {
  if (expense_) return *expense_;
  const auto known = read_expense(tx_);
  if (!known) state_.damaged(Key(Table::expense));
  expense_ = stored_ = known.value_or(Expense{});
  return *expense_;
}

std::uint64_t BudgetAccount::affordable(const Requirement& need, std::uint32_t worker_cpus) {
  return claim::affordable(expense(), cost(rate_of(need, worker_cpus), expected_time(need)));
}

void BudgetAccount::begin(const Requirement& need, std::uint32_t worker_cpus) {
  add(expense().promised, cost(rate_of(need, worker_cpus), expected_time(need)));
}

void BudgetAccount::end(const Requirement& need, std::uint32_t worker_cpus,
                        const Outcome* outcome) {
  const Rate rate = rate_of(need, worker_cpus);
  const Usage promised = cost(rate, expected_time(need));
  Expense& e = expense();
  if (promised.core > e.promised.core || promised.node > e.promised.node)
    return state_.damaged(Key(Table::expense));
  e.promised.core -= promised.core;
  e.promised.node -= promised.node;
  if (outcome != nullptr) add(e.spent, cost(rate, time_of(*outcome)));
}

void BudgetAccount::store() {
  if (!expense_ || *expense_ == stored_) return;
  stored_ = *expense_;
  tx_.put(Key(Table::expense), encode(stored_));
}

Quota::Quota(Transaction& tx, State& state, std::uint8_t rules)
    : state_(state), rules_(rules), slots_(tx, state), budget_account_(tx, state) {}

std::uint64_t Quota::room(const JobClass& job_class, WorkerEpoch worker) {
  std::uint64_t room = UINT64_MAX;
  if (has(rule::kLimits)) {
    for (const LimitShare& one : job_class.limits) {
      std::uint64_t free = slots_.free(one.number);
      if (sharers_ > 0) {
        const auto [share, _] = shares_.try_emplace(one.number, free / (2 * sharers_));
        free = std::min(free, share->second);
      }
      room = std::min(room, free / one.amount);
    }
    limits_hold_ = limits_hold_ || room == 0;
  }
  if (!has(rule::kBudget) || room == 0) return room;
  const std::uint64_t affordable = budget_account_.affordable(job_class.need, cpus_of(worker));
  if (affordable == 0) budget_holds_ = true;
  return std::min(room, affordable);
}

void Quota::begin_prefetch(std::uint64_t live_workers) {
  sharers_ = std::max<std::uint64_t>(1, live_workers);
}

void Quota::take_prefetch(const JobClass& job_class, std::uint64_t jobs) {
  for (const LimitShare& one : job_class.limits) {
    if (const auto share = shares_.find(one.number); share != shares_.end())
      share->second -= std::min(share->second, jobs * one.amount);
  }
}

void Quota::change(std::uint64_t id, const Job& before, const Job& after) {
  if (!has(rule::kLimits | rule::kBudget) || is_occupied(before) == is_occupied(after)) return;
  const JobClass& job_class = class_of(id);
  const bool begins = is_occupied(after);
  if (has(rule::kLimits)) {
    for (const LimitShare& one : job_class.limits)
      begins ? slots_.take(one) : slots_.give_back(one);
  }
  if (!has(rule::kBudget)) return;
  const std::uint32_t cpus = cpus_of(begins ? after.worker : before.worker);
  const Requirement& need = job_class.need_of(begins ? after.alternative : before.alternative);
  if (begins) return budget_account_.begin(need, cpus);
  // A claim that was given back has left the outcome of the attempt before.
  const bool began = after.attempt == before.attempt;
  budget_account_.end(need, cpus, began ? &after.outcome : nullptr);
}

void Quota::store() {
  slots_.store();
  budget_account_.store();
}

void Quota::change_class(WorkerEpoch worker, std::uint32_t alternative, std::uint32_t from,
                         std::uint32_t to) {
  // Also where no class had limits before this transaction.
  for (const LimitShare& one : job_class(from).limits) slots_.give_back(one);
  for (const LimitShare& one : job_class(to).limits) slots_.take(one);
  if (!has(rule::kBudget)) return;
  const std::uint32_t cpus = cpus_of(worker);
  budget_account_.end(job_class(from).need_of(alternative), cpus, nullptr);
  budget_account_.begin(job_class(to).need_of(alternative), cpus);
}

const JobClass& Quota::class_of(std::uint64_t id) {
  const auto rank = state_.rank_of(id);
  if (!rank) state_.damaged(Key(Table::span, id));
  return job_class(rank ? rank->job_class : 0);
}

const JobClass& Quota::job_class(std::uint32_t number) {
  const auto [it, added] = classes_.try_emplace(number);
  if (added) it->second = state_.job_class(number);
  return it->second;
}

std::uint32_t Quota::cpus_of(WorkerEpoch worker) {
  const auto [it, added] = cpus_.try_emplace(worker);
  if (added) {
    if (const auto known = state_.worker(worker)) it->second = known->info.cpus;
  }
  return it->second;
}

}  // namespace torc::claim
