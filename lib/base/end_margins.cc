#include "lib/base/end_margins.h"

#include <fmt/format.h>

#include <algorithm>

namespace torc {

namespace {

constexpr std::chrono::hours kYears{24 * 365 * 100};

}  // namespace

std::optional<WallTime> usable_until(std::optional<WallTime> allocation_end,
                                     const EndMargins& margins) {
  std::optional<WallTime> end = allocation_end;
  if (margins.limit) end = end ? std::min(*end, *margins.limit) : *margins.limit;
  if (!end) return std::nullopt;
  const WallTime whole = std::max<WallTime>(*end - margins.begun, WallTime(0));
  const WallTime usable = *end - std::min<WallTime>(margins.headroom, whole / 10);
  return allocation_end ? std::min(usable, *allocation_end - margins.buffer) : usable;
}

std::chrono::nanoseconds lead_within(std::chrono::nanoseconds lead,
                                     std::chrono::nanoseconds usable) {
  return std::min(lead, usable / 4);
}

std::chrono::seconds longest_runtime(std::chrono::seconds walltime, const KeptFree& kept) {
  const EndMargins margins{kStartUp, kept.headroom, kept.buffer, {}};
  const WallTime usable = *usable_until(walltime, margins) - margins.begun;
  if (usable.count() <= 0) return std::chrono::seconds(0);
  // Of more time none has so many nanoseconds, and no lead is a fourth of it.
  const auto least = std::min<WallTime>(usable, kYears);
  return std::chrono::floor<std::chrono::seconds>(
      usable - std::chrono::ceil<WallTime>(lead_within(kept.lead, least)));
}

std::chrono::seconds shortest_walltime(std::chrono::seconds runtime, const KeptFree& kept) {
  const std::chrono::seconds most =
      runtime + std::max(kept.headroom, kept.buffer) + kept.lead + kStartUp;
  std::int64_t low = 0;  // minutes that are too few
  std::int64_t high = std::chrono::ceil<std::chrono::minutes>(most).count() + 1;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (longest_runtime(std::chrono::minutes(middle), kept) < runtime ? low : high) = middle;
  }
  return std::chrono::minutes(high);
}

std::string say_kept_free(const KeptFree& kept) {
  const bool is_buffer = kept.buffer > kept.headroom;
  return fmt::format(
      "jobs cannot use all of a walltime: it includes up to {} s ({}), up to {} s "
      "(sigterm_lead_seconds) and about {} s to start",
      (is_buffer ? kept.buffer : kept.headroom).count(),
      is_buffer ? "compute_node_expiration_buffer_seconds" : "sigkill_headroom_seconds",
      kept.lead.count(), kStartUp.count());
}

}  // namespace torc
