// What a worker does about jobs that fail and may be tried again.
#include <signal.h>

#include <fstream>

#include "lib/worker/loop/session_fixture.h"

namespace torc::worker {
namespace {

using namespace std::chrono_literals;
using claim::EndCause;
using claim::JobState;

// One job, x, with this rule.
std::string with_rule(const std::string& rule) {
  return "failure_handlers: [{name: h, rules: [" + rule +
         "]}]\njobs: [{name: a, command: x, failure_handler: h}]\n";
}

class FailureTest : public SessionTest {
 protected:
  // Each command's end in turn; the last goes on.
  void ends(std::vector<exec::Ended> in_turn) {
    host_.outcome = [this, in_turn] {
      const std::size_t n = host_.commands.size() - 1;
      return std::optional(in_turn[std::min(n, in_turn.size() - 1)]);
    };
  }
  static exec::Ended code(int n) { return ScriptedHost::ended_by_itself(n); }
  [[nodiscard]] std::vector<std::string> lines() const {
    std::vector<std::string> out;
    for (const exec::Command& c : host_.commands) out.push_back(c.line);
    return out;
  }
};

TEST_F(FailureTest, waits_for_a_delayed_job_and_does_not_leave_before) {
  make(with_rule("{match_all_exit_codes: true, backoff: PT10M}"));
  ends({code(1), code(1), code(0)});
  const BootTime begun = clock_.boot_now();
  const WorkerSummary summary = run();
  EXPECT_EQ(summary.end, WorkerEnd::workflow_finished);
  EXPECT_EQ(summary.completed, 1U);
  EXPECT_EQ(summary.failed, 0U);
  EXPECT_GE(clock_.boot_now() - begun, 30min);
  EXPECT_LT(clock_.boot_now() - begun, 31min);
  EXPECT_TRUE(said("'a' failed (exit code 1) and is tried again in 10 min: retry 1 of 3"));
}

TEST_F(FailureTest, an_idle_worker_wakes_up_when_a_delayed_job_is_due) {
  make(with_rule("{match_all_exit_codes: true, backoff: PT100S}"));
  ends({code(1), code(0)});
  const BootTime begun = clock_.boot_now();
  EXPECT_EQ(run().completed, 1U);
  EXPECT_GE(clock_.boot_now() - begun, 100s);
  EXPECT_LT(clock_.boot_now() - begun, 101s);
}

TEST_F(FailureTest, a_delayed_job_does_not_keep_others_waiting) {
  make(
      "failure_handlers: [{name: h, rules: [{exit_codes: [7], backoff: PT1H}]}]\n"
      "jobs:\n"
      "  - {name: a, command: x, failure_handler: h, priority: 1}\n"
      "  - {name: b, command: y}\n");
  ends({code(7), code(0)});
  EXPECT_EQ(run().completed, 2U);
  EXPECT_EQ(lines(), (std::vector<std::string>{"x", "y", "x"}));
}

TEST_F(FailureTest, an_idle_worker_asks_no_oftener_because_a_job_is_delayed) {
  make(with_rule("{match_all_exit_codes: true, backoff: PT1H}"));
  ends({code(1), code(0)});
  (void)run();
  EXPECT_LT(seen_.size(), 150U) << "every 30 s at last";
}

TEST_F(FailureTest, the_recovery_script_runs_where_the_job_failed_and_then_the_job_again) {
  make(with_rule("{exit_codes: [3], recovery_script: 'mend --all'}"));
  ends({code(3), code(0)});
  EXPECT_EQ(run().completed, 1U);
  EXPECT_EQ(lines(), (std::vector<std::string>{"x", "mend --all", "x"}));
  const exec::Command& script = host_.commands.at(1);
  const auto has = [&](const std::string& e) {
    return std::count(script.env.begin(), script.env.end(), e) == 1;
  };
  EXPECT_TRUE(has("TORC_RETURN_CODE=3"));
  EXPECT_TRUE(has("TORC_ATTEMPT_ID=1"));
  EXPECT_TRUE(has("TORC_JOB_NAME=a"));
  EXPECT_EQ(script.directory, host_.commands.at(0).directory);
  EXPECT_EQ(script.stdout_path, recovery_file(setup_.output_dir, JobId{1}, 1));
  EXPECT_GT(script.time_limit, 0s);
  EXPECT_EQ(job(1).attempt, 2U);
}

TEST_F(FailureTest, a_job_whose_recovery_script_fails_has_failed) {
  make(with_rule("{exit_codes: [3], recovery_script: mend}"));
  ends({code(3), code(1)});
  const WorkerSummary summary = run();
  EXPECT_EQ(summary.failed, 1U);
  EXPECT_EQ(lines(), (std::vector<std::string>{"x", "mend"}));
  EXPECT_EQ(job(1).outcome.exit_code, 3) << "that of the job, not of the script";
  EXPECT_TRUE(said("the recovery script of 'a' failed (exit code 1); see "));
}

TEST_F(FailureTest, of_a_recovery_script_that_cannot_be_started_notice_and_file_say_why) {
  make(with_rule("{exit_codes: [3], recovery_script: mend}"));
  exec::Ended missing;
  missing.how = exec::Ending::not_started;
  missing.failed_at = exec::StartStep::execute;
  missing.os_errno = ENOENT;
  ends({code(3), missing});
  EXPECT_EQ(run().failed, 1U);
  EXPECT_TRUE(said("No such file or directory"));
  std::ifstream file(recovery_file(setup_.output_dir, JobId{1}, 1));
  std::string line;
  std::getline(file, line);
  EXPECT_NE(line.find("No such file or directory"), std::string::npos) << line;
}

TEST_F(FailureTest,
       a_recovery_script_that_a_dead_mount_keeps_from_starting_says_nothing_of_its_job) {
  make(with_rule("{exit_codes: [3], recovery_script: mend}"));
  exec::Ended dead;
  dead.how = exec::Ending::not_started;
  dead.failed_at = exec::StartStep::directory;
  dead.os_errno = ENOTCONN;
  ends({code(3), dead, code(3), code(0), code(0)});
  EXPECT_EQ(run().failed, 0U);
  EXPECT_EQ(lines(), (std::vector<std::string>{"x", "mend", "x", "mend", "x"}));
}

TEST_F(FailureTest, no_script_is_run_when_no_retry_is_left) {
  make(with_rule("{exit_codes: [3], recovery_script: mend, max_retries: 1}"));
  ends({code(3), code(0), code(3)});
  EXPECT_EQ(run().failed, 1U);
  EXPECT_EQ(lines(), (std::vector<std::string>{"x", "mend", "x"}));
}

TEST_F(FailureTest, the_job_keeps_what_it_holds_while_its_script_runs) {
  make(
      "failure_handlers: [{name: h, rules: [{exit_codes: [3], recovery_script: mend}]}]\n"
      "jobs:\n"
      "  - {name: a, command: x, failure_handler: h, priority: 1}\n"
      "  - {name: b, command: y}\n");
  bool meant = false;
  host_.outcome = [&]() -> std::optional<exec::Ended> {
    if (host_.commands.size() == 1) return code(3);
    if (host_.commands.size() > 2) return code(0);
    return std::nullopt;  // the script takes its time
  };
  host_.meanwhile = [&](BootTime) {
    if (host_.commands.size() != 2 || meant) return false;
    EXPECT_EQ(lines().back(), "mend");
    meant = true;
    host_.end(host_.running_now.front(), code(0));
    return true;
  };
  EXPECT_EQ(run().completed, 2U);
  EXPECT_TRUE(meant);
}

TEST_F(FailureTest, a_script_that_is_cut_off_with_its_worker_lets_the_job_run_again) {
  make(with_rule("{exit_codes: [3], recovery_script: mend}"));
  exec::Ended stopped = ScriptedHost::ended_by(SIGTERM);
  stopped.how = exec::Ending::stopped;
  ends({code(3), stopped, code(0)});
  EXPECT_EQ(run().completed, 1U);
  EXPECT_EQ(lines(), (std::vector<std::string>{"x", "mend", "x"}));
  EXPECT_EQ(job(1).stopped, 1U);
}

TEST_F(FailureTest, nothing_more_is_started_after_so_many_failures_not_even_what_it_has_claimed) {
  make("max_failures: 2\njobs: [{name: \"j{i}\", command: x, parameters: {i: \"1:2000\"}}]\n");
  ends({code(1)});
  const WorkerSummary summary = run();
  EXPECT_EQ(summary.end, WorkerEnd::workflow_finished);
  EXPECT_TRUE(summary.workflow.halted());
  EXPECT_EQ(host_.started, 2);
  EXPECT_EQ(summary.failed, 2U);
  EXPECT_EQ(summary.workflow.of(JobState::ready), 1998U) << "what it prefetched went back";
}

TEST_F(FailureTest, a_failure_that_a_handler_takes_back_does_not_count_against_max_failures) {
  make(
      "max_failures: 1\nfailure_handlers: [{name: h, rules: [{exit_codes: [7]}]}]\n"
      "jobs: [{name: \"j{i}\", command: x, failure_handler: h, parameters: {i: \"1:9\"}}]\n");
  ends({code(7), code(7), code(0)});
  const WorkerSummary summary = run();
  EXPECT_EQ(summary.completed, 9U);
  EXPECT_EQ(summary.failed, 0U);
}

constexpr const char* kCheckpoints = "jobs: [{name: a, command: x, checkpoint_exit_code: 85}]\n";

TEST_F(FailureTest, a_job_that_saved_its_state_when_it_was_told_to_end_goes_on) {
  make(kCheckpoints);
  exec::Ended saved = code(85);
  saved.how = exec::Ending::stopped;
  ends({saved, saved, saved, saved, saved, saved, saved, code(0)});
  EXPECT_EQ(run().completed, 1U);
  EXPECT_EQ(job(1).attempt, 8U);
  EXPECT_EQ(job(1).stopped, 0U);
}

TEST_F(FailureTest, that_exit_code_of_a_job_that_nobody_told_to_end_is_a_failure) {
  make(kCheckpoints);
  ends({code(85)});
  EXPECT_EQ(run().failed, 1U);
  EXPECT_EQ(job(1).state, JobState::failed);
}

TEST_F(FailureTest, in_an_allocation_it_goes_on_without_a_known_signal_but_not_for_ever) {
  make(kCheckpoints);
  setup_.allocation = "17";
  ends({code(85)});
  EXPECT_EQ(run().failed, 1U);
  EXPECT_EQ(host_.started, 5);
  EXPECT_EQ(job(1).state, JobState::failed);
  EXPECT_EQ(job(1).outcome.exit_code, 85);
}

TEST_F(FailureTest, in_an_allocation_a_minute_of_work_is_a_checkpoint) {
  make(kCheckpoints);
  setup_.allocation = "17";
  host_.outcome = [&]() -> std::optional<exec::Ended> {
    if (host_.commands.size() > 7) return code(0);
    return std::nullopt;
  };
  host_.meanwhile = [&](BootTime) {
    if (host_.running_now.empty()) return false;
    clock_.sleep_for(60s);
    host_.end(host_.running_now.front(), code(85));
    return true;
  };
  EXPECT_EQ(run().completed, 1U);
  EXPECT_EQ(job(1).attempt, 8U);
  EXPECT_EQ(job(1).stopped, 0U);
}

TEST_F(FailureTest, another_exit_code_of_a_job_that_was_told_to_end_is_none_that_goes_on) {
  make(kCheckpoints);
  exec::Ended stopped = code(1);
  stopped.how = exec::Ending::stopped;
  ends({stopped, code(0)});
  EXPECT_EQ(run().completed, 1U);
  EXPECT_EQ(job(1).stopped, 1U);
}

// --- memory ---

exec::Ended out_of_memory() {
  exec::Ended ended = ScriptedHost::ended_by(9);
  ended.how = exec::Ending::out_of_memory;
  return ended;
}

TEST_F(FailureTest, a_job_that_cannot_get_more_memory_is_not_tried_again_and_that_is_told) {
  make(
      "failure_handlers: [{name: h, rules: [{on: [oom], max_retries: 9, memory_multiplier: 2,"
      " recovery_script: mend}]}]\n"
      "resource_requirements: [{name: big, memory: 512m}]\n"
      "jobs: [{name: a, command: x, failure_handler: h, resource_requirements: big}]\n");
  ends({out_of_memory(), code(0), out_of_memory()});
  const WorkerSummary summary = run();
  EXPECT_EQ(summary.failed, 1U);
  EXPECT_EQ(lines(), (std::vector<std::string>{"x", "mend", "x"}));
  EXPECT_TRUE(said("'a' is not tried again: ceiling reached, its memory cannot grow beyond 1 "));
}

TEST_F(SessionTest, a_job_beyond_its_memory_fails_with_the_exit_code_for_that) {
  make("execution_config: {oom_exit_code: 99}\njobs: [{name: a, command: x}]\n");
  host_.outcome = [] {
    exec::Ended ended = ScriptedHost::ended_by(9);
    ended.how = exec::Ending::out_of_memory;
    return ended;
  };
  EXPECT_EQ(run().failed, 1U);
  EXPECT_EQ(job(1).state, claim::JobState::failed);
  EXPECT_EQ(job(1).outcome.cause, claim::EndCause::out_of_memory);
  EXPECT_EQ(job(1).outcome.exit_code, 99);
}

constexpr const char* kDeclared =
    "resource_requirements: [{name: big, memory: 512m}]\n"
    "jobs:\n"
    "  - {name: a, command: x, resource_requirements: big}\n"
    "  - {name: b, command: x, depends_on: [a]}\n";

TEST_F(SessionTest, a_job_may_use_the_memory_that_it_declares_and_any_if_it_declares_none) {
  make(kDeclared);
  run();
  ASSERT_EQ(host_.commands.size(), 2U);
  EXPECT_EQ(host_.commands[0].memory_limit, mebibytes(512));
  EXPECT_EQ(host_.commands[1].memory_limit, ByteCount{});
}

TEST_F(SessionTest, limits_of_memory_can_be_turned_off) {
  make(std::string("execution_config: {limit_resources: false}\n") + kDeclared);
  run();
  ASSERT_EQ(host_.commands.size(), 2U);
  EXPECT_EQ(host_.commands[0].memory_limit, ByteCount{});
}

}  // namespace
}  // namespace torc::worker
