#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "lib/base/quantities.h"

namespace torc {
namespace {

TEST(TimeLimit, every_format_of_sbatch_is_read) {
  const std::vector<std::pair<const char*, std::int64_t>> cases = {
      {"90", 90 * 60},
      {"1:30", 90},
      {"1:30:00", 5400},
      {"01:00:00", 3600},
      {"2-12", (2 * 24 + 12) * 3600},
      {"2-12:30", (2 * 24 + 12) * 3600 + 30 * 60},
      {"3-04:05:06", 3 * 86400 + 4 * 3600 + 5 * 60 + 6},
      {"0-01", 3600},
      {"1-0", 86400},
  };
  for (const auto& [text, seconds] : cases) {
    const auto limit = parse_time_limit(text);
    ASSERT_TRUE(limit.ok()) << text;
    ASSERT_TRUE(limit->has_value()) << text;
    EXPECT_EQ((*limit)->count(), seconds) << text;
  }
}

TEST(TimeLimit, unlimited_and_zero_are_no_limit) {
  for (const auto* text : {"UNLIMITED", "INFINITE", "infinite", "-1", "0", "00:00:00", "0-0"}) {
    const auto limit = parse_time_limit(text);
    ASSERT_TRUE(limit.ok()) << text;
    EXPECT_FALSE(limit->has_value()) << text;
  }
}

TEST(TimeLimit, what_sbatch_would_not_read_is_refused) {
  for (const auto* text :
       {"", "1h", "1:2:3:4", "1-", "-5", "1--2", "1-2:3:4:5", "1:", ":1", "1-2-3", " 5", "5 ",
        "PT1H", "99999999999999999999", "99999999999", "Partition_Limit", "NOT_SET"}) {
    const auto limit = parse_time_limit(text);
    ASSERT_FALSE(limit.ok()) << text;
    EXPECT_EQ(limit.error().kind, ErrorKind::invalid);
    EXPECT_FALSE(limit.error().remedy.empty());
  }
}

RC_GTEST_PROP(TimeLimit, days_and_clock_add_up, ()) {
  const auto days = *rc::gen::inRange(0, 400);
  const auto hours = *rc::gen::inRange(0, 48);
  const auto minutes = *rc::gen::inRange(0, 90);
  const auto seconds = *rc::gen::inRange(1, 90);
  const auto text = fmt::format("{}-{}:{}:{}", days, hours, minutes, seconds);
  const auto limit = parse_time_limit(text);
  RC_ASSERT(limit.ok());
  RC_ASSERT((*limit)->count() == ((days * 24 + hours) * 60 + minutes) * 60 + seconds);
}

RC_GTEST_PROP(TimeLimit, any_text_gives_a_limit_or_an_error, ()) {
  const auto text =
      *rc::gen::container<std::string>(rc::gen::elementOf(std::string("0123456789:-")));
  const auto limit = parse_time_limit(text);
  if (limit.ok() && *limit) RC_ASSERT((*limit)->count() > 0);
}

}  // namespace
}  // namespace torc
