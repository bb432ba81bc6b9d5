// What limits and the budget leave of the jobs that could be claimed, within one transaction.
// Workflows without either pay one comparison for it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "lib/claim/rules/budget.h"
#include "lib/claim/rules/job.h"
#include "lib/claim/tables/state.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

// What jobs have of each limit: one counter for each, of the jobs that are claimed, run, or were
// canceled and not yet ended. Reads and writes only the counters that are asked for.
class Slots {
 public:
  // Both outlive this.
  Slots(Transaction& tx, State& state) : tx_(tx), state_(state) {}

  // `limit`: number of a limit, from 1.
  [[nodiscard]] std::uint64_t free(std::uint32_t limit);
  void take(const LimitShare& share);
  void give_back(const LimitShare& share);
  void store();

 private:
  struct Counter {
    std::uint64_t most = 0;
    std::uint64_t used = 0;
    std::uint64_t stored = 0;
  };
  Counter& at(std::uint32_t limit);

  Transaction& tx_;
  State& state_;
  std::map<std::uint32_t, Counter> counters_;
};

// The budget: what attempts promise and spend of it (budget.h).
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

class Quota {
 public:
  // Both outlive this. `rules`: Tally::rules.
  Quota(Transaction& tx, State& state, std::uint8_t rules);

  // How many more jobs of the class may be claimed by `worker` now.
  [[nodiscard]] std::uint64_t room(const JobClass& job_class, WorkerEpoch worker);

  // Whether the budget left no room for what was asked for.
  [[nodiscard]] bool budget_holds() const { return budget_holds_; }
  // The same of a limit.
  [[nodiscard]] bool limits_hold() const { return limits_hold_; }

  // From here on claims are prefetches. What a prefetched job has of a limit keeps others from
  // starting: only a fair share is given, half of what each worker would get of what is free.
  void begin_prefetch(std::uint64_t live_workers);
  void take_prefetch(const JobClass& job_class, std::uint64_t jobs);

  // Precondition: before and after are what the job was and is.
  void change(std::uint64_t id, const Job& before, const Job& after);
  // A job that `worker` has, by that alternative, is of another class from now on.
  void change_class(WorkerEpoch worker, std::uint32_t alternative, std::uint32_t from,
                    std::uint32_t to);
  void store();

 private:
  [[nodiscard]] bool has(std::uint8_t rule) const { return (rules_ & rule) != 0; }
  const JobClass& class_of(std::uint64_t id);
  const JobClass& job_class(std::uint32_t number);
  std::uint32_t cpus_of(WorkerEpoch worker);

  State& state_;
  std::uint8_t rules_;
  Slots slots_;
  BudgetAccount budget_account_;
  bool budget_holds_ = false;
  bool limits_hold_ = false;
  std::uint64_t sharers_ = 0;                      // 0: claims are no prefetches
  std::map<std::uint32_t, std::uint64_t> shares_;  // what is left of them, by limit
  std::map<std::uint32_t, JobClass> classes_;
  std::map<WorkerEpoch, std::uint32_t> cpus_;
};

}  // namespace torc::claim
