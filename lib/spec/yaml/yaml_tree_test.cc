#include "lib/spec/yaml/yaml_tree.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "lib/base/text/utf8.h"
#include "lib/spec/yaml/yaml_text.h"

namespace torc::spec {
namespace {

struct Reading {
  Source source;
  Report report;
  Tree tree;

  explicit Reading(std::string_view text)
      : source(without_bom(text), "f"), report(source), tree(read_yaml(source, report)) {}

  [[nodiscard]] std::string shown() { return to_text(std::move(report).sorted()); }
  // The value of a key of the root.
  [[nodiscard]] const Node& at(std::string_view key) const {
    static const Node kNone;
    if (tree.root == nullptr) return kNone;
    for (std::size_t i = 0; i + 1 < tree.root->items.size(); i += 2) {
      if (tree.root->items[i]->text == key) return *tree.root->items[i + 1];
    }
    return kNone;
  }
  [[nodiscard]] Place place(std::string_view key) const { return place_of(source, at(key)); }
};

void expect_place(Place place, std::size_t line, std::size_t column, std::size_t length) {
  EXPECT_EQ(place.line, line);
  EXPECT_EQ(place.column, column);
  EXPECT_EQ(place.length, length);
}

TEST(YamlTree, places_count_characters_not_bytes) {
  const Reading r("é: \"ü x\"\nañb: [1]\n");
  expect_place(r.place("é"), 1, 4, 5);
  expect_place(r.place("añb"), 2, 6, 1);
}

TEST(YamlTree, a_value_stands_behind_its_anchor_and_its_tag) {
  const Reading r("a: &x !!str foo\nb: *x\n");
  expect_place(r.place("a"), 1, 13, 3);
  expect_place(r.place("b"), 2, 4, 2);  // the alias itself
  EXPECT_FALSE(r.at("a").plain);
  EXPECT_EQ(r.at("b").text, "foo");
}

TEST(YamlTree, a_text_over_several_lines_is_underlined_in_its_first) {
  const Reading r("a: one\n  two\nb: |\n  x\n");
  expect_place(r.place("a"), 1, 4, 3);
  EXPECT_EQ(r.at("a").text, "one two");
  expect_place(r.place("b"), 3, 4, 1);
}

TEST(YamlTree, a_byte_order_mark_and_dos_line_ends_change_no_place) {
  Reading r(
      "\xEF\xBB\xBF"
      "a: b\r\nc: d\r\n");
  expect_place(r.place("a"), 1, 4, 1);
  expect_place(r.place("c"), 2, 4, 1);
  EXPECT_EQ(r.at("c").text, "d");
  EXPECT_EQ(r.shown(), "");
}

TEST(YamlTree, nulls_keep_how_they_were_written) {
  const Reading r("a: null\nb: ~\nc:\nd: x\n");
  EXPECT_EQ(r.at("a").text, "null");
  EXPECT_EQ(r.at("b").text, "~");
  EXPECT_EQ(r.at("c").text, "");
  EXPECT_EQ(r.at("c").kind, NodeKind::null);
}

TEST(YamlTree, merged_keys_come_last_and_lose_against_own_ones) {
  const Reading r("base: &b {x: 1, y: 2}\nmore: &m {y: 3, z: 4}\nall:\n  x: 9\n  <<: [*b, *m]\n");
  std::string keys;
  const Node& all = r.at("all");
  for (std::size_t i = 0; i + 1 < all.items.size(); i += 2) {
    keys += all.items[i]->text + all.items[i + 1]->text + " ";
  }
  EXPECT_EQ(keys, "x9 y2 z4 ");
}

TEST(YamlTree, a_quoted_merge_sign_is_a_key) {
  const Reading r("a: {\"<<\": 1}\n");
  ASSERT_EQ(r.at("a").items.size(), 2U);
}

TEST(YamlTree, tabs_may_indent_within_brackets_and_before_remarks) {
  Reading r("{\"a\": 1,\n\t\"b\": [\n\t\t1, 2]}\n");
  EXPECT_EQ(r.shown(), "");
  Reading remark("a: b #x\n\t# remark\nc: d\n");
  EXPECT_EQ(remark.shown(), "");
}

TEST(YamlTree, sixty_four_levels_are_read_and_one_more_is_not) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_NE(Reading(nested(64)).tree.root, nullptr);
  EXPECT_EQ(Reading(nested(65)).tree.root, nullptr);
}

TEST(YamlTree, no_nesting_however_deep_ends_the_program) {
  constexpr std::size_t kDeep = 100'000;
  for (const std::string_view unit : {"[", "{", "- ", "? ", "[a, ", "{a: ", "!x ", "&x "}) {
    std::string text;
    for (std::size_t i = 0; i < kDeep; ++i) text += unit;
    EXPECT_NE(Reading(text).shown(), "") << unit;
  }
}

TEST(YamlTree, aliases_of_aliases_are_counted_before_they_fill_the_memory) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    text += fmt::format("a{0}: &a{0} [", i);
    for (int k = 0; k < 10; ++k) text += fmt::format("{}*a{}", k == 0 ? "" : ", ", i - 1);
    text += "]\n";
  }
  EXPECT_NE(Reading(text).shown().find("more than 5000000 values"), std::string::npos);
}

TEST(YamlTree, maps_that_merge_each_other_are_counted) {
  std::string text;
  for (int i = 0; i < 4000; ++i) {
    text += fmt::format("a{0}: &a{0} {{k{0}: 1", i);
    text += i == 0 ? "}\n" : fmt::format(", <<: *a{}}}\n", i - 1);
  }
  EXPECT_NE(Reading(text).shown().find("more than 5000000 values"), std::string::npos);
}

TEST(YamlTree, bytes_that_are_no_text_are_refused_where_they_stand) {
  EXPECT_EQ(Reading("a: J\xfcrgen\n").shown(),
            "f:1:5: error: byte 0xfc is not UTF-8\n"
            "    1 | a: J\uFFFDrgen\n"
            "      |     ^\n"
            "      = save the file as UTF-8\n");
  EXPECT_NE(Reading(std::string_view("a: \0\n", 5)).shown().find("f:1:4: error: a NUL byte"),
            std::string::npos);
  EXPECT_NE(Reading("a: b\x04\nc: d\n").shown().find("f:1:5: error: control character U+0004"),
            std::string::npos);
  EXPECT_NE(Reading(std::string_view("\xFF\xFE"
                                     "a\0",
                                     4))
                .shown()
                .find("the file is UTF-16"),
            std::string::npos);
  EXPECT_NE(Reading("a: \xC0\x80").shown().find("byte 0xc0 is not UTF-8"), std::string::npos);
}

TEST(YamlTree, a_file_beyond_the_limit_is_refused_unread) {
  const std::string text(kMaxSpecBytes + 1, 'a');
  EXPECT_NE(Reading(text).shown().find("the limit is 64 MiB"), std::string::npos);
}

TEST(YamlTree, a_quote_that_is_never_closed_is_named_at_its_start) {
  EXPECT_NE(Reading("a: 'it''s\nb: 1\n").shown().find("f:1:4: error: this ' is never closed"),
            std::string::npos);
  EXPECT_NE(Reading("a: \"x\\\"\nb: 1\n").shown().find("f:1:4: error: this \" is never closed"),
            std::string::npos);
}

TEST(YamlText, in_quotes_is_read_as_it_was) {
  std::string text = "a \"b\" \\ 'c' #: {}\n\t\x01\x7f \u0085\u00e9\u2028\U0001f600";
  const std::string quoted = yaml_quoted(text);
  for (const char c : quoted) EXPECT_TRUE(c >= ' ' && c < 0x7f) << quoted;
  Reading read("a: " + quoted + "\n");
  EXPECT_EQ(read.at("a").text, text) << read.shown();
  EXPECT_EQ(yaml_quoted("a\xff"), "\"a\\ufffd\"");
  EXPECT_EQ(yaml_quoted(""), "\"\"");
}

}  // namespace
}  // namespace torc::spec
