// torc cluster on a real Slurm, and with a profile where there is none.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/integration/harness.h"
#include "tests/integration/slurm/slurm_test.h"

namespace torc::itest {
namespace {

using nlohmann::json;

constexpr const char* kProfile = R"(cluster: alpha
partitions:
  - name: standard
    default: true
    walltime: 2d
    nodes: [{count: 100, cpus: 64, memory: 256g}]
  - name: gpu
    whole_nodes: true
    nodes: [{count: 4, cpus: 32, memory: 512g, gpus: [{type: a100, count: 4}]}]
associations: [{account: lab}]
)";

class ClusterProfile : public testing::Test {
 protected:
  ClusterProfile() { here_.write("alpha.yaml", kProfile); }
  // Without what this machine has of Slurm.
  [[nodiscard]] Ended torc(const std::vector<std::string>& arguments) const {
    Launch launch = here_.torc(arguments);
    launch.env["PATH"] = here_.path().string();
    return run(launch);
  }
  Workplace here_;
};

TEST_F(ClusterProfile, recommends_a_partition_by_lines_that_a_workflow_file_takes) {
  const Ended matched = torc({"cluster", "match", "--profile", "alpha.yaml", "--gpus", "2",
                              "--gpu-type", "a100", "--walltime", "36h", "--memory", "100g"});
  ASSERT_EQ(matched.exit_code, 0) << matched;
  EXPECT_TRUE(matched.says("gpu: its nodes of 32 CPUs and 512 GiB are the smallest that hold it"))
      << matched;
  const auto lines = matched.out.find("slurm_schedulers:");
  ASSERT_NE(lines, std::string::npos) << matched;
  here_.write("wf.yaml", matched.out.substr(lines) +
                             "name: wf\njobs: [{name: a, command: \"true\", scheduler: gpu}]\n");
  const Ended checked = torc({"check", "wf.yaml", "--no-slurm"});
  EXPECT_EQ(checked.exit_code, 0) << checked;
  EXPECT_EQ(checked.err, "") << checked;
}

TEST_F(ClusterProfile, that_is_printed_is_one_again) {
  const Ended printed = torc({"cluster", "show", "--profile", "alpha.yaml", "--yaml"});
  ASSERT_EQ(printed.exit_code, 0) << printed;
  here_.write("again.yaml", printed.out);
  EXPECT_EQ(torc({"cluster", "show", "--profile", "again.yaml", "--yaml"}).out, printed.out);
}

TEST_F(ClusterProfile, of_what_no_partition_holds_ends_with_1) {
  const Ended matched = torc({"cluster", "match", "--profile", "alpha.yaml", "--cpus", "65"});
  EXPECT_EQ(matched.exit_code, 1) << matched;
  EXPECT_TRUE(matched.says("no partition can hold it")) << matched;
}

TEST_F(ClusterProfile, with_mistakes_or_that_is_none_is_refused_at_its_place) {
  here_.write("bad.yaml", "partitions:\n  - {name: p, waltime: 1h}\n");
  const Ended bad = torc({"cluster", "show", "--profile", "bad.yaml"});
  EXPECT_EQ(bad.exit_code, 2) << bad;
  EXPECT_TRUE(bad.says("bad.yaml:2:15: error: unknown key 'waltime' of a partition")) << bad;
  EXPECT_TRUE(bad.says("did you mean 'walltime'?")) << bad;
  const Ended none = torc({"cluster", "show", "--profile", "none.yaml"});
  EXPECT_NE(none.exit_code, 0) << none;
  EXPECT_TRUE(none.says("none.yaml")) << none;
  const Ended device = torc({"cluster", "show", "--profile", "/dev/zero"});
  EXPECT_NE(device.exit_code, 0) << device;
  EXPECT_TRUE(device.says("not a regular file")) << device;
}

TEST_F(ClusterProfile, is_needed_where_there_is_no_slurm) {
  const Ended asked = torc({"cluster", "show"});
  EXPECT_EQ(asked.exit_code, 3) << asked;
  EXPECT_TRUE(asked.says("there is no Slurm here")) << asked;
  EXPECT_TRUE(asked.says("--profile FILE")) << asked;
}

class ClusterOfTheLab : public SlurmTest {
 protected:
  [[nodiscard]] std::string configuration() const override {
    return "PartitionName=whole Nodes=n1 MaxTime=2:00:00 MaxNodes=1 OverSubscribe=EXCLUSIVE";
  }
};

TEST_F(ClusterOfTheLab, is_what_its_configuration_says) {
  const Ended shown = torc({"cluster", "show", "--json"});
  ASSERT_EQ(shown.exit_code, 0) << shown;
  const json cluster = json::parse(shown.out);
  EXPECT_EQ(cluster["accounting_storage"], "none");
  ASSERT_EQ(cluster["partitions"].size(), 2U) << cluster;
  const json& all = cluster["partitions"][0];
  EXPECT_EQ(all["chosen_by_default"], true);
  ASSERT_EQ(all["node_groups"].size(), 1U) << cluster;
  EXPECT_EQ(all["node_groups"][0]["nodes"], kNodes);
  EXPECT_EQ(all["node_groups"][0]["idle_nodes"], kNodes);
  EXPECT_EQ(all["node_groups"][0]["cpus"], kCpusOfNode);
  const json& whole = cluster["partitions"][1];
  EXPECT_EQ(whole["whole_nodes"], true);
  EXPECT_EQ(whole["max_nodes"], 1);
  EXPECT_EQ(whole["max_walltime_seconds"], 7200);
  const Ended matched = torc({"cluster", "match", "--nodes", "2", "--cpus", "2"});
  EXPECT_EQ(matched.exit_code, 0) << matched;
  EXPECT_TRUE(matched.says("no: at most 1 node a job")) << matched;
  // Slurm itself takes what was recommended.
  const auto lines = matched.out.find("slurm_schedulers:");
  ASSERT_NE(lines, std::string::npos) << matched;
  std::ofstream(work_ / "wf.yaml")
      << matched.out.substr(lines)
      << "name: wf\njobs: [{name: a, command: \"true\", scheduler: all}]\n";
  const Ended checked = torc({"check", "wf.yaml"});
  EXPECT_EQ(checked.exit_code, 0) << checked;
  EXPECT_TRUE(checked.says("to start at")) << checked;
}

}  // namespace
}  // namespace torc::itest
