#include "lib/base/quantities.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <functional>

#include "lib/base/plural.h"

namespace torc {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kNo = -1;    // refused
constexpr std::int64_t kNone = -2;  // no limit
constexpr std::int64_t kMiB = 1 << 20;
constexpr std::int64_t kGiB = 1 << 30;
constexpr std::int64_t kHour = 3600;
constexpr std::int64_t kDay = 24 * kHour;

// What every parser makes of a text.
struct Case {
  const char* text;
  std::int64_t bytes;     // parse_bytes(); parse_memory() refuses 0
  std::int64_t duration;  // a flag
  std::int64_t spec;      // a workflow file
  std::int64_t walltime;  // sbatch --time
  std::int64_t limit;     // what Slurm writes
};

constexpr Case kCases[] = {
    // text, bytes, duration, spec, walltime, limit
    {"", kNo, kNo, kNo, kNo, kNo},
    {"0", 0, 0, kNo, kNo, kNone},
    {"90", 90, kNo, kNo, 5400, 5400},
    {"4096", 4096, kNo, kNo, 4096 * 60, 4096 * 60},
    {"9007199254740993", 9007199254740993, kNo, kNo, kNo, kNo},
    {"1152921504606846976", 1LL << 60, kNo, kNo, kNo, kNo},
    {"1152921504606848000", kNo, kNo, kNo, kNo, kNo},
    {"99999999999", 99999999999, kNo, kNo, kNo, kNo},
    {"99999999999999999999", kNo, kNo, kNo, kNo, kNo},
    {"-1", kNo, kNo, kNo, kNo, kNone},
    {"-5", kNo, kNo, kNo, kNo, kNo},
    {" 5", kNo, kNo, kNo, kNo, kNo},
    {"5 ", 5, kNo, kNo, kNo, kNo},
    {"1 0", kNo, kNo, kNo, kNo, kNo},
    // Amounts of memory.
    {"4096b", 4096, kNo, kNo, kNo, kNo},
    {"512k", 512 << 10, kNo, kNo, kNo, kNo},
    {"100m", 100 * kMiB, 6000, 6000, kNo, kNo},
    {"2g", 2 * kGiB, kNo, kNo, kNo, kNo},
    {"1.5G", 3 * kGiB / 2, kNo, kNo, kNo, kNo},
    {"2GiB", 2 * kGiB, kNo, kNo, kNo, kNo},
    {"2 GB", 2 * kGiB, kNo, kNo, kNo, kNo},
    {"1t", 1024 * kGiB, kNo, kNo, kNo, kNo},
    {"1024p", 1LL << 60, kNo, kNo, kNo, kNo},
    {"2048p", kNo, kNo, kNo, kNo, kNo},
    {"0.1", 0, kNo, kNo, kNo, kNo},
    {"g", kNo, kNo, kNo, kNo, kNo},
    {"-1g", kNo, kNo, kNo, kNo, kNo},
    {".5g", kNo, kNo, kNo, kNo, kNo},
    {"1gg", kNo, kNo, kNo, kNo, kNo},
    {"1g2", kNo, kNo, kNo, kNo, kNo},
    {"1x", kNo, kNo, kNo, kNo, kNo},
    {"1e3g", kNo, kNo, kNo, kNo, kNo},
    {"nan", kNo, kNo, kNo, kNo, kNo},
    {"99999999999999t", kNo, kNo, kNo, kNo, kNo},
    {"99999999999999999999999999999999999999g", kNo, kNo, kNo, kNo, kNo},
    // Durations of flags.
    {"90s", kNo, 90, 90, kNo, kNo},
    {"1h", kNo, kHour, kHour, kNo, kNo},
    {"1H30M", kNo, 5400, 5400, kNo, kNo},
    {"30m1h", kNo, 5400, 5400, kNo, kNo},
    {"2d", kNo, 2 * kDay, 2 * kDay, kNo, kNo},
    {"2w", kNo, 14 * kDay, 14 * kDay, kNo, kNo},
    {"3650d", kNo, 3650 * kDay, 3650 * kDay, kNo, kNo},
    {"3651d", kNo, kNo, kNo, kNo, kNo},
    {"999999999w999999999w", kNo, kNo, kNo, kNo, kNo},
    {"1h30", kNo, kNo, kNo, kNo, kNo},
    {"1y", kNo, kNo, kNo, kNo, kNo},
    {"-5s", kNo, kNo, kNo, kNo, kNo},
    {"soon", kNo, kNo, kNo, kNo, kNo},
    // ISO 8601.
    {"PT30M", kNo, 1800, 1800, kNo, kNo},
    {"pt1h", kNo, kHour, kHour, kNo, kNo},
    {"PT90M", kNo, 5400, 5400, kNo, kNo},
    {"PT1H2M3S", kNo, 3723, 3723, kNo, kNo},
    {"P1DT12H", kNo, 36 * kHour, 36 * kHour, kNo, kNo},
    {"P2W", kNo, 14 * kDay, 14 * kDay, kNo, kNo},
    {"PT0.5H", kNo, 1800, 1800, kNo, kNo},
    {"PT1.2S", kNo, 2, 2, kNo, kNo},
    {"PT0.5H1M", kNo, kNo, kNo, kNo, kNo},
    {"PT0S", kNo, 0, kNo, kNo, kNo},
    {"P99999D", kNo, kNo, kNo, kNo, kNo},
    {"P", kNo, kNo, kNo, kNo, kNo},
    {"PT", kNo, kNo, kNo, kNo, kNo},
    {"P1", kNo, kNo, kNo, kNo, kNo},
    {"P1H", kNo, kNo, kNo, kNo, kNo},
    {"P1M", kNo, kNo, kNo, kNo, kNo},
    {"P1Y", kNo, kNo, kNo, kNo, kNo},
    {"P1YT1M", kNo, kNo, kNo, kNo, kNo},
    {"P1DT", kNo, kNo, kNo, kNo, kNo},
    {"P-1D", kNo, kNo, kNo, kNo, kNo},
    {"PT1H ", kNo, kNo, kNo, kNo, kNo},
    {"PT1", kNo, kNo, kNo, kNo, kNo},
    {"PT1D", kNo, kNo, kNo, kNo, kNo},
    {"PT1M1H", kNo, kNo, kNo, kNo, kNo},
    {"PT1H1H", kNo, kNo, kNo, kNo, kNo},
    // Slurm's times.
    {"1:30", kNo, kNo, kNo, 90, 90},
    {"01:30:00", kNo, 5400, 5400, 5400, 5400},
    {"00:00:00", kNo, kNo, kNo, kNo, kNone},
    {"0-0", kNo, kNo, kNo, kNo, kNone},
    {"0-01", kNo, kHour, kHour, kHour, kHour},
    {"1-0", kNo, kDay, kDay, kDay, kDay},
    {"2-12", kNo, 60 * kHour, 60 * kHour, 60 * kHour, 60 * kHour},
    {"2-12:30", kNo, 60 * kHour + 1800, 60 * kHour + 1800, 60 * kHour + 1800, 60 * kHour + 1800},
    {"3-04:05:06", kNo, 3 * kDay + 14706, 3 * kDay + 14706, 3 * kDay + 14706, 3 * kDay + 14706},
    {"4000-00:00:00", kNo, kNo, kNo, kNo, 4000 * kDay},
    {"UNLIMITED", kNo, kNo, kNo, kNone, kNone},
    {"infinite", kNo, kNo, kNo, kNone, kNone},
    {"Partition_Limit", kNo, kNo, kNo, kNo, kNo},
    {"NOT_SET", kNo, kNo, kNo, kNo, kNo},
    {"1:2:3:4", kNo, kNo, kNo, kNo, kNo},
    {"1-2:3:4:5", kNo, kNo, kNo, kNo, kNo},
    {"1-2-3", kNo, kNo, kNo, kNo, kNo},
    {"1--2", kNo, kNo, kNo, kNo, kNo},
    {"-1:00", kNo, kNo, kNo, kNo, kNo},
    {"1-", kNo, kNo, kNo, kNo, kNo},
    {"1:", kNo, kNo, kNo, kNo, kNo},
    {":1", kNo, kNo, kNo, kNo, kNo},
};

std::int64_t number(ByteCount bytes) {
  return static_cast<std::int64_t>(bytes.value);
}
std::int64_t number(std::chrono::seconds time) {
  return time.count();
}
std::int64_t number(std::optional<std::chrono::seconds> time) {
  return time ? time->count() : kNone;
}

template <class T>
std::int64_t outcome(const Result<T>& parsed) {
  if (parsed.ok()) return number(*parsed);
  EXPECT_EQ(parsed.error().kind, ErrorKind::invalid);
  EXPECT_NE(parsed.error().remedy, "") << parsed.error().what;
  return kNo;
}

TEST(Quantities, are_read_as_the_table_says) {
  for (const Case& c : kCases) {
    EXPECT_EQ(outcome(parse_bytes(c.text)), c.bytes) << c.text;
    const bool has_unit =
        std::string_view(c.text).find_first_of("bBkKmMgGtTpP") != std::string::npos;
    const bool is_memory = has_unit ? c.bytes > 0 : c.bytes >= kMiB;
    EXPECT_EQ(outcome(parse_memory(c.text)), is_memory ? c.bytes : kNo) << c.text;
    EXPECT_EQ(outcome(parse_duration(c.text)), c.duration) << c.text;
    EXPECT_EQ(outcome(parse_spec_duration(c.text)), c.spec) << c.text;
    EXPECT_EQ(outcome(parse_walltime(c.text)), c.walltime) << c.text;
    EXPECT_EQ(outcome(parse_time_limit(c.text)), c.limit) << c.text;
  }
}

TEST(Quantities, slurms_memory_is_of_mib_without_a_unit_and_0_is_all_of_a_node) {
  EXPECT_EQ(parse_slurm_memory("4096"), ByteCount{4096ULL << 20U});
  EXPECT_EQ(parse_slurm_memory("4g"), ByteCount{4ULL << 30U});
  for (const char* none : {"", "0", "much"}) EXPECT_FALSE(parse_slurm_memory(none)) << none;
}

TEST(Quantities, a_refusal_says_what_is_wrong_and_what_to_write) {
  EXPECT_EQ(parse_bytes("12x").error().what, "'12x' is not an amount of memory");
  EXPECT_EQ(parse_memory("0").error().what, "'0' is zero");
  EXPECT_EQ(parse_memory("8").error().what, "'8' without a unit is 8 bytes");
  EXPECT_EQ(parse_memory("8").error().remedy, "write 8m or 8g, or 8b where bytes are meant");
  EXPECT_EQ(parse_memory("0.5").error().what, "'0.5' without a unit is 0 bytes");
  EXPECT_EQ(parse_bytes("5000p").error().what, "'5000p' is more than 1 EiB");
  EXPECT_EQ(parse_duration("3651d").error().what, "'3651d' is longer than 3650 days");
  EXPECT_EQ(parse_duration("\nsoon").error().what, "'\\nsoon' is not a duration");
  EXPECT_EQ(parse_spec_duration("P1Y").error().what,
            "'P1Y': months and years have no fixed length");
  EXPECT_EQ(parse_walltime("8h").error().what, "'8h' is not a time limit of Slurm");
  EXPECT_EQ(parse_bytes("12x").error().remedy, "write it like 512k, 100m, 2g or 1t");
}

TEST(Quantities, a_flag_is_refused_for_what_a_file_is_refused_for) {
  for (const char* text : {"30", "1.5", "30:00", "P1Y", "soon", "", "00:00:00", "3651d"}) {
    ASSERT_FALSE(parse_duration(text).ok()) << text;
    EXPECT_EQ(parse_duration(text).error().text(), parse_spec_duration(text).error().text())
        << text;
  }
  EXPECT_EQ(parse_duration("30").error().what, "'30' is a duration without a unit");
  EXPECT_EQ(parse_duration("30:00").error().what, "'30:00' may be minutes or hours");
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

TEST(Number, a_part_of_a_whole_is_a_number_or_a_percentage) {
  EXPECT_EQ(parse_thousandths("0.5"), 500U);
  EXPECT_EQ(parse_thousandths("50%"), 500U);
  EXPECT_EQ(parse_thousandths("12.5%"), 125U);
  EXPECT_EQ(parse_thousandths("0.001"), 1U);
  EXPECT_EQ(parse_thousandths("0"), 0U);
  EXPECT_EQ(parse_thousandths("1"), 1000U);
  EXPECT_EQ(parse_thousandths("100%"), 1000U);
  for (int n = 0; n <= 1000; ++n)
    EXPECT_EQ(parse_thousandths(fmt::format("{}.{:03}", n / 1000, n % 1000)), n) << n;
  for (const char* none : {"", "%", "-0.5", "50 %", "1.001", "101%", "0.0005", "12.55%", "half",
                           "0.5%%", "1e-1", ".5", "99999999999999999999"})
    EXPECT_FALSE(parse_thousandths(none).has_value()) << none;
}

TEST(Quantities, are_shown_in_the_unit_that_fits) {
  EXPECT_EQ(show_bytes({512}), "512 B");
  EXPECT_EQ(show_bytes({3ULL << 29}), "1.5 GiB");
  EXPECT_EQ(show_duration(250us), "250 us");
  EXPECT_EQ(show_duration(1500ms), "1.5 s");
  EXPECT_EQ(show_duration(200s), "3 min 20 s");
  EXPECT_EQ(show_duration(7500s), "2 h 5 min");
  // What is nothing is not said.
  EXPECT_EQ(show_bytes({4ULL << 30U}), "4 GiB");
  EXPECT_EQ(show_duration(10min), "10 min");
  EXPECT_EQ(show_duration(30s), "30 s");
  EXPECT_EQ(show_duration(24h + 5min), "1 d");
  EXPECT_EQ(show_count(0), "0");
  EXPECT_EQ(show_count(999), "999");
  EXPECT_EQ(show_count(1234567), "1,234,567");
  EXPECT_EQ(plural(0, "job"), "0 jobs");
  EXPECT_EQ(plural(1, "ready job"), "1 ready job");
  EXPECT_EQ(plural(2000, "job"), "2,000 jobs");
  EXPECT_EQ(plural(1, "entry", "entries"), "1 entry");
  EXPECT_EQ(plural(2, "entry", "entries"), "2 entries");
}

TEST(Quantities, a_time_in_the_future_of_another_nodes_clock_is_now) {
  EXPECT_EQ(show_age(WallTime(10'000'000), WallTime(5'000'000)), "now");
  EXPECT_EQ(show_age(WallTime(10'000'000), WallTime(70'000'000)), "1 min ago");
  EXPECT_EQ(show_age(WallTime{}, WallTime(5)), "-");
}

TEST(Quantities, a_guess_is_shown_without_false_precision) {
  EXPECT_EQ(show_estimate(0.3), "<1 s");
  EXPECT_EQ(show_estimate(12.4), "12 s");
  EXPECT_EQ(show_estimate(300), "5 min");
  EXPECT_EQ(show_estimate(7500), "2 h 5 min");
  EXPECT_EQ(show_estimate(1e12), "years");
}

TEST(Quantities, that_somebody_wrote_are_shown_as_written) {
  EXPECT_EQ(show_bytes(ByteCount{1536}), "1.5 KiB");
  EXPECT_EQ(show_bytes(ByteCount{100ULL << 30U}), "100 GiB");
  EXPECT_EQ(show_exactly(90s), "1 min 30 s");
  EXPECT_EQ(show_exactly(36h), "1 d 12 h");
}

RC_GTEST_PROP(Quantities, no_text_is_too_strange, (const std::string& text)) {
  (void)parse_memory(text);
  (void)parse_duration(text);
  (void)parse_spec_duration(text);
  (void)parse_spec_duration("P" + text);
  (void)parse_walltime(text);
  (void)parse_integer(text);
  if (parse_decimal(text)) (void)decimals_of(text);
}

RC_GTEST_PROP(Quantities, days_and_clock_add_up, ()) {
  const auto days = *rc::gen::inRange(0, 400);
  const auto hours = *rc::gen::inRange(0, 48);
  const auto minutes = *rc::gen::inRange(0, 90);
  const auto seconds = *rc::gen::inRange(1, 90);
  const auto text = fmt::format("{}-{}:{}:{}", days, hours, minutes, seconds);
  const auto limit = parse_time_limit(text);
  RC_ASSERT(limit.ok());
  RC_ASSERT((*limit)->count() == ((days * 24 + hours) * 60 + minutes) * 60 + seconds);
}

RC_GTEST_PROP(Quantities, any_text_gives_a_limit_or_an_error, ()) {
  const auto text =
      *rc::gen::container<std::string>(rc::gen::elementOf(std::string("0123456789:-")));
  const auto limit = parse_time_limit(text);
  if (limit.ok() && *limit) RC_ASSERT((*limit)->count() > 0);
}

}  // namespace
}  // namespace torc
