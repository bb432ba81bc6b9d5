#include "lib/report/recovery.h"

#include <gtest/gtest.h>

namespace torc::report {
namespace {

TEST(FailedGroup, is_told_what_to_mend_by_its_cause) {
  FailedGroup group;
  group.trouble = Trouble::mend;
  group.cause = Cause::disk_full;
  const Proposal proposal = proposal_for(group, {}, {});
  EXPECT_EQ(proposal.remedy, Remedy::skip);
  EXPECT_EQ(proposal.why, row_of(Cause::disk_full).remedy);
}

TEST(FailedGroup, is_set_what_is_proposed) {
  FailedGroup group;
  group.trouble = Trouble::memory;
  group.had.memory = mebibytes(1024);
  group.was_ended = true;
  EXPECT_EQ(setting_of(proposal_for(group, {}, {})).needs.at("memory"), mebibytes(1536).value);
  group.trouble = Trouble::transient;
  EXPECT_TRUE(setting_of(proposal_for(group, {}, {})).needs.empty());
}

}  // namespace
}  // namespace torc::report
