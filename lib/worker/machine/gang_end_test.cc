// How a worker's part in a job of several nodes ends.
#include <signal.h>

#include <utility>

#include "lib/worker/machine/gang_fixture.h"

namespace torc::worker {
namespace {

using namespace std::chrono_literals;

TEST_F(GangEnd, a_head_says_the_end_and_that_it_left_together_when_nothing_is_left_of_it_here) {
  head_runs(2, gang_job());
  leftovers_ = exec::Leftovers::some;
  end_command(0);
  EXPECT_EQ(count<command::EndGang>(), 1U);
  EXPECT_TRUE(finishes().empty());
  leftovers_ = exec::Leftovers::none;
  pass(250ms);
  turn();
  turn();
  EXPECT_EQ(count<command::EndGang>(), 2U);
  ASSERT_EQ(last_exchange().finishes.size(), 1U);
  EXPECT_EQ(last_exchange().finishes.front().state, claim::JobState::completed);
  ASSERT_EQ(last_exchange().gang.size(), 1U);
  EXPECT_EQ(last_exchange().gang.front().what, What::left);
  // It may have the next one by the same commit.
  EXPECT_TRUE(last_exchange().offer.has_value());
  EXPECT_EQ(state_.summary.completed, 1U);
}

TEST_F(GangEnd, a_head_that_is_told_that_it_is_over_ends_the_command_and_tells_no_end) {
  head_runs(2, gang_job());
  see(Stage::over);
  ASSERT_EQ(count<command::StopRun>(), 1U);
  EXPECT_LE(last<command::StopRun>()->lead, kGangLead);
  turn();
  EXPECT_EQ(count<command::StopRun>(), 1U);
  end_command(0);  // MPICH's launcher says so after SIGTERM
  turn();
  EXPECT_TRUE(finishes().empty());
  EXPECT_EQ(said(What::left), 1U);
  EXPECT_EQ(state_.summary.completed, 0U);
  EXPECT_EQ(state_.summary.given_back, 1U);
  EXPECT_FALSE(state_.gang.has_value());
}

// Whom the store has as gone, and what it makes of the job.
TEST_F(GangEnd, of_a_lost_partner_is_told_once) {
  const auto told = [&] {
    std::vector<Notice> all;
    for (const Command& order : done_) {
      const auto* tell = std::get_if<command::Tell>(&order);
      if (tell != nullptr && tell->notice.what == Notice::What::gang_lost)
        all.push_back(tell->notice);
    }
    return all;
  };
  member_runs(gang_job());
  part_.gang.members[0].left = true;
  part_.lost = {0};
  part_.runs_again = true;
  part_.why = claim::EndCause::lease_lost;
  see(Stage::over);
  see(Stage::over);
  ASSERT_EQ(told().size(), 1U);
  EXPECT_EQ(told()[0].text, "worker 100 on n0");
  EXPECT_TRUE(told()[0].flag);
}

TEST_F(GangEnd, a_member_is_told_of_no_loss_where_the_job_has_ended) {
  member_runs(gang_job());
  part_.gang.members[0].left = true;
  part_.lost = {0};
  part_.why = claim::EndCause::exited;
  see(Stage::over);
  for (const Command& order : done_) {
    const auto* tell = std::get_if<command::Tell>(&order);
    EXPECT_FALSE(tell != nullptr && tell->notice.what == Notice::What::gang_lost);
  }
}

TEST_F(GangEnd, a_head_whose_job_was_canceled_says_that_it_has_ended) {
  head_runs(2, gang_job());
  part_.gang.stage = Stage::over;
  feed(event::Revoked{{kToken}});
  see(Stage::over);
  end_stopped();
  turn();
  ASSERT_EQ(finishes().size(), 1U);
  EXPECT_EQ(said(What::left), 1U);
}

TEST_F(GangEnd, a_head_whose_job_is_canceled_before_the_start_gives_it_back) {
  be_in_gang(2, 0, gang_job());
  feed(event::Revoked{{kToken}});
  turn();
  EXPECT_EQ(last_exchange().returns, std::vector<claim::ClaimToken>{kToken});
  EXPECT_EQ(said(What::left), 1U);
  part_.gang.members[1].confirmed = true;
  see(Stage::complete);
  EXPECT_EQ(count<command::StartJob>(), 0U);
}

TEST_F(GangEnd, a_member_ends_what_is_left_on_its_node_and_tries_until_nothing_is) {
  member_runs(gang_job());
  leftovers_ = exec::Leftovers::some;
  see(Stage::over);
  EXPECT_EQ(count<command::EndGang>(), 1U);
  for (int i = 0; i < 5; ++i) {
    pass(2s);
    turn();
  }
  EXPECT_EQ(said(What::left), 0U);
  EXPECT_GE(count<command::EndGang>(), 5U);
  EXPECT_EQ(last<command::EndGang>()->token, kToken);
  leftovers_ = exec::Leftovers::none;
  pass(2s);
  turn();
  turn();
  EXPECT_EQ(said(What::left), 1U);
}

TEST_F(GangEnd, neither_what_cannot_be_killed_nor_what_cannot_be_looked_at_keeps_a_node_for_ever) {
  for (const auto& [left, patience] :
       {std::pair(exec::Leftovers::some, 30s), std::pair(exec::Leftovers::unknown, 5s)}) {
    done_.clear();
    member_runs(gang_job());
    leftovers_ = left;
    see(Stage::over);
    const BootTime over = now_;
    while (said(What::left) == 0 && now_ < over + 1min) {
      pass(500ms);
      turn();
      turn();
    }
    EXPECT_GE(now_ - over, patience);
    EXPECT_LE(now_ - over, patience + 4s);
  }
}

TEST_F(GangEnd, what_is_hidden_from_this_user_keeps_no_node) {
  member_runs(gang_job());
  leftovers_ = exec::Leftovers::hidden;
  see(Stage::over);
  turn();
  EXPECT_EQ(count<command::EndGang>(), 1U);
  EXPECT_EQ(said(What::left), 1U);
}

TEST_F(GangEnd, what_never_began_left_nothing) {
  be_in_gang(2, 0, gang_job());
  see(Stage::over);
  EXPECT_EQ(count<command::EndGang>(), 0U);
  EXPECT_EQ(said(What::left), 1U);
}

TEST_F(GangEnd, a_member_ends_its_command_before_it_looks_for_what_is_left) {
  member_runs(job_on_each_node());
  ASSERT_EQ(count<command::StartJob>(), 1U);
  see(Stage::over);
  EXPECT_EQ(count<command::StopRun>(), 1U);
  EXPECT_EQ(count<command::EndGang>(), 0U);
  end_stopped();
  turn();
  EXPECT_EQ(count<command::EndGang>(), 1U);
  EXPECT_EQ(said(What::ended), 0U);
  EXPECT_EQ(said(What::left), 1U);
}

TEST_F(GangEnd, the_first_failure_on_another_node_ends_the_rest) {
  head_runs(3, job_on_each_node());
  member_ends(1, 0);
  EXPECT_EQ(count<command::StopRun>(), 0U);
  pass(1s);
  member_ends(2, 9);
  EXPECT_EQ(count<command::StopRun>(), 1U);
  pass(1s);
  end_stopped();
  turn();
  EXPECT_TRUE(finishes().empty());
  all_live();
  ASSERT_EQ(finishes().size(), 1U);
  EXPECT_EQ(finishes().front().state, claim::JobState::failed);
  EXPECT_EQ(finishes().front().outcome.exit_code, 9);
}

TEST_F(GangEnd, the_failure_of_the_head_waits_for_no_other_end) {
  head_runs(3, job_on_each_node());
  end_command(4);
  all_live();
  ASSERT_EQ(finishes().size(), 1U);
  EXPECT_EQ(finishes().front().outcome.exit_code, 4);
}

TEST_F(GangEnd, the_output_of_the_head_says_nothing_of_a_failure_on_another_node) {
  for (const bool head_first : {true, false}) {
    done_.clear();
    head_runs(2, job_on_each_node());
    if (!head_first) member_ends(1, 9);
    pass(1s);
    end_command(4, claim::Trouble::transient);
    all_live();
    ASSERT_EQ(finishes().size(), 1U);
    EXPECT_EQ(finishes().front().outcome.exit_code, head_first ? 4 : 9);
    EXPECT_EQ(finishes().front().said,
              head_first ? claim::Trouble::transient : claim::Trouble::unknown);
  }
}

TEST_F(GangEnd, it_has_completed_when_each_node_has) {
  head_runs(3, job_on_each_node());
  end_command(0);
  member_ends(1, 0);
  turn();
  EXPECT_TRUE(finishes().empty());
  member_ends(2, 0);
  turn();
  ASSERT_EQ(finishes().size(), 1U);
  EXPECT_EQ(finishes().front().state, claim::JobState::completed);
}

TEST_F(GangEnd, where_each_is_to_end_by_itself_a_failure_waits_for_the_others) {
  ClaimedJob job = job_on_each_node();
  job.ends_with_first_failure = false;
  head_runs(3, job);
  member_ends(1, 9);
  EXPECT_EQ(count<command::StopRun>(), 0U);
  end_command(0);
  turn();
  EXPECT_TRUE(finishes().empty());
  member_ends(2, 0);
  all_live();
  ASSERT_EQ(finishes().size(), 1U);
  EXPECT_EQ(finishes().front().state, claim::JobState::failed);
  EXPECT_EQ(finishes().front().outcome.exit_code, 9);
}

TEST_F(GangEnd, a_member_whose_worker_stops_has_the_job_run_again) {
  head_runs(2, job_on_each_node());
  claim::Outcome stopped;
  stopped.cause = claim::EndCause::stopped;
  stopped.ended_at = wall_;
  part_.gang.members[1].end = stopped;
  see(Stage::running);
  end_stopped();
  turn();
  ASSERT_EQ(finishes().size(), 1U);
  EXPECT_EQ(finishes().front().state, claim::JobState::ready);
}

// --- workers that leave ---

TEST_F(GangEnd, a_head_that_is_to_drain_lets_it_go_on) {
  head_runs(2, gang_job());
  feed(event::Signal{SIGINT});
  pass(1h);
  turn();
  hear();
  turn();
  EXPECT_EQ(count<command::StopRun>() + count<command::Goodbye>(), 0U);
  end_command(0);
  turn();
  hear();
  if (state_.talk.busy) answer(std::nullopt);
  pass(1min);
  turn();
  EXPECT_EQ(state_.summary.completed, 1U);
  EXPECT_EQ(count<command::Goodbye>(), 1U);
}

TEST_F(GangEnd, a_head_that_is_to_drain_begins_nothing) {
  be_in_gang(2, 0, gang_job());
  feed(event::Signal{SIGINT});
  turn();
  EXPECT_EQ(said(What::declined), 1U);
  part_.gang.members[1].confirmed = true;
  see(Stage::complete);
  EXPECT_EQ(count<command::StartJob>(), 0U);
}

TEST_F(GangEnd, a_member_that_is_to_drain_stays_until_it_is_over) {
  member_runs(gang_job());
  feed(event::Signal{SIGINT});
  for (int i = 0; i < 10; ++i) {
    pass(1min);
    turn();
    hear();
  }
  EXPECT_EQ(count<command::Goodbye>(), 0U);
  see(Stage::over);
  turn();
  if (state_.talk.busy) answer(std::nullopt);
  pass(1min);
  turn();
  EXPECT_EQ(said(What::left), 1U);
  EXPECT_EQ(count<command::Goodbye>(), 1U);
}

TEST_F(GangEnd, a_member_that_is_to_stop_says_so_before_it_ends_anything) {
  member_runs(job_on_each_node());
  feed(event::Signal{SIGTERM});
  feed(event::Signal{SIGTERM});
  pass(1s);
  feed(event::Signal{SIGTERM});
  turn();
  EXPECT_EQ(count<command::StopRun>(), 0U);
  ASSERT_EQ(said(What::leaves), 1U);
  part_.gang.stage = Stage::over;
  hear();
  EXPECT_EQ(count<command::StopRun>(), 1U);
  leftovers_ = exec::Leftovers::some;
  end_stopped();
  turn();
  EXPECT_EQ(count<command::EndGang>(), 1U);
  EXPECT_EQ(said(What::ended), 0U);
  EXPECT_EQ(said(What::left), 0U) << "should its worker die now, others must know of the gang";
  leftovers_ = exec::Leftovers::none;
  pass(250ms);
  turn();
  turn();
  hear();
  EXPECT_EQ(said(What::left), 1U);
  EXPECT_EQ(count<command::Goodbye>(), 1U);
}

TEST_F(GangEnd, a_member_that_is_to_stop_waits_for_no_store_that_hangs) {
  member_runs(job_on_each_node());
  feed(event::Signal{SIGTERM});
  pass(1s);
  feed(event::Signal{SIGTERM});
  turn();
  EXPECT_LE(wake_at(state_, now_), now_ + kLeftPatience);
  pass(kLeftPatience);
  turn();
  EXPECT_EQ(count<command::StopRun>(), 1U);
  end_stopped();
  turn();
  ASSERT_EQ(state_.talk.gang.size(), 1U);
  EXPECT_EQ(state_.talk.gang.front().what, What::left) << "when the store is there again";
}

TEST_F(GangEnd, a_head_that_is_to_stop_gives_the_job_back) {
  head_runs(2, gang_job());
  feed(event::Signal{SIGTERM});
  pass(1s);
  feed(event::Signal{SIGTERM});
  turn();
  hear();
  EXPECT_GE(count<command::StopRun>(), 1U);
  end_stopped();
  turn();
  turn();
  const auto* goodbye = last<command::Goodbye>();
  ASSERT_NE(goodbye, nullptr);
  ASSERT_EQ(goodbye->words.finishes.size(), 1U);
  EXPECT_EQ(goodbye->words.finishes.front().state, claim::JobState::ready);
  EXPECT_EQ(said(What::left), 1U);
}

TEST_F(GangEnd, who_loses_its_lease_ends_the_gang_on_its_node) {
  member_runs(gang_job());
  feed(event::LeaseLost{Error{ErrorKind::fenced, "gone", ""}});
  ASSERT_EQ(count<command::EndGang>(), 1U);
  EXPECT_EQ(last<command::EndGang>()->token, kToken);
  turn();
  EXPECT_FALSE(state_.gang.has_value());
  EXPECT_EQ(said(What::left), 0U);
}

TEST_F(GangEnd, who_loses_its_lease_does_not_come_back_beside_what_is_left_of_its_gang) {
  head_runs(2, gang_job());
  leftovers_ = exec::Leftovers::some;
  feed(event::LeaseLost{Error{ErrorKind::fenced, "gone", ""}});
  for (int i = 0; i < 5; ++i) {
    pass(1s);
    turn();
  }
  EXPECT_EQ(count<command::Leave>(), 0U);
  EXPECT_GE(count<command::EndGang>(), 4U);
  leftovers_ = exec::Leftovers::none;
  pass(2s);
  turn();
  turn();
  EXPECT_EQ(count<command::Leave>(), 1U);
}

TEST_F(GangEnd, that_it_left_is_said_again_until_it_is_heard) {
  member_runs(gang_job());
  see(Stage::over);
  turn();
  ASSERT_EQ(said(What::left), 1U);
  event::Answered lost;
  lost.error = Error{ErrorKind::io, "no answer", ""};
  feed(std::move(lost));
  pass(1min);
  turn();
  EXPECT_EQ(said(What::left), 2U);
  answer(part_);
  EXPECT_FALSE(state_.gang.has_value());
  pass(1min);
  turn();
  EXPECT_EQ(said(What::left), 3U);
}

}  // namespace
}  // namespace torc::worker
