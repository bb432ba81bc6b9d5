// The budget within one transaction: what attempts promise and spend of it (budget.h).
#pragma once

#include <cstdint>
#include <optional>

#include "lib/claim/rules/budget.h"
#include "lib/claim/tables/state.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

class BudgetAccount {
 public:
  // Both outlive this. Reads nothing before it is asked.
  BudgetAccount(Transaction& tx, State& state) : tx_(tx), state_(state) {}

  [[nodiscard]] std::uint64_t affordable(const Requirement& need, std::uint32_t worker_cpus);
  void begin(const Requirement& need, std::uint32_t worker_cpus);
  // `outcome`: of the attempt that is over; none: it never began.
  void end(const Requirement& need, std::uint32_t worker_cpus, const Outcome* outcome);
  void store();

 private:
  Expense& expense();

  Transaction& tx_;
  State& state_;
  std::optional<Expense> expense_;
  Expense stored_;
};

}  // namespace torc::claim
