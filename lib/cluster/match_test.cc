#include "lib/cluster/match.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace torc::cluster {
namespace {

using namespace std::chrono_literals;

constexpr ByteCount gib(std::uint64_t n) {
  return mebibytes(n * 1024);
}

Partition partition(std::string name, std::vector<NodeGroup> nodes) {
  Partition one;
  one.name = std::move(name);
  one.nodes = std::move(nodes);
  return one;
}

NodeGroup nodes(std::uint32_t count, std::uint32_t cpus, ByteCount memory) {
  return {count, cpus, memory, {}, {}, count, count};
}

// The names in the order of match(), those that do not fit with their reason.
std::vector<std::string> matched(const Cluster& cluster, const Need& need) {
  std::vector<std::string> told;
  for (const Fit& fit : match(cluster, need)) {
    const std::string& name = cluster.partitions[fit.partition].name;
    told.push_back(fit.why_not.empty() ? name : name + ": " + fit.why_not);
  }
  return told;
}
using Told = std::vector<std::string>;

TEST(Match, prefers_the_smallest_nodes_that_hold_it) {
  Cluster cluster;
  cluster.partitions = {partition("big", {nodes(4, 64, gib(512))}),
                        partition("small", {nodes(4, 16, gib(64))}),
                        partition("tiny", {nodes(4, 4, gib(8))})};
  EXPECT_EQ(matched(cluster, {.cpus = 8, .memory = gib(16)}),
            (Told{"small", "big", "tiny: at most 4 CPUs a node"}));
  const Fit best = match(cluster, {.cpus = 8, .memory = gib(16)}).front();
  EXPECT_EQ(best.at_once, 2U) << "by CPUs; by memory there would be four";
  EXPECT_EQ(best.nodes, 4U);
  EXPECT_EQ(best.idle, 4U);
  EXPECT_EQ(best.advantage,
            "its nodes of 16 CPUs and 64 GiB are the smallest that hold it, 4 of 4 are idle; 2 "
            "such jobs fit on one");
}

TEST(Match, counts_only_nodes_that_hold_it) {
  Cluster cluster;
  cluster.partitions = {partition("mixed", {nodes(10, 16, gib(64)), nodes(3, 16, gib(512))})};
  const Fit fit = match(cluster, {.cpus = 1, .memory = gib(100)}).front();
  EXPECT_EQ(fit.nodes, 3U);
  EXPECT_EQ(fit.kind, 1U);
  EXPECT_EQ(matched(cluster, {.nodes = 4, .memory = gib(100)}), (Told{"mixed: only 3 such nodes"}));
  EXPECT_EQ(matched(cluster, {.memory = gib(600)}),
            (Told{"mixed: at most 512 GiB of memory a node"}));
}

TEST(Match, keeps_gpus_for_who_needs_them) {
  Cluster cluster;
  cluster.partitions = {partition("gpu", {nodes(4, 16, gib(32))}),
                        partition("cpu", {nodes(4, 16, gib(64))})};
  cluster.partitions[0].nodes[0].gpus = {{"a100", 4}};
  EXPECT_EQ(matched(cluster, {}), (Told{"cpu", "gpu"}));
  EXPECT_EQ(matched(cluster, {.gpus = 2}), (Told{"gpu", "cpu: no GPUs"}));
  EXPECT_EQ(matched(cluster, {.gpus = 1, .gpu_type = "h100"}),
            (Told{"gpu: no h100 GPUs", "cpu: no h100 GPUs"}));
  EXPECT_EQ(matched(cluster, {.gpus = 5}), (Told{"gpu: at most 4 GPUs a node", "cpu: no GPUs"}));
  EXPECT_EQ(match(cluster, {.gpus = 2}).front().at_once, 2U);
}

TEST(Match, gives_no_whole_node_to_a_part_of_one_where_others_share) {
  Cluster cluster;
  cluster.partitions = {partition("whole", {nodes(4, 16, gib(32))}),
                        partition("shared", {nodes(4, 64, gib(256))})};
  cluster.partitions[0].whole_nodes = true;
  EXPECT_EQ(matched(cluster, {.cpus = 4}), (Told{"shared", "whole"}));
  EXPECT_EQ(matched(cluster, {.cpus = 12}), (Told{"whole", "shared"}));
}

TEST(Match, puts_what_is_idle_before_what_must_be_waited_for_and_trials_last) {
  Cluster cluster;
  cluster.partitions = {partition("busy", {nodes(4, 16, gib(32))}),
                        partition("free", {nodes(4, 16, gib(64))}),
                        partition("debug", {nodes(4, 16, gib(16))})};
  cluster.partitions[0].nodes[0].idle = 1;
  EXPECT_EQ(matched(cluster, {.nodes = 2}), (Told{"free", "busy", "debug"}));
  EXPECT_EQ(matched(cluster, {.nodes = 1}), (Told{"busy", "free", "debug"}));
  cluster.partitions[0].nodes[0].idle = std::nullopt;
  EXPECT_EQ(matched(cluster, {.nodes = 2}), (Told{"busy", "free", "debug"}))
      << "who is not known to be busy is not taken to be";
}

TEST(Match, prefers_the_shorter_limit_then_the_default) {
  Cluster cluster;
  cluster.partitions = {partition("long", {nodes(4, 16, gib(32))}),
                        partition("short", {nodes(4, 16, gib(32))}),
                        partition("usual", {nodes(4, 16, gib(32))})};
  cluster.partitions[0].walltime = 48h;
  cluster.partitions[1].walltime = 1h;
  cluster.partitions[2].walltime = 48h;
  cluster.partitions[2].is_default = true;
  EXPECT_EQ(matched(cluster, {.walltime = 30min}), (Told{"short", "usual", "long"}));
  EXPECT_EQ(matched(cluster, {.walltime = 2h}), (Told{"usual", "long", "short: at most 1 h"}));
}

TEST(Match, says_what_of_a_partition_is_in_the_way) {
  Cluster cluster;
  Partition p = partition("p", {nodes(10, 16, gib(32))});
  const auto told = [&](const Need& need) {
    cluster.partitions = {p};
    return matched(cluster, need).front();
  };
  EXPECT_EQ(told({}), "p");
  p.max_nodes = 2;
  EXPECT_EQ(told({.nodes = 3}), "p: at most 2 nodes a job");
  p.min_nodes = 2;
  EXPECT_EQ(told({.nodes = 1}), "p: at least 2 nodes a job");
  EXPECT_EQ(told({.nodes = 2}), "p");
  p.max_cpus = 8;
  EXPECT_EQ(told({.nodes = 2, .cpus = 12}), "p: at most 8 CPUs a node");
  p.max_memory = gib(4);
  EXPECT_EQ(told({.nodes = 2, .memory = gib(8)}), "p: at most 4 GiB of memory a node");
  p.is_up = false;
  EXPECT_EQ(told({.nodes = 2}), "p: it is closed");
}

TEST(Match, lets_in_only_accounts_that_may) {
  Cluster cluster;
  cluster.partitions = {partition("p", {nodes(1, 1, gib(1))})};
  cluster.partitions[0].accounts = {"staff"};
  EXPECT_EQ(matched(cluster, {}), (Told{"p"})) << "whose accounts are not known, Slurm judges";
  EXPECT_EQ(matched(cluster, {.account = "other"}), (Told{"p: account other may not use it"}));
  cluster.associations = {{"other"}};
  EXPECT_EQ(matched(cluster, {}), (Told{"p: none of your accounts may use it"}));
  EXPECT_EQ(matched(cluster, {.account = "staff"}),
            (Told{"p: you may not use account staff there"}));
  cluster.associations.push_back({"staff", "p", {}, "", {1h}});
  EXPECT_EQ(matched(cluster, {.account = "staff"}), (Told{"p"}));
  EXPECT_EQ(matched(cluster, {.walltime = 2h, .account = "staff"}),
            (Told{"p: at most 1 h by your account"}));
  EXPECT_EQ(matched(cluster, {.walltime = 2h}), (Told{"p: at most 1 h by your account"}))
      << "the account without a limit may not use it";
  cluster.associations.push_back({"staff"});
  EXPECT_EQ(matched(cluster, {.walltime = 2h}), (Told{"p: at most 1 h by your account"}))
      << "that of the partition itself counts";
  cluster.partitions[0].accounts.emplace_back("guests");
  cluster.associations.push_back({"guests"});
  EXPECT_EQ(matched(cluster, {.walltime = 2h}), (Told{"p"})) << "one that may has no limit";
  cluster.partitions[0].accounts.clear();
  cluster.partitions[0].denied_accounts = {"staff"};
  EXPECT_EQ(matched(cluster, {.account = "staff"}), (Told{"p: account staff may not use it"}));
}

TEST(Match, runs_by_the_account_that_allows_the_longest_time) {
  Cluster cluster;
  cluster.partitions = {partition("p", {nodes(1, 1, gib(1))})};
  cluster.associations = {{"brief", "", {}, "", {1h}}, {"long"}, {"free"}};
  const Partition& p = cluster.partitions[0];
  EXPECT_EQ(account_for(cluster, p, {.walltime = 2h}), "long");
  EXPECT_EQ(account_for(cluster, p, {.account = "brief"}), "brief");
  cluster.associations = {{"brief", "", {}, "", {1h}}, {"day", "", {}, "", {24h}}};
  EXPECT_EQ(account_for(cluster, p, {}), "day");
  cluster.associations.clear();
  EXPECT_EQ(account_for(cluster, p, {.account = "own"}), "own");
  EXPECT_EQ(account_for(cluster, p, {}), "");
}

TEST(Match, takes_a_limit_of_the_qos_before_that_of_the_account) {
  Cluster cluster;
  cluster.partitions = {partition("p", {nodes(1, 1, gib(1))})};
  cluster.qos = {{"normal", {2h, std::nullopt, 5}}, {"long", {48h}}};
  cluster.associations = {{"lab", "", {"normal", "long"}, "normal", {24h, 7, 9}}};
  EXPECT_EQ(matched(cluster, {.walltime = 3h}), (Told{"p: at most 2 h by your account"}));
  EXPECT_EQ(matched(cluster, {.walltime = 2h}), (Told{"p"}));
  const Association* lab = association_for(cluster, cluster.partitions[0], {});
  EXPECT_EQ(limits_of(cluster, lab, ""), (Limits{2h, 7, 5}));
  EXPECT_EQ(limits_of(cluster, lab, "long"), (Limits{48h, 7, 9}));
  EXPECT_EQ(limits_of(cluster, nullptr, "long"), (Limits{48h}));
  EXPECT_EQ(limits_of(cluster, nullptr, ""), Limits{});
}

TEST(Match, counts_beside_each_other_what_the_partition_gives_of_a_node) {
  Cluster cluster;
  cluster.partitions = {partition("p", {nodes(1, 16, gib(64))})};
  cluster.partitions[0].max_cpus = 8;
  EXPECT_EQ(match(cluster, {.cpus = 2}).front().at_once, 4U);
  cluster.partitions[0].max_memory = gib(4);
  EXPECT_EQ(match(cluster, {.cpus = 2, .memory = gib(2)}).front().at_once, 2U);
}

}  // namespace
}  // namespace torc::cluster
