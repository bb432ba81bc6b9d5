// How many requests the journal engine sends to a shared filesystem. As measured on the real engine
// over a simulated NFS (bench/journal_cost.h measures it anew).
#pragma once

#include <cstdint>
#include <iterator>
#include <map>

namespace torc::simulation {

struct StoreCost {
  std::uint64_t commit = 8;  // to publish, nothing to catch up
  std::uint64_t look = 1;    // to learn that there is nothing new
  // To catch up with so many commits, look included.
  std::map<std::uint64_t, std::uint64_t> behind = {{0, 1},    {1, 6},     {8, 28},    {64, 45},
                                                   {512, 65}, {1024, 89}, {4096, 140}};

  // Between the measured ones, by the straight line.
  [[nodiscard]] double catch_up(std::uint64_t commits) const {
    const auto above = behind.lower_bound(commits);
    if (above == behind.end()) {
      return static_cast<double>(behind.rbegin()->second) * static_cast<double>(commits) /
             static_cast<double>(behind.rbegin()->first);
    }
    if (above->first == commits || above == behind.begin())
      return static_cast<double>(above->second);
    const auto below = std::prev(above);
    const double part = static_cast<double>(commits - below->first) /
                        static_cast<double>(above->first - below->first);
    return static_cast<double>(below->second) +
           part * (static_cast<double>(above->second) - static_cast<double>(below->second));
  }
};

}  // namespace torc::simulation
