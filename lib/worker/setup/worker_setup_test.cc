#include "lib/worker/setup/worker_setup.h"

#include <gtest/gtest.h>

#include "lib/spec/language/workflow.h"

namespace torc::worker {
namespace {

using namespace std::chrono_literals;
using store::MountKind;

TEST(LeaseOnAMount, that_a_dead_client_outlasts_is_told_with_the_reason_and_the_remedy) {
  const std::string told = too_short(15s, store::mount_facts(MountKind::cephfs));
  for (const char* part : {"15s", "cephfs", "60 s", "180s"})
    EXPECT_NE(told.find(part), std::string::npos) << part << " is not in: " << told;
}

TEST(LeaseOnAMount, that_is_long_enough_is_not_mentioned) {
  EXPECT_EQ(too_short(180s, store::mount_facts(MountKind::cephfs)), "");
  EXPECT_EQ(too_short(10s, store::mount_facts(MountKind::local)), "");
  EXPECT_EQ(too_short(10s, store::mount_facts(MountKind::nfs)), "");
}

// A life that begins after the allocation was made longer does not end by the end that the first
// one was told; nor does the user's limit begin anew.
TEST(LaterLife, goes_by_the_newest_end_of_the_allocation_and_by_the_first_ones_limit) {
  WorkerSetup setup;
  setup.allocation_end = 9000s;
  setup.slurm.margins.begun = 4000s;
  setup.slurm.margins.limit = 11000s;
  EndMargins first{1000s, 60s, 0s, {}};
  go_on_by(first, setup);
  EXPECT_EQ(setup.ends_at, 8940s);
  first.limit = 8000s;
  go_on_by(first, setup);
  EXPECT_EQ(setup.ends_at, 7940s);
  EXPECT_EQ(setup.slurm.margins.limit, 8000s);
}

}  // namespace
}  // namespace torc::worker
