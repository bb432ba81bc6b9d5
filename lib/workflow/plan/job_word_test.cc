#include <gtest/gtest.h>

#include "lib/workflow/plan/workflow_plan.h"

namespace torc::workflow {
namespace {

TEST(JobWord, a_job_whose_name_looks_like_a_flag_is_named_by_number) {
  EXPECT_EQ(job_word("--help", JobId{7}), "'#7'");
  EXPECT_EQ(job_word("#3", JobId{8}), "'#8'");
  EXPECT_EQ(job_word("a b", JobId{9}), "'a b'");
}

}  // namespace
}  // namespace torc::workflow
