#include "lib/allocate/demand_input.h"

#include <gtest/gtest.h>

namespace torc::allocate {
namespace {

using namespace std::chrono_literals;
using claim::AllocationStage;

claim::Allocation two_nodes(AllocationStage stage) {
  claim::Allocation a;
  a.stage = stage;
  a.nodes = 2;
  a.walltime = 4h;
  return a;
}

TEST(GrantedHours, of_a_live_allocation_are_its_whole_walltime) {
  EXPECT_DOUBLE_EQ(granted_node_hours(two_nodes(AllocationStage::wanted)), 8);
  claim::Allocation running = two_nodes(AllocationStage::running);
  running.started_at = 100h;
  EXPECT_DOUBLE_EQ(granted_node_hours(running), 8);
}

TEST(GrantedHours, of_one_that_has_ended_are_its_time) {
  claim::Allocation over = two_nodes(AllocationStage::ended);
  EXPECT_DOUBLE_EQ(granted_node_hours(over), 0) << "it never began";
  over.started_at = 100h;
  over.ended_at = 101h;
  EXPECT_DOUBLE_EQ(granted_node_hours(over), 2);
}

TEST(GrantedHours, have_the_runs_before_it_was_requeued_in_them) {
  claim::Allocation again = two_nodes(AllocationStage::queued);
  again.cpus = 16;
  again.core_seconds = 16ULL * 3 * 3600;
  EXPECT_DOUBLE_EQ(granted_node_hours(again), 6 + 8);
  again.stage = AllocationStage::ended;
  EXPECT_DOUBLE_EQ(granted_node_hours(again), 6) << "it did not begin once more";
  again.started_at = 100h;
  again.ended_at = 101h;
  again.core_seconds += 16ULL * 3600;
  EXPECT_DOUBLE_EQ(granted_node_hours(again), 8);
}

}  // namespace
}  // namespace torc::allocate
