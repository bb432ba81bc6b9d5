#include "lib/cluster/show.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

namespace torc::cluster {
namespace {

using namespace std::chrono_literals;

Cluster two_partitions() {
  Cluster cluster;
  cluster.name = "alpha";
  cluster.accounting = true;
  Partition shorts;
  shorts.name = "short";
  shorts.is_default = true;
  shorts.walltime = 1h;
  shorts.nodes = {{4, 2, mebibytes(1000), {}, {}, 3, 2}};
  Partition gpu;
  gpu.name = "gpu";
  gpu.whole_nodes = true;
  gpu.max_nodes = 1;
  gpu.nodes = {{1, 64, mebibytes(512 * 1024), {{"a100", 4}, {"", 1}}, {}, {}, {}}};
  cluster.partitions = {shorts, gpu};
  return cluster;
}

TEST(ShownCluster, is_a_table_of_partitions_and_kinds_of_nodes) {
  EXPECT_EQ(to_text(two_partitions()),
            "cluster alpha, with accounting\n\npartition  nodes  idle  CPUs    memory  GPUs       "
            "walltime  remarks\nshort *        4     2     2  1000 MiB  -          1 h       1 "
            "down\ngpu            1     -    64   512 GiB  4 a100, 1  no limit  whole nodes, to 1 "
            "node\n* marks the default partition\n");
}

TEST(ShownCluster, tells_accounts_and_what_is_not_known_of_them) {
  Cluster cluster = two_partitions();
  cluster.associations = {{"proj", "gpu", {"a", "b"}, "a", {2h, 3, 10}}, {"x"}};
  cluster.limits_missing = "no slurmdbd";
  const std::string text = to_text(cluster);
  EXPECT_NE(text.find("\nyour accounts\n"
                      "  proj in gpu: QOS a, b, 3 at once, 10 submitted, to 2 h\n"
                      "  x: no limits of its own\n"
                      "\nnot all limits of accounts are known: no slurmdbd\n"),
            std::string::npos)
      << text;
}

TEST(ShownCluster, has_no_power_over_a_terminal) {
  Cluster cluster = two_partitions();
  cluster.name = "a\x1b[2J\nb";
  cluster.partitions[0].name = "p\n\x1b[31m";
  cluster.partitions[1].nodes[0].gpus[0].type = "\r";
  cluster.associations = {{"q\n", "\x07", {"\x1b"}}};
  const std::string text = to_text(cluster);
  for (const char c : {'\x1b', '\r', '\x07'}) EXPECT_EQ(text.find(c), std::string::npos) << text;
  EXPECT_NE(text.find("p\\n"), std::string::npos) << text;
}

TEST(ShownMatch, recommends_the_best_with_lines_for_the_workflow_file) {
  const Cluster cluster = two_partitions();
  const Need need{.cpus = 1, .memory = mebibytes(500), .walltime = 25h + 61s};
  Cluster unlimited = cluster;
  unlimited.partitions[0].walltime = std::nullopt;
  EXPECT_EQ(to_text(unlimited, need, match(unlimited, need)),
            "partition  nodes  idle  jobs a node  walltime  fits\n"
            "short          4     2            2  no limit  yes\n"
            "gpu            1     -           64  no limit  yes\n"
            "\n"
            "short: its nodes of 2 CPUs and 1000 MiB are the smallest that hold it, 2 of 4 are "
            "idle; 2 such jobs fit on one.\n"
            "In the workflow file:\n"
            "\n"
            "slurm_schedulers:\n"
            "  - name: \"short\"\n"
            "    account: \"YOUR_ACCOUNT\"\n"
            "    nodes: 1\n"
            "    walltime: \"1-01:01:01\"\n");
}

TEST(ShownMatch, says_that_none_fits) {
  const Cluster cluster = two_partitions();
  const Need need{.cpus = 100};
  const std::string text = to_text(cluster, need, match(cluster, need));
  EXPECT_NE(text.find("no: at most 64 CPUs a node"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("\nno partition can hold it\n")) << text;
}

TEST(ShownMatch, takes_an_account_that_may_use_the_partition) {
  Cluster cluster = two_partitions();
  cluster.partitions[1].accounts = {"lab"};
  cluster.associations = {{"first"}, {"lab"}};
  const Need need{.gpus = 1, .gpu_type = "a100"};
  const std::string text = to_text(cluster, need, match(cluster, need));
  EXPECT_NE(text.find("    account: \"lab\"\n    partition: \"gpu\"\n    nodes: 1\n"
                      "    gres: \"gpu:a100:1\"\n"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace torc::cluster
