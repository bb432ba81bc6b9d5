// Jobs of several nodes, on workers of one host that count as nodes: what becomes of them when a
// worker that has a part is killed, stopped, told to leave.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

// Of the lost node, by name, and what follows.
constexpr std::string_view kLoss =
    " was lost or has left, so it is over on all of its nodes, and runs again as its next attempt";

class Gang : public ::testing::Test {
 protected:
  // `command` runs on so many nodes, and others after it.
  // A process with the tag of a gang, that no worker has started. `line`: "begins WORKFLOW GANG".
  [[nodiscard]] Launch stray_of(const std::string& line) const {
    const auto space = line.rfind(' ');
    Launch stray{{"/bin/sleep", "1000"}, {}, here.path(), {}, {}};
    stray.env["TORC_WORKFLOW_ID"] = line.substr(7, space - 7);
    stray.env["TORC_GANG"] = line.substr(space + 1);
    return stray;
  }
  void make(int nodes, const std::string& command, const std::string& more = "") const {
    here.write("wf.yaml",
               fmt::format("name: wf\nresource_requirements:\n  - {{name: wide, num_cpus: 1, "
                           "num_nodes: {}}}\njobs:\n  - name: gang\n    command: |\n      {}\n    "
                           "resource_requirements: wide\n{}",
                           nodes, command, more));
    const Ended made = here.run({"init", "wf.yaml", "--engine", "journal"});
    ASSERT_EQ(made.exit_code, 0) << made;
  }
  void start(const std::string& node) {
    Launch launch =
        here.torc({"worker", "wf.torc", "--num-cpus", "1", "--group", "lab", "--node-name", node,
                   "--lease-ttl", "10s", "--bell-interface", "127.0.0.1", "--idle-timeout", "1h"});
    launch.env["TMPDIR"] = here.new_tmpdir(node).string();
    launch.env["TORC_NODE_DIR"] = (here.path() / "nodes").string();
    workers_.push_back(std::make_unique<Process>(launch));
  }
  void start_nodes(int count) {
    std::filesystem::create_directories(here.path() / "nodes");
    for (int n = 0; n < count; ++n) start(fmt::format("n{}", n));
  }
  [[nodiscard]] Process* worker_that_said(std::string_view text) const {
    for (const auto& worker : workers_) {
      if (worker->running() && worker->out().find(text) != std::string::npos) return worker.get();
    }
    return nullptr;
  }
  // It says so when it learns of it.
  [[nodiscard]] Process& worker_saying(std::string_view text) const {
    Process* found = nullptr;
    const bool said =
        wait_until(all(), [&] { return (found = worker_that_said(text)) != nullptr; });
    if (!said) throw std::runtime_error("no worker says " + std::string(text) + ":\n" + all_said());
    return *found;
  }
  [[nodiscard]] Process& head() const { return worker_saying("this one first"); }
  [[nodiscard]] Process& member() const { return worker_saying("as rank 1 of"); }
  [[nodiscard]] std::vector<Source*> all() const {
    std::vector<Source*> sources;
    for (const auto& worker : workers_) sources.push_back(worker.get());
    return sources;
  }
  [[nodiscard]] std::vector<Source*> all_and(Source& other) const {
    std::vector<Source*> sources = all();
    sources.push_back(&other);
    return sources;
  }
  [[nodiscard]] bool wait_for(Fifo& fifo, const std::string& line) const {
    return wait_until(all_and(fifo), [&] { return fifo.has(line); });
  }
  // All workers end by themselves, and nothing contradicts itself.
  void expect_completed() {
    for (const auto& worker : workers_) {
      if (worker->running()) worker->wait();
    }
    EXPECT_EQ(here.json({"status", "wf.torc"})["state"], "completed") << all_said();
    const Ended verified = here.run({"verify", "wf.torc"});
    EXPECT_EQ(verified.exit_code, 0) << verified;
  }
  [[nodiscard]] std::string all_said() const {
    std::string all;
    for (const auto& worker : workers_) all += worker->out() + worker->err() + "\n";
    return all;
  }

  const Workplace here;
  std::vector<std::unique_ptr<Process>> workers_;
};

TEST_F(Gang, runs_once_on_all_of_its_nodes) {
  make(3, "echo \"begins $TORC_ATTEMPT_ID\" > events");
  Fifo events(here.path() / "events");
  start_nodes(3);
  ASSERT_TRUE(wait_for(events, "begins 1")) << all_said();
  expect_completed();
  EXPECT_EQ(events.lines().size(), 1U);
}

TEST_F(Gang, that_loses_its_head_begins_anew_on_others) {
  make(2, "echo \"begins $TORC_ATTEMPT_ID\" > events; test $TORC_ATTEMPT_ID = 2 || sleep 1000");
  Fifo events(here.path() / "events");
  start_nodes(3);
  ASSERT_TRUE(wait_for(events, "begins 1")) << all_said();
  head().kill(SIGKILL);
  ASSERT_TRUE(wait_for(events, "begins 2")) << all_said();
  expect_completed();
  EXPECT_NE(all_said().find(kLoss), std::string::npos) << all_said();
}

TEST_F(Gang, that_loses_a_member_begins_anew_and_its_command_is_ended) {
  make(
      2,
      "echo \"begins $TORC_ATTEMPT_ID $$\" > events; test $TORC_ATTEMPT_ID = 2 || exec sleep 1000");
  Fifo events(here.path() / "events");
  start_nodes(3);
  std::vector<Source*> sources{&events};
  ASSERT_TRUE(wait_until(sources, [&] { return !events.lines().empty(); })) << all_said();
  Witness command(std::stoi(events.lines().front().substr(9)));
  member().kill(SIGKILL);
  EXPECT_TRUE(wait_until(
      {&command}, [&] { return command.gone(); }, 12s))
      << all_said();
  ASSERT_TRUE(wait_until(sources, [&] { return events.lines().size() > 1; })) << all_said();
  expect_completed();
  EXPECT_NE(all_said().find(kLoss), std::string::npos) << all_said();
}

TEST_F(Gang, whose_member_is_frozen_past_its_lease_begins_anew_without_it) {
  make(2, "echo \"begins $TORC_ATTEMPT_ID\" > events; test $TORC_ATTEMPT_ID = 2 || sleep 1000");
  Fifo events(here.path() / "events");
  start_nodes(3);
  ASSERT_TRUE(wait_for(events, "begins 1")) << all_said();
  Process& frozen = member();
  frozen.kill(SIGSTOP);
  ASSERT_TRUE(wait_for(events, "begins 2")) << all_said();
  frozen.kill(SIGCONT);
  expect_completed();
}

// As a launcher does whose node has died: long before the lease of that has run out.
TEST_F(Gang, that_fails_while_a_member_is_silent_begins_anew_without_it) {
  make(2,
       "echo \"begins $TORC_ATTEMPT_ID\" > events; test $TORC_ATTEMPT_ID = 2 || { until test -e "
       "dead; do sleep 0.1; done; exit 205; }");
  Fifo events(here.path() / "events");
  start_nodes(3);
  ASSERT_TRUE(wait_for(events, "begins 1")) << all_said();
  Process& frozen = member();
  frozen.kill(SIGSTOP);
  here.write("dead", "");
  (void)worker_saying("has failed; that is reported once these nodes have shown that they live");
  ASSERT_TRUE(wait_for(events, "begins 2")) << all_said();
  frozen.kill(SIGCONT);
  expect_completed();
}

TEST_F(Gang, that_fails_on_nodes_that_live_has_failed_at_once) {
  make(2, "exit 205");
  start_nodes(2);
  (void)worker_saying("holds this node for");
  for (const auto& worker : workers_) worker->wait();
  const json job = here.json({"job", "wf.torc", "gang"});
  EXPECT_EQ(job["state"], "failed") << all_said();
  EXPECT_EQ(job["attempt"], 1);
  // Whoever is asked answers before it would say that it waits.
  EXPECT_EQ(all_said().find("has failed; that is reported once"), std::string::npos) << all_said();
}

// Nodes that are busy are there; three are not.
TEST_F(Gang, that_waits_for_nodes_is_not_called_one_that_nobody_could_run) {
  make(2, "echo begins > events; read x < gate",
       "  - {name: later, command: \"true\", resource_requirements: wide}\n"
       "  - {name: wider, command: \"true\", num_nodes: 3}\n");
  Fifo events(here.path() / "events");
  Fifo gate(here.path() / "gate");
  start_nodes(2);
  ASSERT_TRUE(wait_for(events, "begins")) << all_said();
  const json unserved = here.json({"status", "wf.torc"})["unserved"];
  ASSERT_EQ(unserved.size(), 1U) << unserved;
  EXPECT_EQ(unserved[0]["first_job"], "wider");
  EXPECT_EQ(here.run({"cancel", "wf.torc", "wider"}).exit_code, 0);
  gate.open_gate(1);
  for (const auto& worker : workers_) worker->wait();
  EXPECT_EQ(here.json({"job", "wf.torc", "later"})["state"], "completed") << all_said();
}

TEST_F(Gang, that_is_canceled_ends_on_all_nodes) {
  make(2, "echo \"begins $$\" > events; exec sleep 1000");
  Fifo events(here.path() / "events");
  start_nodes(2);
  std::vector<Source*> sources{&events};
  ASSERT_TRUE(wait_until(sources, [&] { return !events.lines().empty(); })) << all_said();
  Witness command(std::stoi(events.lines().front().substr(7)));
  EXPECT_EQ(here.run({"cancel", "wf.torc", "gang"}).exit_code, 0);
  EXPECT_TRUE(wait_until(
      {&command}, [&] { return command.gone(); }, 12s))
      << all_said();
  for (const auto& worker : workers_) EXPECT_FALSE(worker->wait().timed_out) << all_said();
  EXPECT_EQ(here.run({"verify", "wf.torc"}).exit_code, 0);
}

TEST_F(Gang, keeps_a_member_that_is_to_drain_to_its_end) {
  make(2, "echo \"begins $TORC_ATTEMPT_ID\" > events; read x < gate");
  Fifo events(here.path() / "events");
  Fifo gate(here.path() / "gate");
  start_nodes(2);
  ASSERT_TRUE(wait_for(events, "begins 1")) << all_said();
  Process& drained = member();
  drained.kill(SIGINT);
  Timer a_while(3s);
  EXPECT_FALSE(
      wait_until({&drained, &a_while}, [&] { return !drained.running() || a_while.passed(); }) &&
      !drained.running())
      << all_said();
  gate.open_gate(1);
  expect_completed();
}

TEST_F(Gang, ends_and_begins_anew_when_a_member_is_told_to_stop) {
  make(2, "echo \"begins $TORC_ATTEMPT_ID\" > events; test $TORC_ATTEMPT_ID = 2 || sleep 1000");
  Fifo events(here.path() / "events");
  start_nodes(3);
  ASSERT_TRUE(wait_for(events, "begins 1")) << all_said();
  Process& leaves = member();
  leaves.kill(SIGINT);
  Timer echo(500ms);
  EXPECT_TRUE(wait_until({&echo}, [&] { return echo.passed(); }));
  leaves.kill(SIGINT);
  ASSERT_TRUE(wait_for(events, "begins 2")) << all_said();
  expect_completed();
  const json jobs = here.json({"jobs", "wf.torc"});
  EXPECT_EQ(jobs[0]["attempt"], 2);
}

// A launcher that was killed, and a node that is silent: the failure is told when that node's lease
// has run out, and nothing runs on the others until then.
TEST_F(Gang, whose_launcher_dies_leaves_nothing_on_nodes_that_live_while_it_waits_for_others) {
  make(3,
       "echo \"begins $TORC_WORKFLOW_ID $TORC_GANG\" > events; test $TORC_ATTEMPT_ID = 2 || { "
       "until test -e dead; do sleep 0.1; done; kill -9 $$; }");
  Fifo events(here.path() / "events");
  start_nodes(4);
  std::vector<Source*> sources = all();
  sources.push_back(&events);
  ASSERT_TRUE(wait_until(sources, [&] { return !events.lines().empty(); })) << all_said();
  Process left(stray_of(events.lines().front()));
  Process& frozen = member();
  frozen.kill(SIGSTOP);
  here.write("dead", "");
  EXPECT_EQ(left.wait(10s).signal, SIGKILL) << all_said();
  EXPECT_EQ(here.json({"job", "wf.torc", "gang"})["attempt"], 1) << "nothing is told yet";
  ASSERT_TRUE(wait_until(sources, [&] { return events.lines().size() == 2; })) << all_said();
  frozen.kill(SIGCONT);
  expect_completed();
}

// As mpirun's daemon is that lost its way: no child of any worker.
TEST_F(Gang, leaves_nothing_on_its_nodes_that_has_its_tag) {
  make(2, "echo \"begins $TORC_WORKFLOW_ID $TORC_GANG\" > events; read x < gate");
  Fifo events(here.path() / "events");
  Fifo gate(here.path() / "gate");
  start_nodes(2);
  std::vector<Source*> sources{&events};
  ASSERT_TRUE(wait_until(sources, [&] { return !events.lines().empty(); })) << all_said();
  Process left(stray_of(events.lines().front()));
  gate.open_gate(1);
  EXPECT_EQ(left.wait(12s).signal, SIGKILL);
  expect_completed();
}

// Two workers that are called one node count as one: neither the first nor the other of a pair is
// the partner of its namesake.
TEST_F(Gang, never_has_a_node_twice_and_the_second_worker_of_that_name_is_told) {
  make(2, "echo \"begins $TORC_NODELIST\" > events");
  Fifo events(here.path() / "events");
  std::filesystem::create_directories(here.path() / "nodes");
  start("n0");
  start("n0");
  // Either may be the second: what is said of a worker at its start is said before it registers.
  (void)worker_saying("is called node n0 in group lab, too");
  const json why = here.json({"why", "wf.torc", "gang"});
  EXPECT_EQ(
      why["reasons"][0]["remedy"],
      "torc worker wf.torc --group lab (on one node more), or submit an allocation of 2 nodes")
      << why;
  EXPECT_EQ(here.jobs("wf.torc")["gang"]["attempt"], nullptr);
  start("n1");
  ASSERT_TRUE(wait_until(all_and(events), [&] { return !events.lines().empty(); })) << all_said();
  EXPECT_TRUE(events.has("begins n0,n1") || events.has("begins n1,n0")) << events.lines().front();
  EXPECT_EQ(workers_[2]->out().find("is called node"), std::string::npos) << all_said();
  expect_completed();
}

}  // namespace
}  // namespace torc::itest
