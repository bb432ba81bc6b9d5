// One request can arrive as several signals: Slurm signals every process of a step, a shell every
// process of a group, and the watchdog passes on what it gets.
#pragma once

#include <chrono>
#include <map>

#include "lib/base/clock.h"

namespace torc::worker {

class RepeatedSignals {
 public:
  static constexpr std::chrono::nanoseconds kEcho = std::chrono::milliseconds(200);

  // False: the same signal counted less than `echo` ago, and this one is its echo.
  [[nodiscard]] bool is_new(int number, BootTime now, std::chrono::nanoseconds echo = kEcho) {
    const auto counted = counted_.find(number);
    if (counted != counted_.end() && now - counted->second < echo) return false;
    counted_[number] = now;
    return true;
  }

 private:
  std::map<int, BootTime> counted_;
};

}  // namespace torc::worker
