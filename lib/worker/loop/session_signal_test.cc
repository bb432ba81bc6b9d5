// What a worker does with its jobs when it is told to leave, and whose end a signal was.
#include "lib/worker/loop/session_fixture.h"

namespace torc::worker {
namespace {

using namespace std::chrono_literals;
using claim::EndCause;
using claim::JobState;
using Leads = std::vector<std::chrono::nanoseconds>;

constexpr const char* kOne = "jobs: [{name: a, command: x}]\n";

// The thread that commits moves the clock by some milliseconds when it waits.
std::chrono::nanoseconds rounded(std::chrono::nanoseconds time) {
  return (time + 50ms) / 100ms * 100ms;
}
Leads rounded(Leads leads) {
  for (auto& lead : leads) lead = rounded(lead);
  return leads;
}

// --- Ctrl-C ---

TEST_F(SignaledSession, a_first_interrupt_lets_jobs_end_however_long_that_takes) {
  make(kOne);
  const WorkerSummary summary =
      run_with({[] { signal_to_worker(SIGINT); }, [&] { clock_.sleep_for(5h); },
                [&] { end_it(ScriptedHost::ended_by_itself(0)); }});
  EXPECT_EQ(summary.end, WorkerEnd::interrupted);
  EXPECT_TRUE(host_.stops.empty());
  EXPECT_TRUE(said("finishing 1 running job; press Ctrl-C again to stop it"));
  EXPECT_EQ(job(1).state, JobState::completed);
}

TEST_F(SignaledSession, a_second_interrupt_stops_jobs_and_a_third_kills_them) {
  make(kOne);
  int kills_before = -1;
  run_with({[] { signal_to_worker(SIGINT); },
            [&] {
              clock_.sleep_for(1s);
              signal_to_worker(SIGINT);
            },
            [&] {
              kills_before = host_.kills;
              clock_.sleep_for(1s);
              signal_to_worker(SIGINT);
            }});
  EXPECT_EQ(rounded(host_.stops), Leads{30s});
  EXPECT_EQ(kills_before, 0);
  EXPECT_EQ(host_.kills, 1);
  EXPECT_TRUE(said("stopping 1 running job, with 30 s to end; press Ctrl-C again"));
  EXPECT_TRUE(said("killing 1 running job"));
  EXPECT_EQ(job(1).state, JobState::ready);
}

TEST_F(SignaledSession, a_termination_signal_ends_the_patience_of_an_interrupt) {
  make(kOne);
  run_with({[] { signal_to_worker(SIGINT); },
            [&] {
              clock_.sleep_for(1h);
              signal_to_worker(SIGTERM);
            },
            [&] { clock_.sleep_for(15s); }, [&] { end_it(stopped_by(SIGTERM)); }});
  EXPECT_EQ(rounded(host_.stops), Leads{15s});
}

// --- SIGTERM ---

class Terminated : public SignaledSession {
 protected:
  // Sends SIGTERM as soon as a job runs, and ends what was told to end when it is told.
  WorkerSummary terminate(int first = SIGTERM) {
    host_.meanwhile = [this, first](BootTime) {
      if (host_.running_now.empty()) return false;
      if (!told_) {
        told_ = clock_.boot_now();
        signal_to_worker(first);
        return true;
      }
      if (host_.stops.size() < host_.running_now.size()) return false;
      stopped_ = clock_.boot_now();
      while (!host_.running_now.empty()) end_it(stopped_by(SIGTERM));
      return true;
    };
    return run();
  }
  [[nodiscard]] auto after() const { return rounded(*stopped_ - *told_); }
  std::optional<BootTime> told_, stopped_;
};

TEST_F(Terminated, jobs_may_go_on_for_a_while_and_are_told_to_end_in_time) {
  make(kOne);
  const WorkerSummary summary = terminate();
  EXPECT_EQ(summary.end, WorkerEnd::interrupted);
  ASSERT_EQ(rounded(host_.stops), Leads{15s});
  EXPECT_EQ(after(), 15s) << "both together are the grace of 30 s";
  EXPECT_EQ(job(1).state, JobState::ready);
  EXPECT_EQ(job(1).outcome.cause, EndCause::stopped);
  EXPECT_TRUE(said("1 job may go on for 15 s, with 15 s more to end then"));
  EXPECT_TRUE(said("no time is left: stopping 1 running job"));
}

TEST_F(Terminated, the_grace_is_as_it_was_set) {
  make(kOne);
  setup_.grace = 100s;
  terminate(SIGHUP);
  ASSERT_EQ(rounded(host_.stops), Leads{15s}) << "more is not needed to end";
  EXPECT_EQ(after(), 85s);
}

TEST_F(Terminated, the_grace_ends_with_the_worker_s_time) {
  make(
      "execution_config: {sigterm_lead_seconds: 2}\n"
      "jobs: [{name: a, command: x, checkpoint_exit_code: 85}]\n");
  setup_.ends_at = clock_.wall_now() + 10s;
  terminate();
  EXPECT_EQ(rounded(host_.stops), Leads{10s});
}

TEST_F(Terminated, jobs_that_save_their_work_have_all_of_the_grace_for_it) {
  make("jobs: [{name: a, command: x, checkpoint_exit_code: 85}]\n");
  terminate();
  EXPECT_EQ(rounded(host_.stops), Leads{30s});
  EXPECT_EQ(after(), 0s);
  EXPECT_TRUE(said("1 job has 30 s to save its work and end"));
}

TEST_F(Terminated, jobs_that_may_run_for_longer_are_told_at_once) {
  make(
      "resource_requirements: [{name: brief, runtime: PT20S}, {name: long, runtime: PT1H}]\n"
      "jobs:\n"
      "  - {name: a, command: x, resource_requirements: brief}\n"
      "  - {name: b, command: x, resource_requirements: long}\n");
  setup_.max_parallel_jobs = 2;
  terminate();
  EXPECT_EQ(rounded(host_.stops), (Leads{30s, 15s, 15s})) << "b, then both";
  EXPECT_EQ(after(), 15s);
}

TEST_F(SignaledSession, a_job_that_ends_in_time_after_a_termination_signal_has_its_result) {
  make(kOne);
  run_with({[] { signal_to_worker(SIGTERM); }, [&] { clock_.sleep_for(14s); },
            [&] { end_it(ScriptedHost::ended_by_itself(0)); }});
  EXPECT_TRUE(host_.stops.empty());
  EXPECT_EQ(job(1).state, JobState::completed);
}

TEST_F(SignaledSession,
       a_second_termination_signal_stops_at_once_a_third_kills_and_echoes_do_neither) {
  make(kOne);
  std::vector<std::size_t> stops;
  std::vector<int> kills;
  const auto again = [&](std::chrono::nanoseconds later) {
    return [this, &stops, &kills, later] {
      stops.push_back(host_.stops.size());
      kills.push_back(host_.kills);
      clock_.sleep_for(later);
      signal_to_worker(SIGTERM);
    };
  };
  run_with({again(0s), again(0s), again(200ms), again(0s), again(200ms)});
  EXPECT_EQ(stops, (std::vector<std::size_t>{0, 0, 0, 1, 1}));
  EXPECT_EQ(kills, (std::vector<int>{0, 0, 0, 0, 0}));
  EXPECT_EQ(host_.stops.front(), 15s);
  EXPECT_EQ(host_.kills, 1);
  EXPECT_EQ(job(1).state, JobState::ready);
  EXPECT_EQ(job(1).stopped, 1U);
}

// The session of a login that ends sends both.
TEST_F(SignaledSession, a_hangup_is_an_echo_of_a_termination_signal) {
  make(kOne);
  run_with({[] { signal_to_worker(SIGTERM); }, [] { signal_to_worker(SIGHUP); },
            [&] { end_it(ScriptedHost::ended_by_itself(0)); }});
  EXPECT_TRUE(host_.stops.empty());
  EXPECT_EQ(job(1).state, JobState::completed);
}

TEST_F(SignaledSession, in_an_allocation_echoes_come_for_five_seconds) {
  make(kOne);
  setup_.allocation = "17";
  std::size_t stops_before = 9;
  run_with({[] { signal_to_worker(SIGTERM); },
            [&] {
              clock_.sleep_for(4900ms);
              signal_to_worker(SIGTERM);
            },
            [&] {
              stops_before = host_.stops.size();
              clock_.sleep_for(200ms);
              signal_to_worker(SIGTERM);
            },
            [&] { end_it(stopped_by(SIGTERM)); }});
  EXPECT_EQ(stops_before, 0U);
  EXPECT_EQ(host_.stops.size(), 1U);
}

TEST_F(SignaledSession, a_first_termination_signal_when_time_is_up_shortens_it_and_kills_nothing) {
  make(kOne);
  setup_.ends_at = clock_.wall_now() + 1h;
  bool told = false;
  host_.meanwhile = [&](BootTime) {
    if (host_.stops.empty() || host_.running_now.empty()) return false;
    if (!std::exchange(told, true)) {
      clock_.sleep_for(10s);
      signal_to_worker(SIGTERM);
    } else {
      end_it(stopped_by(SIGTERM));
    }
    return true;
  };
  EXPECT_EQ(run().end, WorkerEnd::time_up);
  EXPECT_EQ(rounded(host_.stops), (Leads{30s, 20s}));
  EXPECT_EQ(host_.kills, 0);
  EXPECT_EQ(job(1).outcome.cause, EndCause::allocation_ended);
}

TEST_F(SignaledSession, prefetched_jobs_go_back_on_a_termination_signal_at_once) {
  make("jobs: [{name: \"j{i}\", command: x, parameters: {i: \"1:11\"}}]\n");
  constexpr int kShort = 8;
  std::optional<BootTime> told, returned;
  std::uint64_t held = 0;
  host_.meanwhile = [&](BootTime) {
    if (host_.running_now.empty()) return false;
    if (host_.started <= kShort) {
      clock_.sleep_for(2ms);
    } else if (!told) {
      told = clock_.boot_now();
      signal_to_worker(SIGTERM);
      return true;
    } else if (!returned) {
      return false;
    }
    end_it(ScriptedHost::ended_by_itself(0));
    return true;
  };
  events_.progress = [&](const claim::WorkflowState& w) {
    held = std::max(held, w.of(JobState::claimed));
    if (told && !returned && w.of(JobState::claimed) == 0) returned = clock_.boot_now();
  };
  EXPECT_EQ(run().completed, 9U);
  ASSERT_TRUE(returned);
  EXPECT_GT(held, 0U) << "there was something to give back";
  EXPECT_LT(*returned - *told, 100ms);
  for (const std::uint64_t id : {10U, 11U}) {
    EXPECT_EQ(job(id).state, JobState::ready);
    EXPECT_EQ(job(id).attempt, 0U);
  }
}

// --- whose end a signal was ---

// Slurm tells every process of a step: the job can be dead before its worker knows why.
TEST_F(SignaledSession, a_job_that_ended_of_the_signal_meant_for_its_worker_has_not_failed) {
  make(kOne);
  for (const char* allocation : {"17", ""}) {
    setup_.allocation = allocation;
    clock_.sleep_for(1min);
    run_with({[&] { end_it(ScriptedHost::ended_by(SIGTERM)); }, [] { signal_to_worker(SIGTERM); }});
    EXPECT_EQ(job(1).state, JobState::ready) << allocation;
    EXPECT_EQ(job(1).outcome.cause, EndCause::stopped);
  }
}

// As Java does, mpirun, and a shell whose child the signal ended.
TEST_F(SignaledSession,
       a_job_that_says_by_its_exit_code_that_it_ended_of_that_signal_has_not_failed) {
  make(kOne);
  setup_.allocation = "17";
  const auto end = [&](int signal) {
    return [this, signal] { end_it(ScriptedHost::ended_by_itself(128 + signal)); };
  };
  run_with({end(SIGTERM), [] { signal_to_worker(SIGTERM); }});
  EXPECT_EQ(job(1).state, JobState::ready) << "it ended first";
  EXPECT_EQ(job(1).outcome.cause, EndCause::stopped);
  clock_.sleep_for(1min);
  run_with({[] { signal_to_worker(SIGTERM); }, end(SIGKILL)});
  EXPECT_EQ(job(1).state, JobState::ready) << "it ended later";
  EXPECT_EQ(job(1).stopped, 2U);
  clock_.sleep_for(1min);
  run_with({end(SIGTERM)});
  EXPECT_EQ(job(1).state, JobState::failed) << "nobody told the worker to leave";
  EXPECT_EQ(job(1).outcome.exit_code, 143);
}

TEST_F(SignaledSession, a_job_that_ended_of_a_signal_of_its_own_has_failed_a_second_later) {
  make(kOne);
  setup_.allocation = "17";
  const BootTime begun = clock_.boot_now();
  run_with({[&] { end_it(ScriptedHost::ended_by(SIGTERM)); }});
  EXPECT_EQ(job(1).state, JobState::failed);
  EXPECT_EQ(job(1).outcome.cause, EndCause::signaled);
  EXPECT_GE(clock_.boot_now() - begun, 1s);
}

TEST_F(SignaledSession, outside_of_slurm_its_end_waits_for_a_moment) {
  make("jobs: [{name: a, command: x}, {name: b, command: x}]\n");
  BootTime ended{};
  std::vector<std::chrono::nanoseconds> took;
  events_.failure = [&](const std::string&, const std::string&) {
    took.push_back(clock_.boot_now() - ended);
  };
  host_.meanwhile = [&](BootTime) {
    if (host_.running_now.empty()) return false;
    ended = clock_.boot_now();
    end_it(ScriptedHost::ended_by(took.empty() ? SIGTERM : SIGKILL));
    return true;
  };
  run();
  ASSERT_EQ(took.size(), 2U);
  EXPECT_EQ(rounded(took[0]), 200ms);
  EXPECT_EQ(rounded(took[1]), 200ms) << "SIGKILL may come for the worker, too";
}

// Whoever ends the jobs of a worker marks its lease lost before.
class MarkedLost : public SignaledSession {
 protected:
  MarkedLost() { context_.watched = &lease_; }
  void expect_that_nobody_says_how_it_ended(const WorkerSummary& summary) {
    EXPECT_EQ(summary.end, WorkerEnd::lease_lost);
    EXPECT_EQ(summary.failed, 0U);
    EXPECT_NE(job(1).state, JobState::failed);
    EXPECT_NE(job(1).outcome.cause, EndCause::signaled);
  }
  exec::LeasePage page_;
  exec::WatchedLease lease_{page_, -1, -1, exec::this_process()};
};

TEST_F(MarkedLost, a_job_that_is_killed_after_that_has_not_failed) {
  make(kOne);
  expect_that_nobody_says_how_it_ended(run_with({[&] {
    page_.lose();
    end_it(ScriptedHost::ended_by(SIGKILL));
  }}));
}

TEST_F(MarkedLost, a_job_whose_end_waits_for_its_explanation_has_not_failed_either) {
  make(kOne);
  for (const char* allocation : {"17", ""}) {
    setup_.allocation = allocation;
    expect_that_nobody_says_how_it_ended(
        run_with({[&] { end_it(ScriptedHost::ended_by(SIGKILL)); }, [&] { page_.lose(); }}));
  }
}

TEST_F(SignaledSession, a_job_that_a_signal_ends_while_others_finish_has_failed) {
  make(kOne);
  run_with({[] { signal_to_worker(SIGINT); }, [&] { clock_.sleep_for(1s); },
            [&] { end_it(ScriptedHost::ended_by(SIGKILL)); }});
  EXPECT_EQ(job(1).state, JobState::failed);
  EXPECT_EQ(job(1).outcome.cause, EndCause::signaled);
}

TEST_F(SignaledSession, five_seconds_after_a_termination_signal_an_end_is_the_job_s_own_again) {
  make(kOne);
  const auto a_second = [&] { clock_.sleep_for(1s); };  // it looks so often: it did not stand still
  run_with({[] { signal_to_worker(SIGTERM); }, a_second, a_second, a_second, a_second, a_second,
            [&] { end_it(ScriptedHost::ended_by(SIGKILL)); }});
  EXPECT_EQ(job(1).state, JobState::failed);
}

TEST_F(SignaledSession, an_action_that_ended_of_the_signal_meant_for_its_worker_has_not_failed) {
  make("actions: [{trigger_type: on_workflow_start, action_type: run_commands, commands: [y]}]\n" +
       std::string(kOne));
  setup_.allocation = "17";
  const WorkerSummary summary = run_with(
      {[&] { end_it(ScriptedHost::ended_by(SIGTERM)); }, [] { signal_to_worker(SIGTERM); }});
  EXPECT_EQ(summary.workflow.actions.failed, 0U);
  EXPECT_EQ(summary.workflow.actions.due, 1U) << "another worker runs it";
}

TEST_F(SignaledSession, an_action_of_several_commands_begins_no_other_after_a_termination_signal) {
  make(
      "actions: [{trigger_type: on_workflow_start, action_type: run_commands, commands: [y, "
      "z]}]\n" +
      std::string(kOne));
  const WorkerSummary summary = run_with(
      {[] { signal_to_worker(SIGTERM); }, [&] { end_it(ScriptedHost::ended_by_itself(0)); }});
  EXPECT_EQ(host_.started, 1);
  EXPECT_TRUE(host_.stops.empty()) << "the one under way may end";
  EXPECT_EQ(summary.workflow.actions.due, 1U);
}

}  // namespace
}  // namespace torc::worker
