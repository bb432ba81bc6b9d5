// Which groups pieces come from, and whether a strict job fits, against all ways there are.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <vector>

#include "lib/claim/rules/near_pieces.h"
#include "lib/claim/rules/room.h"

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

// --- strict jobs ---

struct Node {
  std::vector<Piece> pieces;
  std::uint64_t count = 2;  // that a job needs
};

Node some_node() {
  Node node;
  const auto pieces = *rc::gen::inRange<std::size_t>(1, 13);
  for (std::size_t i = 0; i < pieces; ++i) {
    const bool typed = *rc::gen::inRange(0, 4) == 0;
    const auto free = *rc::gen::element(0U, 500U, 1000U, 1000U, 1000U);
    node.pieces.push_back(
        {typed ? "fpga/x" : "fpga", free, *rc::gen::inRange<std::uint32_t>(0, 5)});
  }
  node.count = *rc::gen::inRange<std::uint64_t>(2, 7);
  return node;
}

// Of each group how many are free, or are there; one without a group is one by itself.
Numbers sizes_of(const std::vector<Piece>& pieces, bool free_only) {
  Numbers sizes(5);
  for (const Piece& p : pieces) {
    if (free_only && p.free != kWhole) continue;
    if (p.group == 0) {
      sizes.push_back(1);
    } else {
      ++sizes[p.group];
    }
  }
  return sizes;
}

Resources strict_need(std::uint64_t count) {
  Resources need;
  need.named = {{"fpga", count * kWhole}};
  need.locality = Locality::strict;
  return need;
}

RC_GTEST_PROP(StrictJob, fits_where_what_is_free_is_of_as_few_groups_as_all_would_be, ()) {
  const Node node = some_node();
  const int best = fewest(sizes_of(node.pieces, false), node.count);
  const int now = fewest(sizes_of(node.pieces, true), node.count);
  const auto chosen = choose(strict_need(node.count), node.pieces);
  RC_ASSERT(chosen.has_value() == (now != 0 && now == best));
  if (!chosen) return;
  RC_ASSERT(chosen->size() == node.count);
  std::vector<Piece> taken;
  for (const PieceUse& use : *chosen) {
    RC_ASSERT(node.pieces[use.piece].free == kWhole);
    taken.push_back(node.pieces[use.piece]);
  }
  RC_ASSERT(fewest(sizes_of(taken, false), node.count) == best);
}

RC_GTEST_PROP(StrictJob, as_many_fit_as_can_be_given_one_after_the_other, ()) {
  const Node node = some_node();
  Room room;
  room.pieces = node.pieces;
  const std::uint64_t fitting = how_many_named_fit(strict_need(node.count), room);
  std::vector<Piece> left = node.pieces;
  std::uint64_t given = 0;
  while (const auto chosen = choose(strict_need(node.count), left)) {
    for (const PieceUse& use : *chosen) left[use.piece].free = 0;
    ++given;
  }
  RC_ASSERT(fitting == given);
  occupy_named(room, strict_need(node.count), fitting);
  RC_ASSERT(room.pieces == left);
}

}  // namespace
}  // namespace torc::claim
