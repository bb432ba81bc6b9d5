#include "lib/claim/queries/gangs.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "lib/claim/queries/idle_workers.h"
#include "lib/claim/tables/gang_record.h"
#include "lib/claim/testing/test_gangs.h"
#include "lib/claim/transactions/live.h"
#include "lib/claim/transactions/reset.h"

namespace torc::claim {
namespace {

// Job 1 on two nodes, and job 2 of two that waits.
struct OnTwoNodes {
  OnTwoNodes() {
    member = wf.join_group("a");
    head = wf.join_group("a");
    (void)wf.ask(member);
    token = wf.ask(head).grants.at(0).token;
  }
  GangWorkflow wf{Jobs{{2}, {2}}};
  WorkerEpoch member{}, head{};
  ClaimToken token;
};

TEST(Gangs, are_read_by_member_and_by_job) {
  OnTwoNodes t;
  const auto part = *read_gang(t.wf.tx, t.member);
  ASSERT_TRUE(part.has_value());
  EXPECT_EQ(part->rank, 1U);
  EXPECT_EQ(part->gang.token, t.token);
  EXPECT_EQ(read_gangs(t.wf.tx, JobId{1}).size(), 1U);
  EXPECT_TRUE(read_gangs(t.wf.tx, JobId{2}).empty());
  EXPECT_FALSE(read_gang(t.wf.tx, t.wf.join_group("a"))->has_value());
}

TEST(Gangs, of_an_attempt_that_a_lost_node_has_ended_its_members_are_told_who_that_was) {
  OnTwoNodes t;
  t.wf.run(read_gangs(t.wf.tx, JobId{1}).at(0));
  EXPECT_TRUE((*read_gang(t.wf.tx, t.member))->lost.empty());
  ASSERT_TRUE(*t.wf.expire(t.head, EndCause::lease_lost));
  const auto part = *read_gang(t.wf.tx, t.member);
  ASSERT_TRUE(part.has_value());
  EXPECT_EQ(part->lost, std::vector<std::uint32_t>{0});
  EXPECT_EQ(part->why, EndCause::lease_lost);
  EXPECT_TRUE(part->runs_again);
}

TEST(Gangs, of_an_attempt_that_its_head_has_ended_nobody_is_called_lost) {
  OnTwoNodes t;
  t.wf.run(read_gangs(t.wf.tx, JobId{1}).at(0));
  ASSERT_TRUE(t.wf.finish(t.head, t.token).ok());
  (void)t.wf.word(t.head, t.token, GangWord::What::left);
  const auto part = *read_gang(t.wf.tx, t.member);
  ASSERT_TRUE(part.has_value());
  EXPECT_EQ(part->gang.stage, GangStage::over);
  EXPECT_TRUE(part->lost.empty());
  EXPECT_EQ(part->why, EndCause::exited);
  EXPECT_FALSE(part->runs_again);
}

TEST(Gangs, that_cannot_be_read_are_not_taken_for_none) {
  OnTwoNodes t;
  t.wf.tx.put(gang_key(name_of(t.token)), "?");
  const auto part = read_gang(t.wf.tx, t.member);
  ASSERT_FALSE(part.ok());
  EXPECT_EQ(part.error().kind, ErrorKind::corrupt);
  t.wf.tx.erase(gang_key(name_of(t.token)));
  EXPECT_FALSE(read_gang(t.wf.tx, t.member).ok()) << "its lease says that there is one";
}

TEST(Gangs, whom_a_change_that_is_no_exchange_concerns_is_told_in_its_transaction_alone) {
  OnTwoNodes t;
  const std::vector<JobRange> one{range(1, 1)};
  ++t.wf.tx.number;
  EXPECT_TRUE(concerned_by(t.wf.tx).empty()) << "the gang was formed by the commit before";
  ASSERT_TRUE(cancel_jobs(t.wf.tx, one, kNoon).ok());
  EXPECT_EQ(concerned_by(t.wf.tx), (std::vector{t.head, t.member}));
  ++t.wf.tx.number;
  ASSERT_TRUE(hold_jobs(t.wf.tx, one).ok());
  EXPECT_TRUE(concerned_by(t.wf.tx).empty());
}

TEST(Gangs, a_release_and_a_forced_reset_concern_those_that_are_left) {
  OnTwoNodes t;
  ++t.wf.tx.number;
  ASSERT_TRUE(release_worker(t.wf.tx, t.member, kNoon).ok());
  EXPECT_EQ(concerned_by(t.wf.tx), std::vector{t.head});
  OnTwoNodes u;
  const std::vector<JobRange> one{range(1, 1)};
  ++u.wf.tx.number;
  ASSERT_TRUE(reset_jobs(u.wf.tx, one, Force::yes, kNoon).ok());
  u.wf.check();
  EXPECT_EQ(concerned_by(u.wf.tx), (std::vector{u.head, u.member}));
}

TEST(Gangs, groups_say_how_many_nodes_they_have_have_free_and_keep) {
  OnTwoNodes t;
  const auto job_class = read_class(t.wf.tx, 1);
  const WorkerEpoch busy = t.wf.join_group("a");
  (void)t.wf.busy(busy, std::chrono::seconds(100));
  const WorkerEpoch free = t.wf.join_group("a");
  EXPECT_TRUE(t.wf.ask(free).reserved);
  const auto groups = groups_for(t.wf.tx, job_class, kNoon);
  ASSERT_EQ(groups->size(), 1U);
  const GroupNodes& a = groups->front();
  EXPECT_EQ(a.nodes, 4U);
  EXPECT_EQ(a.fitting, 4U);
  EXPECT_EQ(a.free, 1U);
  ASSERT_TRUE(a.keeps.has_value());
  EXPECT_EQ(a.keeps->job, JobId{2});
  EXPECT_EQ(a.keeps->until, kNoon + std::chrono::seconds(100));
  EXPECT_TRUE(reservation_on(t.wf.tx, free).has_value());
  EXPECT_FALSE(reservation_on(t.wf.tx, t.head).has_value());
}

TEST(Gangs, idle_workers_of_groups_are_found_for_jobs_of_several_nodes_until_their_node_is_taken) {
  GangWorkflow wf(Jobs{{2}});
  const auto join = [&](const std::string& group, const std::string& node) {
    WorkerInfo info;
    info.host = info.node_name = node;
    info.group = group;
    info.cpus = kSlots;
    info.memory = mebibytes(1 << 20);
    info.bell = BellPlace{{{"1234", 7}}, {}};
    ++wf.tx.number;
    return *register_worker(wf.tx, info);
  };
  const WorkerEpoch a = join("g", "n1");
  (void)join("", "n2");
  const IdleSearch search{{}, 100, 0, true, kNoon};
  const auto found = find_idle_workers(wf.tx, search);
  ASSERT_EQ(found->size(), 1U) << "one is in no group";
  EXPECT_EQ(found->front().epoch, a);
  (void)wf.ask(a);
  EXPECT_EQ(wf.ask(join("g", "n3")).grants.size(), 1U);
  const auto idle = find_idle_workers(wf.tx, {{}, 100, 0, false, kNoon});
  EXPECT_TRUE(
      std::none_of(idle->begin(), idle->end(), [&](const IdleWorker& w) { return w.epoch == a; }));
}

}  // namespace
}  // namespace torc::claim
