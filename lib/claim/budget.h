// What a workflow may use in all. An attempt is paid for when it is over, by the time from its
// start to its end; until then it counts with its declared runtime, or with nothing if it declared
// none.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/claim/state.h"
#include "lib/store/engine/transaction.h"

namespace torc::claim {

// What a job takes for each moment that it runs.
struct Rate {
  std::uint64_t cores = 0;
  std::uint64_t millinodes = 0;  // thousandths of a node
};
// A job of several nodes takes them whole. Of one node a job takes its CPUs over those of its
// worker, at most all; `worker_cpus` 0: not known, all.
[[nodiscard]] Rate rate_of(const Requirement& need, std::uint32_t worker_cpus);
[[nodiscard]] Usage cost(const Rate& rate, std::chrono::milliseconds time);
// From its start to its end; 0: it never started.
[[nodiscard]] std::chrono::milliseconds time_of(const Outcome& outcome);
[[nodiscard]] Usage left(const Expense& expense);  // of what is bounded
// How many more jobs of this cost may begin; UINT64_MAX: any number.
[[nodiscard]] std::uint64_t affordable(const Expense& expense, const Usage& cost);

class Purse {
 public:
  // Both outlive this. Reads nothing before it is asked.
  Purse(Transaction& tx, State& state) : tx_(tx), state_(state) {}

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

// nullopt: the workflow has no budget.
[[nodiscard]] std::optional<Expense> read_expense(const Reader& reader);

}  // namespace torc::claim
