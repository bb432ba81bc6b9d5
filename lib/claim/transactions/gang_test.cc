// Gangs: all nodes or none, by one token, and none of them for longer than the attempt.
#include <gtest/gtest.h>

#include "lib/claim/queries/workers.h"
#include "lib/claim/tables/gang_record.h"
#include "lib/claim/tables/state.h"
#include "lib/claim/testing/test_gangs.h"
#include "lib/claim/transactions/live.h"

namespace torc::claim {
namespace {

using Word = GangWord::What;

std::vector<WorkerEpoch> workers_of(const Gang& gang) {
  std::vector<WorkerEpoch> all;
  for (const GangMember& m : gang.members) all.push_back(m.worker);
  return all;
}

// One job of three nodes, and three workers of which the last one has just claimed it for all.
struct Formed {
  explicit Formed(const Jobs& jobs = Jobs{{3}}) : wf(jobs) {
    workers = wf.join_all("a", 3);
    EXPECT_TRUE(wf.ask(workers[0]).grants.empty());
    EXPECT_TRUE(wf.ask(workers[1]).grants.empty());
    const Answer answer = wf.ask(workers[2]);
    EXPECT_TRUE(answer.gang.has_value());
    if (answer.gang) gang = answer.gang->gang;
    head = workers[2];
  }
  [[nodiscard]] Answer renew(WorkerEpoch worker) { return wf.told(GangWorkflow::words(worker)); }
  [[nodiscard]] std::optional<GangPart> part(WorkerEpoch worker) { return renew(worker).gang; }

  GangWorkflow wf;
  std::vector<WorkerEpoch> workers;
  WorkerEpoch head{};
  Gang gang;
};

TEST(Gang, is_claimed_whole_in_one_commit_by_whoever_finds_enough_offers) {
  GangWorkflow wf(Jobs{{3}});
  const auto w = wf.join_all("a", 3);
  Answer first = wf.ask(w[0]);
  EXPECT_TRUE(first.grants.empty());
  EXPECT_TRUE(first.to_be_known) << "its offer is to be known to others";
  EXPECT_FALSE(wf.ask(w[0]).to_be_known) << "and is";
  (void)wf.ask(w[1]);
  const Answer answer = wf.ask(w[2]);
  ASSERT_EQ(answer.grants.size(), 1U);
  EXPECT_TRUE(answer.grants[0].gang);
  ASSERT_TRUE(answer.gang.has_value());
  EXPECT_EQ(answer.gang->rank, 0U);
  EXPECT_EQ(workers_of(answer.gang->gang), (std::vector{w[2], w[0], w[1]}));
  EXPECT_EQ(answer.concerned, (std::vector{w[0], w[1]}));
  EXPECT_EQ(wf.job(1).worker, w[2]);
  EXPECT_TRUE(wf.ask(w[0]).grants.empty()) << "it is part of the gang";
}

TEST(Gang, takes_no_node_of_another_group_and_no_two_of_one_name) {
  GangWorkflow wf(Jobs{{2}});
  const WorkerEpoch a = wf.join_group("a", "n1");
  const WorkerEpoch b = wf.join_group("b", "n2");
  const WorkerEpoch nobody = wf.join(kSlots);
  const WorkerEpoch same = wf.join_group("a", "n1");
  for (const WorkerEpoch w : {a, b, nobody, same}) EXPECT_TRUE(wf.ask(w).grants.empty());
  EXPECT_EQ(wf.ask(wf.join_group("a", "n3")).grants.size(), 1U);
}

TEST(Gang, is_complete_once_all_have_confirmed_and_then_its_head_is_told) {
  Formed f;
  EXPECT_TRUE(f.wf.word(f.workers[0], f.gang.token, Word::confirmed).concerned.empty());
  const Answer last = f.wf.word(f.workers[1], f.gang.token, Word::confirmed);
  EXPECT_EQ(last.concerned, std::vector{f.head});
  EXPECT_EQ(f.part(f.head)->gang.stage, GangStage::complete);
  f.wf.start(f.head, f.gang.token);
  EXPECT_EQ(f.part(f.workers[0])->gang.stage, GangStage::running);
}

TEST(Gang, keeps_its_nodes_until_each_has_said_that_it_left) {
  Formed f(Jobs{{3}, {1, 0, {}, 9}});
  f.wf.run(f.gang);
  ASSERT_TRUE(f.wf.finish(f.head, f.gang.token).ok());
  EXPECT_EQ(f.wf.state(1), JobState::completed);
  const Answer over = f.wf.ask(f.workers[0]);
  EXPECT_EQ(over.gang->gang.stage, GangStage::over);
  EXPECT_TRUE(over.grants.empty());
  const Answer left = f.wf.word(f.workers[0], f.gang.token, Word::left);
  EXPECT_FALSE(left.gang.has_value());
  EXPECT_EQ(f.wf.ask(f.workers[0]).grants.size(), 1U);
  (void)f.wf.word(f.workers[1], f.gang.token, Word::left);
  EXPECT_TRUE(f.wf.tx.get(gang_key(name_of(f.gang.token))).has_value());
  (void)f.wf.word(f.head, f.gang.token, Word::left);
  EXPECT_FALSE(f.wf.tx.get(gang_key(name_of(f.gang.token))).has_value());
}

TEST(Gang, ends_on_all_of_them_when_any_member_is_lost) {
  for (const std::size_t lost : {std::size_t{0}, std::size_t{2}}) {
    Formed f;
    f.wf.run(f.gang);
    ASSERT_TRUE(*f.wf.expire(f.workers[lost]));
    EXPECT_EQ(f.wf.state(1), JobState::ready);
    EXPECT_EQ(f.wf.job(1).attempt, 1U);
    EXPECT_EQ(f.wf.job(1).lost, 1U) << "a loss is charged whoever of them was lost";
    EXPECT_EQ(f.part(f.workers[1])->gang.stage, GangStage::over);
    if (lost == 2) continue;
    const auto late = f.wf.finish(f.head, f.gang.token);
    ASSERT_EQ(late->refused.size(), 1U);
    EXPECT_EQ(late->refused[0].why, Refusal::superseded);
  }
}

TEST(Gang, asks_its_members_whether_they_live_when_the_head_says_that_it_has_failed) {
  Formed f;
  (void)f.wf.word(f.head, f.gang.token, Word::lives);
  EXPECT_FALSE(f.part(f.head)->gang.asks()) << "it does not run yet";
  f.wf.run(f.gang);
  (void)f.wf.word(f.workers[0], f.gang.token, Word::lives);
  EXPECT_FALSE(f.part(f.head)->gang.members[1].lives) << "said before it was asked";
  const Answer asked = f.wf.word(f.head, f.gang.token, Word::lives);
  EXPECT_EQ(asked.concerned, (std::vector{f.workers[0], f.workers[1]}));
  EXPECT_TRUE(asked.gang->gang.asks());
  EXPECT_TRUE(f.wf.word(f.workers[0], f.gang.token, Word::lives).concerned.empty());
  EXPECT_FALSE(f.part(f.head)->gang.all_live());
  EXPECT_EQ(f.wf.word(f.workers[1], f.gang.token, Word::lives).concerned, std::vector{f.head});
  EXPECT_TRUE(f.part(f.head)->gang.all_live());
  ASSERT_TRUE(f.wf.finish(f.head, f.gang.token).ok());
}

TEST(Gang, is_over_when_a_member_leaves_which_stays_part_of_it_until_it_has_left) {
  Formed f;
  f.wf.run(f.gang);
  const Answer said = f.wf.word(f.workers[0], f.gang.token, Word::leaves);
  EXPECT_EQ(f.wf.state(1), JobState::ready);
  EXPECT_EQ(f.wf.job(1).stopped, 1U);
  ASSERT_TRUE(said.gang.has_value()) << "whoever comes after it knows what to look for";
  EXPECT_EQ(said.gang->gang.stage, GangStage::over);
  EXPECT_TRUE(f.wf.ask(f.workers[0]).grants.empty());
  EXPECT_FALSE(f.wf.word(f.workers[0], f.gang.token, Word::leaves).gang->gang.members[1].left);
  EXPECT_FALSE(f.wf.word(f.workers[0], f.gang.token, Word::left).gang.has_value());
  EXPECT_EQ(f.wf.state(1), JobState::ready);
}

TEST(Gang, its_head_may_leave_and_be_granted_the_next_attempt_by_the_same_exchange) {
  for (const Word what : {Word::left, Word::leaves}) {
    Formed f;
    f.wf.run(f.gang);
    for (const WorkerEpoch fresh : f.wf.join_all("a", 2)) (void)f.wf.ask(fresh);
    Exchange e = f.wf.words(f.head);
    GangWord word;
    word.token = f.gang.token;
    word.what = what;
    e.gang.push_back(word);
    e.offer = f.wf.free_node();
    const Answer answer = f.wf.told(e);
    ASSERT_TRUE(answer.gang.has_value());
    EXPECT_EQ(answer.grants.size(), what == Word::left ? 1U : 0U);
    EXPECT_EQ(State(f.wf.tx).lease(f.head)->held.size(), answer.grants.size());
  }
}

TEST(Gang, tells_all_when_the_first_has_saved_its_state) {
  Formed f;
  f.wf.run(f.gang);
  const auto saved = [&](WorkerEpoch worker) {
    Exchange e = f.wf.words(worker);
    GangWord word;
    word.token = f.gang.token;
    word.what = Word::ended;
    word.outcome.cause = EndCause::exited;
    word.outcome.exit_code = 99;
    word.saved = true;
    e.gang.push_back(word);
    return f.wf.told(e);
  };
  EXPECT_FALSE(f.part(f.head)->gang.is_saved());
  EXPECT_EQ(saved(f.workers[0]).concerned, (std::vector{f.workers[1], f.head}));
  EXPECT_TRUE(f.part(f.head)->gang.is_saved());
  EXPECT_EQ(saved(f.workers[1]).concerned, std::vector{f.head}) << "all others know";
  EXPECT_EQ(saved(f.head).gang->gang.members[0].saved, true);
}

TEST(Gang, is_given_back_unstarted_by_a_member_that_declines_or_leaves) {
  for (const bool leaves : {false, true}) {
    Formed f;
    if (leaves) {
      f.wf.release(f.workers[0]);
    } else {
      const Answer answer = f.wf.word(f.workers[0], f.gang.token, Word::declined);
      EXPECT_FALSE(answer.gang.has_value());
      EXPECT_EQ(answer.concerned, (std::vector{f.workers[1], f.head}));
    }
    EXPECT_EQ(f.wf.state(1), JobState::ready);
    EXPECT_EQ(f.wf.job(1).attempt, 0U);
    EXPECT_EQ(f.part(f.head)->gang.stage, GangStage::over);
    EXPECT_TRUE(State(f.wf.tx).lease(f.head)->held.empty());
  }
}

// Its head may have started it a moment ago, and writes to files that are named by the attempt.
TEST(Gang, that_its_head_may_have_started_uses_its_attempt_up_when_another_gives_it_back) {
  for (const int how : {0, 1, 2}) {
    Formed f;
    for (const std::size_t rank : {0, 1})
      (void)f.wf.word(f.workers[rank], f.gang.token, Word::confirmed);
    ASSERT_EQ(f.part(f.head)->gang.stage, GangStage::complete);
    if (how == 0) (void)f.wf.word(f.workers[0], f.gang.token, Word::left);
    if (how == 1) f.wf.release(f.workers[0]);
    if (how == 2) (void)f.wf.word(f.head, f.gang.token, Word::declined);
    EXPECT_EQ(f.wf.state(1), JobState::ready);
    EXPECT_EQ(f.wf.job(1).attempt, how == 2 ? 0U : 1U) << "the head knows that it has not";
  }
}

TEST(Gang, that_runs_counts_as_stopped_when_a_member_is_told_to_leave) {
  Formed f;
  f.wf.run(f.gang);
  f.wf.release(f.workers[0]);
  EXPECT_EQ(f.wf.state(1), JobState::ready);
  EXPECT_EQ(f.wf.job(1).outcome.cause, EndCause::stopped);
  EXPECT_EQ(f.wf.job(1).stopped, 1U);
}

TEST(Gang, is_over_in_the_commit_that_cancels_its_job) {
  Formed f;
  f.wf.run(f.gang);
  const std::vector<JobRange> all{range(1, 1)};
  ++f.wf.tx.number;
  ASSERT_TRUE(cancel_jobs(f.wf.tx, all, kNoon).ok());
  f.wf.check();
  EXPECT_EQ(f.part(f.workers[0])->gang.stage, GangStage::over);
  EXPECT_EQ(f.renew(f.head).revoked.size(), 1U);
}

TEST(Gang, words_that_come_too_late_or_name_another_attempt_change_nothing) {
  Formed f;
  ClaimToken other = f.gang.token;
  ++other.attempt;
  EXPECT_TRUE(f.wf.word(f.workers[0], other, Word::left).gang.has_value());
  EXPECT_EQ(f.wf.state(1), JobState::claimed);
  f.wf.run(f.gang);
  (void)f.wf.word(f.workers[0], f.gang.token, Word::declined);
  EXPECT_EQ(f.wf.state(1), JobState::running) << "too late to decline";
  ASSERT_TRUE(f.wf.finish(f.head, f.gang.token).ok());
  (void)f.wf.word(f.workers[0], f.gang.token, Word::confirmed);
  EXPECT_EQ(f.part(f.workers[0])->gang.stage, GangStage::over);
}

TEST(Gang, next_attempt_may_run_while_the_last_one_is_being_left) {
  Formed f;
  f.wf.run(f.gang);
  ASSERT_TRUE(*f.wf.expire(f.head));
  const auto fresh = f.wf.join_all("a", 3);
  (void)f.wf.ask(fresh[0]);
  (void)f.wf.ask(fresh[1]);
  const Answer again = f.wf.ask(fresh[2]);
  ASSERT_EQ(again.grants.size(), 1U);
  EXPECT_EQ(again.grants[0].token.attempt, 2U);
  EXPECT_EQ(f.part(f.workers[0])->gang.token.attempt, 1U);
}

}  // namespace
}  // namespace torc::claim
