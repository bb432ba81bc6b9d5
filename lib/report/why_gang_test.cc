#include "lib/report/why_gang.h"

#include "lib/claim/queries/queries.h"
#include "lib/claim/queries/workers.h"
#include "lib/claim/testing/test_gangs.h"

namespace torc::report {
namespace {

using claim::GangWorkflow;
using std::chrono::seconds;

class WhyGang : public ::testing::Test {
 protected:
  GangReason why() {
    const auto found =
        why_gang_waits(wf.tx, claim::read_class(wf.tx, 0), JobId{1}, claim::kNoon, "wf.torc");
    EXPECT_TRUE(found.has_value());
    return found.value_or(GangReason{});
  }
  void expect(const std::string& part) {
    const std::string text = why().reason.text;
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  GangWorkflow wf{claim::Jobs{{3}, {1, -1}}};
};

TEST_F(WhyGang, without_groups_says_that_workers_belong_to_none) {
  (void)wf.join();
  EXPECT_FALSE(why().could);
  expect("no worker belongs to a group");
}

TEST_F(WhyGang, names_the_largest_group_where_none_is_large_enough) {
  (void)wf.join_all("small", 1);
  (void)wf.join_all("large", 2);
  EXPECT_FALSE(why().could);
  expect("the largest, 'large', has 2 of its 2");
  EXPECT_NE(
      why().reason.remedy.find("torc worker wf.torc --group large (on one node more), or submit"),
      std::string::npos)
      << why().reason.remedy;
  expect("wait ten minutes for others that join");
}

TEST_F(WhyGang, says_that_no_node_of_an_allocation_can_be_replaced) {
  (void)wf.join_all("Slurm c 12 1000 0", 2);
  EXPECT_FALSE(why().could);
  expect("its workers leave");
  EXPECT_EQ(why().reason.remedy, "submit an allocation of 3 nodes");
}

TEST_F(WhyGang, says_how_many_nodes_are_free_and_when_the_last_of_those_that_are_kept_will_be) {
  const auto w = wf.join_all("a", 3);
  (void)wf.busy(w[0], seconds(100));
  (void)wf.ask(w[1]);
  (void)wf.ask(w[2]);
  const claim::WorkerEpoch other = wf.join_group("b");
  EXPECT_TRUE(why().could);
  EXPECT_EQ(why().reason.kind, "gang");
  expect("Group 'a' has 3 nodes that could run it, 2 of them free now, and keeps nodes for it");
  expect("expected to be free at");
  const auto kept = why_kept_from(wf.tx, claim::read_class(wf.tx, 1),
                                  {*claim::read_worker(wf.tx, w[1])}, "wf.torc", "small");
  ASSERT_TRUE(kept.has_value());
  EXPECT_NE(kept->text.find("for job 1, which needs 3"), std::string::npos) << kept->text;
  EXPECT_FALSE(why_kept_from(wf.tx, claim::read_class(wf.tx, 1),
                             {*claim::read_worker(wf.tx, other)}, "wf.torc", "small")
                   .has_value());
}

}  // namespace
}  // namespace torc::report
