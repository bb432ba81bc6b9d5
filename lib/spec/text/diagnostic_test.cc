#include "lib/spec/text/diagnostic.h"
#include "lib/base/text/quote.h"

#include <gtest/gtest.h>

#include <string>

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

}  // namespace
}  // namespace torc::spec
