// Why a job does not run, for each reason that there is, with real workers where these are the
// reason.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

using nlohmann::json;

class Why : public ::testing::Test {
 protected:
  void make(const std::string& spec) {
    here.write("wf.yaml", spec);
    const Ended made = here.run({"init", "wf.yaml", "--engine", "journal"});
    ASSERT_EQ(made.exit_code, 0) << made;
  }
  void do_it(std::vector<std::string> arguments, int code = 0) {
    const Ended ended = here.run(std::move(arguments));
    EXPECT_EQ(ended.exit_code, code) << ended;
  }
  // "dependency,upstream": the kinds in their order.
  std::string kinds(const std::string& job) {
    answer = here.json({"why", job});
    std::string all;
    for (const json& r : answer["reasons"])
      all += (all.empty() ? "" : ",") + r["kind"].get<std::string>();
    return all;
  }
  [[nodiscard]] std::string text(std::size_t i = 0) const {
    return answer["reasons"][i]["message"];
  }
  [[nodiscard]] std::string remedy(std::size_t i = 0) const {
    return answer["reasons"][i]["remedy"];
  }
  static bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }

  const Workplace here;
  json answer;
};

constexpr const char* kChain = R"(name: wf
jobs:
  - {name: a, command: "test -e good"}
  - {name: b, command: "true", depends_on: [a]}
  - {name: c, command: "true", depends_on: [b]}
  - {name: d, command: "true", depends_on: [b], cancel_on_blocking_job_failure: true}
  - {name: e, command: "true", depends: {afternotok: [a]}}
)";

TEST_F(Why, a_blocked_job_names_what_it_waits_for_and_where_that_begins) {
  make(kChain);
  EXPECT_EQ(kinds("b"), "dependency") << answer;
  EXPECT_TRUE(has(text(), "waits for a, which must complete, and is ready")) << text();
  EXPECT_EQ(kinds("c"), "dependency") << answer;
  EXPECT_TRUE(has(text(), "begins with a, which is ready")) << text();
  EXPECT_TRUE(has(remedy(), "torc why wf.torc a")) << remedy();
  do_it({"hold", "a"});
  EXPECT_EQ(kinds("a"), "hold") << answer;
  EXPECT_EQ(remedy(), "torc release wf.torc a");
  EXPECT_EQ(kinds("b"), "upstream") << answer;
  EXPECT_EQ(remedy(), "torc release wf.torc a");
  do_it({"hold", "c"});
  EXPECT_EQ(kinds("c"), "hold,dependency") << answer;
}

TEST_F(Why, of_many_that_are_waited_for_the_states_are_told_and_what_failed_comes_first) {
  make(R"(name: wf
jobs:
  - {name: "a_{i}", command: "test {i} != 8 || exit 3", parameters: {i: "1:8"}}
  - {name: b, command: "true", depends_on: ["a_{i}"]}
)");
  EXPECT_EQ(kinds("b"), "dependency,dependency,dependency,dependency,dependency,dependency");
  EXPECT_EQ(text(5), "And it waits for 3 more jobs: 3 ready.");
  EXPECT_FALSE(has(remedy(5), "--failed")) << remedy(5);
  do_it({"run", "wf.torc"}, 1);
  EXPECT_EQ(kinds("b"), "upstream") << answer;
  EXPECT_TRUE(has(text(), "waits for a_8, ")) << text();
}

TEST_F(Why, what_was_not_reached_and_what_was_passed_over_name_the_failure) {
  make(kChain);
  do_it({"run", "wf.torc"}, 1);
  EXPECT_EQ(kinds("a"), "failed") << answer;
  EXPECT_TRUE(has(text(), "exit code 1")) << text();
  EXPECT_TRUE(has(remedy(), "torc retry wf.torc a")) << remedy();
  EXPECT_EQ(kinds("b"), "upstream") << answer;
  EXPECT_TRUE(has(text(), "is failed (exit code 1)")) << text();
  EXPECT_EQ(remedy(), "torc retry wf.torc a");
  EXPECT_EQ(kinds("c"), "dependency") << answer;
  EXPECT_TRUE(has(text(), "begins with a, which is failed")) << text();
  EXPECT_EQ(kinds("e"), "completed") << answer;
  EXPECT_TRUE(has(remedy(), "torc logs wf.torc e")) << remedy();
  here.write("good", "");
  do_it({"reset", "--all", "--yes"});
  do_it({"run", "wf.torc"}, 0);
  EXPECT_EQ(kinds("e"), "canceled") << answer;
  EXPECT_TRUE(has(text(), "not needed")) << text();
  do_it({"reset", "--all", "--yes"});
  do_it({"cancel", "b"});
  EXPECT_EQ(kinds("b"), "canceled") << answer;
  EXPECT_TRUE(has(text(), "on request")) << text();
  EXPECT_EQ(kinds("d"), "canceled") << answer;
  EXPECT_TRUE(has(text(), "because of b")) << text();
  EXPECT_EQ(remedy(), "torc retry wf.torc b");
}

TEST_F(Why, a_chain_of_cancellations_leads_to_the_job_with_which_it_began) {
  make(R"(name: wf
jobs:
  - {name: bad, command: "false"}
  - {name: mid, command: "true", depends_on: [bad], cancel_on_blocking_job_failure: true}
  - {name: mid2, command: "true", depends_on: [mid], cancel_on_blocking_job_failure: true}
  - {name: low, command: "true", depends_on: [mid2]}
)");
  do_it({"run", "wf.torc"}, 1);
  EXPECT_EQ(kinds("low"), "upstream") << answer;
  EXPECT_TRUE(has(text(), "canceled because of bad, which is failed (exit code 1)")) << text();
  EXPECT_EQ(remedy(), "torc retry wf.torc bad");
  EXPECT_EQ(kinds("mid2"), "canceled") << answer;
  EXPECT_TRUE(has(text(), "because of mid, which is canceled, and that because of bad")) << text();
  EXPECT_EQ(remedy(), "torc retry wf.torc bad");
  const Ended alone = here.run({"retry", "mid2"});
  EXPECT_EQ(alone.exit_code, 0) << alone;
  EXPECT_TRUE(alone.says("nothing to change")) << alone;
  EXPECT_TRUE(
      alone.says("mid2 was canceled because of bad, which is failed; it waits again with: "
                 "torc retry wf.torc bad"))
      << alone;
  const json both = here.json({"retry", "mid2", "bad", "--dry-run"});
  EXPECT_TRUE(both["passed_over"].empty()) << "it waits again with the other: " << both;
  EXPECT_EQ(both["left_alone_by_state"]["canceled"], 0) << both;
  do_it({"retry", "bad"});
  EXPECT_EQ(kinds("low"), "dependency") << answer;
}

TEST_F(Why, a_ready_job_without_any_worker_says_so) {
  make(kChain);
  EXPECT_EQ(kinds("a"), "no_worker") << answer;
  EXPECT_TRUE(has(remedy(), "torc run wf.torc")) << remedy();
  const Ended shown = here.run({"why", "a"});
  EXPECT_TRUE(shown.says("a (#1) is ready")) << shown;
  EXPECT_TRUE(shown.says("what helps: torc run")) << shown;
  const Ended unknown = here.run({"why", "nobody"});
  EXPECT_EQ(unknown.exit_code, 2) << unknown;
}

TEST_F(Why, failures_that_halt_the_workflow_come_first) {
  make(R"(name: wf
max_failures: 1
jobs:
  - {name: bad, command: "false", priority: 1}
  - {name: good, command: "true"}
)");
  do_it({"run", "wf.torc", "--max-parallel-jobs", "1"}, 1);
  EXPECT_EQ(kinds("good"), "max_failures,no_worker") << answer;
  EXPECT_TRUE(has(remedy(), "--failed")) << remedy();
}

TEST_F(Why, a_job_that_was_cut_off_with_its_worker_s_time_says_how_often) {
  make("name: wf\njobs: [{name: a, command: sleep 1000}]\n");
  do_it({"run", "wf.torc", "--time-limit", "8s"}, 3);
  EXPECT_EQ(kinds("a"), "no_worker,time") << answer;
  EXPECT_TRUE(has(text(1), "It was ended once before it was done")) << text(1);
  EXPECT_TRUE(has(text(1), "When that has happened 5 times it is given up")) << text(1);
  EXPECT_TRUE(has(remedy(1), "torc set wf.torc a runtime=")) << remedy(1);
}

TEST_F(Why, a_budget_that_is_too_small_is_told) {
  make(R"(name: wf
budget: {core_hours: 1}
resource_requirements: [{name: long, num_cpus: 4, memory: 1m, runtime: PT2H}]
jobs: [{name: a, command: "true", resource_requirements: long}]
)");
  EXPECT_EQ(kinds("a"), "budget,no_worker") << answer;
  EXPECT_TRUE(has(text(), "1.00 core hours")) << text();
}

TEST_F(Why, a_back_off_says_how_long_and_how_often) {
  make(R"(name: wf
failure_handlers: [{name: again, rules: [{exit_codes: [3], max_retries: 2, backoff: PT1H}]}]
jobs:
  - {name: a, command: "exit 3", failure_handler: again}
  - {name: b, command: "exit 4", failure_handler: again}
)");
  const auto worker = here.start({"worker", "wf.torc", "--idle-timeout", "1s"});
  EXPECT_EQ(worker->wait().exit_code, 0);
  EXPECT_EQ(kinds("a"), "backoff,no_worker") << answer;
  EXPECT_TRUE(has(text(), "exit code 3")) << text();
  EXPECT_TRUE(has(text(), "retry 1 of 2")) << text();
  EXPECT_EQ(kinds("b"), "failed") << answer;
  EXPECT_TRUE(has(text(), "no rule for that")) << text();
}

class WhyWorkers : public Why {
 protected:
  // A worker that has the job `busy`, which waits at the gate.
  void start_worker(std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"worker", "wf.torc", "--lease-ttl", "10s", "--grace", "0s"});
    worker = here.start(std::move(flags));
    ASSERT_TRUE(wait_for_line(record, "busy", *worker)) << worker->err();
    EXPECT_TRUE(here.wait_for_state("wf.torc", "busy", "running"));
  }
  void make_beside_busy(const std::string& more) {
    make(R"(name: wf
resource_requirements:
  - {name: cpus, num_cpus: 8, memory: 1m}
  - {name: memory, num_cpus: 1, memory: 64t}
  - {name: gpus, num_cpus: 1, num_gpus: 99, memory: 1m}
  - {name: long, num_cpus: 1, memory: 1m, runtime: PT9H}
  - {name: two, num_cpus: 2, memory: 1m}
slurm_schedulers: [{name: big, account: x, walltime: "10:00:00"}]
jobs:
  - {name: busy, command: "echo busy > record; read x < gate", priority: 9}
)" + more);
  }
  void end() {
    worker->kill(SIGTERM);
    EXPECT_EQ(worker->wait().exit_code, 143);
  }

  Fifo record{here.path() / "record"};
  Fifo gate{here.path() / "gate"};
  std::unique_ptr<Process> worker;
};

TEST_F(WhyWorkers, each_thing_that_no_worker_has_is_a_reason) {
  make_beside_busy(R"(
  - {name: cpus, command: "true", resource_requirements: cpus}
  - {name: memory, command: "true", resource_requirements: memory}
  - {name: gpus, command: "true", resource_requirements: gpus}
  - {name: long, command: "true", resource_requirements: long}
  - {name: label, command: "true", label: fast}
  - {name: bound, command: "true", scheduler: big}
  - {name: both, command: "true", scheduler: big, resource_requirements: cpus}
)");
  start_worker({"--num-cpus", "2", "--time-limit", "1h", "--label", "slow", "--also-unlabelled"});
  EXPECT_EQ(kinds("cpus"), "cpus") << answer;
  EXPECT_TRUE(has(text(), "it needs 8 CPUs, and that worker has at most 2")) << text();
  EXPECT_TRUE(has(remedy(), "torc set wf.torc cpus cpus=")) << remedy();
  EXPECT_EQ(kinds("memory"), "memory") << answer;
  EXPECT_EQ(kinds("gpus"), "gpus") << answer;
  EXPECT_EQ(kinds("long"), "time") << answer;
  EXPECT_EQ(kinds("label"), "label") << answer;
  EXPECT_TRUE(has(text(), "'fast', and that worker has 'slow'")) << text();
  EXPECT_EQ(kinds("bound"), "scheduler") << answer;
  EXPECT_TRUE(has(text(), "that worker serves none")) << text();
  EXPECT_EQ(kinds("both"), "scheduler,cpus") << answer;
  const Ended status = here.run({"status"});
  for (const char* lack : {"a worker with as many CPUs\n", "a worker with that label\n",
                           "a worker with that scheduler, as many CPUs\n"})
    EXPECT_TRUE(status.says(lack)) << status;
  end();
}

TEST_F(WhyWorkers, a_job_that_waits_for_room_and_one_that_runs_say_where) {
  make_beside_busy(R"(
  - {name: next, command: "true", resource_requirements: two}
)");
  start_worker({"--num-cpus", "2"});
  EXPECT_EQ(kinds("next"), "queue") << answer;
  EXPECT_TRUE(has(text(), "1 of 1 worker can take it; it has 1 job now")) << text();
  EXPECT_TRUE(has(remedy(), "torc set wf.torc next priority=1")) << remedy();
  EXPECT_EQ(kinds("busy"), "running") << answer;
  EXPECT_TRUE(has(text(), "attempt 1, with worker")) << text();
  EXPECT_TRUE(has(remedy(), "torc logs wf.torc busy -f")) << remedy();
  // A worker that is killed leaves its registration behind.
  worker->kill(SIGKILL);
  EXPECT_FALSE(worker->wait().timed_out);
  EXPECT_EQ(kinds("busy"), "no_worker,running") << answer;
  EXPECT_TRUE(has(text(), " is gone: its process has ended")) << text();
  EXPECT_TRUE(has(text(), "run again at once with a worker on this machine")) << text();
  EXPECT_TRUE(has(text(1), "Attempt 1 began with worker")) << text(1);
  EXPECT_EQ(kinds("next"), "no_worker") << answer;
  EXPECT_TRUE(has(text(), " is gone: its process has ended")) << text();
}

// What all commands say after the only worker of a laptop was killed.
TEST_F(WhyWorkers, a_worker_that_was_killed_is_not_taken_for_one_that_works) {
  make(R"(name: wf
jobs:
  - {name: busy, command: "echo busy > record; read x < gate"}
  - {name: next, command: "true", depends_on: [busy]}
)");
  start_worker({});
  EXPECT_EQ(here.json({"status"})["state"], "running");
  worker->kill(SIGKILL);
  EXPECT_FALSE(worker->wait().timed_out);
  const json status = here.json({"status"});
  EXPECT_EQ(status["state"], "waiting");
  EXPECT_EQ(status["workers"][0]["gone"], true) << status;
  EXPECT_EQ(status["remedy"], "torc run wf.torc");
  EXPECT_EQ(kinds("next"), "dependency") << answer;
  EXPECT_TRUE(has(text(), " is gone: its process has ended")) << text();
  EXPECT_EQ(remedy(), "torc run wf.torc");
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"status"}, {"retry", "busy"}, {"history"}, {"cancel", "busy"}}) {
    const Ended ended = here.run(command);
    EXPECT_EQ(ended.exit_code, 0) << ended;
    EXPECT_TRUE(ended.says(" is gone: its process has ended")) << ended;
    EXPECT_TRUE(ended.out.ends_with("no worker is at work; start one: torc run wf.torc\n"))
        << ended;
  }
  EXPECT_TRUE(here.run({"status"}).says("its canceled jobs count as ended at once with")) << "both";
}

TEST_F(WhyWorkers, whoever_follows_a_job_whose_worker_was_killed_is_told) {
  make("name: wf\njobs: [{name: busy, command: \"echo busy > record; read x < gate\"}]\n");
  start_worker({});
  const auto logs = here.start({"logs", "-f", "busy"});
  worker->kill(SIGKILL);
  EXPECT_FALSE(worker->wait().timed_out);
  const auto is_told = [&] {
    return has(logs->err(), " is gone: its process has ended") &&
           has(logs->err(), "no worker is at work; start one: torc run wf.torc");
  };
  EXPECT_TRUE(wait_until({logs.get()}, is_told)) << logs->err();
  logs->kill(SIGTERM);
  (void)logs->wait();
}

TEST_F(WhyWorkers, a_full_limit_and_a_prefetch_are_told) {
  make_beside_busy(R"(
  - {name: "work_{i}", command: "echo work > record; read x < gate", max_parallel: 1, parameters: {i: "1:2"}}
)");
  start_worker({"--num-cpus", "2"});
  ASSERT_TRUE(wait_for_line(record, "work", *worker)) << worker->err();
  EXPECT_EQ(kinds("work_2"), "limit") << answer;
  EXPECT_TRUE(has(text(), "1 of at most 1 jobs of its entry 'work_{i}' run")) << text();
  end();
}

}  // namespace
}  // namespace torc::itest
