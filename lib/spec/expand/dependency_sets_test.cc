#include "lib/spec/expand/dependency_sets.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace torc::spec {
namespace {

using Ranges = std::vector<Range>;

TEST(DependencySets, equal_upstreams_share_a_set_and_neighbours_one_range) {
  DependencySetBuilder builder;
  builder.add({{1, 3}}, {10, 1});
  builder.add({{1, 3}}, {11, 2});
  builder.add({{1, 2}}, {13, 1});
  builder.add({{1, 3}}, {14, 1});
  const std::vector<DependencySet> sets = std::move(builder).take();
  ASSERT_EQ(sets.size(), 2U);
  EXPECT_EQ(sets[0].members, (Ranges{{10, 3}, {14, 1}}));
  EXPECT_EQ(sets[1].members, (Ranges{{13, 1}}));
}

TEST(DependencySets, upstreams_that_only_begin_alike_stay_apart) {
  constexpr std::uint64_t kMany = 5000;
  DependencySetBuilder builder;
  for (int round = 0; round < 2; ++round) {
    for (std::uint64_t n = 0; n < kMany; ++n) {
      builder.add({{1, 1}, {3 + n, 1}}, {10'000 + round * kMany + n, 1});
    }
  }
  const std::vector<DependencySet> sets = std::move(builder).take();
  ASSERT_EQ(sets.size(), kMany);
  for (std::uint64_t n = 0; n < kMany; ++n) {
    EXPECT_EQ(sets[n].upstream, (Ranges{{1, 1}, {3 + n, 1}}));
    EXPECT_EQ(sets[n].members, (Ranges{{10'000 + n, 1}, {10'000 + kMany + n, 1}}));
  }
}

}  // namespace
}  // namespace torc::spec
