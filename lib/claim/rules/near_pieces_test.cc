#include "lib/claim/rules/near_pieces.h"

#include <gtest/gtest.h>

namespace torc::claim {
namespace {

using Numbers = std::vector<std::uint64_t>;

TEST(NearPieces, one_group_is_enough_where_it_has_as_many) {
  EXPECT_EQ(from_fewest_groups({1, 4, 2, 3}, 2), (Numbers{0, 0, 2, 0})) << "the smallest of those";
  EXPECT_EQ(from_fewest_groups({2, 2}, 2), (Numbers{2, 0}));
}

TEST(NearPieces, where_none_has_enough_the_largest_go_first) {
  EXPECT_EQ(from_fewest_groups({1, 4, 2, 3}, 6), (Numbers{0, 4, 2, 0}));
  EXPECT_EQ(from_fewest_groups({1, 1, 1}, 3), (Numbers{1, 1, 1}));
}

TEST(NearPieces, more_than_there_is_is_not_given) {
  EXPECT_TRUE(from_fewest_groups({1, 2}, 4).empty());
  EXPECT_TRUE(from_fewest_groups({}, 1).empty());
}

}  // namespace
}  // namespace torc::claim
