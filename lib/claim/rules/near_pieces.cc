#include "lib/claim/rules/near_pieces.h"

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

}  // namespace torc::claim
