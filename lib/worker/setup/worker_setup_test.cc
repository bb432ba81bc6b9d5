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

}  // namespace
}  // namespace torc::worker
