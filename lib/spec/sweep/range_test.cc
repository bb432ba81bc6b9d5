#include "lib/spec/sweep/range.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

namespace torc::spec {
namespace {

using Ranges = std::vector<Range>;

TEST(Range, normal_form_is_sorted_disjoint_and_without_gaps_of_zero) {
  Ranges r{{5, 2}, {1, 2}, {3, 1}, {9, 0}, {6, 3}, {1, 1}};
  normalise(r);
  EXPECT_EQ(r, (Ranges{{1, 3}, {5, 4}}));
}

TEST(Range, removing_an_element_splits_shortens_or_drops) {
  Ranges r{{1, 3}, {7, 1}};
  remove(r, 2);
  EXPECT_EQ(r, (Ranges{{1, 1}, {3, 1}, {7, 1}}));
  remove(r, 7);
  remove(r, 4);
  EXPECT_EQ(r, (Ranges{{1, 1}, {3, 1}}));
}

TEST(RangeMap, a_one_to_one_map_of_a_million_is_a_few_bytes) {
  RangeMap map(1, 1'000'000);
  for (std::uint64_t n = 0; n < 1'000'000; ++n) map.push({{n + 17, 1}});
  Encoder out;
  map.encode(out);
  EXPECT_LT(out.bytes().size(), 32U);
}

TEST(RangeMap, the_answer_repeats_with_period_and_modulus) {
  RangeMap map(2, 3);
  for (std::uint64_t n = 0; n < 3; ++n) map.push({{10 * n + 1, 1}});
  const auto at = [&](std::uint64_t k) {
    Ranges out;
    map.append_to(out, k);
    return out;
  };
  EXPECT_EQ(at(0), (Ranges{{1, 1}}));
  EXPECT_EQ(at(1), (Ranges{{1, 1}}));
  EXPECT_EQ(at(5), (Ranges{{21, 1}}));
  EXPECT_EQ(at(6), (Ranges{{1, 1}}));
}

RC_GTEST_PROP(RangeMap, answers_what_was_pushed_also_after_decoding,
              (const std::vector<std::vector<std::pair<std::uint8_t, std::uint8_t>>>& input)) {
  RC_PRE(!input.empty());
  RangeMap map(1, input.size());
  std::vector<Ranges> pushed;
  for (const auto& position : input) {
    Ranges ranges;
    for (const auto& [first, count] : position) {
      ranges.push_back({first, static_cast<std::uint64_t>(count % 4)});
    }
    normalise(ranges);
    map.push(ranges);
    pushed.push_back(ranges);
  }
  Encoder out;
  map.encode(out);
  Decoder in(out.bytes());
  const RangeMap decoded = RangeMap::decode(in);
  RC_ASSERT(in.ok() && in.at_end());
  for (std::size_t k = 0; k < input.size(); ++k) {
    Ranges a;
    Ranges b;
    map.append_to(a, k);
    decoded.append_to(b, k);
    RC_ASSERT(a == pushed[k]);
    RC_ASSERT(b == pushed[k]);
  }
}

}  // namespace
}  // namespace torc::spec
