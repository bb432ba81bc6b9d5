#include "lib/base/text/table.h"

#include <gtest/gtest.h>

#include "lib/base/text/text.h"
#include "lib/base/text/utf8.h"

namespace torc {
namespace {

constexpr const char* kAccent = "e\u0301";  // one column, two code points

Table named(const std::string& name, const std::string& why) {
  Table table({{"name", Align::left, Shorten::yes},
               {"n", Align::right},
               {"why", Align::left, Shorten::yes}});
  table.add({name, "7", why});
  return table;
}

TEST(Table, lines_up_columns_by_characters_not_bytes) {
  Table table({{"name"}, {"n", Align::right}, {"why"}});
  table.add({"größe", "7", "x"});
  table.add({"a", "1,000", "a long reason"});
  EXPECT_EQ(table.text(),
            "name       n  why\n"
            "größe      7  x\n"
            "a      1,000  a long reason\n");
}

TEST(Table, lines_up_what_takes_two_columns_of_a_terminal_or_none) {
  Table table({{"name"}, {"n", Align::right}});
  table.add({"解析", "1"});
  table.add({std::string(kAccent) + "t" + kAccent, "2"});
  table.add({"four", "3"});
  EXPECT_EQ(table.text(), "name  n\n解析  1\ne\u0301te\u0301   2\nfour  3\n");
}

TEST(Table, the_last_column_leaves_no_trailing_blanks) {
  Table table({{"a"}, {"b"}});
  table.add({"1", "2"});
  EXPECT_EQ(table.text(), "a  b\n1  2\n");
}

TEST(Table, what_fits_is_shown_whole) {
  const Table table = named("a_name_of_twenty_two_c", "why");
  EXPECT_EQ(table.text(30), table.text());
  EXPECT_NE(table.text(29), table.text());
}

TEST(Table, the_widest_column_that_may_be_is_shortened_in_its_middle) {
  EXPECT_EQ(named("work_of_the_first_stage_17", "no memory").text(31),
            "name               n  why\n"
            "work_of_…stage_17  7  no memory\n");
}

TEST(Table, columns_of_the_same_width_give_way_alike) {
  const Table table = named(std::string(30, 'a'), std::string(30, 'b'));
  const std::string text = table.text(45);
  for (const auto& line : split(text, '\n')) EXPECT_LE(terminal_width(line), 45U) << line;
  EXPECT_NE(table.text(45).find("aaaaaaaaaa…aaaaaaaaa  7  bbbbbbbbbb…bbbbbbbbb\n"),
            std::string::npos)
      << table.text(45);
}

TEST(Table, no_column_becomes_narrower_than_twelve_or_its_title) {
  Table table(
      {{"a title of sixteen", Align::left, Shorten::yes}, {"b", Align::left, Shorten::yes}});
  table.add({std::string(40, 'a'), std::string(40, 'b')});
  EXPECT_EQ(table.text(1),
            "a title of sixteen  b\n"
            "aaaaaaaaa…aaaaaaaa  bbbbbb…bbbbb\n");
}

TEST(Table, other_columns_are_never_shortened) {
  Table table({{"time"}, {"bytes", Align::right}});
  table.add({"2026-05-01 12:00:00", "123,456,789,012,345"});
  EXPECT_EQ(table.text(10), table.text());
}

TEST(Table, what_is_dispensable_is_left_out_where_lines_would_be_too_wide) {
  Table table({{"job"},
               {"read", Align::right, Shorten::no, 1},
               {"exit", Align::right},
               {"written", Align::right, Shorten::no, 2}});
  table.add({"a", "10 MiB", "0", "20 MiB"});
  EXPECT_EQ(table.text(26), table.text());
  EXPECT_TRUE(table.left_out(26).empty());
  EXPECT_EQ(table.text(25), "job    read  exit\na    10 MiB     0\n");
  EXPECT_EQ(table.left_out(25), std::vector<std::string>{"written"});
  EXPECT_EQ(table.text(10), "job  exit\na       0\n");
  EXPECT_EQ(table.left_out(10), (std::vector<std::string>{"read", "written"}));
  EXPECT_EQ(table.text(2), table.text(10)) << "the others stay";
}

// What may be shortened is, before anything is left out.
TEST(Table, names_give_way_before_columns_do) {
  Table table({{"job", Align::left, Shorten::yes}, {"read", Align::right, Shorten::no, 1}});
  table.add({std::string(30, 'a'), "10 MiB"});
  EXPECT_TRUE(table.left_out(20).empty());
  EXPECT_EQ(table.left_out(19), std::vector<std::string>{"read"});
}

TEST(Table, colors_take_no_room) {
  Table table({{"state"}, {"job"}});
  table.add({"failed", "a"});
  table.add({"ok", "failed"});
  const auto paint = [](std::string_view title, std::string_view cell) -> std::string_view {
    return title == "state" && cell == "failed" ? "\x1b[31m" : "";
  };
  EXPECT_EQ(table.text({}, paint), "state   job\n\x1b[31mfailed\x1b[0m  a\nok      failed\n");
  EXPECT_EQ(table.text(), "state   job\nfailed  a\nok      failed\n");
}

TEST(Shortened, keeps_both_ends) {
  EXPECT_EQ(shortened("abcdefghij", 10), "abcdefghij");
  EXPECT_EQ(shortened("abcdefghij", 9), "abcd…ghij");
  EXPECT_EQ(shortened("abcdefghij", 8), "abcd…hij");
  EXPECT_EQ(shortened("abcdefghij", 2), "a…");
  EXPECT_EQ(shortened("abcdefghij", 1), "…");
}

TEST(Shortened, counts_columns_of_a_terminal) {
  EXPECT_EQ(shortened("解析解析解析", 12), "解析解析解析");
  EXPECT_EQ(shortened("解析解析解析", 11), "解析…析解析");
  const std::string marks = std::string(kAccent) + kAccent + kAccent + kAccent;
  EXPECT_EQ(shortened(marks, 4), marks);
  // No mark without what it is on.
  EXPECT_EQ(shortened(marks, 3), std::string(kAccent) + "…" + kAccent);
}

}  // namespace
}  // namespace torc
