// Limits that control groups set for this process: version 1, version 2, or both mounted side by
// side. A limit holds for everything below the group that sets it, so the smallest from the own
// group up to the top counts.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/units.h"

namespace torc::exec {

struct CgroupLimits {
  std::optional<std::uint32_t> cpus;  // whole CPUs of the quota, at least 1
  std::optional<ByteCount> memory;
};

// `root` is "/" but for tests.
[[nodiscard]] CgroupLimits cgroup_limits(const std::string& root);

// The directory of this process's group of version 2; nothing: it is in none.
[[nodiscard]] std::optional<std::string> own_group(const std::string& root);

// One group that sets limits, from the own group up to the top. Everything below it has them
// together.
struct CgroupLevel {
  std::string name;  // its directory: the same for every process of this mount namespace
  CgroupLimits limits;
};
[[nodiscard]] std::vector<CgroupLevel> cgroup_levels(const std::string& root);

// The kernel's count of processes that it killed in this process's own group for lack of memory.
class OomKills {
 public:
  // Counts from now on.
  explicit OomKills(const std::string& root);
  // What is new counts as of `now`; what nobody took for kRemembered is forgotten: whoever it was
  // has lived on.
  void look(BootTime now);
  // Whether there was one lately that has not been taken yet.
  bool take_one(BootTime now);
  // So many are accounted for otherwise.
  void take(std::uint64_t kills, BootTime now);

  static constexpr std::chrono::nanoseconds kRemembered = std::chrono::seconds(2);

 private:
  [[nodiscard]] std::uint64_t count() const;
  std::string file_;  // empty: none is kept
  std::uint64_t counted_ = 0;
  std::uint64_t explained_ = 0;  // of those to come
  std::deque<BootTime> open_;    // not taken
};

}  // namespace torc::exec
