// Several workers on one node: together they never run more than the node has.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include "lib/base/sanitizer.h"
#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

using nlohmann::json;

// CPUs that a process of this test may use.
int cpus_here() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

class Node : public ::testing::Test {
 protected:
  // A store `name` of jobs that say when they start and when they are done, and wait in between.
  void make(const std::string& name, int jobs, const std::string& more = "") {
    here_.write(name + ".yaml", "name: " + name + "\n" + more + "jobs:\n  - name: " + name +
                                    "_{i}\n    command: \"echo start > record; read x < gate; "
                                    "echo done > record\"\n    parameters: {i: \"1:" +
                                    std::to_string(jobs) + "\"}\n" +
                                    (more.empty() ? "" : "    resource_requirements: all\n"));
    ASSERT_EQ(here_.run({"init", name + ".yaml"}).exit_code, 0);
  }
  std::unique_ptr<Process> run(const std::string& name, std::vector<std::string> flags = {}) {
    flags.insert(flags.begin(), {"run", name + ".torc"});
    return here_.start(flags);
  }
  [[nodiscard]] int started() const {
    return static_cast<int>(std::count(record_.lines().begin(), record_.lines().end(), "start"));
  }
  // The most that ran at a time, and how many do.
  [[nodiscard]] std::pair<int, int> running() const {
    int now = 0;
    int most = 0;
    for (const std::string& line : record_.lines())
      most = std::max(most, now += line == "start" ? 1 : -1);
    return {most, now};
  }

  Workplace here_;
  Fifo record_{here_.path() / "record"};
  Fifo gate_{here_.path() / "gate"};
};

TEST_F(Node, two_workers_of_two_stores_never_run_more_jobs_than_there_are_cpus) {
  const int cpus = cpus_here();
  make("one", 3 * cpus);
  make("two", 3 * cpus);
  const auto one = run("one");
  ASSERT_TRUE(wait_until({one.get(), &record_}, [&] { return started() == cpus; }));
  const auto two = run("two");
  gate_.open_gate(static_cast<std::size_t>(6 * cpus));
  EXPECT_EQ(one->wait().exit_code, 0);
  EXPECT_EQ(two->wait().exit_code, 0);
  record_.pump();
  EXPECT_EQ(started(), 6 * cpus);
  EXPECT_EQ(running().first, cpus);
}

TEST_F(Node, a_second_worker_of_a_store_shares_what_there_is_and_says_so) {
  const int cpus = cpus_here();
  make("one", 2 * cpus);
  const auto first = here_.start({"worker", "one.torc"});
  ASSERT_TRUE(wait_until({first.get(), &record_}, [&] { return started() == cpus; }));
  const auto second = here_.start({"worker", "one.torc"});
  const std::string told = "shares this node with another worker of this workflow";
  ASSERT_TRUE(wait_until({first.get(), second.get(), &record_},
                         [&] { return second->out().find(told) != std::string::npos; }));
  gate_.open_gate(static_cast<std::size_t>(2 * cpus));
  const auto one = first->wait();
  const auto two = second->wait();
  EXPECT_EQ(one.exit_code, 0);
  EXPECT_EQ(two.exit_code, 0);
  EXPECT_EQ(one.out.find("shares this node"), std::string::npos) << one.out;
  record_.pump();
  EXPECT_EQ(started(), 2 * cpus);
  EXPECT_EQ(running().first, cpus);
}

TEST_F(Node, a_worker_that_finds_everything_taken_claims_nothing_until_something_is_free) {
  const int cpus = cpus_here();
  make("one", cpus);
  make("two", 1);
  const auto one = run("one");
  ASSERT_TRUE(wait_until({one.get(), &record_}, [&] { return started() == cpus; }));
  const auto two = run("two");
  // It says that it waits, and so it is in the table.
  json node;
  Timer late(std::chrono::seconds(60));
  while (!late.passed()) {
    late.pump();
    node = here_.json({"node"});
    const auto& workers = node["workers"];
    if (std::any_of(workers.begin(), workers.end(),
                    [](const json& w) { return !w["waited_seconds"].is_null(); }))
      break;
  }
  ASSERT_FALSE(late.passed()) << node.dump(2);
  EXPECT_EQ(node["free"]["cpus"], 0);
  EXPECT_EQ(here_.jobs("two.torc").at("two_1")["state"], "ready");
  const std::string holder = "worker " + std::to_string(one->pid()) + " of one.torc";
  EXPECT_TRUE(two->wait_for_output("waits until CPUs of this node are free: " + holder))
      << two->out();
  const json why = here_.json({"why", "two.torc", "two_1"});
  ASSERT_EQ(why["reasons"].size(), 1U) << why;
  EXPECT_EQ(why["reasons"][0]["kind"], "node") << why;
  EXPECT_NE(why["reasons"][0]["message"].get<std::string>().find(holder), std::string::npos) << why;
  gate_.open_gate(static_cast<std::size_t>(cpus + 1));
  EXPECT_EQ(one->wait().exit_code, 0);
  EXPECT_EQ(two->wait().exit_code, 0);
  EXPECT_EQ(running().first, cpus);
}

TEST_F(Node, a_killed_worker_leaves_its_share_to_the_others) {
  const int cpus = cpus_here();
  make("one", cpus);
  make("two", cpus);
  const auto one = run("one");
  ASSERT_TRUE(wait_until({one.get(), &record_}, [&] { return started() == cpus; }));
  const auto two = run("two");
  one->kill(SIGKILL);
  one->wait();
  ASSERT_TRUE(wait_until({two.get(), &record_}, [&] { return started() == 2 * cpus; }));
  gate_.open_gate(static_cast<std::size_t>(cpus));
  EXPECT_EQ(two->wait().exit_code, 0);
}

// As anybody may who is the same user: both files are mapped by the worker.
TEST_F(Node, a_worker_whose_ledger_and_gate_are_cut_short_goes_on) {
  const int cpus = cpus_here();
  make("one", 2 * cpus);
  make("two", cpus);
  const auto one = run("one");
  ASSERT_TRUE(wait_until({one.get(), &record_}, [&] { return started() == cpus; }));
  int ledgers = 0;
  int gates = 0;
  const Path all = Path(here_.torc({}).env.at("TMPDIR")).parent_path();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(all)) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_regular_file() || !(name.starts_with("node-") || name.starts_with("gate")))
      continue;
    ++(name.starts_with("node-") ? ledgers : gates);
    std::filesystem::resize_file(entry.path(), 0);
  }
  EXPECT_EQ(ledgers, 1);
  EXPECT_GE(gates, 1);
  gate_.open_gate(1);
  ASSERT_TRUE(wait_until({one.get(), &record_}, [&] { return started() == cpus + 1; }));
  const json workers = here_.json({"node"})["workers"];
  ASSERT_EQ(workers.size(), 1U) << workers;
  EXPECT_EQ(workers[0]["holds"]["cpus"], cpus) << workers;
  const auto two = run("two");
  gate_.open_gate(static_cast<std::size_t>(3 * cpus - 1));
  EXPECT_EQ(one->wait().exit_code, 0);
  EXPECT_EQ(two->wait().exit_code, 0);
  record_.pump();
  EXPECT_EQ(started(), 3 * cpus) << "each once";
  EXPECT_EQ(running().first, cpus);
}

TEST_F(Node, memory_is_shared_too) {
  make("one", 1, "resource_requirements: [{name: all, num_cpus: 1, memory: 1g}]\n");
  make("two", 1, "resource_requirements: [{name: all, num_cpus: 1, memory: 1g}]\n");
  const auto one = run("one");
  ASSERT_TRUE(wait_until({one.get(), &record_}, [&] { return started() == 1; }));
  // It takes what is free, and what its jobs leave over it gives back once they have started.
  json node;
  Timer late(std::chrono::seconds(60));
  while (!late.passed()) {
    late.pump();
    node = here_.json({"node"});
    ASSERT_EQ(node["workers"].size(), 1U);
    if (node["workers"][0]["holds"]["memory_bytes"] == 1U << 30) break;
  }
  ASSERT_FALSE(late.passed()) << node.dump(2);
  EXPECT_EQ(node["workers"][0]["holds"]["cpus"], 1);
  EXPECT_EQ(node["workers"][0]["store"], (here_.path() / "one.torc").string());
  EXPECT_EQ(node["workers"][0]["pid"], one->pid());
  EXPECT_EQ(node["free"]["memory_bytes"].get<std::uint64_t>() + (1U << 30),
            node["total"]["memory_bytes"].get<std::uint64_t>());
  gate_.open_gate(1);
  EXPECT_EQ(one->wait().exit_code, 0);
  EXPECT_TRUE(here_.json({"node"})["workers"].empty());
}

TEST_F(Node, with_overcommit_workers_do_not_mind_each_other) {
  const int cpus = cpus_here();
  make("one", cpus);
  make("two", cpus);
  const auto one = run("one");
  ASSERT_TRUE(wait_until({one.get(), &record_}, [&] { return started() == cpus; }));
  const auto two = run("two", {"--overcommit"});
  ASSERT_TRUE(wait_until({two.get(), &record_}, [&] { return started() == 2 * cpus; }));
  EXPECT_TRUE(here_.json({"node"})["workers"][1]["overcommits"]);
  gate_.open_gate(static_cast<std::size_t>(2 * cpus));
  EXPECT_EQ(one->wait().exit_code, 0);
  EXPECT_EQ(two->wait().exit_code, 0);
}

TEST_F(Node, a_torc_inside_of_a_job_uses_what_the_job_has) {
  here_.write("inner.yaml", "name: inner\njobs: [{name: j, command: \"true\"}]\n");
  here_.write("outer.yaml",
              "name: outer\njobs:\n  - name: j_{i}\n    command: \"" + here_.torc({}).argv[0] +
                  " init inner.yaml --store inner_{i}.torc && " + here_.torc({}).argv[0] +
                  " worker inner_{i}.torc\"\n    parameters: {i: "
                  "\"1:" +
                  std::to_string(2 * cpus_here()) + "\"}\n");
  const Ended ended = here_.run({"run", "outer.yaml"});
  EXPECT_EQ(ended.exit_code, 0) << ended;
  const Ended log = here_.run({"logs", "outer.torc", "j_1"});
  EXPECT_TRUE(log.says("1 CPU")) << log;
}

TEST_F(Node, a_torc_inside_of_a_job_keeps_to_the_memory_of_the_job) {
  if (kSanitized) GTEST_SKIP() << "sanitizers need memory of their own";
  here_.write("inner.yaml", "name: inner\njobs: [{name: j, command: \"true\"}]\n");
  here_.write("outer.yaml",
              "name: outer\n"
              "resource_requirements: [{name: r, num_cpus: 1, memory: 200m}]\n"
              "jobs: [{name: j, resource_requirements: r, command: \"" +
                  here_.torc({}).argv[0] + " init inner.yaml && " + here_.torc({}).argv[0] +
                  " worker inner.torc\"}]\n");
  EXPECT_EQ(here_.run({"run", "outer.yaml"}).exit_code, 0);
  const Ended log = here_.run({"logs", "outer.torc", "j"});
  EXPECT_TRUE(log.says("200 MiB")) << log;
}

TEST_F(Node, without_a_ledger_a_worker_works_and_says_so_once) {
  make("one", 2);
  gate_.open_gate(2);
  Launch launch = here_.torc({"worker", "one.torc"});
  launch.env["TORC_NODE_DIR"] = "/proc";
  const Ended ended = itest::run(launch);
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_EQ(here_.jobs("one.torc").at("one_2")["state"], "completed");
  const std::size_t first = ended.out.find("takes no account of other workers");
  EXPECT_NE(first, std::string::npos) << ended;
  EXPECT_EQ(ended.out.find("takes no account of other workers", first + 1), std::string::npos);
}

TEST_F(Node, a_node_without_workers_is_told) {
  const Ended ended = here_.run({"node"});
  EXPECT_EQ(ended.exit_code, 0);
  EXPECT_TRUE(ended.says("you have no worker")) << ended;
  EXPECT_TRUE(ended.says("free here: " + std::to_string(cpus_here()) + " of ")) << ended;
}

}  // namespace
}  // namespace torc::itest
