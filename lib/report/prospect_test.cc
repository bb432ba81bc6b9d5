#include "lib/report/prospect.h"

#include <gtest/gtest.h>

namespace torc::report {
namespace {

slurm::ShownAllocation of(const std::string& state, const std::string& reason = {}) {
  slurm::ShownAllocation a;
  a.id = "5";
  a.state = state;
  a.reason = reason;
  return a;
}

TEST(AProspect, that_passes_by_itself_asks_nobody_to_do_anything) {
  for (const char* reason : {"", "Priority", "Resources", "Dependency", "JobArrayTaskLimit"}) {
    EXPECT_EQ(prospect_of(of("PENDING", reason)), Prospect::starts) << reason;
    EXPECT_TRUE(remedy_for(of("PENDING", reason)).starts_with("nothing needs to be done"));
    EXPECT_EQ(say_stuck(of("PENDING", reason)), "");
  }
  EXPECT_TRUE(goes_on(of("RUNNING")));
  EXPECT_FALSE(goes_on(of("COMPLETED")));
  EXPECT_EQ(remedy_for(of("COMPLETED")), "");
}

TEST(AProspect, of_one_that_never_starts_tells_why_and_how_to_be_rid_of_it) {
  for (const char* reason :
       {"DependencyNeverSatisfied", "PartitionTimeLimit", "PartitionNodeLimit", "BadConstraints",
        "AccountNotAllowed", "QOSMaxCpuPerJobLimit", "AssocMaxWallDurationPerJobLimit",
        "QOSMinCpuNotSatisfied", "QOSMaxMemoryPerNode"}) {
    const auto a = of("PENDING", reason);
    EXPECT_EQ(prospect_of(a), Prospect::never) << reason;
    EXPECT_FALSE(goes_on(a));
    EXPECT_FALSE(show_reason(a).empty()) << reason;
  }
  EXPECT_EQ(say_stuck(of("PENDING", "PartitionTimeLimit")),
            "allocation 5 will not start as it is, it asks for more time than its partition gives: "
            "scancel 5");
  EXPECT_EQ(remedy_for(of("PENDING", "BadConstraints")),
            "scancel 5 (it will not start as it is: no node is as it asks for)");
}

TEST(AProspect, of_one_that_is_held_tells_who_can_release_it) {
  EXPECT_EQ(say_stuck(of("PENDING", "JobHeldUser")), "allocation 5 is held: scontrol release 5");
  EXPECT_EQ(remedy_for(of("PENDING", "JobHeldAdmin")),
            "only an administrator can release it: scontrol release 5");
}

TEST(AProspect, of_another_reason_is_not_known) {
  for (const char* reason : {"QOSGrpCpuLimit", "QOSMaxCpuPerUserLimit", "ReqNodeNotAvail", "New"})
    EXPECT_EQ(prospect_of(of("PENDING", reason)), Prospect::unknown) << reason;
  EXPECT_EQ(remedy_for(of("PENDING", "New")),
            "the reason is Slurm's; scontrol show job 5 tells more");
}

TEST(AProspect, of_one_that_is_suspended_is_to_be_resumed) {
  EXPECT_FALSE(goes_on(of("SUSPENDED")));
  EXPECT_EQ(say_stuck(of("SUSPENDED")),
            "allocation 5 is suspended, its jobs stand still: scontrol resume 5");
}

}  // namespace
}  // namespace torc::report
