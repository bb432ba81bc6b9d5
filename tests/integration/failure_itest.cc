// Real jobs that fail, and what their handlers make of it.
#include <gtest/gtest.h>
#include <signal.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

using nlohmann::json;

class Failure : public ::testing::TestWithParam<const char*> {
 protected:
  void init(const std::string& spec) {
    here.write("wf.yaml", spec);
    const Ended made = here.run({"init", "wf.yaml", "--engine", GetParam()});
    ASSERT_EQ(made.exit_code, 0) << made;
  }
  Ended run() { return here.run({"run", "wf.torc", "--num-cpus", "2", "--memory", "1g"}); }
  json job(const std::string& name) { return here.json({"job", name}); }
  void expect_sound() {
    const Ended verified = here.run({"verify"});
    EXPECT_EQ(verified.exit_code, 0) << verified;
  }

  const Workplace here;
};

TEST_P(Failure, the_recovery_script_mends_what_the_job_then_finds) {
  init(R"(name: wf
failure_handlers:
  - name: mend
    rules:
      - exit_codes: [3]
        recovery_script: "echo $TORC_JOB_NAME $TORC_ATTEMPT_ID $TORC_RETURN_CODE; touch mended"
jobs:
  - {name: a, command: "test -e mended || exit 3", failure_handler: mend}
  - {name: b, command: "test -e mended", depends_on: [a]}
)");
  const Ended ended = run();
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_EQ(job("a")["attempt"], 2);
  EXPECT_EQ(here.run({"logs", "a", "--recovery", "--attempt", "1"}).out, "a 1 3\n");
  EXPECT_EQ(here.run({"logs", "a", "--recovery"}).out, "a 1 3\n") << "none ran after the newest";
  const Ended none = here.run({"logs", "a", "--recovery", "--attempt", "2"});
  EXPECT_EQ(none.exit_code, 4) << none;
  EXPECT_TRUE(none.says("no recovery script ran after this attempt")) << none;
  expect_sound();
}

TEST_P(Failure, a_failure_waits_for_a_decision_where_the_file_says_so) {
  init(R"(name: wf
use_pending_failed: true
jobs:
  - {name: a, command: "test -e mended"}
  - {name: b, command: "exit 7"}
  - {name: after_a, command: "true", depends_on: [a]}
  - {name: rescue, command: "true", depends: {afternotok: b}}
)");
  const Ended ended = run();
  EXPECT_EQ(ended.exit_code, 1) << ended;
  EXPECT_TRUE(ended.says("2 failed and to be decided")) << ended;
  EXPECT_TRUE(ended.says("2 jobs wait for the decision about what failed")) << ended;
  EXPECT_FALSE(ended.says("never reached")) << ended;
  EXPECT_TRUE(here.run({"status"}).says("2 jobs wait for the decision about what failed"));
  EXPECT_EQ(job("a")["state"], "pending_failed");
  EXPECT_EQ(job("rescue")["state"], "blocked");
  const json status = here.json({"status"});
  EXPECT_EQ(status["state"], "waiting") << status;
  EXPECT_EQ(status["jobs_by_state"]["pending_failed"], 2) << status;
  EXPECT_TRUE(here.run({"status"}).says("2 jobs failed and wait for a decision"));
  EXPECT_EQ(here.json({"jobs", "--state", "pending_failed"}).size(), 2U);
  EXPECT_EQ(here.json({"results", "--failed"}).size(), 2U);
  const Ended stands = here.run({"cancel", "b"});
  EXPECT_EQ(stands.exit_code, 0) << stands;
  EXPECT_TRUE(stands.says("the failure stands")) << stands;
  EXPECT_EQ(job("b")["state"], "failed");
  EXPECT_EQ(job("b")["exit_code"], 7);
  expect_sound();
  here.write("mended", "");
  EXPECT_EQ(here.run({"retry", "--failed"}).exit_code, 0);
  EXPECT_EQ(run().exit_code, 1);
  EXPECT_EQ(job("after_a")["state"], "completed");
  EXPECT_EQ(job("b")["state"], "pending_failed") << "it was tried again too";
  EXPECT_EQ(job("rescue")["state"], "completed") << "the failure had been confirmed";
  expect_sound();
}

// What it keeps in memory is far beyond what it declares; with the declaration of the retry it
// fits.
TEST_P(Failure, a_job_that_ran_out_of_memory_is_tried_again_with_more) {
  init(R"(name: wf
failure_handlers:
  - {name: more, rules: [{on: timeout}, {on: oom, memory_multiplier: 16}]}
resource_requirements: [{name: small, num_cpus: 1, memory: 32m}]
jobs:
  - name: a
    command: "x=$(head -c 90000000 /dev/zero | tr '\\0' a); test $TORC_ATTEMPT_ID = 2 || read y < gate; test ${#x} = 90000000"
    resource_requirements: small
    failure_handler: more
)");
  const Fifo gate(here.path() / "gate");
  const Ended ended = run();
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_TRUE(ended.says("out of memory")) << ended;
  EXPECT_EQ(job("a")["attempt"], 2);
  expect_sound();
}

TEST_P(Failure, an_invocation_script_runs_the_command_of_its_job) {
  init(R"(name: wf
jobs:
  - name: "a_{i}"
    invocation_script: "./within.sh {i}"
    command: "printf 'job %s\\n' {i}"
    parameters: {i: [7]}
)");
  const Path script =
      here.write("within.sh", "#!/bin/sh\necho within $1\nshift\n\"$@\"\necho behind\n");
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  const Ended ended = run();
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_EQ(here.run({"logs", "a_7"}).out, "within 7\njob 7\nbehind\n");
}

TEST_P(Failure, without_success_of_the_script_or_a_rule_for_it_a_job_stays_failed) {
  init(R"(name: wf
failure_handlers:
  - {name: h, rules: [{exit_codes: [3], recovery_script: "exit 1"}, {exit_codes: [4]}]}
jobs:
  - {name: a, command: "exit 3", failure_handler: h}
  - {name: b, command: "exit 5", failure_handler: h}
  - {name: c, command: "exit 4", failure_handler: h}
)");
  const Ended ended = run();
  EXPECT_EQ(ended.exit_code, 1) << ended;
  EXPECT_TRUE(ended.says("the recovery script of 'a' failed (exit code 1); see ")) << ended;
  EXPECT_EQ(job("a")["attempt"], 1);
  EXPECT_EQ(job("a")["exit_code"], 3);
  EXPECT_EQ(job("b")["attempt"], 1);
  EXPECT_EQ(job("c")["attempt"], 4) << "three retries";
  expect_sound();
}

TEST_P(Failure, memory_and_runtime_grow_until_the_job_has_enough) {
  init(R"(name: wf
resource_requirements: [{name: little, memory: 100m, runtime: PT1H}]
failure_handlers:
  - name: grow
    rules: [{on: signal, memory_multiplier: 2, runtime_multiplier: 1.5}]
jobs:
  - name: a
    command: "test $TORC_MEMORY_BYTES -ge 400000000 || kill -SEGV $$"
    resource_requirements: little
    failure_handler: grow
)");
  const Ended ended = run();
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_EQ(job("a")["attempt"], 3);
  const Ended shown = here.run({"job", "a"});
  EXPECT_TRUE(shown.says("400 MiB")) << shown;
  EXPECT_TRUE(shown.says("retries      2 of 3")) << shown;
  expect_sound();
}

TEST_P(Failure, a_worker_waits_for_a_delayed_job_and_status_shows_when_it_comes) {
  Fifo record(here.path() / "record");
  // The third starts only when the end of the second, and so that of the first, is in the store.
  init(R"(name: wf
failure_handlers: [{name: later, rules: [{match_all_exit_codes: true, backoff: PT1H}]}]
jobs:
  - {name: a, command: "test $TORC_ATTEMPT_ID = 2", failure_handler: later, priority: 1}
  - {name: b, command: "true"}
  - {name: c, command: "echo c > record", depends_on: [b]}
)");
  const auto worker = here.start({"worker", "wf.torc", "--num-cpus", "1", "--lease-ttl", "10s"});
  ASSERT_TRUE(worker->wait_for_output("is tried again in 1 h: retry 1 of 3")) << worker->err();
  ASSERT_TRUE(wait_for_line(record, "c", *worker)) << worker->err();
  EXPECT_EQ(job("a")["state"], "delayed");
  EXPECT_EQ(here.json({"jobs", "--state", "delayed"}).at(0)["job"], "a");
  const json status = here.json({"status"});
  EXPECT_EQ(status["state"], "running");
  EXPECT_EQ(status["jobs_by_state"]["delayed"], 1);
  EXPECT_EQ(status["next_retry_at"], job("a")["retry_at"]);
  EXPECT_TRUE(
      here.run({"status"}).says("1 job failed and will be tried again, the next in 59 min"));
  EXPECT_EQ(here.json({"retry", "a"})["changed_jobs"], 1);
  const Ended left = worker->wait();
  EXPECT_EQ(left.exit_code, 0) << left;
  EXPECT_EQ(job("a")["state"], "completed");
  expect_sound();
}

TEST_P(Failure, after_so_many_failures_nothing_more_is_started) {
  init(R"(name: wf
max_failures: 2
jobs:
  - {name: "bad_{i}", command: "exit 1", parameters: {i: "1:2"}, priority: 1}
  - {name: "good_{i}", command: "true", parameters: {i: "1:500"}}
)");
  const Ended ended = run();
  EXPECT_EQ(ended.exit_code, 1) << ended;
  const json status = here.json({"status"});
  EXPECT_EQ(status["halted"], true);
  EXPECT_EQ(status["state"], "failed");
  EXPECT_EQ(status["jobs_by_state"]["failed"], 2);
  EXPECT_GT(status["jobs_by_state"]["ready"], 0);
  EXPECT_TRUE(here.run({"status"}).says("nothing more is started: 2 jobs failed"));
  expect_sound();
}

TEST_P(Failure, a_job_that_saves_its_state_at_its_time_limit_goes_on) {
  init(R"(name: wf
execution_config: {sigterm_lead_seconds: 30}
resource_requirements: [{name: brief, runtime: PT3S}]
jobs:
  - name: a
    command: |
      trap 'exit 85' TERM
      test $TORC_ATTEMPT_ID = 3 && exit 0
      sleep 1000 & wait
    resource_requirements: brief
    checkpoint_exit_code: 85
)");
  const Ended ended = run();
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_EQ(job("a")["attempt"], 3);
  expect_sound();
}

// The third starts only when the end of the second, and so the start of the first, is in the store.
TEST_P(Failure, a_job_may_lose_as_many_workers_as_it_says) {
  Fifo record(here.path() / "record");
  Fifo gate(here.path() / "gate");
  init(R"(name: wf
jobs:
  - {name: a, command: "read x < gate; kill -KILL $PPID", crash_limit: 1, priority: 1}
  - {name: b, command: "true"}
  - {name: c, command: "echo c > record", depends_on: [b]}
)");
  const auto first = here.start({"worker", "wf.torc", "--num-cpus", "2", "--lease-ttl", "10s"});
  ASSERT_TRUE(wait_for_line(record, "c", *first)) << first->err();
  gate.open_gate(1);
  EXPECT_EQ(first->wait().signal, SIGKILL);
  const Ended second = here.run({"worker", "wf.torc", "--lease-ttl", "10s"});
  EXPECT_EQ(second.exit_code, 0) << second;
  EXPECT_EQ(job("a")["state"], "failed") << second;
  EXPECT_EQ(job("a")["cause"], "worker_lost");
  expect_sound();
}

// --- torc set ---

TEST_P(Failure, a_setting_says_what_it_changed_and_can_be_tried) {
  init("name: wf\njobs: [{name: \"j{i}\", command: \"true\", parameters: {i: \"1:9\"}}]\n");
  const json tried = here.json({"set", "j3", "priority=7", "--dry-run"});
  EXPECT_EQ(tried["changed_jobs"], 1);
  EXPECT_EQ(tried["changed_names"], json({"j3"}));
  EXPECT_TRUE(here.run({"job", "j3"}).says("priority     0"));
  const Ended done = here.run({"set", "j3", "priority=7", "cpus=2", "memory=2g"});
  EXPECT_EQ(done.exit_code, 0) << done;
  EXPECT_TRUE(done.says("set priority=7 cpus=2 memory=2g of 1 job, which was ready")) << done;
  const Ended shown = here.run({"job", "j3"});
  EXPECT_TRUE(shown.says("priority     7")) << shown;
  EXPECT_TRUE(shown.says("2 CPUs, 2 GiB")) << shown;
  EXPECT_TRUE(here.run({"set", "j3", "priority=7"}).says("nothing to change"));
  EXPECT_EQ(here.json({"set", "--all", "label=big"})["changed_jobs"], 9);
  expect_sound();
}

TEST_P(Failure, a_setting_that_is_none_is_refused_with_the_nearest) {
  init("name: wf\njobs: [{name: a, command: \"true\"}]\n");
  for (const auto& [word, says] : {std::pair("prioritie=1", "did you mean 'priority'?"),
                                   std::pair("memory=lots", "memory cannot be 'lots'"),
                                   std::pair("a", "there is nothing to set")}) {
    const Ended refused = here.run({"set", "a", word});
    EXPECT_EQ(refused.exit_code, 2) << refused;
    EXPECT_TRUE(refused.says(says)) << refused;
  }
  EXPECT_EQ(here.run({"set", "b", "priority=1"}).exit_code, 2);
}

TEST_P(Failure, a_running_job_keeps_what_it_has_and_its_retry_has_the_new) {
  Fifo record(here.path() / "record");
  Fifo gate(here.path() / "gate");
  init(R"(name: wf
failure_handlers: [{name: again, rules: [{match_all_exit_codes: true}]}]
jobs:
  - name: a
    command: "echo $TORC_NUM_CPUS > record; read x < gate; test $TORC_NUM_CPUS = 2"
    failure_handler: again
)");
  const auto worker = here.start({"worker", "wf.torc", "--num-cpus", "4", "--lease-ttl", "10s"});
  ASSERT_TRUE(wait_for_line(record, "1", *worker)) << worker->err();
  const Ended set = here.run({"set", "a", "cpus=2"});
  EXPECT_EQ(set.exit_code, 0) << set;
  gate.open_gate(1);
  ASSERT_TRUE(wait_for_line(record, "2", *worker)) << worker->err();
  gate.open_gate(1);
  EXPECT_EQ(worker->wait().exit_code, 0);
  EXPECT_EQ(job("a")["state"], "completed");
  expect_sound();
}

INSTANTIATE_TEST_SUITE_P(Engines, Failure, ::testing::Values("journal", "lmdb"));

}  // namespace
}  // namespace torc::itest
