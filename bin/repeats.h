// One request can arrive as several signals: Slurm signals every process of a step, a shell every
// process of a group, and the watchdog passes on what it gets.
#pragma once

#include <chrono>
#include <map>

#include "lib/base/clock.h"

namespace torc::cli {

class RepeatedSignals {
 public:
  // False: the same signal counted less than 200 ms ago, and this one is its echo.
  [[nodiscard]] bool is_new(int number, BootTime now) {
    const auto counted = counted_.find(number);
    if (counted != counted_.end() && now - counted->second < kEcho) return false;
    counted_[number] = now;
    return true;
  }

 private:
  static constexpr std::chrono::nanoseconds kEcho = std::chrono::milliseconds(200);
  std::map<int, BootTime> counted_;
};

}  // namespace torc::cli
