// Conditions, limits and budgets with real workers.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

using nlohmann::json;

class Quota : public ::testing::TestWithParam<const char*> {
 protected:
  void make(const std::string& spec) {
    here.write("wf.yaml", spec);
    const Ended made = here.run({"init", "wf.yaml", "--engine", GetParam()});
    ASSERT_EQ(made.exit_code, 0) << made;
  }
  Ended run_all() { return here.run({"run", "wf.torc", "--num-cpus", "4"}); }
  void expect_sound() {
    const Ended verified = here.run({"verify"});
    EXPECT_EQ(verified.exit_code, 0) << verified;
  }
  std::string state_of(const std::string& job) {
    return here.json({"job", job})["state"].get<std::string>();
  }

  const Workplace here;
};

constexpr const char* kRescue = R"(name: wf
jobs:
  - {name: train, command: "test -e good"}
  - {name: rescue, command: "true", depends: {afternotok: [train]}}
  - {name: report, command: "true", depends: {afterok: rescue}}
  - {name: cleanup, command: "true", depends: {afterany: [train, rescue, report]}}
)";

TEST_P(Quota, a_workflow_whose_rescue_was_not_needed_has_succeeded) {
  here.write("good", "");
  make(kRescue);
  const Ended ran = run_all();
  EXPECT_EQ(ran.exit_code, 0) << ran;
  EXPECT_TRUE(ran.says("2 not needed")) << ran;
  const json status = here.json({"status"});
  EXPECT_EQ(status["state"], "completed") << status;
  EXPECT_EQ(status["not_needed_jobs"], 2);
  const json rescue = here.json({"job", "rescue"});
  EXPECT_EQ(rescue["state"], "canceled");
  EXPECT_EQ(rescue["cause"], "unmet");
  EXPECT_EQ(rescue["canceled_for"], "train");
  EXPECT_EQ(here.json({"job", "report"})["canceled_for"], "rescue");
  EXPECT_EQ(state_of("cleanup"), "completed");
  EXPECT_TRUE(here.run({"job", "rescue"}).says("train (afternotok), which is completed"));
  expect_sound();
}

TEST_P(Quota, a_rescue_runs_when_the_job_failed_and_a_reset_makes_all_of_it_wait_again) {
  make(kRescue);
  EXPECT_EQ(run_all().exit_code, 1);
  EXPECT_EQ(state_of("report"), "completed");
  here.write("good", "");
  EXPECT_EQ(here.run({"reset", "train", "--yes"}).exit_code, 0);
  EXPECT_EQ(state_of("rescue"), "blocked");
  const Ended ran = run_all();
  EXPECT_EQ(ran.exit_code, 0) << ran;
  EXPECT_EQ(here.json({"job", "rescue"})["cause"], "unmet");
  expect_sound();
}

TEST_P(Quota, a_job_that_starts_after_another_started_runs_beside_it) {
  make(R"(name: wf
jobs:
  - {name: server, command: "read x < gate"}
  - {name: client, command: "echo go > gate", depends: {after: server}}
)");
  const Fifo gate(here.path() / "gate");
  const Ended ran = run_all();
  EXPECT_EQ(ran.exit_code, 0) << ran;
  expect_sound();
}

TEST_P(Quota, a_failure_cancels_what_asked_for_it_until_the_job_is_retried) {
  make(R"(name: wf
jobs:
  - {name: a, command: "test -e good"}
  - {name: b, command: "true", depends_on: [a], cancel_on_blocking_job_failure: true}
  - {name: c, command: "true", depends_on: [b], cancel_on_blocking_job_failure: true}
  - {name: d, command: "true", depends_on: [c]}
)");
  EXPECT_EQ(run_all().exit_code, 1);
  EXPECT_EQ(here.json({"job", "b"})["cause"], "upstream_failed");
  EXPECT_EQ(here.json({"job", "b"})["canceled_for"], "a");
  EXPECT_EQ(here.json({"job", "c"})["canceled_for"], "b");
  EXPECT_EQ(state_of("d"), "blocked");
  expect_sound();
  here.write("good", "");
  EXPECT_EQ(here.run({"retry", "--failed"}).exit_code, 0);
  EXPECT_EQ(state_of("c"), "blocked");
  const Ended ran = run_all();
  EXPECT_EQ(ran.exit_code, 0) << ran;
  expect_sound();
}

// Each job counts those that run beside it; mkdir is atomic on every filesystem.
constexpr const char* kManyJobs = R"(name: wf
limits: {"free_{i}": 3}
jobs:
  - name: work_{i}
    command: |
      n=0
      for d in slot1 slot2; do mkdir $d 2> /dev/null && n=$d && break; done
      test $n != 0 || exit 1
      read x < gate
      rmdir $n
    max_parallel: 2
    parameters: {i: "1:6"}
  - name: free_{i}
    command: "true"
    parameters: {i: "1:6"}
)";

TEST_P(Quota, no_more_jobs_of_an_entry_run_than_may_whoever_runs_them) {
  make(kManyJobs);
  Fifo gate(here.path() / "gate");
  std::vector<std::unique_ptr<Process>> workers;
  for (int w = 0; w < 2; ++w)
    workers.push_back(here.start({"worker", "wf.torc", "--num-cpus", "4"}));
  gate.open_gate(6);
  for (const auto& worker : workers) EXPECT_EQ(worker->wait().exit_code, 0) << worker->err();
  const json status = here.json({"status"});
  EXPECT_EQ(status["state"], "completed") << status;
  EXPECT_EQ(status["limits"].size(), 2U);
  EXPECT_EQ(status["limits"][0]["running_jobs"], 0);
  expect_sound();
}

TEST_P(Quota, a_full_limit_is_told_where_jobs_wait_for_it) {
  make(R"(name: wf
jobs:
  - name: work_{i}
    command: "echo in > record; read x < gate"
    max_parallel: 1
    parameters: {i: "1:2"}
)");
  Fifo record(here.path() / "record");
  Fifo gate(here.path() / "gate");
  const auto worker = here.start({"worker", "wf.torc", "--num-cpus", "4"});
  ASSERT_TRUE(wait_for_line(record, "in", *worker)) << worker->err();
  const json limit = here.json({"status"})["limits"][0];
  EXPECT_EQ(limit["entry"], "work_{i}");
  EXPECT_EQ(limit["running_jobs"], 1);
  EXPECT_EQ(limit["ready_jobs_wait"], true);
  EXPECT_TRUE(here.run({"status"}).says("as many jobs of their entry run as its limit allows"));
  EXPECT_TRUE(here.run({"job", "work_2"}).says("a slot: 1 of 1 of its entry run"));
  gate.open_gate(2);
  EXPECT_EQ(worker->wait().exit_code, 0);
  expect_sound();
}

TEST_P(Quota, a_limit_is_set_while_workers_run) {
  make(R"(name: wf
limits: {licence: 1}
max_parallel: 9
jobs:
  - name: one_{i}
    command: "echo in > record; read x < gate; echo out > record"
    limits: [licence]
    parameters: {i: "1:6"}
)");
  Fifo record(here.path() / "record");
  Fifo gate(here.path() / "gate");
  const auto in = [&](std::size_t jobs) { return record.lines().size() == jobs; };
  const auto worker = here.start(
      {"worker", "wf.torc", "--num-cpus", "8", "--memory", "1g", "--idle-timeout", "1h"});
  ASSERT_TRUE(wait_until({&record, worker.get()}, [&] { return in(1); })) << worker->err();
  const Ended raised = here.run({"set", "--limit", "licence=3"});
  EXPECT_EQ(raised.exit_code, 0) << raised;
  EXPECT_TRUE(raised.says("licence: 3, was 1; 1 in use\n")) << raised;
  ASSERT_TRUE(wait_until({&record, worker.get()}, [&] { return in(3); })) << worker->err();
  const json lowered = here.json({"set", "wf.torc", "--limit", "licence=1"})["limits"][0];
  EXPECT_EQ(lowered["limit"], 1) << lowered;
  EXPECT_EQ(lowered["limit_before"], 3) << lowered;
  EXPECT_EQ(lowered["in_use"], 3) << lowered;
  const json zero = here.json({"set", "wf.torc", "--limit", "licence=0"})["limits"][0];
  EXPECT_EQ(zero["too_large_jobs"], 3) << zero;
  EXPECT_TRUE(here.run({"status"}).says("licence: 3 of 0 in use (the workflow file says 1)"));
  EXPECT_EQ(here.json({"status"})["limits"][0]["limit_of_file"], 1);
  const Ended why = here.run({"why", "one_6"});
  EXPECT_TRUE(why.says("It needs 1 of 'licence', and there are 0 (the workflow file says 1)"))
      << why;
  EXPECT_TRUE(why.says("torc set wf.torc --limit licence=1")) << why;
  // Those that run go on: they are let go, and nothing follows them.
  gate.open_gate(6);
  ASSERT_TRUE(wait_until({&record, worker.get()}, [&] { return in(6); })) << worker->err();
  EXPECT_EQ(std::ranges::count(record.lines(), "out"), 3) << "nothing follows those that ran";
  const json both =
      here.json({"set", "wf.torc", "--limit", "licence=2", "--limit", "max_parallel=1"});
  EXPECT_EQ(both["limits"][1]["limit_before"], 9) << both;
  EXPECT_EQ(worker->wait().exit_code, 0);
  EXPECT_EQ(here.json({"status"})["jobs_by_state"]["completed"], 6);
  expect_sound();
  // It is what the file says of the work, whatever was set since.
  const Ended again = here.run({"run", "wf.yaml"});
  EXPECT_EQ(again.exit_code, 0) << again;
}

TEST_P(Quota, a_limit_that_there_is_not_cannot_be_set) {
  make("name: wf\nlimits: {licence: 3}\njobs: [{name: a, command: 'true', limits: [licence]}]\n");
  const Ended unknown = here.run({"set", "--limit", "license=2"});
  EXPECT_EQ(unknown.exit_code, 2) << unknown;
  EXPECT_TRUE(unknown.says("the workflow has no limit 'license'")) << unknown;
  EXPECT_TRUE(unknown.says("it has 'licence'")) << unknown;
  const Ended jobs = here.run({"set", "a", "--limit", "licence=2"});
  EXPECT_EQ(jobs.exit_code, 2) << jobs;
  EXPECT_TRUE(jobs.says("for the whole workflow")) << jobs;
  const Ended half = here.run({"set", "--limit", "licence=2", "--limit", "max_parallel=2"});
  EXPECT_EQ(half.exit_code, 2) << half;
  EXPECT_EQ(here.json({"status"})["limits"][0]["limit"], 3) << "all of them are set, or none";
  const json tried = here.json({"set", "wf.torc", "--limit", "licence=7", "--dry-run"});
  EXPECT_EQ(tried["limits"][0]["limit"], 7);
  EXPECT_EQ(here.run({"set", "--limit", "licence=0"}).exit_code, 0);
  const Ended held = run_all();
  EXPECT_EQ(held.exit_code, 3) << held;
  EXPECT_TRUE(held.says("a limit keeps 1 ready job from starting")) << held;
  EXPECT_EQ(here.run({"set", "--limit", "licence=3"}).exit_code, 0);
  EXPECT_EQ(here.json({"status"})["limits"][0]["limit"], 3);
}

TEST_P(Quota, what_jobs_share_is_never_used_twice_and_comes_back_from_a_lost_worker) {
  make(R"(name: wf
limits: {licence: 3}
max_parallel: 2
jobs:
  - name: two_{i}
    command: "echo $$ > record; echo in > record; read x < gate"
    limits: {licence: 2}
    parameters: {i: "1:3"}
)");
  Fifo record(here.path() / "record");
  Fifo gate(here.path() / "gate");
  const auto worker = here.start({"worker", "wf.torc", "--num-cpus", "4"});
  ASSERT_TRUE(wait_for_line(record, "in", *worker)) << worker->err();
  const json limits = here.json({"status"})["limits"];
  ASSERT_EQ(limits.size(), 2U);
  EXPECT_EQ(limits[0]["resource"], "licence");
  EXPECT_EQ(limits[0]["in_use"], 2);
  EXPECT_EQ(limits[0]["waiting_jobs"], 2);
  EXPECT_EQ(limits[0]["running_jobs"], nullptr);
  EXPECT_EQ(limits[1]["resource"], nullptr);
  EXPECT_EQ(limits[1]["running_jobs"], 1);
  EXPECT_EQ(limits[1]["ready_jobs_wait"], false);
  EXPECT_TRUE(here.run({"status"}).says("licence: 2 of 3 in use; 2 ready jobs wait\n"));
  EXPECT_TRUE(here.run({"job", "two_2"}).says("2 of licence: 2 of 3 in use"));
  const Ended why = here.run({"why", "two_2"});
  EXPECT_TRUE(why.says("It needs 2 of 'licence', and 2 of 3 are in use, by two_1.")) << why;
  // Its job could read a line of the gate until it is gone, too.
  Witness job(std::stoi(record.lines().front()));
  worker->kill(SIGKILL);
  (void)worker->wait();
  ASSERT_TRUE(wait_until({&job}, [&] { return job.gone(); }));
  const auto next = here.start({"worker", "wf.torc", "--num-cpus", "4"});
  gate.open_gate(3);
  EXPECT_EQ(next->wait().exit_code, 0) << next->err();
  EXPECT_EQ(here.json({"status"})["limits"][0]["in_use"], 0);
  expect_sound();
}

TEST_P(Quota, a_budget_keeps_jobs_from_starting_and_says_so) {
  make(R"(name: wf
budget: {core_hours: 2.5}
resource_requirements: [{name: hour, num_cpus: 1, runtime: PT1H}, {name: all, runtime: PT3H}]
jobs:
  - {name: "dear_{i}", command: "true", resource_requirements: all, priority: 9, parameters: {i: "1:2"}}
  - name: work_{i}
    command: "read x < gate"
    resource_requirements: hour
    parameters: {i: "1:3"}
)");
  Fifo gate(here.path() / "gate");
  const auto worker = here.start({"worker", "wf.torc", "--num-cpus", "4"});
  gate.open_gate(3);
  const Ended left = worker->wait();
  EXPECT_EQ(left.exit_code, 0) << left;
  const json status = here.json({"status"});
  EXPECT_EQ(status["jobs_by_state"]["completed"], 3) << status;
  EXPECT_EQ(status["jobs_by_state"]["ready"], 2);
  const json hours = status["budget"]["core"];
  EXPECT_EQ(hours["limit_hours"], 2.5);
  EXPECT_EQ(hours["promised_hours"], 0);
  EXPECT_LT(hours["used_hours"].get<double>(), 0.1);
  EXPECT_EQ(status["budget"]["ready_jobs_wait"], true);
  const Ended told = here.run({"status"});
  EXPECT_TRUE(told.says("the budget keeps them from starting")) << told;
  EXPECT_TRUE(told.says("   2  dear_1 ")) << told;
  EXPECT_TRUE(here.run({"job", "dear_1"}).says("the budget: 0.0")) << here.run({"job", "dear_1"});
  const Ended again = run_all();
  EXPECT_EQ(again.exit_code, 3) << again;
  EXPECT_TRUE(again.says("the budget keeps 2 ready jobs from starting")) << again;
  expect_sound();
}

INSTANTIATE_TEST_SUITE_P(Engines, Quota, ::testing::Values("lmdb", "journal"),
                         [](const auto& engine) { return std::string(engine.param); });

}  // namespace
}  // namespace torc::itest
