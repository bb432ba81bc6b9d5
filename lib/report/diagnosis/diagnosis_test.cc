#include <gtest/gtest.h>
#include <re2/re2.h>

#include <set>

#include "lib/report/diagnosis/log_scan.h"
#include "lib/report/diagnosis/patterns.h"

namespace torc::report {
namespace {

bool searched_by(const Pattern& pattern, std::string_view line) {
  const RE2 expression("(?m)" + std::string(pattern.expression), RE2::Latin1);
  EXPECT_TRUE(expression.ok()) << pattern.expression << ": " << expression.error();
  return RE2::PartialMatch(line, expression);
}

std::vector<Cause> causes_in(std::string_view text) {
  std::vector<Cause> causes;
  for (const Sign& sign : LogScan().signs_in(text)) causes.push_back(sign.cause);
  return causes;
}

TEST(Patterns, each_meets_its_line_and_passes_over_the_one_that_only_looks_like_it) {
  EXPECT_GE(patterns().size(), 40U);
  for (const Pattern& p : patterns()) {
    EXPECT_TRUE(searched_by(p, p.meets)) << p.expression << "\n" << p.meets;
    EXPECT_FALSE(searched_by(p, p.passes)) << p.expression << "\n" << p.passes;
    const std::string among =
        "first line\n" + std::string(p.meets) + "\r\n" + std::string(p.passes) + "\nlast";
    EXPECT_TRUE(searched_by(p, among)) << p.expression << " is for a line among others";
  }
}

TEST(Patterns, a_line_is_told_as_its_own_cause) {
  for (const Pattern& p : patterns()) {
    const std::vector<Cause> causes =
        causes_in(std::string("x\n") + std::string(p.meets) + "\ny\n");
    ASSERT_EQ(causes.size(), 1U) << p.meets;
    EXPECT_EQ(row_of(causes[0]).word, row_of(p.cause).word) << p.meets;
  }
}

TEST(Causes, each_has_a_word_of_its_own_and_says_what_to_do) {
  std::set<std::string_view> words;
  for (std::size_t i = 0; i < kCauses; ++i) {
    const CauseRow& row = row_of(static_cast<Cause>(i));
    EXPECT_TRUE(words.insert(row.word).second) << row.word;
    EXPECT_FALSE(row.title.empty()) << row.word;
    EXPECT_FALSE(row.remedy.empty()) << row.word;
  }
}

TEST(LogScan, tells_the_first_line_of_a_cause_whole_and_without_blanks) {
  const auto signs =
      LogScan().signs_in("ok\n  cp: a: Disk quota exceeded \r\ncp: b: Disk quota exceeded\n");
  ASSERT_EQ(signs.size(), 1U);
  EXPECT_EQ(signs[0].line, "cp: a: Disk quota exceeded");
}

TEST(LogScan, cuts_long_lines_and_minds_no_bytes) {
  const std::string line = "\xff\xfe Disk quota exceeded " + std::string(100'000, 'x');
  const auto signs = LogScan().signs_in(line);
  ASSERT_EQ(signs.size(), 1U);
  EXPECT_LT(signs[0].line.size(), 400U);
  EXPECT_TRUE(LogScan().signs_in("").empty());
  EXPECT_TRUE(LogScan().signs_in("all is well\n").empty());
}

TEST(LogScan, takes_a_large_text_of_lines_that_nearly_match) {
  std::string text;
  while (text.size() < (4U << 20)) text += "module: module: module: ValueErro slurmstepd: err\n";
  EXPECT_TRUE(LogScan().signs_in(text).empty());
}

TEST(Settle, leaves_out_what_is_general_when_something_else_is_known) {
  std::vector<Sign> signs{{Cause::python_error, "ValueError: x"}, {Cause::disk_full, "no space"}};
  settle(signs);
  ASSERT_EQ(signs.size(), 1U);
  EXPECT_EQ(signs[0].cause, Cause::disk_full);
  signs = {{Cause::program_error, "panic"}, {Cause::python_error, "ValueError: x"}};
  settle(signs);
  ASSERT_EQ(signs.size(), 1U);
  EXPECT_EQ(signs[0].cause, Cause::python_error);
}

TEST(Settle, keeps_the_first_line_of_a_cause) {
  std::vector<Sign> signs{{Cause::disk_full, "first"}, {Cause::disk_full, "second"}};
  settle(signs);
  ASSERT_EQ(signs.size(), 1U);
  EXPECT_EQ(signs[0].line, "first");
}

}  // namespace
}  // namespace torc::report
