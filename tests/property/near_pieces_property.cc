// Which groups pieces come from, against all ways there are.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <vector>

#include "lib/claim/rules/near_pieces.h"

namespace torc::claim {
namespace {

using Numbers = std::vector<std::uint64_t>;

// The fewest groups that have as many together; 0: no number of them has.
int fewest(const Numbers& free, std::uint64_t count) {
  int best = 0;
  for (std::uint32_t set = 1; set < (1U << free.size()); ++set) {
    std::uint64_t there = 0;
    for (std::size_t g = 0; g < free.size(); ++g)
      if ((set >> g & 1U) != 0) there += free[g];
    const int groups = std::popcount(set);
    if (there >= count && (best == 0 || groups < best)) best = groups;
  }
  return best;
}

RC_GTEST_PROP(NearPieces, are_of_as_few_groups_as_any_way_there_is, ()) {
  const auto groups = *rc::gen::inRange<std::size_t>(0, 9);
  const auto free = *rc::gen::container<Numbers>(groups, rc::gen::inRange<std::uint64_t>(0, 6));
  const auto count = *rc::gen::inRange<std::uint64_t>(1, 20);
  const Numbers taken = from_fewest_groups(free, count);
  const int best = fewest(free, count);
  RC_ASSERT(taken.empty() == (best == 0));
  if (taken.empty()) return;
  RC_ASSERT(std::accumulate(taken.begin(), taken.end(), std::uint64_t{0}) == count);
  for (std::size_t g = 0; g < free.size(); ++g) RC_ASSERT(taken[g] <= free[g]);
  const auto used = std::ranges::count_if(taken, [](std::uint64_t n) { return n > 0; });
  RC_ASSERT(used == best);
  if (used != 1) return;
  // No smaller one would have done.
  const auto at = std::ranges::find_if(taken, [](std::uint64_t n) { return n > 0; });
  const std::uint64_t chosen = free[static_cast<std::size_t>(at - taken.begin())];
  for (const std::uint64_t other : free) RC_ASSERT(other < count || other >= chosen);
}

}  // namespace
}  // namespace torc::claim
