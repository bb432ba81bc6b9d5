#include "lib/claim/rules/near_pieces.h"

#include <gtest/gtest.h>

namespace torc::claim {
namespace {

using PieceNumbers = std::vector<std::uint64_t>;

TEST(NearPieces, one_group_is_enough_where_it_has_as_many) {
  EXPECT_EQ(from_fewest_groups({1, 4, 2, 3}, 2), (PieceNumbers{0, 0, 2, 0}))
      << "the smallest of those";
  EXPECT_EQ(from_fewest_groups({2, 2}, 2), (PieceNumbers{2, 0}));
}

TEST(NearPieces, where_none_has_enough_the_largest_go_first) {
  EXPECT_EQ(from_fewest_groups({1, 4, 2, 3}, 6), (PieceNumbers{0, 4, 2, 0}));
  EXPECT_EQ(from_fewest_groups({1, 1, 1}, 3), (PieceNumbers{1, 1, 1}));
}

TEST(NearPieces, more_than_there_is_is_not_given) {
  EXPECT_TRUE(from_fewest_groups({1, 2}, 4).empty());
  EXPECT_TRUE(from_fewest_groups({}, 1).empty());
}

TEST(NearPieces, that_are_to_be_spread_are_of_every_group_before_a_second_one_is) {
  EXPECT_EQ(from_most_groups({1, 4, 2}, 2), (PieceNumbers{0, 1, 1})) << "where most are left";
  EXPECT_EQ(from_most_groups({1, 4, 2}, 5), (PieceNumbers{1, 2, 2}));
  EXPECT_EQ(from_most_groups({1, 4, 2}, 7), (PieceNumbers{1, 4, 2}));
  EXPECT_TRUE(from_most_groups({1, 4, 2}, 8).empty());
}

TEST(NearPieces, are_of_the_groups_that_some_are_taken_of) {
  EXPECT_EQ(groups_of({0, 3, 0, 1}), 2U);
  EXPECT_EQ(groups_of({}), 0U);
}

}  // namespace
}  // namespace torc::claim
