#include "lib/spec/expand/cycle.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace torc::spec {
namespace {

using Cycles = std::vector<std::vector<std::uint64_t>>;

TEST(Cycle, jobs_that_wait_for_earlier_ones_only_make_none) {
  EXPECT_EQ(find_cycles(4, {{{{1, 2}}, {{3, 1}}}, {{{2, 2}}, {{4, 1}}}}), Cycles{});
}

TEST(Cycle, jobs_that_wait_for_later_ones_need_not_make_one) {
  EXPECT_EQ(find_cycles(4, {{{{3, 2}}, {{1, 2}}}, {{{4, 1}}, {{3, 1}}}}), Cycles{});
}

TEST(Cycle, one_is_shown_from_its_lowest_job_in_the_order_of_waiting) {
  // 2 waits for 4, 4 for 3, 3 for 2; 1 waits for all of them.
  EXPECT_EQ(
      find_cycles(
          4,
          {{{{2, 3}}, {{1, 1}}}, {{{4, 1}}, {{2, 1}}}, {{{2, 1}}, {{3, 1}}}, {{{3, 1}}, {{4, 1}}}}),
      (Cycles{{2, 4, 3}}));
}

TEST(Cycle, members_of_one_set_can_wait_for_each_other_through_another_job) {
  // 1 and 2 wait for 3, 3 waits for 2.
  EXPECT_EQ(find_cycles(3, {{{{3, 1}}, {{1, 2}}}, {{{2, 1}}, {{3, 1}}}}), (Cycles{{2, 3}}));
}

TEST(Cycle, each_group_of_jobs_that_wait_for_each_other_has_one) {
  // 1 and 2 wait for each other, 3 for 2 and 5, 4 and 6 for each other, 5 for nobody.
  EXPECT_EQ(find_cycles(6, {{{{2, 1}}, {{1, 1}}},
                            {{{1, 1}}, {{2, 1}}},
                            {{{2, 1}, {5, 1}}, {{3, 1}}},
                            {{{6, 1}}, {{4, 1}}},
                            {{{4, 1}}, {{6, 1}}}}),
            (Cycles{{1, 2}, {4, 6}}));
}

TEST(Cycle, of_those_that_touch_each_other_the_first_found_is_told) {
  // 1 -> 2 -> 3 -> 2, and 3 -> 4 -> 5 -> 4, and 5 -> 1: one group.
  EXPECT_EQ(find_cycles(5, {{{{2, 1}}, {{1, 1}}},
                            {{{3, 1}}, {{2, 1}}},
                            {{{2, 1}, {4, 1}}, {{3, 1}}},
                            {{{5, 1}}, {{4, 1}}},
                            {{{1, 1}, {4, 1}}, {{5, 1}}}})
                .size(),
            1U);
}

TEST(Cycle, a_million_jobs_that_all_wait_for_all_are_one_group) {
  constexpr std::uint64_t kHalf = 500'000;
  EXPECT_EQ(find_cycles(2 * kHalf, {{{{kHalf + 1, kHalf}}, {{1, kHalf}}},
                                    {{{1, kHalf}}, {{kHalf + 1, kHalf}}}})
                .size(),
            1U);
}

TEST(Cycle, a_chain_of_a_million_jobs_does_not_overflow_the_stack) {
  constexpr std::uint64_t kJobs = 1'000'000;
  std::vector<DependencySet> sets;
  for (std::uint64_t j = 1; j < kJobs; ++j) sets.push_back({{{j + 1, 1}}, {{j, 1}}});
  EXPECT_EQ(find_cycles(kJobs, sets), Cycles{});
  sets.push_back({{{1, 1}}, {{kJobs, 1}}});
  EXPECT_EQ(find_cycles(kJobs, sets).front().size(), kJobs);
}

TEST(Cycle, all_to_all_backwards_costs_jobs_not_edges) {
  constexpr std::uint64_t kHalf = 500'000;  // 2.5e11 edges
  EXPECT_EQ(find_cycles(2 * kHalf, {{{{kHalf + 1, kHalf}}, {{1, kHalf}}}}), Cycles{});
}

}  // namespace
}  // namespace torc::spec
