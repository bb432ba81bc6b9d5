// How often a running tree is looked at, so that looks cost little and none comes too late. Values;
// time is an argument. Internal to lib/exec: include process_host.h.
#pragma once

#include <chrono>
#include <optional>

#include "lib/base/clock.h"
#include "lib/base/units.h"
#include "lib/exec/run/run.h"

namespace torc::exec {

// From a look at `now`, which saw this much used, to the next one: the less often the longer it
// runs, but at least once a second when there is a limit, and in time for it if the tree goes on
// growing as since the look before. 10 ms to 10 s. `watch` is as of the look before.
[[nodiscard]] std::chrono::nanoseconds time_to_next_look(const MemoryWatch& watch, ByteCount used,
                                                         BootTime now,
                                                         std::optional<BootTime> next_sample);

// The processor time that all looks together may use: 0.4 % of the time. What was not used in the
// last five seconds may be used at once, by a command that grows fast.
class LookBudget {
 public:
  // Looks that were begun at `now` have used this much.
  void pay(BootTime now, std::chrono::nanoseconds processor_time);
  // No look before this is within the budget.
  [[nodiscard]] BootTime earliest() const { return paid_until_; }

 private:
  BootTime paid_until_{};
};

}  // namespace torc::exec
