#include "lib/claim/rules/near_pieces.h"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace torc::claim {
namespace {

// The smallest that has enough; none has: the largest. None: all are used.
std::optional<std::size_t> next_group(const std::vector<std::uint64_t>& free,
                                      const std::vector<std::uint64_t>& taken,
                                      std::uint64_t count) {
  std::optional<std::size_t> enough;
  std::optional<std::size_t> largest;
  for (std::size_t g = 0; g < free.size(); ++g) {
    if (taken[g] > 0 || free[g] == 0) continue;
    if (free[g] >= count && (!enough || free[g] < free[*enough])) enough = g;
    if (!largest || free[g] > free[*largest]) largest = g;
  }
  return enough ? enough : largest;
}

}  // namespace

std::vector<std::uint64_t> from_fewest_groups(const std::vector<std::uint64_t>& free,
                                              std::uint64_t count) {
  std::vector<std::uint64_t> taken(free.size());
  while (count > 0) {
    const auto group = next_group(free, taken, count);
    if (!group) return {};
    taken[*group] = free[*group] < count ? free[*group] : count;
    count -= taken[*group];
  }
  return taken;
}

std::vector<std::uint64_t> from_most_groups(const std::vector<std::uint64_t>& free,
                                            std::uint64_t count) {
  std::vector<std::uint64_t> taken(free.size());
  for (; count > 0; --count) {
    std::optional<std::size_t> best;
    for (std::size_t g = 0; g < free.size(); ++g) {
      if (taken[g] == free[g]) continue;
      const bool fewer = !best || taken[g] < taken[*best];
      if (fewer || (taken[g] == taken[*best] && free[g] > free[*best])) best = g;
    }
    if (!best) return {};
    ++taken[*best];
  }
  return taken;
}

std::size_t groups_of(const std::vector<std::uint64_t>& taken) {
  return static_cast<std::size_t>(
      std::ranges::count_if(taken, [](std::uint64_t n) { return n > 0; }));
}

}  // namespace torc::claim
