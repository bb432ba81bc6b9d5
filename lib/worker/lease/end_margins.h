// What of an allocation's time a worker leaves unused at its end.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "lib/base/clock.h"

namespace torc::worker {

struct EndMargins {
  WallTime begun{};                 // when the worker was set up
  WallTime headroom{};              // before the end; of short allocations a tenth
  WallTime buffer{};                // the same, also of short ones
  std::optional<WallTime> limit{};  // as the user says, by the clock
};

// By when a worker's jobs must have ended; nullopt: no end is known.
[[nodiscard]] inline std::optional<WallTime> usable_until(std::optional<WallTime> allocation_end,
                                                          const EndMargins& margins) {
  std::optional<WallTime> end = allocation_end;
  if (margins.limit) end = end ? std::min(*end, *margins.limit) : *margins.limit;
  if (!end) return std::nullopt;
  const WallTime whole = std::max<WallTime>(*end - margins.begun, WallTime(0));
  const WallTime usable = *end - std::min<WallTime>(margins.headroom, whole / 10);
  return allocation_end ? std::min(usable, *allocation_end - margins.buffer) : usable;
}

}  // namespace torc::worker
