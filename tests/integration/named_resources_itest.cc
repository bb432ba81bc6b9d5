// Resources with a name, as docs/user/resources.md says of them.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

using nlohmann::json;

constexpr const char* kWorkflow = R"(name: wf
resource_requirements:
  - {name: port, memory: 1m, resources: {port: 1}}
  - {name: half, memory: 1m, resources: {Scratch: 2.5}}
  - {name: fpga, memory: 1m, resources: {fpga: 2}}
jobs:
  - {name: "p{i}", command: "echo $TORC_RESOURCE_PORT {i} >> ports", resource_requirements: port, parameters: {i: "1:8"}}
  - {name: s, command: "test \"$TORC_RESOURCE_SCRATCH\" = 2.5", resource_requirements: half}
)";

TEST(NamedResources, jobs_have_what_their_worker_was_told_of) {
  Workplace here;
  here.write("wf.yaml", kWorkflow);
  ASSERT_EQ(here.run({"init", "wf.yaml"}).exit_code, 0);
  const Ended ended = here.run({"run", "wf.torc", "--num-cpus", "8", "--memory", "1g", "--resource",
                                "port=8000-8001", "--resource", "scratch=2.5"});
  ASSERT_EQ(ended.exit_code, 0) << ended;
  std::istringstream lines(read_text(here.path() / "ports"));
  std::map<std::string, int> jobs;
  std::string port;
  std::string job;
  while (lines >> port >> job) ++jobs[port];
  EXPECT_EQ(jobs["8000"] + jobs["8001"], 8);
}

TEST(NamedResources, where_nobody_has_any_a_job_waits_and_says_for_what) {
  Workplace here;
  here.write("wf.yaml",
             std::string(kWorkflow) +
                 "  - {name: f, command: x, resource_requirements: fpga}\n"
                 "  - {name: busy, command: 'echo busy > record; read x < gate', priority: 9}\n");
  Fifo record{here.path() / "record"};
  Fifo gate{here.path() / "gate"};
  ASSERT_EQ(here.run({"init", "wf.yaml"}).exit_code, 0);
  const auto worker = here.start({"worker", "wf.torc", "--num-cpus", "2", "--memory", "1g",
                                  "--resource", "port=[a]", "--grace", "0s"});
  ASSERT_TRUE(wait_until({&record, worker.get()}, [&] { return record.has("busy"); }));
  const json f = here.json({"why", "wf.torc", "f"});
  ASSERT_EQ(f["reasons"].size(), 1U) << f;
  EXPECT_EQ(f["reasons"][0]["kind"], "resource");
  EXPECT_NE(std::string(f["reasons"][0]["message"])
                .find("it needs 2 'fpga', and no worker that is there has any"),
            std::string::npos)
      << f;
  EXPECT_NE(std::string(f["reasons"][0]["remedy"]).find("--resource fpga="), std::string::npos)
      << f;
  const json status = here.json({"status", "wf.torc"});
  EXPECT_EQ(status["workers"][0]["resources"], json({{"port", 1}}));
  const Ended shown = here.run({"status", "wf.torc"});
  EXPECT_TRUE(shown.says("a worker with as much fpga")) << shown;
  EXPECT_TRUE(shown.says(": 1 port\n")) << shown;
  EXPECT_TRUE(shown.says("start workers for them: torc run wf.torc --resource fpga=2")) << shown;
  EXPECT_NE(worker->out().find("; 1 port"), std::string::npos) << worker->out();
  const json job = here.json({"job", "wf.torc", "s"});
  EXPECT_EQ(job["resources"], json({{"scratch", 2.5}}));
  gate.open_gate(1);
  EXPECT_EQ(worker->wait().exit_code, 0);
}

TEST(NamedResources, two_workers_of_a_node_never_give_a_piece_twice) {
  Workplace here;
  here.write("wf.yaml", R"(name: wf
resource_requirements: [{name: port, memory: 1m, resources: {port: 1}}]
jobs:
  - name: "p{i}"
    command: "echo $TORC_RESOURCE_PORT > record; read x < gate"
    resource_requirements: port
    parameters: {i: "1:6"}
)");
  ASSERT_EQ(here.run({"init", "wf.yaml"}).exit_code, 0);
  Fifo record{here.path() / "record"};
  Fifo gate{here.path() / "gate"};
  std::vector<std::unique_ptr<Process>> workers;
  for (int i = 0; i < 2; ++i)
    workers.push_back(here.start(
        {"worker", "wf.torc", "--num-cpus", "4", "--memory", "100m", "--resource", "port=1-3"}));
  const std::multiset<std::string> once = {"1", "2", "3"};
  for (std::size_t round = 1; round <= 2; ++round) {
    ASSERT_TRUE(wait_until({&record, workers[0].get(), workers[1].get()},
                           [&] { return record.lines().size() == 3 * round; }));
    const auto end = record.lines().end();
    EXPECT_EQ(std::multiset<std::string>(end - 3, end), once);
    gate.open_gate(3);
  }
  for (auto& worker : workers) EXPECT_EQ(worker->wait().exit_code, 0);
  EXPECT_EQ(here.json({"status", "wf.torc"})["jobs_by_state"]["completed"], 6);
}

TEST(NamedResources, several_pieces_of_a_job_lie_in_one_group_where_that_can_be) {
  Workplace here;
  here.write("wf.yaml", R"(name: wf
resource_requirements:
  - {name: one, memory: 1m, resources: {fpga: 1}}
  - {name: two, memory: 1m, resources: {fpga: 2}}
jobs:
  - {name: first, command: "echo first $TORC_RESOURCE_FPGA > record; read x < gate", resource_requirements: one, priority: 9}
  - {name: second, command: "echo second $TORC_RESOURCE_FPGA > record", resource_requirements: two}
)");
  Fifo record{here.path() / "record"};
  Fifo gate{here.path() / "gate"};
  ASSERT_EQ(here.run({"init", "wf.yaml"}).exit_code, 0);
  const auto worker = here.start(
      {"worker", "wf.torc", "--num-cpus", "2", "--memory", "1g", "--resource", "fpga=[a,b],[c,d]"});
  ASSERT_TRUE(wait_until({&record, worker.get()}, [&] { return record.lines().size() == 2; }))
      << worker->err();
  EXPECT_TRUE(record.has("first a"));
  EXPECT_TRUE(record.has("second c,d")) << record.lines().back();
  gate.open_gate(1);
  EXPECT_EQ(worker->wait().exit_code, 0);
}

TEST(NamedResources, a_strict_job_waits_for_pieces_of_one_group_and_says_so) {
  Workplace here;
  here.write("wf.yaml", R"(name: wf
jobs:
  - {name: "one{i}", command: "echo one{i} $TORC_RESOURCE_FPGA > record; read x < gate{i}", memory: 1m, resources: {fpga: 1}, locality: scatter, priority: 9, parameters: {i: "1:2"}}
  - {name: pair, command: "echo pair $TORC_RESOURCE_FPGA > record", memory: 1m, resources: {fpga: 2}, locality: strict}
)");
  Fifo record{here.path() / "record"};
  Fifo first{here.path() / "gate1"};
  Fifo second{here.path() / "gate2"};
  ASSERT_EQ(here.run({"init", "wf.yaml"}).exit_code, 0);
  const auto worker = here.start(
      {"worker", "wf.torc", "--num-cpus", "4", "--memory", "1g", "--resource", "fpga=[a,b],[c,d]"});
  ASSERT_TRUE(wait_until({&record, worker.get()}, [&] { return record.lines().size() == 2; }))
      << worker->err();
  EXPECT_TRUE(record.has("one1 a")) << record.lines().front();
  EXPECT_TRUE(record.has("one2 c")) << record.lines().back();
  const json why = here.json({"why", "wf.torc", "pair"});
  ASSERT_EQ(why["reasons"].size(), 1U) << why;
  EXPECT_EQ(why["reasons"][0]["kind"], "locality") << why;
  EXPECT_NE(std::string(why["reasons"][0]["message"]).find("has 2 of 4 'fpga' free"),
            std::string::npos)
      << why;
  EXPECT_EQ(here.json({"job", "wf.torc", "pair"})["locality"], "strict");
  second.open_gate(1);
  ASSERT_TRUE(wait_until({&record, worker.get()}, [&] { return record.lines().size() == 3; }))
      << worker->err();
  EXPECT_TRUE(record.has("pair c,d")) << record.lines().back();
  first.open_gate(1);
  EXPECT_EQ(worker->wait().exit_code, 0);
}

TEST(NamedResources, a_job_is_set_to_need_what_it_can_be_given) {
  Workplace here;
  here.write("wf.yaml",
             "name: wf\njobs: [{name: a, command: 'test \"$TORC_RESOURCE_FPGA\" = a,b', "
             "memory: 1m, resources: {fpga: 1.5}}]\n");
  ASSERT_EQ(here.run({"init", "wf.yaml"}).exit_code, 0);
  const std::vector<std::string> run = {"run",      "wf.torc", "--num-cpus", "1",
                                        "--memory", "1g",      "--resource", "fpga=[a,b]"};
  EXPECT_TRUE(here.run(run).says("which is given as whole pieces or as a part of one"));
  ASSERT_EQ(here.run({"set", "wf.torc", "a", "resources.fpga=2"}).exit_code, 0);
  EXPECT_EQ(here.run(run).exit_code, 0);
}

TEST(NamedResources, a_name_that_no_job_has_is_told_with_the_one_that_is_meant) {
  Workplace here;
  here.write("wf.yaml",
             "name: wf\njobs: [{name: a, command: 'true', resources: {scratch_gb: 1}}]\n");
  ASSERT_EQ(here.run({"init", "wf.yaml"}).exit_code, 0);
  const Ended slip = here.run({"run", "wf.torc", "--resource", "scrach_gb=5"});
  EXPECT_TRUE(slip.says("no job asks for --resource scrach_gb; did you mean scratch_gb?")) << slip;
  const Ended other =
      here.run({"run", "wf.torc", "--resource", "port=5", "--resource", "scratch_gb=5"});
  EXPECT_EQ(other.exit_code, 0) << other;
  EXPECT_FALSE(other.says("no job asks for")) << other;
}

TEST(NamedResources, a_flag_that_makes_no_sense_is_refused) {
  Workplace here;
  here.write("wf.yaml", "name: wf\njobs: [{name: a, command: 'true'}]\n");
  ASSERT_EQ(here.run({"init", "wf.yaml"}).exit_code, 0);
  const Ended ended = here.run({"run", "wf.torc", "--resource", "cpus=4"});
  EXPECT_EQ(ended.exit_code, 2) << ended;
  EXPECT_TRUE(ended.says("'cpus' has a flag of its own")) << ended;
}

}  // namespace
}  // namespace torc::itest
