#include "lib/claim/rules/room.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace torc::claim {
namespace {

Resources needs(const Amounts& named, std::uint32_t gpus = 0) {
  Resources r;
  r.gpus = gpus;
  r.named = named;
  return r;
}

Room with_gpus(std::uint32_t gpus) {
  Room room;
  room.left.gpus = room.total.gpus = gpus;
  return room;
}

Room of_pieces(const std::vector<Piece>& pieces) {
  Room room;
  room.pieces = pieces;
  for (const Piece& p : pieces) {
    if (is_gpu(p.kind)) ++room.total.gpus;
    if (is_gpu(p.kind) && p.free == kWhole) ++room.left.gpus;
    if (p.kind == kGpus) continue;
    const Amount* there = find_amount(room.total.named, p.kind);
    set_amount(room.total.named,
               {p.kind, (there == nullptr ? 0 : there->thousandths) + kWhole, true});
  }
  room.left.named = room.total.named;
  return room;
}

TEST(Room, a_part_of_a_gpu_shares_it_with_other_parts_only) {
  Room room = with_gpus(2);
  const Resources quarter = needs({{"gpus", 250}});
  EXPECT_EQ(how_many_named_fit(quarter, room), 8U);
  occupy_named(room, quarter, 5);
  EXPECT_EQ(room.left.gpus, 0U) << "no whole one is left";
  EXPECT_EQ(how_many_named_fit(quarter, room), 3U);
  occupy_named(room, quarter, 3);
  EXPECT_EQ(how_many_named_fit(quarter, room), 0U);
}

TEST(Room, parts_fill_a_shared_gpu_before_they_break_a_whole_one) {
  Room room = with_gpus(2);
  occupy_named(room, needs({{"gpus", 250}}), 1);
  EXPECT_EQ(room.left.gpus, 1U);
  occupy_named(room, needs({{"gpus", 750}}), 1);
  EXPECT_EQ(room.left.gpus, 1U);
  occupy_named(room, needs({{"gpus", 10}}), 1);
  EXPECT_EQ(room.left.gpus, 0U);
}

TEST(Room, a_type_is_served_by_that_type_and_no_type_by_any) {
  Room room = of_pieces({{"gpus/a100"}, {"gpus/a100"}, {"gpus/t4"}});
  EXPECT_EQ(how_many_named_fit(needs({{"gpus/a100", 2000}}), room), 1U);
  EXPECT_EQ(how_many_named_fit(needs({{"gpus/t4", 2000}}), room), 0U);
  EXPECT_EQ(how_many_named_fit(needs({{"gpus", 500}}), room), 6U);
  occupy_named(room, needs({{"gpus/a100", 1000}}), 2);
  EXPECT_EQ(how_many_named_fit(needs({{"gpus/a100", 1000}}), room), 0U);
  EXPECT_EQ(room.left.gpus, 1U);
}

TEST(Room, a_need_of_any_gpu_leaves_those_of_a_type_as_long_as_it_can) {
  const auto chosen = choose(needs({}, 1), {{"gpus/a100"}, {"gpus"}, {"gpus/a100"}});
  ASSERT_TRUE(chosen);
  EXPECT_EQ(*chosen, (std::vector<PieceUse>{{1, kWhole}}));
}

TEST(Room, several_pieces_lie_in_as_few_groups_as_they_can) {
  std::vector<Piece> pieces;
  for (const std::uint32_t group : {1U, 2U, 1U, 2U, 1U}) pieces.push_back({"gpus", kWhole, group});
  const auto whole = [](std::uint32_t piece) { return PieceUse{piece, kWhole}; };
  EXPECT_EQ(choose(needs({}, 2), pieces), (std::vector<PieceUse>{whole(1), whole(3)}));
  EXPECT_EQ(choose(needs({}, 3), pieces), (std::vector<PieceUse>{whole(0), whole(2), whole(4)}));
  pieces[3].free = 0;
  EXPECT_EQ(choose(needs({}, 1), pieces), std::vector<PieceUse>{whole(1)})
      << "it leaves the others together";
  EXPECT_EQ(choose(needs({{"gpus", 500}}), pieces), (std::vector<PieceUse>{{1, 500}}));
  EXPECT_EQ(choose(needs({}, 4), pieces)->size(), 4U);
  EXPECT_FALSE(choose(needs({}, 5), pieces));
}

std::vector<Piece> gpus_in(const std::vector<std::uint32_t>& groups) {
  std::vector<Piece> pieces;
  for (const std::uint32_t group : groups) pieces.push_back({"gpus", kWhole, group});
  return pieces;
}

Resources with(Locality locality, Resources need) {
  need.locality = locality;
  return need;
}

TEST(Room, a_strict_job_waits_until_its_pieces_are_of_as_few_groups_as_it_takes) {
  const Resources two = with(Locality::strict, needs({}, 2));
  std::vector<Piece> pieces = gpus_in({1, 1, 2, 2});
  EXPECT_EQ(how_many_named_fit(two, of_pieces(pieces)), 2U);
  pieces[0].free = 0;
  EXPECT_EQ(how_many_named_fit(two, of_pieces(pieces)), 1U) << "three are free, two of one group";
  EXPECT_EQ(choose(two, pieces), (std::vector<PieceUse>{{2, kWhole}, {3, kWhole}}));
  pieces[2].free = 500;
  EXPECT_EQ(how_many_named_fit(two, of_pieces(pieces)), 0U) << "two are free, one of each group";
  EXPECT_FALSE(choose(two, pieces));
  EXPECT_EQ(choose_anywhere(two, pieces)->size(), 2U);
  EXPECT_EQ(how_many_named_fit(needs({{"gpus", 2000}}), of_pieces(pieces)), 1U);
}

TEST(Room, a_strict_job_that_is_larger_than_a_group_takes_the_fewest_there_can_be) {
  const Resources three = with(Locality::strict, needs({{"fpga", 3000}}));
  std::vector<Piece> pieces;
  for (const std::uint32_t group : {1U, 1U, 2U, 2U, 3U, 3U})
    pieces.push_back({"fpga", kWhole, group});
  EXPECT_EQ(how_many_named_fit(three, of_pieces(pieces)), 2U) << "each of two groups";
  pieces[0].free = pieces[2].free = 0;
  EXPECT_EQ(how_many_named_fit(three, of_pieces(pieces)), 1U) << "of two groups";
  pieces[4].free = 0;
  EXPECT_EQ(how_many_named_fit(three, of_pieces(pieces)), 0U) << "there are three, of three groups";
}

TEST(Room, a_strict_job_takes_pieces_of_a_type_where_those_without_lie_apart) {
  const std::vector<Piece> pieces = {
      {"gpus", kWhole, 1}, {"gpus/t4", kWhole, 1}, {"gpus", kWhole, 2}};
  EXPECT_EQ(choose(with(Locality::strict, needs({}, 2)), pieces),
            (std::vector<PieceUse>{{0, kWhole}, {1, kWhole}}));
}

TEST(Room, strictness_asks_nothing_of_one_piece_a_part_a_sum_or_what_is_of_no_group) {
  std::vector<Piece> pieces = gpus_in({1, 2});
  for (const Amount& a : Amounts{{"gpus", 1000}, {"gpus", 250}, {"gpus", kAllThereIs}})
    EXPECT_EQ(how_many_named_fit(with(Locality::strict, needs({a})), of_pieces(pieces)),
              how_many_named_fit(needs({a}), of_pieces(pieces)));
  EXPECT_EQ(
      how_many_named_fit(with(Locality::strict, needs({}, 2)), of_pieces(gpus_in({0, 0, 0, 0}))),
      2U);
  EXPECT_EQ(how_many_named_fit(with(Locality::strict, needs({{"gpus", 2000}})), with_gpus(4)), 2U);
  Room sums = of_pieces(pieces);
  sums.total.named = sums.left.named = {{"scratch", 5000, false}};
  EXPECT_EQ(how_many_named_fit(with(Locality::strict, needs({{"scratch", 2000}})), sums), 2U);
}

TEST(Room, what_strict_jobs_are_counted_for_is_there_for_all_of_them) {
  Room room = of_pieces(gpus_in({1, 1, 1, 2, 2, 2, 3}));
  const Resources two = with(Locality::strict, needs({}, 2));
  ASSERT_EQ(how_many_named_fit(two, room), 2U) << "in each of two groups; three stay alone";
  occupy_named(room, two, 2);
  EXPECT_EQ(room.left.gpus, 3U);
  EXPECT_EQ(how_many_named_fit(two, room), 0U);
}

TEST(Room, a_job_may_have_its_pieces_spread_over_the_groups) {
  const std::vector<Piece> pieces = gpus_in({1, 1, 1, 2, 2});
  const auto whole = [](std::uint32_t piece) { return PieceUse{piece, kWhole}; };
  const Resources two = with(Locality::scatter, needs({}, 2));
  EXPECT_EQ(choose(two, pieces), (std::vector<PieceUse>{whole(0), whole(3)}));
  EXPECT_EQ(choose(with(Locality::scatter, needs({}, 1)), pieces), std::vector<PieceUse>{whole(0)})
      << "where most are free";
  EXPECT_EQ(how_many_named_fit(with(Locality::scatter, needs({{"gpus", 3000}})), of_pieces(pieces)),
            1U)
      << "what is free is enough, wherever it lies";
}

TEST(Room, pieces_of_no_group_are_near_nobody) {
  const std::vector<Piece> pieces = {{"port"}, {"port"}, {"port", kWhole, 1}, {"port", kWhole, 1}};
  EXPECT_EQ(choose(needs({{"port", 2000}}), pieces),
            (std::vector<PieceUse>{{2, kWhole}, {3, kWhole}}));
}

TEST(Room, what_has_a_type_is_left_also_where_it_lies_nearer) {
  const std::vector<Piece> pieces = {
      {"gpus", kWhole, 1}, {"gpus/t4", kWhole, 1}, {"gpus", kWhole, 2}};
  EXPECT_EQ(choose(needs({}, 2), pieces), (std::vector<PieceUse>{{0, kWhole}, {2, kWhole}}));
}

TEST(Room, a_part_goes_where_it_leaves_the_least) {
  const auto chosen =
      choose(needs({{"port", 250}}), {{"port", 700}, {"port", 300}, {"port", 500}, {"port"}});
  ASSERT_TRUE(chosen);
  EXPECT_EQ(*chosen, (std::vector<PieceUse>{{1, 250}}));
}

TEST(Room, all_needs_every_piece_whole_and_one_at_least) {
  const Resources all = needs({{"port", kAllThereIs}});
  EXPECT_EQ(how_many_named_fit(all, of_pieces({{"port"}, {"port"}})), 1U);
  EXPECT_EQ(how_many_named_fit(all, of_pieces({{"port"}, {"port", 0}})), 0U);
  EXPECT_EQ(how_many_named_fit(all, of_pieces({{"fpga"}})), 0U);
  EXPECT_EQ(how_many_named_fit(needs({{"gpus", kAllThereIs}}), with_gpus(3)), 1U);
  EXPECT_EQ(how_many_named_fit(needs({{"gpus", kAllThereIs}}), with_gpus(0)), 0U);
}

TEST(Room, a_sum_is_shared_out_by_amount) {
  Room room;
  room.total.named = room.left.named = {{"scratch", 10'000}};
  EXPECT_EQ(how_many_named_fit(needs({{"scratch", 2500}}), room), 4U);
  occupy_named(room, needs({{"scratch", 2500}}), 3);
  EXPECT_EQ(how_many_named_fit(needs({{"scratch", 2500}}), room), 1U);
  EXPECT_EQ(how_many_named_fit(needs({{"scratch", kAllThereIs}}), room), 0U);
}

TEST(Room, what_a_worker_never_has_it_could_never_give) {
  Resources total;
  total.gpus = 2;
  total.named = {{"fpga", 2000, true}, {"gpus/a100", 1000, true}, {"sum", 1500}};
  EXPECT_TRUE(could_give(total, {"sum", 1500}));
  EXPECT_FALSE(could_give(total, {"sum", 1501}));
  EXPECT_TRUE(could_give(total, {"fpga", 300}));
  EXPECT_FALSE(could_give(total, {"fpga", 1500})) << "pieces are whole, or one is shared";
  EXPECT_FALSE(could_give(total, {"gpus/a100", 2000}));
  EXPECT_TRUE(could_give(total, {"gpus", 2000}));
  EXPECT_FALSE(could_give(total, {"port", 1}));
  EXPECT_FALSE(could_give(total, {"port", kAllThereIs}));
  EXPECT_EQ(say_lacking(needs({{"port", 1000}}), total),
            "it needs 1 'port', of which there is none");
  EXPECT_EQ(
      say_lacking(needs({{"fpga", 1500}, {"sum", 2000}}), total),
      "it needs 1.5 'fpga', which is given as whole pieces or as a part of one, 2 'sum' of 1.5");
}

}  // namespace
}  // namespace torc::claim
