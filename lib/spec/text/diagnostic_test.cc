#include "lib/spec/text/diagnostic.h"
#include "lib/base/text/quote.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/text/utf8.h"
#include "lib/spec/text/source.h"

namespace torc::spec {
namespace {

Diagnostic at(std::size_t column, std::size_t length, std::string line) {
  return {Severity::error, "wf.yaml",   {7, column, length},
          "unknown key",   "remove it", std::move(line)};
}

TEST(Diagnostic, shows_the_line_with_a_caret_and_the_remedy) {
  EXPECT_EQ(to_text(at(5, 6, "    comand: echo hi")),
            "wf.yaml:7:5: error: unknown key\n"
            "    7 |     comand: echo hi\n"
            "      |     ^~~~~~\n"
            "      = remove it\n");
}

TEST(Diagnostic, without_a_place_it_is_one_line_and_the_remedy) {
  EXPECT_EQ(
      to_text(Diagnostic{Severity::warning, "wf.yaml", {}, "it is empty", "write a workflow", ""}),
      "wf.yaml: warning: it is empty\n"
      "      = write a workflow\n");
}

TEST(Diagnostic, several_stand_below_each_other) {
  const Diagnostic note{Severity::note, "a", {}, "x", "", ""};
  EXPECT_EQ(to_text(std::vector<Diagnostic>{note, note}), "a: note: x\na: note: x\n");
}

TEST(Diagnostic, columns_are_characters_and_tabs_reach_the_next_stop) {
  EXPECT_EQ(to_text(at(5, 2, "\té: xy")),
            "wf.yaml:7:5: error: unknown key\n"
            "    7 |         é: xy\n"
            "      |            ^~\n"
            "      = remove it\n");
}

TEST(Diagnostic, wide_characters_take_two_columns_and_combining_ones_none) {
  EXPECT_EQ(to_text(at(5, 1, "名e\u0301 x")),
            "wf.yaml:7:5: error: unknown key\n"
            "    7 | 名e\u0301 x\n"
            "      |     ^\n"
            "      = remove it\n");
}

TEST(Diagnostic, escape_sequences_in_the_file_do_not_reach_the_terminal) {
  const std::string text = to_text(at(1, 1, "a\x1b[31m\xff"));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(text.find("a\uFFFD[31m\uFFFD"), std::string::npos);
}

TEST(Diagnostic, a_long_line_is_cut_around_the_place) {
  const std::string line = std::string(500, 'a') + "HERE" + std::string(500, 'b');
  EXPECT_EQ(to_text(at(501, 4, line)),
            "wf.yaml:7:501: error: unknown key\n"
            "    7 | …" +
                std::string(40, 'a') + "HERE" + std::string(52, 'b') + "…\n" + "      | " +
                std::string(41, ' ') +
                "^~~~\n"
                "      = remove it\n");
}

TEST(Diagnostic, an_underline_ends_with_the_line) {
  EXPECT_NE(to_text(at(3, 100, "  ab")).find("|   ^~\n"), std::string::npos);
  EXPECT_NE(to_text(at(50, 100, "  ab")).find("|     ^\n"), std::string::npos);
  EXPECT_NE(to_text(at(1, 1, "")).find("    7 |\n      | ^\n"), std::string::npos);
}

TEST(Quoted, control_characters_are_written_out_and_long_text_is_cut) {
  EXPECT_EQ(torc::quoted("a\nb\t\x1b\xff"), "'a\\nb\\t\\x1b\uFFFD'");
  EXPECT_EQ(torc::quoted(std::string(100, 'x')), "'" + std::string(60, 'x') + "…'");
}

TEST(Nearest, finds_slips_and_nothing_else) {
  const std::vector<std::string> keys = {"command", "name", "depends_on", "num_cpus"};
  EXPECT_EQ(nearest("comand", keys), "command");
  EXPECT_EQ(nearest("nmae", keys), "name");
  EXPECT_EQ(nearest("dependson", keys), "depends_on");
  EXPECT_EQ(nearest("depend_on", keys), "depends_on");
  EXPECT_EQ(nearest("cpus", keys), "num_cpus");
  EXPECT_EQ(nearest("colour", keys), "");
  EXPECT_EQ(nearest("", keys), "");
}

TEST(Nearest, of_two_the_closer_one_wins) {
  EXPECT_EQ(nearest("prep_12", {"prep_9999", "prep_1", "prep_123"}), "prep_1");
  EXPECT_EQ(nearest("training", {"trainings", "training"}), "training");
}

// Slow and plain: what Source says of a place is what is counted from the begin of its line.
TEST(Source, places_are_those_that_are_counted_from_the_begin_of_the_line) {
  std::mt19937 random(7);  // NOLINT: always the same
  const std::string pieces[] = {"a", "é", "日", "😀", "\n", "\r\n", "\xFF", "x\ty", "\xE6\x97"};
  std::string text;
  for (int i = 0; i < 12'000; ++i) text += pieces[random() % (i % 4000 < 3500 ? 4 : 9)];
  const Source source(text, "f");
  for (std::size_t offset = 0; offset < text.size(); offset += 1 + random() % 7) {
    const std::size_t line_end = text.rfind('\n', offset == 0 ? std::string::npos : offset - 1);
    const std::size_t start = offset == 0 || line_end == std::string::npos ? 0 : line_end + 1;
    const std::string_view line = source.line(source.place(offset).line);
    const std::size_t column =
        count_characters(line.substr(0, std::min(offset - start, line.size()))) + 1;
    ASSERT_EQ(source.place(offset).column, column) << offset;
    const Place place{source.place(offset).line, column, 1};
    std::size_t at = 0;
    for (std::size_t i = 1; i < column && at < line.size(); ++i)
      at += std::max<std::size_t>(decode_utf8(line, at).bytes, 1);
    ASSERT_EQ(source.offset_of(place), start + at) << offset;
  }
}

// Every row and column of the table, by the book.
std::size_t slow_distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      const std::size_t replaced = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({replaced, d[i - 1][j] + 1, d[i][j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

TEST(Nearest, is_what_has_the_fewest_edits_and_no_more_than_a_third_or_twelve) {
  std::mt19937 random(11);  // NOLINT: always the same
  const auto edited = [&](std::string text, std::size_t edits) {
    for (; edits > 0 && text.size() > 1; --edits) {
      const std::size_t at = random() % (text.size() - 1);
      const auto letter = static_cast<char>('a' + random() % 3);
      switch (random() % 4) {
        case 0:
          text[at] = letter;
          break;
        case 1:
          text.erase(at, 1);
          break;
        case 2:
          text.insert(at, 1, letter);
          break;
        default:
          std::swap(text[at], text[at + 1]);
      }
    }
    return text;
  };
  std::size_t found = 0;
  for (int i = 0; i < 4'000; ++i) {
    std::string name(3 + random() % 60, 'a');
    for (char& c : name) c = static_cast<char>('a' + random() % 3);
    const std::string other = edited(name, random() % 16);
    const bool is_held =
        name.find(other) != std::string::npos || other.find(name) != std::string::npos;
    const bool is_near =
        slow_distance(name, other) <= std::min<std::size_t>(name.size() / 3, 12) || is_held;
    if (is_held && other.size() < 3) continue;
    ASSERT_EQ(nearest(name, {other}), is_near ? other : "") << name << " " << other;
    found += is_near ? 1 : 0;
  }
  EXPECT_GT(found, 500U);
  EXPECT_LT(found, 3'900U);
}

}  // namespace
}  // namespace torc::spec
