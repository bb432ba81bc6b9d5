#include "lib/spec/language/workflow.h"

#include <gtest/gtest.h>

#include <limits>

namespace torc::spec {
namespace {

TEST(ParameterValues, an_integer_range_includes_its_last_value) {
  const ParameterValues range = IntegerRange{1, 100, 1};
  EXPECT_EQ(count(range), 100U);
  EXPECT_EQ(std::get<std::int64_t>(value_at(range, 0)), 1);
  EXPECT_EQ(std::get<std::int64_t>(value_at(range, 99)), 100);
}

TEST(ParameterValues, an_integer_range_stops_at_the_last_whole_step) {
  const ParameterValues range = IntegerRange{0, 100, 30};
  EXPECT_EQ(count(range), 4U);
  EXPECT_EQ(std::get<std::int64_t>(value_at(range, 3)), 90);
}

TEST(ParameterValues, a_range_over_all_integers_does_not_overflow) {
  const auto least = std::numeric_limits<std::int64_t>::min();
  const auto most = std::numeric_limits<std::int64_t>::max();
  const ParameterValues range = IntegerRange{least, most, most};
  EXPECT_EQ(count(range), 3U);
  EXPECT_EQ(std::get<std::int64_t>(value_at(range, 1)), -1);
  EXPECT_EQ(std::get<std::int64_t>(value_at(range, 2)), most - 1);
}

TEST(ParameterValues, a_tenth_counted_three_times_is_three_tenths) {
  const ParameterValues range = FloatRange{0.0, 0.1, 11, 1};
  EXPECT_EQ(std::get<double>(value_at(range, 3)), 0.3);
  EXPECT_EQ(std::get<double>(value_at(range, 7)), 0.7);
  EXPECT_EQ(std::get<double>(value_at(range, 10)), 1.0);
}

TEST(ParameterValues, a_range_that_is_no_decimal_number_is_plain_arithmetic) {
  const ParameterValues range = FloatRange{1e300, 1e299, 3, -1};
  EXPECT_EQ(std::get<double>(value_at(range, 2)), 1e300 + 2 * 1e299);
}

TEST(ParameterValues, a_list_gives_its_elements) {
  const ParameterValues list = std::vector<ParameterValue>{std::int64_t{1}, std::string("sgd")};
  EXPECT_EQ(count(list), 2U);
  EXPECT_EQ(std::get<std::string>(value_at(list, 1)), "sgd");
}

}  // namespace
}  // namespace torc::spec
