// How many jobs of an entry run at a time, within one transaction: one counter for each limit, of
// the jobs that are claimed, run, or were canceled and not yet ended. Reads and writes only the
// counters that are asked for.
#pragma once

#include <cstdint>
#include <map>

#include "lib/claim/tables/state.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

class Slots {
 public:
  // Both outlive this.
  Slots(Transaction& tx, State& state) : tx_(tx), state_(state) {}

  // `limit`: number of a limit, from 1.
  [[nodiscard]] std::uint64_t free(std::uint32_t limit);
  void take(std::uint32_t limit);
  void give_back(std::uint32_t limit);
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

}  // namespace torc::claim
