// A command of several nodes that fails: whether that is its own, or of the death of another node.
#include <signal.h>

#include <cerrno>
#include <tuple>

#include "lib/worker/machine/gang_fixture.h"

namespace torc::worker {
namespace {

using namespace std::chrono_literals;

using GangFailure = GangEnd;

TEST_F(GangFailure, a_failure_is_said_once_all_others_have_shown_life_since) {
  head_runs(3, gang_job());
  end_command(205);
  EXPECT_EQ(said(What::lives), 1U) << "they are asked at once";
  EXPECT_TRUE(finishes().empty());
  live(1);
  EXPECT_TRUE(finishes().empty()) << "one is silent";
  EXPECT_EQ(count<command::EndGang>(), 0U);
  EXPECT_TRUE(state_.gang->has_node);
  live(2);
  ASSERT_EQ(finishes().size(), 1U);
  EXPECT_EQ(finishes().front().state, claim::JobState::failed);
  EXPECT_EQ(finishes().front().outcome.exit_code, 205);
  EXPECT_EQ(said(What::lives), 1U);
}

TEST_F(GangFailure, a_failure_is_not_said_when_a_member_is_found_lost) {
  head_runs(2, gang_job());
  end_command(205);
  live(0);
  pass(5min);
  turn();
  hear();
  EXPECT_TRUE(finishes().empty()) << "however long it is silent: its lease runs out or it speaks";
  see(Stage::over);
  turn();
  EXPECT_TRUE(finishes().empty());
  EXPECT_EQ(said(What::left), 1U);
  EXPECT_EQ(state_.summary.failed, 0U);
}

TEST_F(GangFailure, a_head_that_asks_looks_soon_and_then_as_ever_and_names_who_is_silent) {
  head_runs(3, gang_job());
  end_command(205);
  live(1);
  const BootTime asked = now_;
  EXPECT_LE(wake_at(state_, now_), asked + kFirstLifeLook);
  pass(kLifeUnusual);
  turn();
  ASSERT_NE(last<command::Tell>(), nullptr);
  const Notice* silent = nullptr;
  for (const Command& order : done_) {
    const auto* tell = std::get_if<command::Tell>(&order);
    if (tell != nullptr && tell->notice.what == Notice::What::gang_silent) silent = &tell->notice;
  }
  ASSERT_NE(silent, nullptr);
  EXPECT_EQ(silent->text, "n2");
  pass(1min);
  turn();
  hear();
  EXPECT_GT(wake_at(state_, now_), now_ + kFirstLifeLook);
}

TEST_F(GangFailure, a_member_that_is_asked_says_once_that_it_lives) {
  member_runs(gang_job());
  EXPECT_EQ(said(What::lives), 0U);
  part_.gang.members[0].lives = true;
  see(Stage::running);
  turn();
  EXPECT_EQ(said(What::lives), 1U);
  EXPECT_EQ(last_exchange().gang.back().token, kToken);
  turn();
  see(Stage::running);
  EXPECT_EQ(said(What::lives), 1U);
}

// As of an mpirun that was killed: that the failure is told may take as long as a lease.
TEST_F(GangFailure, what_a_dead_launcher_left_on_a_node_is_ended_before_the_failure_is_told) {
  for (const exec::Leftovers left : {exec::Leftovers::none, exec::Leftovers::some}) {
    done_.clear();
    leftovers_ = left;
    member_runs(gang_job());
    EXPECT_EQ(count<command::EndGang>(), 0U);
    part_.gang.members[0].lives = true;
    see(Stage::running);
    EXPECT_EQ(count<command::EndGang>(), 1U);
    EXPECT_EQ(last<command::EndGang>()->token, kToken);
    EXPECT_EQ(said(What::lives), 0U);
    EXPECT_LE(wake_at(state_, now_), now_);
    turn();
    EXPECT_EQ(said(What::lives), 1U) << "behind it, and whatever is left";
    see(Stage::running);
    EXPECT_EQ(count<command::EndGang>(), 1U);
    hear();
    leftovers_ = exec::Leftovers::none;
    see(Stage::over);
    turn();
    EXPECT_EQ(count<command::EndGang>(), 2U) << "what a recovery script started";
    EXPECT_EQ(said(What::left), 1U);
  }
}

TEST_F(GangFailure, what_each_node_runs_itself_is_not_ended_because_the_head_asks_who_lives) {
  member_runs(job_on_each_node());
  part_.gang.members[0].lives = true;
  see(Stage::running);
  EXPECT_EQ(said(What::lives), 1U);
  EXPECT_EQ(count<command::EndGang>() + count<command::StopRun>(), 0U);
}

// Who waits for a dead node waits until its time is up.
TEST_F(GangFailure, the_end_of_its_time_is_a_failure_that_a_death_may_explain) {
  head_runs(2, gang_job());
  event::Ended ended;
  ended.run = *state_.gang->run;
  ended.how.how = exec::Ending::timed_out;
  ended.how.signal = SIGTERM;
  ended.how.started_at = ended.how.ended_at = wall_;
  feed(std::move(ended));
  turn();
  EXPECT_EQ(said(What::lives), 1U);
  EXPECT_TRUE(finishes().empty());
  live(1);
  ASSERT_EQ(finishes().size(), 1U);
  EXPECT_EQ(finishes().front().state, claim::JobState::terminated);
  EXPECT_EQ(finishes().front().outcome.cause, claim::EndCause::timed_out);
}

TEST_F(GangFailure, neither_a_success_nor_what_used_too_much_memory_waits_for_anybody) {
  for (const exec::Ending how : {exec::Ending::exited, exec::Ending::out_of_memory}) {
    done_.clear();
    head_runs(2, gang_job());
    event::Ended ended;
    ended.run = *state_.gang->run;
    ended.how.how = how;
    ended.how.exit_code = 0;
    ended.how.started_at = ended.how.ended_at = wall_;
    feed(std::move(ended));
    turn();
    turn();
    EXPECT_EQ(said(What::lives), 0U);
    EXPECT_EQ(finishes().size(), 1U);
  }
}

TEST_F(GangFailure, a_head_that_is_to_stop_while_it_asks_gives_the_job_back) {
  head_runs(2, gang_job());
  end_command(205);
  feed(event::Signal{SIGTERM});
  pass(1s);
  feed(event::Signal{SIGTERM});
  turn();
  hear();
  turn();
  turn();
  const auto* goodbye = last<command::Goodbye>();
  ASSERT_NE(goodbye, nullptr);
  ASSERT_EQ(goodbye->words.finishes.size(), 1U);
  EXPECT_EQ(goodbye->words.finishes.front().state, claim::JobState::ready);
}

TEST_F(GangFailure, a_recovery_script_follows_a_failure_that_is_the_jobs_own_and_once) {
  claim::Handler handler;
  handler.rules.emplace_back();
  handler.rules.back().all_exit_codes = true;
  handler.rules.back().script = "fix";
  handler.rules.back().max_retries = 3;
  ClaimedJob job = gang_job();
  job.handler = std::make_shared<const claim::Handler>(handler);
  head_runs(2, job);
  end_command(205);
  EXPECT_EQ(count<command::StartRecovery>(), 0U);
  all_live();
  ASSERT_EQ(count<command::StartRecovery>(), 1U);
  end_command(1);
  turn();
  EXPECT_EQ(count<command::StartRecovery>(), 1U);
  ASSERT_EQ(finishes().size(), 1U);
  EXPECT_EQ(finishes().front().outcome.exit_code, 205);
  EXPECT_FALSE(finishes().front().recovered);
}

// --- nodes that cannot start it ---

class GangFault : public GangEnd {
 protected:
  // The store says that it runs, and this node, a member, finds that a directory is missing.
  void member_cannot_start() {
    fault_ = event::StartAnswer::Fault{exec::StartStep::directory, ENOENT, Blame::node};
    member_runs(job_on_each_node());
    ASSERT_EQ(count<command::StartJob>(), 1U);
    end_unstarted();
  }
  void end_unstarted() {
    ASSERT_TRUE(state_.gang && state_.gang->run);
    event::Ended ended;
    ended.run = *state_.gang->run;
    ended.how.how = exec::Ending::not_started;
    ended.how.failed_at = exec::StartStep::directory;
    ended.how.os_errno = ENOENT;
    ended.how.ended_at = wall_;
    feed(std::move(ended));
    turn();
  }
  void member_did_not_start(claim::StartFault fault, int error) {
    claim::Outcome outcome;
    outcome.cause = claim::EndCause::not_started;
    outcome.fault = fault;
    outcome.os_errno = error;
    outcome.ended_at = wall_;
    part_.gang.members[1].end = outcome;
    see(Stage::running);
  }
};

TEST_F(GangFault, a_rank_that_its_node_cannot_start_has_the_job_run_again) {
  using claim::JobState;
  using claim::StartFault;
  for (const auto& [fault, error, state] :
       {std::tuple{StartFault::directory, ENOENT, JobState::ready},
        std::tuple{StartFault::stdout_file, EACCES, JobState::ready},
        std::tuple{StartFault::program, ENOSPC, JobState::ready},
        std::tuple{StartFault::program, ENOENT, JobState::failed}}) {
    done_.clear();
    head_runs(2, job_on_each_node());
    member_did_not_start(fault, error);
    end_stopped();
    turn();
    ASSERT_EQ(finishes().size(), 1U);
    EXPECT_EQ(finishes().front().state, state);
    EXPECT_EQ(finishes().front().outcome.cause, claim::EndCause::not_started);
    EXPECT_EQ(finishes().front().outcome.fault, fault);
  }
}

TEST_F(GangFault, it_is_not_tried_for_ever) {
  ClaimedJob job = job_on_each_node();
  job.grant.stopped = claim::kMostStops - 1;
  head_runs(2, job);
  member_did_not_start(claim::StartFault::directory, ENOENT);
  end_stopped();
  turn();
  ASSERT_EQ(finishes().size(), 1U);
  EXPECT_EQ(finishes().front().state, claim::JobState::failed);
}

TEST_F(GangFault, a_member_that_cannot_start_several_in_a_row_leaves) {
  member_cannot_start();
  EXPECT_EQ(state_.faulty_starts, 1);
  EXPECT_EQ(said(What::ended), 1U);
  EXPECT_FALSE(state_.end.has_value());
  for (std::uint64_t claim = 11; claim < 13; ++claim) {
    see(Stage::over);
    turn();
    answer(std::nullopt);
    ASSERT_FALSE(state_.gang.has_value());
    form(2, 1);
    part_.gang.token.claim = claim;
    part_.gang.stage = Stage::running;
    part_.gang.members[1].confirmed = true;
    ClaimedJob again = job_on_each_node();
    again.grant.token.claim = claim;
    be_told(part_, again);
    end_unstarted();
  }
  EXPECT_EQ(state_.faulty_starts, 3);
  EXPECT_EQ(state_.end, WorkerEnd::broken);
}

TEST_F(GangFault, a_head_that_cannot_start_counts_it_whatever_becomes_of_the_attempt) {
  fault_ = event::StartAnswer::Fault{exec::StartStep::directory, ENOENT, Blame::node};
  head_runs(2, job_on_each_node());
  part_.gang.stage = Stage::over;
  end_unstarted();
  EXPECT_EQ(state_.faulty_starts, 1);
  turn();
  hear();
  turn();
  EXPECT_EQ(state_.faulty_starts, 1) << "once";
}

TEST_F(GangFault, a_node_whose_mount_stays_dead_leaves_gangs_to_others) {
  fault_ = event::StartAnswer::Fault{exec::StartStep::directory, ENOTCONN, Blame::unknown};
  be_in_gang(2, 0, gang_job());
  part_.gang.members[1].confirmed = true;
  see(Stage::complete);
  EXPECT_EQ(count<command::ForgetRun>(), 1U);
  EXPECT_TRUE(state_.running.empty());
  const BootTime begun = now_;
  // It declines, and is granted the next attempt, again and again.
  for (std::uint64_t claim = 11; claim < 200 && !state_.end; ++claim) {
    for (int i = 0; i < 20 && state_.gang && !state_.gang->declined; ++i) {
      pass(1s);
      turn();
      hear();
    }
    if (state_.talk.busy) answer(std::nullopt);
    pass(1s);
    turn();
    if (state_.end) break;
    form(2, 0);
    part_.gang.token.claim = claim;
    part_.gang.stage = Stage::complete;
    ClaimedJob again = gang_job();
    again.grant.token.claim = claim;
    be_told(part_, again);
  }
  EXPECT_EQ(state_.end, WorkerEnd::broken);
  EXPECT_GE(now_ - begun, 10min);
  EXPECT_LE(now_ - begun, 20min);
}

}  // namespace
}  // namespace torc::worker
