// A worker's part in a job of several nodes, up to the start of the command.
#include <signal.h>

#include "lib/worker/machine/gang_fixture.h"

namespace torc::worker {
namespace {

using namespace std::chrono_literals;

TEST_F(GangStep, a_head_starts_the_command_only_when_all_have_confirmed) {
  be_in_gang(3, 0, gang_job());
  EXPECT_EQ(count<command::StartJob>(), 0U);
  part_.gang.members[1].confirmed = true;
  see(Stage::forming);
  EXPECT_EQ(count<command::StartJob>(), 0U);
  part_.gang.members[2].confirmed = true;
  see(Stage::complete);
  ASSERT_EQ(count<command::StartJob>(), 1U);
  EXPECT_EQ(last<command::StartJob>()->gang->gang.members.size(), 3U);
  // Said at once.
  ASSERT_EQ(last_exchange().starts.size(), 1U);
  EXPECT_EQ(last_exchange().starts.front().token, kToken);
}

TEST_F(GangStep, a_head_gives_up_what_is_not_complete_in_time_and_names_who_is_silent) {
  be_in_gang(3, 0, gang_job());
  part_.gang.members[1].confirmed = true;
  see(Stage::forming);
  for (int i = 0; i < 11; ++i) {
    pass(5s);
    turn();
    hear();
  }
  EXPECT_EQ(said(What::declined), 0U);
  pass(6s);
  turn();
  ASSERT_EQ(said(What::declined), 1U);
  EXPECT_EQ(words().back().silent, std::vector<std::uint32_t>{2});
  // Too late.
  part_.gang.members[2].confirmed = true;
  see(Stage::complete);
  EXPECT_EQ(count<command::StartJob>(), 0U);
  // It is free again, and asks for others.
  answer(std::nullopt);
  pass(1min);
  turn();
  ASSERT_TRUE(state_.talk.busy);
  EXPECT_TRUE(state_.talk.in_flight.offer.has_value());
}

TEST_F(GangStep, among_many_workers_a_head_waits_for_the_slowest_of_them) {
  be_in_gang(2, 0, gang_job());
  state_.live_workers = 2000;
  pass(2min);
  turn();
  EXPECT_TRUE(state_.talk.gang.empty());
  pass(30s);
  turn();
  ASSERT_EQ(state_.talk.gang.size(), 1U);
  EXPECT_EQ(state_.talk.gang.front().what, What::declined);
}

TEST_F(GangStep, a_head_says_which_port_its_nodes_may_use) {
  be_in_gang(2, 0, job_on_each_node());
  ASSERT_EQ(said(What::confirmed), 1U);
  EXPECT_EQ(words().back().port, 4711);
}

TEST_F(GangStep, a_member_confirms_at_once_and_does_nothing_else) {
  be_in_gang(2, 1, gang_job());
  ASSERT_EQ(said(What::confirmed), 1U);
  EXPECT_EQ(words().back().token, kToken);
  EXPECT_FALSE(state_.talk.in_flight.offer.has_value());
  part_.gang.members[1].confirmed = true;
  hear();
  see(Stage::complete);
  see(Stage::running);
  for (int i = 0; i < 30; ++i) {
    pass(10s);
    turn();
    if (state_.talk.busy) {
      EXPECT_FALSE(state_.talk.in_flight.offer.has_value());
      hear();
    }
  }
  EXPECT_EQ(count<command::StartJob>(), 0U);
  EXPECT_EQ(said(What::confirmed), 1U);
  EXPECT_FALSE(state_.end.has_value());
}

TEST_F(GangStep, a_member_keeps_its_whole_node) {
  could_hold_ = 4;
  be_born(4, true);
  form(2, 1);
  be_told(part_, gang_job());
  part_.gang.members[1].confirmed = true;
  hear();
  feed(event::Turn{4});  // others wait
  EXPECT_EQ(state_.share.use().cpus(), 4U);
  EXPECT_EQ(state_.share.use().free().cpus, 0U);
  see(Stage::over);
  turn();
  EXPECT_FALSE(state_.gang.has_value());
  EXPECT_EQ(said(What::left), 1U);
  EXPECT_EQ(state_.share.use().used_cpus(), 0U);
}

TEST_F(GangStep, a_member_whose_node_others_have_declines_after_a_few_seconds) {
  could_hold_ = 4;
  be_born(4, true);
  form(2, 1);
  for (int i = 0; i < 3 && !state_.talk.busy; ++i) {
    pass(40s);
    turn();
  }
  could_hold_ = 3;
  state_.share.held({});
  answer(part_, gang_job());
  EXPECT_EQ(said(What::confirmed) + said(What::declined), 0U);
  pass(kNodePatience);
  turn();
  EXPECT_EQ(said(What::confirmed), 0U);
  EXPECT_EQ(said(What::declined), 1U);
}

TEST_F(GangStep, a_member_confirms_when_others_let_go_of_its_node_in_time) {
  could_hold_ = 4;
  be_born(4, true);
  form(2, 1);
  for (int i = 0; i < 3 && !state_.talk.busy; ++i) {
    pass(40s);
    turn();
  }
  could_hold_ = 3;
  state_.share.held({});
  answer(part_, gang_job());
  could_hold_ = 4;
  pass(3s);
  turn();
  EXPECT_EQ(said(What::confirmed), 1U);
}

TEST_F(GangStep, a_part_of_a_gang_looks_at_the_store_every_five_seconds_and_has_nothing_to_say) {
  be_in_gang(2, 1, gang_job());
  part_.gang.members[1].confirmed = true;
  hear();
  const std::size_t before = count<command::Submit>();
  pass(3s);
  turn();
  EXPECT_EQ(count<command::Submit>(), before);
  pass(2s);
  turn();
  ASSERT_EQ(count<command::Submit>(), before + 1);
  const claim::Exchange& look = last_exchange();
  EXPECT_TRUE(look.gang.empty() && look.starts.empty() && look.finishes.empty() &&
              look.returns.empty() && !look.offer);
  EXPECT_LE(wake_at(state_, now_), now_ + 1min);
}

TEST_F(GangStep, a_bell_has_it_look_at_once) {
  be_in_gang(2, 1, gang_job());
  part_.gang.members[1].confirmed = true;
  hear();
  const std::size_t before = count<command::Submit>();
  pass(1s);
  feed(event::Bell{commit_ + 1, 0});
  turn();
  EXPECT_EQ(count<command::Submit>(), before + 1);
}

TEST_F(GangStep, what_was_seen_before_says_nothing) {
  be_in_gang(2, 0, gang_job());
  const claim::GangPart before = part_;
  part_.gang.members[1].confirmed = true;
  see(Stage::complete);
  ASSERT_EQ(count<command::StartJob>(), 1U);
  event::GangSeen old;
  old.commit = 5;
  feed(old);  // of no gang
  turn();
  EXPECT_TRUE(state_.gang && !state_.gang->gone);
}

// It is told once what it would run: by a look, or by an answer, and these two may come in either
// order.
TEST_F(GangStep, a_member_starts_what_a_look_told_that_is_older_than_the_answer_before_it) {
  be_born(2);
  form(2, 1);
  be_told(part_);
  event::GangSeen look;
  look.commit = commit_ - 1;
  look.part = part_;
  look.job = job_on_each_node();
  feed(look);
  part_.gang.members[1].confirmed = true;
  hear();
  see(Stage::running);
  EXPECT_EQ(count<command::StartJob>(), 1U);
}

TEST_F(GangStep, where_each_node_runs_it_a_member_starts_when_the_head_has) {
  be_in_gang(2, 1, job_on_each_node());
  part_.gang.members[1].confirmed = true;
  hear();
  see(Stage::complete);
  EXPECT_EQ(count<command::StartJob>(), 0U);
  see(Stage::running);
  ASSERT_EQ(count<command::StartJob>(), 1U);
  EXPECT_EQ(last<command::StartJob>()->gang->rank, 1U);
  // The start is the head's to say.
  EXPECT_TRUE(state_.talk.starts.empty());
  hear();
  end_command(3);
  ASSERT_EQ(said(What::ended), 1U);
  EXPECT_EQ(words().back().outcome.exit_code, 3);
  hear();
  see(Stage::running);
  EXPECT_EQ(count<command::StartJob>(), 1U);
}

TEST_F(GangStep, a_member_that_declines_too_late_runs_its_part_as_the_others_do) {
  be_in_gang(2, 1, job_on_each_node());
  part_.gang.members[1].confirmed = true;
  hear();
  feed(event::Signal{SIGINT});
  turn();
  ASSERT_EQ(said(What::declined), 1U) << "it does not know that the head has started";
  part_.gang.stage = Stage::running;
  hear();
  EXPECT_EQ(count<command::StartJob>(), 1U);
  EXPECT_EQ(said(What::declined), 1U);
}

TEST_F(GangStep, a_member_that_has_said_that_it_leaves_starts_nothing) {
  be_in_gang(2, 1, job_on_each_node());
  part_.gang.members[1].confirmed = true;
  hear();
  refuses_starts_ = true;
  see(Stage::running);
  for (int i = 0; i < 10 && said(What::leaves) == 0; ++i) {
    pass(1s);
    turn();
  }
  ASSERT_EQ(said(What::leaves), 1U);
  refuses_starts_ = false;
  const std::size_t before = count<command::StartJob>();
  pass(1s);
  turn();
  EXPECT_EQ(count<command::StartJob>(), before);
}

TEST_F(GangStep, a_node_that_can_start_nothing_gives_the_gang_back) {
  be_in_gang(2, 0, gang_job());
  refuses_starts_ = true;
  part_.gang.members[1].confirmed = true;
  see(Stage::complete);
  for (int i = 0; i < 10 && said(What::declined) == 0; ++i) {
    pass(1s);
    turn();
    hear();
  }
  EXPECT_EQ(said(What::declined), 1U);
  EXPECT_TRUE(state_.running.empty());
}

TEST_F(GangStep, it_says_how_long_it_is_busy) {
  be_born(2);
  jobs_run_for(1h);
  EXPECT_EQ(offer_of(state_, now_).busy_for, 0s);
  ClaimedJob first = job(1);
  first.grant.runtime = 100s;
  first.need.runtime = 1h;  // which it declares

  ClaimedJob second = job(2);
  second.grant.runtime = 40s;
  grant({first, second});
  pass(30s);
  EXPECT_EQ(offer_of(state_, now_).busy_for, 70s);
  ClaimedJob third = job(3);
  third.grant.runtime = 50s;
  state_.queue.push_back(third);
  EXPECT_EQ(offer_of(state_, now_).busy_for, 120s);
  state_.queue.front().grant.runtime = 0s;
  EXPECT_FALSE(offer_of(state_, now_).busy_for.has_value());
}

TEST_F(GangStep, on_a_node_that_is_kept_for_a_gang_nothing_waits) {
  be_born(1);
  jobs_run_for(10ms);
  std::vector<ClaimedJob> jobs{job(1), job(2), job(3)};
  for (ClaimedJob& one : jobs) one.has_inputs = true;  // started one by one
  grant(jobs, 1000);
  EXPECT_GT(offer_of(state_, now_).prefetch, 0U);
  state_.talk.busy = false;
  pass(1min);
  turn();
  ASSERT_TRUE(state_.talk.busy);
  event::Answered e;
  e.newest = 20;
  e.answer.reserved = true;
  e.answer.workflow.counts[static_cast<std::size_t>(claim::JobState::running)] = 1;
  feed(std::move(e));
  EXPECT_EQ(offer_of(state_, now_).prefetch, 0U);
  pass(1min);
  turn();
  ASSERT_TRUE(state_.talk.busy);
  EXPECT_EQ(state_.talk.in_flight.spares.size(), 2U);
}

// --- a gang that waits for more nodes ---

class WaitingForNodes : public GangStep {
 protected:
  // What the store answers an offer: nothing, and a gang waits, for which so many nodes lack.
  void be_answered(std::uint32_t nodes, std::uint32_t lacks) {
    for (int i = 0; i < 3 && !state_.talk.busy; ++i) {
      pass(std::chrono::seconds(40));
      turn();
    }
    ASSERT_TRUE(state_.talk.busy) << "it asked nothing";
    event::Answered e;
    e.newest = ++commit_;
    e.answer.workflow.jobs = 1;
    e.answer.workflow.counts[static_cast<std::size_t>(claim::JobState::ready)] = 1;
    e.answer.live_workers = nodes;
    e.answer.could_be_part = {nodes, lacks};
    feed(std::move(e));
    turn();
  }
};

TEST_F(WaitingForNodes, is_in_vain_in_an_allocation_that_has_lost_one) {
  be_born(2);
  state_.terms.most_nodes = 3;
  be_answered(3, 0);
  EXPECT_FALSE(state_.end.has_value());
  be_answered(2, 1);
  EXPECT_EQ(state_.end, WorkerEnd::nothing_fits);
}

TEST_F(WaitingForNodes, is_in_vain_after_a_gang_on_a_node_that_has_gone) {
  be_born(2);
  state_.terms.most_nodes = 3;
  form(3, 1);
  be_told(part_, gang_job());
  hear();
  see(Stage::over);
  turn();
  if (state_.talk.busy) be_answered(2, 1);
  if (!state_.end) be_answered(2, 1);
  EXPECT_EQ(state_.end, WorkerEnd::nothing_fits);
}

TEST_F(WaitingForNodes, is_in_vain_where_the_allocation_never_had_as_many) {
  be_born(2);
  state_.terms.most_nodes = 3;
  be_answered(2, 2);
  EXPECT_EQ(state_.end, WorkerEnd::nothing_fits);
}

TEST_F(WaitingForNodes, goes_on_while_nodes_of_the_allocation_have_not_come_and_in_other_groups) {
  be_born(2);
  state_.terms.most_nodes = 3;
  be_answered(2, 1);
  EXPECT_FALSE(state_.end.has_value());
  be_born(2);
  be_answered(3, 0);
  be_answered(2, 1);
  EXPECT_FALSE(state_.end.has_value());
  pass(std::chrono::minutes(10));
  be_answered(2, 1);
  EXPECT_EQ(state_.end, WorkerEnd::nothing_fits);
}

}  // namespace
}  // namespace torc::worker
