// Every contradiction between gangs, leases, jobs and the lists of nodes is found.
#include <gtest/gtest.h>

#include "lib/claim/scheduling/node_list.h"
#include "lib/claim/tables/corruption.h"
#include "lib/claim/testing/test_gangs.h"

namespace torc::claim {
namespace {

// A gang of two on job 1 that has not confirmed; a third node is kept for job 2, with one that is
// busy.
class GangVerify : public ::testing::Test {
 protected:
  GangVerify() {
    member = wf.join_group("a");
    head = wf.join_group("a");
    (void)wf.ask(member);
    gang = wf.ask(head).gang->gang;
    busy = wf.join_group("a");
    (void)wf.busy(busy, std::chrono::seconds(100));
    free = wf.join_group("a");
    EXPECT_TRUE(wf.ask(free).reserved);
  }
  void expect_wrong(const std::string& part) {
    const auto sound = verify_state(wf.tx);
    ASSERT_FALSE(sound.ok()) << "not found: " << part;
    EXPECT_EQ(sound.error().kind, ErrorKind::corrupt);
    EXPECT_NE(sound.error().what.find(part), std::string::npos) << sound.error().what;
  }
  void put_gang() {
    const GangName name = name_of(gang.token);
    wf.tx.put(gang_key(name), encode(GangRecord{gang, wf.tx.number}));
  }
  template <class Change>
  void change_lease(WorkerEpoch worker, const Change& change) {
    Lease lease = *State(wf.tx).lease(worker);
    change(lease);
    wf.tx.put(Key(Table::lease, raw(worker)), encode(lease));
  }

  GangWorkflow wf{Jobs{{2}, {2}}};
  WorkerEpoch member{}, head{}, busy{}, free{};
  Gang gang;
};

TEST_F(GangVerify, the_loss_of_any_entry_is_found) {
  const auto all = wf.tx.entries;
  std::size_t lost = 0;
  for (const auto& [key, value] : all) {
    const std::string_view tables = "gnkj";
    if (tables.find(key.front()) == std::string_view::npos) continue;
    wf.tx.erase(key);
    EXPECT_FALSE(verify_state(wf.tx).ok()) << show_key(key);
    wf.tx.entries = all;
    ++lost;
  }
  EXPECT_EQ(lost, 1U + 4U + 1U + 1U);
}

TEST_F(GangVerify, a_member_that_does_not_know_of_its_gang_is_found) {
  change_lease(member, [](Lease& lease) { lease.gang.reset(); });
  expect_wrong("disagree whether it has left");
}

TEST_F(GangVerify, a_node_of_two_gangs_is_found) {
  Gang other = gang;
  other.token.job = JobId{2};
  wf.tx.put(gang_key(name_of(other.token)), encode(GangRecord{other, wf.tx.number}));
  expect_wrong("disagree whether it has left");
}

TEST_F(GangVerify, a_gang_that_is_over_while_its_job_is_held_is_found) {
  gang.stage = GangStage::over;
  put_gang();
  expect_wrong("job 1 and its gang disagree whether it is over");
}

TEST_F(GangVerify, a_gang_that_is_complete_without_a_confirmation_is_found) {
  gang.stage = GangStage::complete;
  put_gang();
  expect_wrong("the gang of job 1 is complete or not");
}

TEST_F(GangVerify, a_gang_without_one_of_its_nodes_is_found) {
  gang.members[1].left = true;
  put_gang();
  expect_wrong("worker 2 and the gang of job 1 disagree");
  change_lease(member, [](Lease& lease) { lease.gang.reset(); });
  expect_wrong("the gang of job 1 goes on without a member");
}

TEST_F(GangVerify, a_gang_that_has_a_node_twice_is_found) {
  gang.members[1].node = gang.members[0].node;
  put_gang();
  expect_wrong("has a node twice");
}

TEST_F(GangVerify, a_gang_of_too_many_nodes_is_found) {
  gang.members.push_back({free, "one more", false, false, {}});
  put_gang();
  expect_wrong("has not the nodes that it needs");
}

TEST_F(GangVerify, an_offer_of_a_node_that_is_not_free_is_found) {
  change_lease(free, [](Lease& lease) { lease.held = {2}; });
  EXPECT_FALSE(verify_state(wf.tx).ok());
  change_lease(free, [&](Lease& lease) {
    lease.held.clear();
    list_node(wf.tx, free, lease, {hash_of_group("b"), NodePlace::kOffered});
  });
  expect_wrong("in a group that is not its own");
}

TEST_F(GangVerify, nodes_that_are_kept_for_another_job_than_is_listed_are_found) {
  wf.tx.put(kept_key(1), encode_kept(hash_of_group("a")));
  expect_wrong("job 1 is listed with a group that keeps no nodes for it");
}

}  // namespace
}  // namespace torc::claim
