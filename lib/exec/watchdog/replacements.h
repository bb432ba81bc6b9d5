// Whether a process that was killed gets another one in its place.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "lib/base/clock.h"

namespace torc::exec {

// How a child of this process ended.
struct ChildEnd {
  int exit_code = -1;  // -1: by a signal
  int signal = 0;      // that ended it
};

// More than these, and whatever kills it will kill the next one too: its node is left to others.
inline constexpr std::size_t kMostReplacements = 3;
inline constexpr std::chrono::minutes kReplacementsWithin{10};

class Replacements {
 public:
  // One more is wanted at `now`. False: there were kMostReplacements within the last
  // kReplacementsWithin, and it is not counted.
  [[nodiscard]] bool allow(BootTime now);
  // How many of those that were allowed count at `now`.
  [[nodiscard]] std::size_t recent(BootTime now);

 private:
  std::deque<BootTime> times_;
};

// Whether a worker that ended so was killed by somebody else: then it is replaced. One that was
// told to stop, that left by itself or that fell over a mistake of its own is not.
[[nodiscard]] bool was_killed(const ChildEnd& end, bool told_to_stop);

// The same of an srun whose tasks are workers: it, its step or a task was killed (srun ends with
// 128 and the signal then), or one that was to replace another could not start (1, which no worker
// ends with).
enum class Start : std::uint8_t { first, replacement };
[[nodiscard]] bool step_was_killed(const ChildEnd& srun, bool told_to_stop, Start start);

}  // namespace torc::exec
