#include "lib/cluster/from_slurm.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace torc::cluster {
namespace {

using namespace std::chrono_literals;

// As Slurm 22.05 prints them.
constexpr const char* kConfig =
    "Configuration data as of 2026-11-01T10:00:00\n"
    "AccountingStorageType   = accounting_storage/slurmdbd\n"
    "ClusterName             = alpha\n"
    "SelectType              = select/cons_tres\n"
    "SLURM_VERSION           = 22.05.8\n";
constexpr const char* kPartitions =
    "PartitionName=short AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL AllocNodes=login1 "
    "Default=YES QoS=N/A DefaultTime=00:10:00 MaxNodes=UNLIMITED MaxTime=01:00:00 MinNodes=0 "
    "MaxCPUsPerNode=UNLIMITED Nodes=n[1-4] OverSubscribe=NO State=UP TotalCPUs=8 TotalNodes=4 "
    "DefMemPerNode=UNLIMITED MaxMemPerNode=UNLIMITED\n"
    "PartitionName=gpu AllowAccounts=a,b Default=NO DefaultTime=NONE MaxNodes=2 "
    "MaxTime=UNLIMITED MinNodes=1 MaxCPUsPerNode=24 Nodes=g1 OverSubscribe=EXCLUSIVE State=DOWN "
    "TotalNodes=2 MaxMemPerNode=1000\n";
constexpr const char* kNodes =
    "short*|2|2|1000|(null)|(null)|idle\n"
    "short*|1|2|1000|(null)|(null)|mixed\n"
    "short*|1|2|1000|(null)|(null)|down*\n"
    "gpu|2|48|512000|ib,fast|gpu:a100:4(S:0,1)|allocated\n";

struct Slurm {
  std::string config = kConfig;
  std::string partitions = kPartitions;
  std::string nodes = kNodes;
  std::string qos = "normal||||\n";
  std::string associations = "proj||normal|normal|1-00:00:00|3|10\n";
  int sacctmgr_code = 0;
  mutable std::vector<std::string> asked = {};

  Result<slurm::CommandOutput> operator()(const std::vector<std::string>& argv) const {
    std::string line;
    for (const std::string& word : argv) line += word + " ";
    asked.push_back(line);
    const auto says = [&](const char* text) { return line.find(text) != std::string::npos; };
    if (says("scontrol show config")) return slurm::CommandOutput{0, config, ""};
    if (says("scontrol -o show partition")) return slurm::CommandOutput{0, partitions, ""};
    if (says("sinfo")) return slurm::CommandOutput{0, nodes, ""};
    if (sacctmgr_code != 0) return slurm::CommandOutput{sacctmgr_code, "", "no slurmdbd\n"};
    return slurm::CommandOutput{0, says("show qos") ? qos : associations, ""};
  }
};

Result<Cluster> ask(const Slurm& slurm) {
  return ask_slurm([&](const std::vector<std::string>& argv) { return slurm(argv); }, "me", 7s);
}

TEST(ClusterOfSlurm, has_its_partitions_with_their_nodes_and_limits) {
  const auto asked = ask({});
  ASSERT_TRUE(asked.ok()) << asked.error().text();
  EXPECT_EQ(asked->name, "alpha");
  EXPECT_EQ(asked->slurm_version, "22.05.8");
  EXPECT_EQ(asked->accounting, true);
  EXPECT_EQ(asked->read_at, 7s);
  ASSERT_EQ(asked->partitions.size(), 2U);
  const Partition& shorts = asked->partitions[0];
  EXPECT_EQ(shorts.name, "short");
  EXPECT_TRUE(shorts.is_default);
  EXPECT_TRUE(shorts.is_up);
  EXPECT_FALSE(shorts.whole_nodes);
  EXPECT_EQ(shorts.walltime, 1h);
  EXPECT_EQ(shorts.default_walltime, 10min);
  EXPECT_EQ(shorts.max_nodes, std::nullopt);
  EXPECT_TRUE(shorts.accounts.empty());
  EXPECT_EQ(shorts.submit_from, std::vector<std::string>{"login1"});
  ASSERT_EQ(shorts.nodes.size(), 1U) << "nodes that differ in their state alone are alike";
  EXPECT_EQ(shorts.node_count(), 4U);
  EXPECT_EQ(shorts.usable_nodes(), 3U);
  EXPECT_EQ(shorts.idle_nodes(), 2U);
  const Partition& gpu = asked->partitions[1];
  EXPECT_FALSE(gpu.is_up);
  EXPECT_TRUE(gpu.whole_nodes);
  EXPECT_EQ(gpu.walltime, std::nullopt) << "UNLIMITED";
  EXPECT_EQ(gpu.default_walltime, std::nullopt) << "NONE";
  EXPECT_EQ(gpu.max_nodes, 2U);
  EXPECT_EQ(gpu.max_cpus, 24U);
  EXPECT_EQ(gpu.max_memory, mebibytes(1000));
  EXPECT_EQ(gpu.accounts, (std::vector<std::string>{"a", "b"}));
  ASSERT_EQ(gpu.nodes.size(), 1U);
  EXPECT_EQ(gpu.nodes[0],
            (NodeGroup{2, 48, mebibytes(512'000), {{"a100", 4}}, {"ib", "fast"}, 2, 0}));
  ASSERT_EQ(asked->associations.size(), 1U);
  EXPECT_EQ(asked->associations[0], (Association{"proj", "", {"normal"}, "normal", {24h, 3, 10}}));
}

TEST(ClusterOfSlurm, has_whole_nodes_where_slurm_hands_out_nothing_smaller) {
  Slurm slurm;
  slurm.config = "SelectType = select/linear\nAccountingStorageType = accounting_storage/none\n";
  const auto asked = ask(slurm);
  ASSERT_TRUE(asked.ok()) << asked.error().text();
  EXPECT_TRUE(asked->partitions[0].whole_nodes);
  EXPECT_EQ(asked->accounting, false);
  for (const std::string& question : slurm.asked)
    EXPECT_EQ(question.find("sacctmgr"), std::string::npos) << "nobody is asked who is not there";
}

TEST(ClusterOfSlurm, stands_without_the_limits_of_accounts_and_says_why) {
  Slurm slurm;
  slurm.sacctmgr_code = 1;
  const auto asked = ask(slurm);
  ASSERT_TRUE(asked.ok()) << asked.error().text();
  EXPECT_EQ(asked->limits_missing, "Slurm does not answer sacctmgr: no slurmdbd");
}

TEST(ClusterOfSlurm, is_none_where_the_answer_is_cut_off) {
  Slurm slurm;
  slurm.partitions.pop_back();
  EXPECT_EQ(ask(slurm).error().kind, ErrorKind::io);
  slurm = {};
  slurm.nodes.resize(slurm.nodes.size() - 5);
  EXPECT_EQ(ask(slurm).error().kind, ErrorKind::io);
}

TEST(ClusterOfSlurm, is_none_where_nodes_of_a_partition_are_not_listed) {
  Slurm slurm;
  slurm.nodes = "gpu|2|48|512000|(null)|(null)|idle\n";
  const auto asked = ask(slurm);
  ASSERT_FALSE(asked.ok());
  EXPECT_EQ(asked.error().what,
            "sinfo lists no nodes of partition 'short', which scontrol says has 4");
  slurm.nodes = "";
  EXPECT_FALSE(ask(slurm).ok());
}

TEST(ClusterOfSlurm, is_none_without_partitions_or_with_lines_that_are_something_else) {
  Slurm slurm;
  slurm.partitions = "";
  EXPECT_EQ(ask(slurm).error().what, "Slurm lists no partition that you may use");
  slurm.partitions = "No partitions in the system\n";
  EXPECT_EQ(ask(slurm).error().kind, ErrorKind::io);
  slurm = {};
  slurm.partitions.replace(slurm.partitions.find("MaxTime=01:00:00"), 16, "MaxTime=01:00:xx");
  EXPECT_EQ(ask(slurm).error().kind, ErrorKind::io) << "no limit is not what it says";
  slurm = {};
  slurm.partitions.replace(slurm.partitions.find("MaxNodes=2"), 10, "MaxNodes=x");
  EXPECT_EQ(ask(slurm).error().kind, ErrorKind::io);
  slurm = {};
  slurm.nodes = "short*|many|2|1000|(null)|(null)|idle\n";
  EXPECT_EQ(ask(slurm).error().what,
            "sinfo printed a line that torc does not understand: "
            "'short*|many|2|1000|(null)|(null)|idle'");
}

TEST(ClusterOfSlurm, is_not_there_without_slurm_and_silent_where_the_controller_is) {
  const auto none = ask_slurm(
      [](const std::vector<std::string>&) -> Result<slurm::CommandOutput> {
        return slurm::CommandOutput{127, "", ""};
      },
      "me", 7s);
  EXPECT_EQ(none.error().kind, ErrorKind::not_found);
  const auto silent = ask_slurm(
      [](const std::vector<std::string>&) -> Result<slurm::CommandOutput> {
        return slurm::CommandOutput{-1, "", ""};
      },
      "me", 7s);
  EXPECT_EQ(silent.error().kind, ErrorKind::busy);
  EXPECT_EQ(silent.error().what, "Slurm does not answer scontrol: it took too long");
}

TEST(Gres, of_gpus_is_counted_by_type) {
  EXPECT_EQ(read_gres("gpu:4"), (std::vector<Gpus>{{"", 4}}));
  EXPECT_EQ(read_gres("gpu"), (std::vector<Gpus>{{"", 1}}));
  EXPECT_EQ(read_gres("gpu:a100"), (std::vector<Gpus>{{"a100", 1}}));
  EXPECT_EQ(read_gres("gpu:a100:4(S:0,2),gpu:h100:2,shard:8,gpu:0"),
            (std::vector<Gpus>{{"a100", 4}, {"h100", 2}}));
  EXPECT_TRUE(read_gres("(null)").empty());
  EXPECT_TRUE(read_gres("gpu:a:b").empty());
  EXPECT_TRUE(read_gres(")((").empty());
}

TEST(StateOfNodes, that_is_not_known_is_neither_usable_nor_idle) {
  for (const char* idle : {"idle", "idle~", "idle#", "planned", "idle-"})
    EXPECT_TRUE(read_state(idle).idle && read_state(idle).usable) << idle;
  for (const char* busy : {"mixed", "allocated", "completing"})
    EXPECT_TRUE(!read_state(busy).idle && read_state(busy).usable) << busy;
  for (const char* off : {"idle*", "down", "drained", "draining", "maint", "mixed$", "idle!",
                          "reserved", "", "something"})
    EXPECT_TRUE(!read_state(off).idle && !read_state(off).usable) << off;
}

TEST(LimitsOfAccounts, that_are_not_understood_are_not_known_and_it_is_said) {
  bool all = true;
  EXPECT_EQ(read_qos("high|2-00:00:00|5|\n\n", all), (std::vector<Qos>{{"high", {48h, 5, {}}}}));
  EXPECT_EQ(read_associations("proj|gpu|a,b||||\n", all),
            (std::vector<Association>{{"proj", "gpu", {"a", "b"}, "", {}}}));
  EXPECT_TRUE(all);
  EXPECT_EQ(read_qos("odd|soon|3|\n", all), (std::vector<Qos>{{"odd", {{}, 3, {}}}}));
  EXPECT_FALSE(all);
  all = true;
  EXPECT_EQ(read_associations("proj||a||soon||\n", all),
            (std::vector<Association>{{"proj", "", {"a"}, "", {}}}))
      << "the account is there, whatever its limits are";
  EXPECT_FALSE(all);
  all = true;
  EXPECT_TRUE(read_qos("bad|1\n", all).empty());
  EXPECT_FALSE(all);
  all = true;
  EXPECT_TRUE(read_associations("proj|gpu\n", all).empty());
  EXPECT_FALSE(all);
}

}  // namespace
}  // namespace torc::cluster
