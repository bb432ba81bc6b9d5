// torc cluster on a real Slurm, and with a profile where there is none.
#include <gtest/gtest.h>

#include <filesystem>
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
  EXPECT_EQ(torc({"cluster", "show", "--profile", "/"}).exit_code, 2) << "it is no damaged store";
}

TEST_F(ClusterProfile, may_come_by_a_pipe) {
  Launch shell = here_.torc({});
  const std::string program = shell.argv.front();
  shell.argv = {"/bin/sh", "-c",
                "cat alpha.yaml | " + program + " cluster show --profile /dev/stdin"};
  const Ended shown = run(shell);
  EXPECT_EQ(shown.exit_code, 0) << shown;
  EXPECT_TRUE(shown.says("gpu")) << shown;
}

TEST_F(ClusterProfile, is_needed_where_there_is_no_slurm) {
  const Ended asked = torc({"cluster", "show"});
  EXPECT_EQ(asked.exit_code, 4) << asked;
  EXPECT_TRUE(asked.says("there is no Slurm here")) << asked;
  EXPECT_TRUE(asked.says("--profile FILE")) << asked;
}

// Scripts that stand for Slurm's programs, each of which notes that it was called.
class KeptCluster : public testing::Test {
 protected:
  KeptCluster() {
    here_.write("slurm.conf", "ClusterName=Alpha\n");  // which Slurm makes lower case
    program("sinfo", "echo 'all*|4|8|1000|(null)|(null)|idle'\n");
    program("scontrol", R"sh(case "$*" in
*config*) printf 'ClusterName             = alpha\nAccountingStorageType   = (null)\n' ;;
*) echo 'PartitionName=all Default=YES MaxTime=1-00:00:00 State=UP TotalNodes=4 MinNodes=0' ;;
esac
)sh");
  }
  void program(const std::string& name, const std::string& script) const {
    const Path file = here_.write(name, "#!/bin/sh\necho " + name + " >> " +
                                            (here_.path() / "calls").string() + "\n" + script);
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  }
  [[nodiscard]] Ended torc(const std::vector<std::string>& arguments) const {
    Launch launch = here_.torc(arguments);
    launch.env["PATH"] = here_.path().string() + ":/usr/bin:/bin";
    launch.env["SLURM_CONF"] = (here_.path() / "slurm.conf").string();
    launch.env["XDG_CACHE_HOME"] = (here_.path() / "caches/").string();
    return run(launch);
  }
  [[nodiscard]] std::size_t calls() const {
    const Path file = here_.path() / "calls";
    return std::filesystem::exists(file) ? lines_of(read_text(file)).size() : 0;
  }
  void no_slurm() const {
    program("scontrol",
            "echo 'slurm_load_ctl_conf error: Unable to contact controller' >&2; exit 1\n");
  }
  // As a minute and more later.
  void make_older() const {
    std::string text = read_text(kept());
    const auto at = text.find("read_at: ") + 9;
    text.replace(at, text.find('\n', at) - at, "1000000000");
    std::ofstream(kept()) << text;
  }
  [[nodiscard]] Path kept() const { return here_.path() / "caches/torc/clusters/alpha.yaml"; }
  Workplace here_;
};

TEST_F(KeptCluster, is_not_asked_for_again_within_a_minute_but_by_refresh) {
  const Ended first = torc({"cluster", "show"});
  ASSERT_EQ(first.exit_code, 0) << first;
  EXPECT_EQ(first.err, "") << first;
  const std::size_t asked = calls();
  EXPECT_EQ(torc({"cluster", "show"}).out, first.out);
  EXPECT_EQ(torc({"cluster", "match", "--cpus", "8"}).exit_code, 0);
  EXPECT_EQ(calls(), asked);
  const json document = json::parse(torc({"cluster", "show", "--json"}).out);
  EXPECT_EQ(document["profile"], kept().string());
  EXPECT_TRUE(document["read_at"].is_number());
  EXPECT_EQ(torc({"cluster", "show", "--refresh"}).out, first.out);
  EXPECT_EQ(calls(), 2 * asked);
}

TEST_F(KeptCluster, tells_its_age_where_slurm_does_not_answer) {
  ASSERT_EQ(torc({"cluster", "show"}).exit_code, 0);
  make_older();
  no_slurm();
  const Ended shown = torc({"cluster", "show"});
  EXPECT_EQ(shown.exit_code, 0) << shown;
  EXPECT_TRUE(shown.says("this is what Slurm said ")) << shown;
  EXPECT_TRUE(shown.says(" ago; it does not answer now: ")) << shown;
  EXPECT_TRUE(shown.says("Unable to contact controller")) << shown;
  EXPECT_TRUE(shown.out.find("all *") != std::string::npos) << shown;
  const Ended fresh = torc({"cluster", "show", "--refresh"});
  EXPECT_EQ(fresh.exit_code, 4) << fresh;
  EXPECT_EQ(fresh.out, "") << fresh;
}

TEST_F(KeptCluster, that_others_may_write_is_told_and_not_used) {
  ASSERT_EQ(torc({"cluster", "show"}).exit_code, 0);
  std::filesystem::permissions(kept(), std::filesystem::perms(0666));
  no_slurm();
  const Ended shown = torc({"cluster", "show"});
  EXPECT_EQ(shown.exit_code, 4) << shown;
  EXPECT_TRUE(shown.says("may have been written by others than you")) << shown;
}

TEST_F(KeptCluster, of_another_cluster_is_not_used) {
  ASSERT_EQ(torc({"cluster", "show"}).exit_code, 0);
  here_.write("slurm.conf", "ClusterName=beta\n");
  no_slurm();
  EXPECT_EQ(torc({"cluster", "show"}).exit_code, 4);
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
