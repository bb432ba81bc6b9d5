#include "lib/report/start_by_hand.h"

#include <gtest/gtest.h>

namespace torc::report {
namespace {

claim::JobClass needing(std::uint32_t nodes, Amounts named) {
  claim::JobClass c;
  c.need.nodes = nodes;
  c.need.named = std::move(named);
  return c;
}

std::string said(const std::vector<claim::JobClass>& classes) {
  return say(hand_starts("s.torc", classes));
}

TEST(StartByHand, what_needs_nothing_that_is_told_runs_with_torc_run) {
  EXPECT_EQ(said({}), "torc run s.torc");
  EXPECT_EQ(said({needing(1, {{"gpus/a100", 1000}})}), "torc run s.torc");
}

TEST(StartByHand, named_resources_are_declared_so_that_all_jobs_of_one_node_have_enough) {
  EXPECT_EQ(
      said({needing(1, {{"fpga", 2000}}), needing(1, {{"fpga", 1000}, {"tape", kAllThereIs}})}),
      "torc run s.torc --resource fpga=2 --resource tape=1 (where there is that)");
}

TEST(StartByHand, jobs_of_several_nodes_need_workers_of_a_group_that_serve_them) {
  claim::JobClass wide = needing(3, {{"fpga", 500}});
  wide.labels = "ssd";
  wide.scheduler = "big";
  EXPECT_EQ(said({wide}),
            "torc worker s.torc --group nodes --scheduler big --label ssd --resource fpga=0.5 (on "
            "each of 3 nodes)");
  EXPECT_EQ(said({needing(1, {}), needing(2, {}), needing(4, {})}),
            "torc run s.torc, or torc worker s.torc --group nodes (on each of 4 nodes)");
}

TEST(StartByHand, the_alternative_that_needs_least_counts) {
  claim::JobClass c = needing(1, {{"fpga", 1000}});
  c.others.push_back({claim::Requirement{}, 0});
  EXPECT_EQ(said({c}), "torc run s.torc");
}

}  // namespace
}  // namespace torc::report
