#include "bin/commands/exec/replace.h"

#include <gtest/gtest.h>

#include "bin/commands/exec/record.h"

namespace torc::cli {
namespace {

// The command of a job with these values, as the shell would get it.
std::string filled(std::string_view command, const ExecValues& values, std::size_t width = 0,
                   const std::string& all = "{}") {
  const auto pattern = pattern_of(command, {all, width});
  if (!pattern) return pattern.error().what;
  std::string text = pattern->text;
  for (const ExecColumn& column : pattern->columns) {
    const std::string place = "{" + column.parameter + "}";
    for (std::size_t at = 0; (at = text.find(place, at)) != std::string::npos;) {
      const std::string value = column.text_of(values);
      text.replace(at, place.size(), value);
      at += value.size();
    }
  }
  return text;
}

TEST(Replace, a_place_is_for_one_value_or_for_all) {
  const ExecValues two{"d/a.tar.gz", "b c"};
  EXPECT_EQ(filled("{}", two), "d/a.tar.gz 'b c'");
  EXPECT_EQ(filled("{2}-{1}-{-1}-{-2}", two), "'b c'-d/a.tar.gz-'b c'-d/a.tar.gz");
  EXPECT_EQ(filled("{1.} {1/} {1//} {1/.} {-2/}", two), "d/a.tar a.tar.gz d a.tar a.tar.gz");
  EXPECT_EQ(filled("{.}|{/}|{//}|{/.}", two), "d/a.tar 'b c'|a.tar.gz 'b c'|d .|a.tar 'b c'");
}

TEST(Replace, a_job_without_such_a_value_gets_nothing_there) {
  EXPECT_EQ(filled("<{2}> <{-3}> <{1}>", {"a"}), "<> <> <a>");
  EXPECT_EQ(filled("<{1}>", {""}), "<''>") << "an empty value is one";
}

TEST(Replace, a_command_without_a_place_gets_all_values_at_its_end) {
  EXPECT_EQ(filled("echo", {"a", "b"}), "echo a b");
  EXPECT_EQ(filled("echo ${1} {{2}} ${} {a,b} {0} {-} {01x} {1001}", {"v"}),
            "echo ${1} {{2}} ${} {a,b} {0} {-} {01x} {1001} v")
      << "none of these is a place";
  EXPECT_EQ(filled("echo {#}", {"v"}), "echo {torc_number}");
}

TEST(Replace, the_slot_is_a_variable_within_quotes_of_any_kind) {
  EXPECT_EQ(filled("echo {%} {1}", {"v"}), "echo ${TORC_JOB_SLOT} v");
  EXPECT_EQ(filled("echo \"it's {%}\" {1}", {"v"}), "echo \"it's ${TORC_JOB_SLOT}\" v");
  EXPECT_EQ(filled("echo 'a {%}' \\' {%} {1}", {"v"}),
            "echo 'a '\"${TORC_JOB_SLOT}\"'' \\' ${TORC_JOB_SLOT} v");
}

TEST(Replace, names_a_place_that_no_job_has_a_value_for) {
  EXPECT_EQ(filled("echo {3}", {"a", "b"}, 2),
            "{3} in the command is value 3 of a job, and each job has 2");
  EXPECT_EQ(filled("echo {-3/}", {"a", "b"}, 2),
            "{-3/} in the command is value 3 of a job, and each job has 2");
  EXPECT_EQ(filled("echo {= s/a/b/ =}", {"a"}), "torc exec runs no Perl, as in {= s/a/b/ =}");
  EXPECT_EQ(filled("echo {##}", {"a"}),
            "torc exec has no {##}: it does not know yet how many jobs there will be");
}

TEST(Replace, another_string_may_stand_for_the_value) {
  EXPECT_EQ(filled("find , -exec ls {} + # {.}", {"a.x"}, 1, ","), "find a.x -exec ls {} + # a");
  EXPECT_FALSE(has_place("ls {}", {",", 0}));
  EXPECT_TRUE(has_place("ls a,b", {",", 0}));
}

TEST(Replace, quotes_words_but_for_their_places) {
  const ReplaceStyle style{"{}", 0};
  EXPECT_EQ(quoted_but_places("a b$c{}{.}d e", style), "'a b$c'{}{.}'d e'");
  EXPECT_EQ(quoted_but_places("plain", style), "plain");
  EXPECT_EQ(quoted_but_places("", style), "''");
}

TEST(Replace, the_directories_of_results_are_named_by_the_values_and_stay_below) {
  EXPECT_EQ(results_place({"a/b", "c\\d\te"}), "1/a\\_b/2/c\\\\d\\te/");
  EXPECT_EQ(results_place({".."}), "1/\\../");
  EXPECT_EQ(results_place({"."}), "1/\\./");
  EXPECT_EQ(results_place({std::string(300, 'x')}).size(), 255 + 3U);
}

}  // namespace
}  // namespace torc::cli
