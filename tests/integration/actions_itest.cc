// Actions with real workers: once for each trigger, once for each worker, and what becomes of them
// when a worker dies.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

using nlohmann::json;

class Actions : public ::testing::TestWithParam<const char*> {
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
  json action(std::size_t row) { return here.json({"actions"})[row]; }
  [[nodiscard]] std::vector<std::string> trace() const {
    return lines_of(read_text(here.path() / "trace"));
  }
  [[nodiscard]] std::ptrdiff_t count(const std::string& line) const {
    const auto lines = trace();
    return std::count(lines.begin(), lines.end(), line);
  }
  [[nodiscard]] std::ptrdiff_t place(const std::string& line) const {
    const auto lines = trace();
    return std::find(lines.begin(), lines.end(), line) - lines.begin();
  }

  const Workplace here;
};

constexpr const char* kAll = R"(name: wf
actions:
  - {trigger_type: on_workflow_start, action_type: run_commands, commands: ["echo start >> trace", "mkdir made"]}
  - {trigger_type: on_workflow_complete, action_type: run_commands, commands: ["echo complete >> trace"]}
  - {trigger_type: on_jobs_ready, action_type: run_commands, jobs: [b], commands: ["echo ready >> trace"]}
  - {trigger_type: on_jobs_complete, action_type: run_commands, job_name_regexes: ["^a_"], commands: ["echo over >> trace"]}
  - {trigger_type: on_worker_start, action_type: run_commands, commands: ["echo hello >> trace"]}
  - {trigger_type: on_worker_complete, action_type: run_commands, commands: ["echo bye >> trace"]}
jobs:
  - {name: "a_{i}", command: "test -d made && echo a >> trace", parameters: {i: "1:3"}}
  - {name: b, command: "echo b >> trace", depends_on: ["a_{i}"]}
  - {name: c, command: "echo c >> trace", depends_on: [b]}
)";

TEST_P(Actions, each_trigger_sets_its_action_off_once_and_in_its_place) {
  make(kAll);
  const Ended ran = run_all();
  EXPECT_EQ(ran.exit_code, 0) << ran;
  const json all = here.json({"actions"});
  EXPECT_EQ(all.size(), 6U) << all;
  for (const json& one : all) {
    EXPECT_EQ(one["state"], "completed") << one;
    EXPECT_EQ(one["run"], 1) << one;
    EXPECT_EQ(one["exit_code"], 0) << one;
  }
  for (const char* line : {"start", "hello", "ready", "over", "complete", "bye"})
    EXPECT_EQ(count(line), 1) << line;
  EXPECT_LT(place("hello"), place("a"));
  EXPECT_LT(place("start"), place("a"));
  EXPECT_GT(place("over"), place("a"));
  EXPECT_GT(place("complete"), place("c"));
  EXPECT_GT(place("complete"), place("ready"));
  EXPECT_GT(place("bye"), place("complete"));
  expect_sound();
  // Of the workflow nothing is left to set off; a further worker has its own.
  EXPECT_EQ(run_all().exit_code, 0);
  EXPECT_EQ(count("start") + count("ready") + count("over") + count("complete"), 4);
  EXPECT_EQ(count("hello"), 2);
  EXPECT_EQ(count("bye"), 2);
  expect_sound();
  const json events = here.json({"history"})["events"];
  const auto ended = std::count_if(events.begin(), events.end(),
                                   [](const json& e) { return e["event"] == "action_ended"; });
  EXPECT_EQ(ended, 8) << events;
}

TEST_P(Actions, several_workers_share_those_of_the_workflow) {
  make(kAll);
  std::vector<std::unique_ptr<Process>> workers;
  for (int w = 0; w < 3; ++w) workers.push_back(here.start({"worker", "wf.torc"}));
  for (const auto& worker : workers) EXPECT_EQ(worker->wait().exit_code, 0) << worker->err();
  for (const char* line : {"start", "ready", "over", "complete"}) EXPECT_EQ(count(line), 1) << line;
  EXPECT_EQ(count("hello"), 3);
  EXPECT_EQ(count("bye"), 3);
  EXPECT_LT(place("start"), place("a"));
  expect_sound();
}

TEST_P(Actions, a_failing_command_ends_its_action_and_nothing_else) {
  make(R"(name: wf
actions:
  - trigger_type: on_workflow_start
    action_type: run_commands
    commands: ["echo one; echo two >&2", "sh -c 'exit 3'", "echo never >> trace"]
jobs: [{name: a, command: "true"}]
)");
  const Ended ran = run_all();
  EXPECT_EQ(ran.exit_code, 0) << ran;
  EXPECT_TRUE(ran.says("action 1 (on_workflow_start) failed: exit code 3")) << ran;
  EXPECT_TRUE(ran.says("1 action failed")) << ran;
  EXPECT_TRUE(trace().empty());
  const json one = action(0);
  EXPECT_EQ(one["state"], "failed") << one;
  EXPECT_EQ(one["completed_commands"], 1) << one;
  EXPECT_EQ(one["exit_code"], 3) << one;
  const Ended output = here.run({"actions", "--output", "1"});
  EXPECT_TRUE(output.says("one\ntwo\n")) << output;
  EXPECT_EQ(here.json({"status"})["action_runs_by_state"]["failed"], 1);
  EXPECT_EQ(here.run({"actions", "--output", "2"}).exit_code, 2);
  expect_sound();
}

TEST_P(Actions, failures_of_jobs_do_not_keep_what_waits_for_their_end) {
  make(R"(name: wf
actions:
  - {trigger_type: on_jobs_complete, action_type: run_commands, jobs: [a], commands: ["echo over >> trace"]}
  - {trigger_type: on_jobs_ready, action_type: run_commands, jobs: [b], commands: ["echo ready >> trace"]}
  - {trigger_type: on_workflow_complete, action_type: run_commands, commands: ["echo complete >> trace"]}
jobs:
  - {name: a, command: "test -e good"}
  - {name: b, command: "true", depends_on: [a]}
)");
  EXPECT_EQ(run_all().exit_code, 1);
  EXPECT_EQ(trace(), (std::vector<std::string>{"over", "complete"}));
  here.write("good", "");
  EXPECT_EQ(here.run({"retry", "--failed"}).exit_code, 0);
  EXPECT_EQ(run_all().exit_code, 0);
  EXPECT_EQ(trace(), (std::vector<std::string>{"over", "complete", "ready"}));
  expect_sound();
}

TEST_P(Actions, persistent_ones_run_again_after_a_reset) {
  make(R"(name: wf
actions:
  - {trigger_type: on_jobs_complete, action_type: run_commands, jobs: [a], persistent: true, commands: ["echo over >> trace"]}
  - {trigger_type: on_workflow_complete, action_type: run_commands, persistent: true, commands: ["echo complete >> trace"]}
  - {trigger_type: on_jobs_complete, action_type: run_commands, jobs: [a], commands: ["echo once >> trace"]}
jobs: [{name: a, command: "true"}]
)");
  EXPECT_EQ(run_all().exit_code, 0);
  EXPECT_EQ(run_all().exit_code, 0);
  EXPECT_EQ(count("over"), 1);
  EXPECT_EQ(here.run({"reset", "--all", "--yes"}).exit_code, 0);
  expect_sound();
  EXPECT_EQ(run_all().exit_code, 0);
  EXPECT_EQ(count("over"), 2);
  EXPECT_EQ(count("complete"), 2);
  EXPECT_EQ(count("once"), 1);
  EXPECT_EQ(action(0)["run"], 2);
  const Ended output = here.run({"actions", "--output", "1"});
  EXPECT_TRUE(output.says("==> run 1 <==\n")) << output;
  EXPECT_TRUE(output.says("==> run 2 <==\n")) << output;
  expect_sound();
}

constexpr const char* kCutOff = R"(name: wf
actions:
  - trigger_type: on_workflow_start
    action_type: run_commands
    commands: ["echo first >> trace", "echo second > record; read x < gate; echo second >> trace", "echo third >> trace"]
jobs: [{name: a, command: "echo a >> trace"}]
)";

TEST_P(Actions, of_a_worker_that_dies_another_one_takes_the_commands_that_are_left) {
  make(kCutOff);
  Fifo record(here.path() / "record");
  Fifo gate(here.path() / "gate");
  const auto first = here.start({"worker", "wf.torc", "--lease-ttl", "10s"});
  ASSERT_TRUE(wait_for_line(record, "second", *first)) << first->err();
  EXPECT_EQ(action(0)["state"], "running");
  const json why = here.json({"why", "a"})["reasons"][0];
  EXPECT_EQ(why["kind"], "action") << why;
  EXPECT_TRUE(here.run({"status"}).says("no job starts before")) << "status";
  first->kill(SIGKILL);
  EXPECT_FALSE(first->wait().timed_out);
  const auto second = here.start({"worker", "wf.torc", "--lease-ttl", "10s"});
  std::vector<Source*> sources{&record, second.get()};
  ASSERT_TRUE(wait_until(sources, [&] { return record.lines().size() == 2; })) << second->err();
  gate.open_gate(1);
  EXPECT_EQ(second->wait().exit_code, 0);
  EXPECT_EQ(trace(), (std::vector<std::string>{"first", "second", "third", "a"}));
  const json one = action(0);
  EXPECT_EQ(one["state"], "completed") << one;
  EXPECT_EQ(one["lost_workers"], 1) << one;
  expect_sound();
}

TEST_P(Actions, a_worker_that_is_told_to_stop_gives_its_action_back_and_says_goodbye) {
  make(std::string(kCutOff) + R"(
)");
  Fifo record(here.path() / "record");
  Fifo gate(here.path() / "gate");
  const auto first = here.start({"worker", "wf.torc", "--grace", "1s"});
  ASSERT_TRUE(wait_for_line(record, "second", *first)) << first->err();
  first->kill(SIGTERM);
  EXPECT_EQ(first->wait().exit_code, 143);
  EXPECT_EQ(action(0)["state"], "due");
  expect_sound();
  const auto second = here.start({"worker", "wf.torc"});
  std::vector<Source*> sources{&record, second.get()};
  ASSERT_TRUE(wait_until(sources, [&] { return record.lines().size() == 2; })) << second->err();
  gate.open_gate(1);
  EXPECT_EQ(second->wait().exit_code, 0);
  EXPECT_EQ(trace(), (std::vector<std::string>{"first", "second", "third", "a"}));
  EXPECT_EQ(action(0)["lost_workers"], 0);
  expect_sound();
}

TEST_P(Actions, those_that_this_version_cannot_run_are_refused_by_name) {
  here.write("wf.yaml", R"(name: wf
slurm_schedulers: [{name: s, account: x}]
actions: [{trigger_type: on_workflow_start, action_type: schedule_nodes, scheduler: s, scheduler_type: local}]
jobs: [{name: a, command: "true"}]
)");
  const Ended made = here.run({"init", "wf.yaml", "--engine", GetParam()});
  EXPECT_EQ(made.exit_code, 2) << made;
  EXPECT_TRUE(made.says("scheduler_type 'local'")) << made;
}

INSTANTIATE_TEST_SUITE_P(Engines, Actions, ::testing::Values("lmdb", "journal"));

}  // namespace
}  // namespace torc::itest
