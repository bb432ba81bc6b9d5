// What limits and the budget leave of the jobs that could be claimed, within one transaction.
// Workflows without either pay one comparison for it.
#pragma once

#include <cstdint>
#include <map>

#include "lib/claim/rules/job.h"
#include "lib/claim/scheduling/budget_account.h"
#include "lib/claim/scheduling/slots.h"
#include "lib/claim/tables/state.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

class Quota {
 public:
  // Both outlive this. `rules`: Tally::rules.
  Quota(Transaction& tx, State& state, std::uint8_t rules);

  // How many more jobs of the class may be claimed by `worker` now.
  [[nodiscard]] std::uint64_t room(const JobClass& job_class, WorkerEpoch worker);

  // Whether the budget left no room for what was asked for.
  [[nodiscard]] bool budget_holds() const { return budget_holds_; }

  // From here on claims are prefetches. The slot of a prefetched job keeps others from starting: of
  // each limit only a fair share is given, half of what each worker would get of the free ones.
  void begin_prefetch(std::uint64_t live_workers);
  void take_prefetch(const JobClass& job_class, std::uint64_t jobs);

  // Precondition: before and after are what the job was and is.
  void change(std::uint64_t id, const Job& before, const Job& after);
  // A job that `worker` has is of another class from now on.
  void change_class(WorkerEpoch worker, std::uint32_t from, std::uint32_t to);
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
  std::uint64_t sharers_ = 0;                      // 0: claims are no prefetches
  std::map<std::uint32_t, std::uint64_t> shares_;  // what is left of them, by limit
  std::map<std::uint32_t, JobClass> classes_;
  std::map<WorkerEpoch, std::uint32_t> cpus_;
};

}  // namespace torc::claim
