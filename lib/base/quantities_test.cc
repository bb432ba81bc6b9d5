#include "lib/base/quantities.h"

#include <gtest/gtest.h>

namespace torc {
namespace {

using namespace std::chrono_literals;

TEST(Quantities, memory_is_read_in_binary_multiples_with_or_without_ib) {
  for (const auto& [text, bytes] :
       std::vector<std::pair<std::string, std::uint64_t>>{{"512", 512},
                                                          {"512k", 512 << 10},
                                                          {"2g", 2ULL << 30},
                                                          {"2GiB", 2ULL << 30},
                                                          {"1t", 1ULL << 40}}) {
    const auto parsed = parse_bytes(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(parsed->value, bytes) << text;
  }
}

TEST(Quantities, memory_that_is_no_amount_or_overflows_is_refused_with_examples) {
  for (const std::string text : {"", "g", "-1g", "1.5g", "12x", "99999999999999t"}) {
    const auto parsed = parse_bytes(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().kind, ErrorKind::invalid);
    EXPECT_NE(parsed.error().remedy.find("512m"), std::string::npos);
  }
}

// What the store keeps of it must be read again: a flag must not ruin a store.
TEST(Quantities, a_duration_of_more_than_ten_years_is_refused) {
  EXPECT_EQ(*parse_duration("3650d"), 3650 * 24h);
  for (const std::string text :
       {"3651d", "99999d", "87601h", "999999999w999999999w", "4000-00:00:00"}) {
    const auto parsed = parse_duration(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().kind, ErrorKind::invalid);
    EXPECT_NE(parsed.error().what.find("ten years"), std::string::npos) << parsed.error().what;
  }
}

TEST(Quantities, durations_are_read_in_every_form_that_users_know) {
  EXPECT_EQ(*parse_duration("90"), 90s);
  EXPECT_EQ(*parse_duration("90s"), 90s);
  EXPECT_EQ(*parse_duration("1h30m"), 90min);
  EXPECT_EQ(*parse_duration("2d"), 48h);
  EXPECT_EQ(*parse_duration("PT30M"), 30min);
  EXPECT_EQ(*parse_duration("1:30:00"), 90min);
  EXPECT_EQ(*parse_duration("2-12:00:00"), 60h);
}

TEST(Quantities, durations_that_are_ambiguous_or_nonsense_are_refused) {
  for (const std::string text : {"", "1h30", "soon", "-5s", "1y"})
    EXPECT_FALSE(parse_duration(text)) << text;
}

TEST(Quantities, are_shown_in_the_unit_that_fits) {
  EXPECT_EQ(show_bytes({512}), "512 B");
  EXPECT_EQ(show_bytes({3ULL << 29}), "1.5 GiB");
  EXPECT_EQ(show_duration(250us), "250 us");
  EXPECT_EQ(show_duration(1500ms), "1.5 s");
  EXPECT_EQ(show_duration(200s), "3 min 20 s");
  EXPECT_EQ(show_duration(7500s), "2 h 5 min");
  EXPECT_EQ(show_count(0), "0");
  EXPECT_EQ(show_count(999), "999");
  EXPECT_EQ(show_count(1234567), "1,234,567");
}

TEST(Quantities, a_time_in_the_future_of_another_nodes_clock_is_now) {
  EXPECT_EQ(show_age(WallTime(10'000'000), WallTime(5'000'000)), "now");
  EXPECT_EQ(show_age(WallTime(10'000'000), WallTime(70'000'000)), "1 min 0 s ago");
  EXPECT_EQ(show_age(WallTime{}, WallTime(5)), "-");
}

TEST(Quantities, a_guess_is_shown_without_false_precision) {
  EXPECT_EQ(show_estimate(0.3), "<1 s");
  EXPECT_EQ(show_estimate(12.4), "12 s");
  EXPECT_EQ(show_estimate(300), "5 min");
  EXPECT_EQ(show_estimate(7500), "2 h 5 min");
  EXPECT_EQ(show_estimate(1e12), "years");
}

}  // namespace
}  // namespace torc
