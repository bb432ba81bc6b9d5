#include "lib/spec/language/format.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <string>

namespace torc::spec {
namespace {

template <class Value>
std::string formatted(Value value, std::string_view format = "") {
  const auto parsed = parse_format(format);
  EXPECT_TRUE(parsed) << format;
  std::string out;
  append(out, value, parsed.value_or(Format{}));
  return out;
}

TEST(Format, integers_are_padded_as_in_printf) {
  EXPECT_EQ(formatted(std::int64_t{7}), "7");
  EXPECT_EQ(formatted(std::int64_t{7}, "03d"), "007");
  EXPECT_EQ(formatted(std::int64_t{-7}, "04d"), "-007");
  EXPECT_EQ(formatted(std::int64_t{7}, "03"), "007");
  EXPECT_EQ(formatted(std::int64_t{1234}, "03d"), "1234");
  EXPECT_EQ(formatted(std::int64_t{7}, "4d"), "   7");
  EXPECT_EQ(formatted(std::int64_t{7}, "<4d"), "7   ");
  EXPECT_EQ(formatted(std::int64_t{7}, "^4d"), " 7  ");
  EXPECT_EQ(formatted(std::int64_t{7}, "+d"), "+7");
  EXPECT_EQ(formatted(std::int64_t{255}, "x"), "ff");
  EXPECT_EQ(formatted(std::int64_t{255}, "04X"), "00FF");
  EXPECT_EQ(formatted(std::int64_t{3}, ".2f"), "3.00");
  EXPECT_EQ(formatted(std::numeric_limits<std::int64_t>::min(), "d"), "-9223372036854775808");
}

TEST(Format, a_float_without_format_is_the_shortest_that_reads_back_and_stays_a_float) {
  EXPECT_EQ(formatted(0.1), "0.1");
  EXPECT_EQ(formatted(1.0), "1.0");
  EXPECT_EQ(formatted(-2.0), "-2.0");
  EXPECT_EQ(formatted(0.0), "0.0");
  EXPECT_EQ(formatted(0.0001), "0.0001");
  EXPECT_EQ(formatted(0.00001), "1e-05");
  EXPECT_EQ(formatted(1e15), "1000000000000000.0");
  EXPECT_EQ(formatted(1e16), "1e+16");
  for (const double v : {1.0 / 3, 0.1 + 0.2, 1e300, 5e-324, 123456.789}) {
    EXPECT_EQ(std::strtod(formatted(v).c_str(), nullptr), v);
  }
}

TEST(Format, floats_follow_printf) {
  EXPECT_EQ(formatted(0.001, ".4f"), "0.0010");
  EXPECT_EQ(formatted(12345.678, ".2e"), "1.23e+04");
  EXPECT_EQ(formatted(0.5, "g"), "0.5");
  EXPECT_EQ(formatted(0.5, "f"), "0.500000");
  EXPECT_EQ(formatted(1e-7, ".3G"), "1E-07");
  EXPECT_EQ(formatted(-1.5, "08.2f"), "-0001.50");
  EXPECT_EQ(formatted(1e300, ".200f").size(), 301U + 1 + 200);
}

TEST(Format, text_is_aligned_by_characters) {
  EXPECT_EQ(formatted(std::string_view("ab"), ">4"), "  ab");
  EXPECT_EQ(formatted(std::string_view("ab"), "4s"), "ab  ");
  EXPECT_EQ(formatted(std::string_view("ä"), ">3"), "  ä");
}

TEST(Format, what_is_no_format_is_refused) {
  for (const char* bad : {"zz", "3dd", ".f", "1000d", ".999f", "=5d", ",d", "#x", "d3"}) {
    EXPECT_FALSE(parse_format(bad)) << bad;
  }
}

TEST(Format, a_format_fits_values_as_in_python) {
  const auto fits_kind = [](std::string_view format, ValueKind kind) {
    return fits(*parse_format(format), kind);
  };
  EXPECT_TRUE(fits_kind("03d", ValueKind::integer));
  EXPECT_FALSE(fits_kind("03d", ValueKind::real));
  EXPECT_FALSE(fits_kind("03d", ValueKind::text));
  EXPECT_TRUE(fits_kind(".4f", ValueKind::integer));
  EXPECT_TRUE(fits_kind(".4f", ValueKind::real));
  EXPECT_FALSE(fits_kind(".4f", ValueKind::text));
  EXPECT_FALSE(fits_kind(".4", ValueKind::integer));
  EXPECT_FALSE(fits_kind(".4d", ValueKind::integer));
  EXPECT_TRUE(fits_kind(">8", ValueKind::text));
  EXPECT_FALSE(fits_kind("08", ValueKind::text));
  EXPECT_FALSE(fits_kind("s", ValueKind::integer));
}

}  // namespace
}  // namespace torc::spec
