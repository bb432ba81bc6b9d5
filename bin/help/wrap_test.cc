#include "bin/help/wrap.h"

#include <gtest/gtest.h>

namespace torc::cli {
namespace {

TEST(WrappedHelp, a_row_goes_on_in_its_second_column) {
  EXPECT_EQ(wrapped_help("Options:\n  --name REGEX          only jobs whose name matches it\n", 44),
            "Options:\n"
            "  --name REGEX          only jobs whose name\n"
            "                        matches it\n");
}

TEST(WrappedHelp, lines_that_fit_stay_as_they_are) {
  const char* text = "Examples:\n  torc  run   x\n\nmore\n";
  EXPECT_EQ(wrapped_help(text, 40), text);
}

TEST(WrappedHelp, a_sentence_that_was_broken_by_hand_is_broken_anew) {
  EXPECT_EQ(wrapped_help("It may be a workflow\nfile. Also\nhere.\nAnd this begins a line.\n", 26),
            "It may be a workflow file.\nAlso here.\nAnd this begins a line.\n");
  EXPECT_EQ(wrapped_help("Usage: torc\n\nOptions:\nplain\n", 40),
            "Usage: torc\n\nOptions:\nplain\n");
}

TEST(WrappedHelp, how_a_command_is_written_begins_a_line) {
  EXPECT_EQ(wrapped_help("List jobs\nUsage: torc jobs [OPTIONS]\n", 80),
            "List jobs\nUsage: torc jobs [OPTIONS]\n");
}

TEST(WrappedHelp, choices_are_broken_behind_commas_and_look_like_no_flag) {
  EXPECT_EQ(wrapped_help("  --state STATE:{blocked,ready,claimed,running}\n", 30),
            "  --state STATE:{blocked,\n"
            "      ready,claimed,running}\n");
}

TEST(WrappedHelp, a_narrow_screen_has_room_for_the_text) {
  EXPECT_EQ(wrapped_help("  --name REGEX          only jobs whose name matches\n", 40),
            "  --name REGEX          only jobs whose\n"
            "      name matches\n");
}

TEST(WrappedHelp, counts_columns_of_a_terminal_and_breaks_no_word) {
  EXPECT_EQ(wrapped_help("解析 解析\n", 9), "解析 解析\n");
  EXPECT_EQ(wrapped_help("解析 解析\n", 8), "解析\n解析\n");
  EXPECT_EQ(wrapped_help("incomprehensible\n", 8), "incomprehensible\n");
}

}  // namespace
}  // namespace torc::cli
