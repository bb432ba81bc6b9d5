#include "bin/quote.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "bin/job_view.h"
#include "bin/table.h"

namespace torc::cli {
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

TEST(Quote, a_job_whose_name_looks_like_a_flag_is_named_by_number) {
  EXPECT_EQ(job_word("--help", JobId{7}), "'#7'");
  EXPECT_EQ(job_word("#3", JobId{8}), "'#8'");
  EXPECT_EQ(job_word("a b", JobId{9}), "'a b'");
}

TEST(Quote, nothing_printable_can_move_the_cursor) {
  EXPECT_EQ(printable("a\x1b[2Jb\r\n\x7f"), "a\\x1b[2Jb\\r\\n\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");  // a C1 control: CSI in one character
  EXPECT_EQ(printable("über 日本 😀"), "über 日本 😀");
  EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(printable("\xed\xa0\x80 \xe0\x80\x80"), "\\xed\\xa0\\x80 \\xe0\\x80\\x80");
}

std::string said(std::string_view text) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), &std::fclose);
  say(file.get(), "<{}>\n", text);
  std::rewind(file.get());
  std::string out(4096, '\0');
  out.resize(std::fread(out.data(), 1, out.size(), file.get()));
  return out;
}

TEST(Say, keeps_lines_and_tabs_and_takes_the_power_of_all_other_controls) {
  EXPECT_EQ(said("a\tb\nc"), "<a\tb\nc>\n");
  EXPECT_EQ(said("a\x1b]0;title\x07 b\r"), "<a\\x1b]0;title\\x07 b\\r>\n");
  EXPECT_EQ(said("\xc2\x9b 日本 \x9b"), "<\\xc2\\x9b 日本 \\x9b>\n");
}

TEST(Say, json_stays_the_same_json) {
  const nlohmann::ordered_json json = {{"name", "a\x7f b\xc2\x9b c\x1b über"}};
  for (const std::string& text : {json_text(json), json_line(json)}) {
    EXPECT_EQ(terminal_text(text), text);
    EXPECT_EQ(nlohmann::ordered_json::parse(text), json);
  }
}

TEST(Say, a_cell_of_a_table_stays_in_its_line) {
  Table table({{"HOST"}, {"N"}});
  table.add({"a\nb\tc", "1"});
  EXPECT_EQ(table.text(), "HOST     N\na\\nb\\tc  1\n");
}

}  // namespace
}  // namespace torc::cli
