// How long the jobs run that complete in one transaction, for templates whose runtimes are learned.
// Other workflows pay nothing for it.
#pragma once

#include <cstdint>
#include <map>

#include "lib/claim/rules/job.h"
#include "lib/claim/rules/learned_time.h"
#include "lib/claim/tables/state.h"
#include "lib/claim/tables/tables.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

class MeasuredTimes {
 public:
  // Both outlive this.
  MeasuredTimes(Transaction& tx, State& state) : tx_(tx), state_(state) {}

  // Precondition: `job`, with this id, has just completed. Of one that saved its state and went on
  // its last attempt counts.
  void note(std::uint64_t id, const Job& job);
  void store();

 private:
  Transaction& tx_;
  State& state_;
  std::map<std::uint32_t, std::uint64_t> templates_;  // whose times count for a class; 0: none
  std::map<LearnedOf, LearnedTime> times_;
};

}  // namespace torc::claim
