#include "lib/base/text/quote.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "lib/base/text/table.h"

namespace torc {
namespace {

std::string as_bash_reads(const std::string& word) {
  std::FILE* pipe = popen(("bash -c " + shell_word("printf %s " + word)).c_str(), "r");
  std::string out;
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) out.push_back(static_cast<char>(c));
  pclose(pipe);
  return out;
}

TEST(Quote, a_word_means_to_a_shell_exactly_its_text) {
  for (const std::string text : {"plain_1.2/x", "two words", "it's", "$HOME `id` \"q\"", "a\\b",
                                 "new\nline\t'x\\y'", "*?", "\x1b[31mred", "größe"}) {
    EXPECT_EQ(as_bash_reads(shell_word(text)), text);
  }
}

TEST(Quote, a_plain_word_stays_as_it_is) {
  EXPECT_EQ(shell_word("run7.torc"), "run7.torc");
  EXPECT_EQ(shell_word(""), "''");
}

TEST(Quote, nothing_printable_can_move_the_cursor) {
  EXPECT_EQ(printable("a\x1b[2Jb\r\n\x7f"), "a\\x1b[2Jb\\r\\n\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");  // a C1 control: CSI in one character
  EXPECT_EQ(printable("über 日本 😀"), "über 日本 😀");
  EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(printable("\xed\xa0\x80 \xe0\x80\x80"), "\\xed\\xa0\\x80 \\xe0\\x80\\x80");
}

TEST(Quote, nothing_printable_can_turn_the_order_of_a_line) {
  EXPECT_EQ(printable("a\u202eb\u2066c\u2069"), "a\\xe2\\x80\\xaeb\\xe2\\x81\\xa6c\\xe2\\x81\\xa9");
  EXPECT_EQ(terminal_text("a\u202a\nb"), "a\\xe2\\x80\\xaa\nb");
  EXPECT_EQ(quoted("a\u202eb"), "'a\\x202eb'");
  EXPECT_EQ(printable("שלום\u200f"), "שלום\u200f") << "marks alone turn nothing else";
}

TEST(Table, a_cell_of_a_table_stays_in_its_line) {
  Table table({{"HOST"}, {"N"}});
  table.add({"a\nb\tc", "1"});
  EXPECT_EQ(table.text(), "HOST     N\na\\nb\\tc  1\n");
}

}  // namespace
}  // namespace torc
