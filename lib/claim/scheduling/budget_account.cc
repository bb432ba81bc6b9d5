#include "lib/claim/scheduling/budget_account.h"

#include "lib/claim/queries/queries.h"
#include "lib/claim/tables/tables.h"

namespace torc::claim {

Expense& BudgetAccount::expense() {
  if (expense_) return *expense_;
  const auto known = read_expense(tx_);
  if (!known) state_.damaged(Key(Table::expense));
  expense_ = stored_ = known.value_or(Expense{});
  return *expense_;
}

std::uint64_t BudgetAccount::affordable(const Requirement& need, std::uint32_t worker_cpus) {
  return claim::affordable(expense(), cost(rate_of(need, worker_cpus), need.runtime));
}

void BudgetAccount::begin(const Requirement& need, std::uint32_t worker_cpus) {
  add(expense().promised, cost(rate_of(need, worker_cpus), need.runtime));
}

void BudgetAccount::end(const Requirement& need, std::uint32_t worker_cpus,
                        const Outcome* outcome) {
  const Rate rate = rate_of(need, worker_cpus);
  const Usage promised = cost(rate, need.runtime);
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

}  // namespace torc::claim
