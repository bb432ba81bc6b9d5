#include "lib/workflow/change/left_behind.h"

#include <gtest/gtest.h>

namespace torc::workflow {
namespace {

spec::Workflow workflow_with(std::vector<std::string> expressions) {
  spec::Workflow workflow;
  workflow.jobs.resize(1);
  workflow.jobs[0].name = "merge";
  workflow.jobs[0].depends_on_regexes = std::move(expressions);
  return workflow;
}

TEST(LeftBehind, is_an_entry_whose_expression_finds_what_was_added) {
  const auto left = left_behind(workflow_with({"^other$", "^align_"}), {"x", "align_7"});
  ASSERT_TRUE(left);
  EXPECT_EQ(left->entry, "merge");
  EXPECT_EQ(left->expression, "^align_");
  EXPECT_EQ(left->found, "align_7");
}

TEST(LeftBehind, is_nobody_whose_expressions_find_nothing_of_it_or_cannot_be_read) {
  EXPECT_FALSE(left_behind(workflow_with({"^align_"}), {"x", "realign_7"}));
  EXPECT_FALSE(left_behind(workflow_with({"^align_{i}$", "("}), {"align_7", "("}));
  EXPECT_FALSE(left_behind(workflow_with({}), {"x"}));
}

}  // namespace
}  // namespace torc::workflow
