#include "lib/spec/text/quantity.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace torc::spec {
namespace {

using std::chrono::seconds;

std::uint64_t bytes(std::string_view text) {
  const auto parsed = parse_memory(text);
  return parsed.ok() ? parsed->value : 0;
}

std::int64_t duration(std::string_view text) {
  const auto parsed = parse_duration(text);
  return parsed.ok() ? parsed->count() : 0;
}

std::int64_t walltime(std::string_view text) {
  const auto parsed = parse_walltime(text);
  return parsed.ok() && parsed->has_value() ? (**parsed).count() : 0;
}

TEST(Memory, units_are_powers_of_1024_in_any_case) {
  EXPECT_EQ(bytes("512k"), 512U << 10U);
  EXPECT_EQ(bytes("100m"), 100U << 20U);
  EXPECT_EQ(bytes("2g"), 2ULL << 30U);
  EXPECT_EQ(bytes("1t"), 1ULL << 40U);
  EXPECT_EQ(bytes("2GiB"), 2ULL << 30U);
  EXPECT_EQ(bytes("2 GB"), 2ULL << 30U);
  EXPECT_EQ(bytes("1.5G"), 3ULL << 29U);
}

TEST(Memory, a_plain_integer_is_bytes) {
  EXPECT_EQ(bytes("4096"), 4096U);
  EXPECT_EQ(bytes("4096b"), 4096U);
}

TEST(Memory, what_is_no_amount_is_refused) {
  for (const auto* text : {"", "g", "-1g", "1x", "1gg", "1g2", "0", "0.1", "1e3g", ".5g", "2048p",
                           "nan", "99999999999999999999999999999999999999g"}) {
    EXPECT_FALSE(parse_memory(text).ok()) << text;
  }
}

TEST(Duration, days_weeks_and_times_add_up) {
  EXPECT_EQ(duration("PT30M"), 1800);
  EXPECT_EQ(duration("P1DT12H"), 36 * 3600);
  EXPECT_EQ(duration("P2W"), 14 * 86400);
  EXPECT_EQ(duration("PT1H2M3S"), 3723);
  EXPECT_EQ(duration("PT90M"), 5400);
  EXPECT_EQ(duration("pt1h"), 3600);
}

TEST(Duration, only_the_last_number_may_have_a_fraction_and_seconds_are_rounded_up) {
  EXPECT_EQ(duration("PT0.5H"), 1800);
  EXPECT_EQ(duration("PT1.2S"), 2);
  EXPECT_FALSE(parse_duration("PT0.5H1M").ok());
}

TEST(Duration, what_is_none_is_refused) {
  for (const auto* text :
       {"", "P", "PT", "P1", "PT1", "1H", "P1H", "PT1D", "P1M", "P1Y", "P1DT", "PT1M1H", "PT1H1H",
        "P-1D", "3600", "PT0S", "P99999D", "PT1H ", "P1YT1M"}) {
    EXPECT_FALSE(parse_duration(text).ok()) << text;
  }
}

TEST(Walltime, every_form_of_sbatch_is_understood) {
  EXPECT_EQ(walltime("30"), 1800);
  EXPECT_EQ(walltime("30:15"), 1815);
  EXPECT_EQ(walltime("08:00:00"), 8 * 3600);
  EXPECT_EQ(walltime("2-12"), 60 * 3600);
  EXPECT_EQ(walltime("1-1:30"), 25 * 3600 + 1800);
  EXPECT_EQ(walltime("1-00:00:01"), 86401);
}

TEST(Walltime, unlimited_is_no_limit) {
  const auto parsed = parse_walltime("UNLIMITED");
  ASSERT_TRUE(parsed.ok());
  EXPECT_FALSE(parsed->has_value());
}

TEST(Walltime, what_is_none_is_refused) {
  for (const auto* text : {"", "8h", "1:2:3:4", "-1", "1-", "-1:00", "1-2-3", "a", "1:", ":1", "0",
                           "00:00:00", "99999999999999999999", "1 0"}) {
    EXPECT_FALSE(parse_walltime(text).ok()) << text;
  }
}

TEST(Number, a_leading_zero_makes_it_a_name) {
  EXPECT_EQ(*parse_integer("10"), std::int64_t{10});
  EXPECT_EQ(*parse_integer("-7"), std::int64_t{-7});
  EXPECT_EQ(*parse_integer("+7"), std::int64_t{7});
  EXPECT_EQ(*parse_integer("0"), std::int64_t{0});
  EXPECT_FALSE(parse_integer("010")->has_value());
  EXPECT_FALSE(parse_integer("1.0")->has_value());
  EXPECT_FALSE(parse_integer("")->has_value());
  EXPECT_FALSE(parse_integer("-")->has_value());
}

TEST(Number, beyond_64_bits_is_an_error) {
  EXPECT_EQ(*parse_integer("9223372036854775807"), std::int64_t{9223372036854775807});
  EXPECT_FALSE(parse_integer("9223372036854775808").ok());
  EXPECT_FALSE(parse_integer("-9223372036854775809").ok());
}

TEST(Number, decimals_count_the_digits_that_the_number_needs) {
  EXPECT_EQ(decimals_of("0.25"), 2);
  EXPECT_EQ(decimals_of("1e-5"), 5);
  EXPECT_EQ(decimals_of("2.5e-3"), 4);
  EXPECT_EQ(decimals_of("1.5e3"), 0);
  EXPECT_EQ(decimals_of("7"), 0);
}

TEST(Number, words_for_infinity_are_no_decimal_numbers) {
  for (const auto* text :
       {"inf", "nan", "1e999", "0x10", "1e", "1.2.3", "--1", "+-1", "infinity"}) {
    EXPECT_FALSE(parse_decimal(text).has_value()) << text;
  }
}

TEST(Quantity, amounts_are_shown_in_their_largest_unit) {
  EXPECT_EQ(to_text(ByteCount{1536}), "1.5 KiB");
  EXPECT_EQ(to_text(ByteCount{100ULL << 30U}), "100 GiB");
  EXPECT_EQ(to_text(seconds(90)), "1min 30s");
  EXPECT_EQ(to_text(seconds(36 * 3600)), "1d 12h");
}

RC_GTEST_PROP(Quantity, no_text_is_too_strange, (const std::string& text)) {
  (void)parse_memory(text);
  (void)parse_duration("P" + text);
  (void)parse_walltime(text);
  (void)parse_integer(text);
  if (parse_decimal(text)) (void)decimals_of(text);
}

RC_GTEST_PROP(Quantity, a_walltime_written_by_hand_is_read_back, ()) {
  const auto total = *rc::gen::inRange(1, 300 * 86400);
  const std::string text = std::to_string(total / 86400) + "-" +
                           std::to_string(total % 86400 / 3600) + ":" +
                           std::to_string(total % 3600 / 60) + ":" + std::to_string(total % 60);
  RC_ASSERT(walltime(text) == total);
}

}  // namespace
}  // namespace torc::spec
