// A command on each node of a gang that saves its state when it is told to end.
#include <signal.h>

#include "lib/worker/machine/gang_fixture.h"

namespace torc::worker {
namespace {

using namespace std::chrono_literals;

class GangSave : public GangEnd {
 protected:
  static constexpr int kSaved = 99;

  static ClaimedJob job_that_saves() {
    ClaimedJob made = job_on_each_node();
    made.checkpoint_exit_code = kSaved;
    return made;
  }
  // The command here ends after it was told to.
  void end_told(exec::Ending how, int code, int signal = 0) {
    ASSERT_TRUE(state_.gang && state_.gang->run);
    event::Ended ended;
    ended.run = *state_.gang->run;
    ended.how.how = how;
    ended.how.exit_code = code;
    ended.how.signal = signal;
    ended.how.started_at = ended.how.ended_at = wall_;
    feed(std::move(ended));
    turn();
  }
  void member_saves(std::uint32_t rank) {
    part_.gang.members[rank].saved = true;
    member_ends(rank, kSaved);
  }
  void member_is_out_of_time(std::uint32_t rank) {
    claim::Outcome outcome;
    outcome.cause = claim::EndCause::timed_out;
    outcome.ended_at = wall_;
    part_.gang.members[rank].end = outcome;
    see(Stage::running);
  }
  // The time of its worker, as that of all others of the allocation, ends 40 s from now, and jobs
  // have the last 30 s of it to save their state.
  void let_time_end() {
    state_.terms.in_allocation = true;
    state_.terms.sigterm_lead = 30s;
    state_.terms.begun = now_ - 10h;
    state_.terms.ends_at = now_ + 40s;
  }
  // What runs here does so, with all of its lead, and the store hears of it.
  void save_at_the_end_of_time() {
    let_time_end();
    pass(11s);
    turn();
    ASSERT_EQ(count<command::StopRun>(), 1U);
    EXPECT_EQ(last<command::StopRun>()->lead, 30s);
    end_told(exec::Ending::stopped, kSaved);
    hear();
  }
  // Also with the last words of the worker.
  [[nodiscard]] std::vector<claim::Finished> all_finishes() const {
    std::vector<claim::Finished> all = finishes();
    if (const auto* goodbye = last<command::Goodbye>())
      all.insert(all.end(), goodbye->words.finishes.begin(), goodbye->words.finishes.end());
    return all;
  }
  void expect_last_checkpoint() {
    turn();
    hear();
    turn();
    turn();
    ASSERT_EQ(all_finishes().size(), 1U);
    EXPECT_TRUE(all_finishes().front().checkpointed);
  }
  void expect_checkpoint() {
    hear();
    turn();
    ASSERT_EQ(finishes().size(), 1U);
    EXPECT_EQ(finishes().front().state, claim::JobState::ready);
    EXPECT_TRUE(finishes().front().checkpointed);
    EXPECT_EQ(finishes().front().outcome.exit_code, kSaved);
    EXPECT_EQ(finishes().front().outcome.cause, claim::EndCause::exited);
    EXPECT_EQ(said(What::lives), 0U);
  }
};

TEST_F(GangSave, a_member_that_saves_first_has_the_others_save_and_the_attempt_is_a_checkpoint) {
  head_runs(3, job_that_saves());
  state_.terms.sigterm_lead = 30s;
  member_saves(1);
  ASSERT_EQ(count<command::StopRun>(), 1U);
  EXPECT_EQ(last<command::StopRun>()->lead, 30s) << "as much time as for any checkpoint";
  end_told(exec::Ending::stopped, kSaved);
  EXPECT_TRUE(finishes().empty()) << "another one may be saving still";
  member_saves(2);
  expect_checkpoint();
}

TEST_F(GangSave, what_only_the_others_die_of_is_no_failure_beside_one_that_saved) {
  head_runs(3, job_that_saves());
  member_saves(1);
  pass(1s);
  member_is_out_of_time(2);
  end_told(exec::Ending::stopped, -1, SIGTERM);
  expect_checkpoint();
}

TEST_F(GangSave, when_the_time_of_all_is_up_one_that_takes_longer_to_save_is_waited_for) {
  head_runs(3, job_that_saves());
  member_is_out_of_time(1);
  pass(1s);
  end_told(exec::Ending::timed_out, -1, SIGTERM);
  hear();
  EXPECT_TRUE(finishes().empty());
  pass(5s);
  member_saves(2);
  expect_checkpoint();
}

TEST_F(GangSave, when_the_time_of_all_is_up_and_none_saves_it_is_over) {
  head_runs(2, job_that_saves());
  end_told(exec::Ending::timed_out, -1, SIGTERM);
  EXPECT_TRUE(finishes().empty());
  member_is_out_of_time(1);
  hear();
  turn();
  EXPECT_EQ(said(What::lives), 1U) << "a node that died may have kept them all waiting";
  all_live();
  ASSERT_EQ(finishes().size(), 1U);
  EXPECT_EQ(finishes().front().state, claim::JobState::terminated);
  EXPECT_FALSE(finishes().front().checkpointed);
}

TEST_F(GangSave, a_head_that_saves_first_tells_the_others_and_waits_for_them) {
  head_runs(2, job_that_saves());
  end_told(exec::Ending::timed_out, kSaved);
  ASSERT_EQ(said(What::ended), 1U);
  EXPECT_TRUE(words().back().saved);
  hear();
  EXPECT_TRUE(finishes().empty());
  member_saves(1);
  expect_checkpoint();
}

TEST_F(GangSave, a_member_is_told_to_save_once_when_another_has) {
  be_in_gang(3, 1, job_that_saves());
  part_.gang.members[1].confirmed = true;
  hear();
  see(Stage::running);
  hear();
  state_.terms.sigterm_lead = 30s;
  member_saves(2);
  turn();
  ASSERT_EQ(count<command::StopRun>(), 1U);
  EXPECT_EQ(last<command::StopRun>()->lead, 30s);
  // It has less time once the attempt does not count any more.
  part_.gang.stage = Stage::over;
  see(Stage::over);
  ASSERT_EQ(count<command::StopRun>(), 2U);
  EXPECT_EQ(last<command::StopRun>()->lead, kGangLead);
}

TEST_F(GangSave, a_member_says_that_it_saved) {
  member_runs(job_that_saves());
  end_told(exec::Ending::timed_out, kSaved);
  ASSERT_EQ(said(What::ended), 1U);
  EXPECT_TRUE(words().back().saved);
}

TEST_F(GangSave, a_member_whose_worker_is_to_leave_saves_at_once) {
  member_runs(job_that_saves());
  feed(event::Signal{SIGTERM});
  turn();
  ASSERT_EQ(count<command::StopRun>(), 1U);
  end_told(exec::Ending::stopped, kSaved);
  ASSERT_EQ(said(What::ended), 1U);
  EXPECT_TRUE(words().back().saved);
  EXPECT_EQ(said(What::leaves) + said(What::left), 0U);
}

TEST_F(GangSave, at_the_end_of_its_time_a_member_saves_and_leaves_none_alone_that_still_does) {
  member_runs(job_that_saves());
  ASSERT_NO_FATAL_FAILURE(save_at_the_end_of_time());
  pass(1s);
  turn();
  ASSERT_EQ(said(What::ended), 1U);
  EXPECT_TRUE(words().back().saved);
  hear();
  pass(27s);
  turn();
  EXPECT_FALSE(state_.gang->leaves);
  pass(1s);
  turn();
  EXPECT_TRUE(state_.gang->leaves);
}

TEST_F(GangSave, at_the_end_of_its_time_a_member_holds_its_node_while_the_head_saves) {
  ClaimedJob of_head = gang_job();
  of_head.checkpoint_exit_code = kSaved;
  member_runs(of_head);
  let_time_end();
  pass(39s);
  turn();
  EXPECT_FALSE(state_.gang->leaves);
  pass(1s);
  turn();
  EXPECT_TRUE(state_.gang->leaves);
}

TEST_F(GangSave, at_the_end_of_its_time_a_member_leaves_at_once_what_saves_nothing) {
  member_runs(job_on_each_node());
  let_time_end();
  pass(11s);
  turn();
  EXPECT_TRUE(state_.gang->leaves);
}

TEST_F(GangSave, at_the_end_of_its_time_a_head_that_has_saved_waits_for_the_others_to_save) {
  head_runs(2, job_that_saves());
  ASSERT_NO_FATAL_FAILURE(save_at_the_end_of_time());
  pass(5s);
  turn();
  hear();
  EXPECT_TRUE(all_finishes().empty());
  member_saves(1);
  expect_last_checkpoint();
}

TEST_F(GangSave, at_the_end_of_its_time_a_head_reports_what_it_knows) {
  head_runs(2, job_that_saves());
  let_time_end();
  pass(11s);
  turn();
  end_told(exec::Ending::stopped, kSaved);
  hear();
  pass(28s);
  turn();
  hear();
  EXPECT_TRUE(all_finishes().empty());
  pass(1s);
  expect_last_checkpoint();
}

TEST_F(GangSave, a_failure_before_that_is_a_failure) {
  head_runs(2, job_that_saves());
  member_ends(1, 7);
  ASSERT_EQ(count<command::StopRun>(), 1U);
  pass(1s);
  end_told(exec::Ending::stopped, kSaved);
  all_live();
  ASSERT_EQ(finishes().size(), 1U);
  EXPECT_EQ(finishes().front().state, claim::JobState::failed);
  EXPECT_FALSE(finishes().front().checkpointed);
  EXPECT_EQ(finishes().front().outcome.exit_code, 7);
}

TEST_F(GangSave, the_code_of_a_member_that_nobody_told_is_a_failure) {
  head_runs(2, job_that_saves());
  member_ends(1, kSaved);
  end_told(exec::Ending::stopped, -1, SIGTERM);
  all_live();
  ASSERT_EQ(finishes().size(), 1U);
  EXPECT_EQ(finishes().front().state, claim::JobState::failed);
}

TEST_F(GangSave, in_an_allocation_the_code_of_a_member_alone_runs_the_job_again) {
  head_runs(2, job_that_saves());
  state_.terms.in_allocation = true;
  member_ends(1, kSaved);
  end_told(exec::Ending::stopped, 0);
  hear();
  turn();
  ASSERT_EQ(finishes().size(), 1U);
  EXPECT_EQ(finishes().front().state, claim::JobState::ready);
  EXPECT_FALSE(finishes().front().checkpointed);
}

TEST_F(GangSave, a_head_that_is_to_stop_waits_for_no_other_to_save) {
  head_runs(2, job_that_saves());
  feed(event::Signal{SIGTERM});
  pass(1s);
  feed(event::Signal{SIGTERM});
  ASSERT_EQ(state_.phase, Phase::stopping);
  end_told(exec::Ending::stopped, kSaved);
  turn();
  expect_last_checkpoint();
}

}  // namespace
}  // namespace torc::worker
