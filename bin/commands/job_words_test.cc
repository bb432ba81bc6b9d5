#include "bin/commands/job_words.h"

#include <gtest/gtest.h>
#include <re2/re2.h>

namespace torc::cli {
namespace {

bool finds(const std::string& glob, const std::string& name) {
  const auto expression = expression_of_glob(glob);
  EXPECT_TRUE(expression) << glob;
  return expression && re2::RE2::PartialMatch(name, re2::RE2(*expression, re2::RE2::Quiet));
}

TEST(Glob, finds_whole_names_as_a_shell_does) {
  EXPECT_TRUE(finds("a_*", "a_1"));
  EXPECT_TRUE(finds("a_*", "a_"));
  EXPECT_FALSE(finds("a_*", "ba_1"));
  EXPECT_FALSE(finds("a_?", "a_12"));
  EXPECT_TRUE(finds("[a-c]_?", "b_1"));
  EXPECT_FALSE(finds("[!a-c]_?", "b_1"));
  EXPECT_TRUE(finds("[]x]", "]"));
  EXPECT_TRUE(finds("a[", "a[")) << "without an end it is a bracket";
  EXPECT_TRUE(finds("a.b*", "a.b+c"));
  EXPECT_FALSE(finds("a.b*", "aXb")) << "a dot is a dot";
  EXPECT_TRUE(finds("*[\\^]", "x\\"));
  EXPECT_FALSE(expression_of_glob("a.b+c")) << "a name";
  EXPECT_EQ(fixed_beginning("align_[12]"), "align_");
  EXPECT_EQ(fixed_beginning("*"), "");
}

TEST(Stage, is_an_entry_without_its_parameters) {
  EXPECT_EQ(stage_name("align_{i}"), "align");
  EXPECT_EQ(stage_name("{i}_align"), "align");
  EXPECT_EQ(stage_name("a_{i}_b.{j:03d}"), "a_b");
  EXPECT_EQ(stage_name("merge"), "merge");
  EXPECT_EQ(stage_name("{i}"), "");
  EXPECT_EQ(stage_name("a{"), "a{");
  EXPECT_EQ(stage_in("stage:align").value_or("?"), "align");
  EXPECT_FALSE(stage_in("stage:"));
  EXPECT_FALSE(stage_in("stages"));
}

}  // namespace
}  // namespace torc::cli
