#include "lib/cluster/profile.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace torc::cluster {
namespace {

using namespace std::chrono_literals;

struct Read {
  std::optional<Cluster> cluster;
  std::string mistakes;
};
Read read(const std::string& text) {
  const spec::Source source(text, "p.yaml");
  spec::Report report(source);
  Read done;
  done.cluster = read_profile(source, report);
  done.mistakes = spec::to_text(std::move(report).sorted());
  return done;
}

Cluster full() {
  Cluster cluster;
  cluster.name = "alpha";
  cluster.slurm_version = "22.05.8";
  cluster.accounting = false;
  Partition p;
  p.name = "yes";  // a word of YAML's
  p.is_default = true;
  p.is_up = false;
  p.whole_nodes = true;
  p.walltime = 36h + 5s;
  p.default_walltime = 10min;
  p.min_nodes = 2;
  p.max_nodes = 8;
  p.max_cpus = 4;
  p.max_memory = ByteCount{1'000'001};
  p.accounts = {"a b", "12", "x: y", "\"", "\xc3\xa4", "#"};
  p.denied_accounts = {"c"};
  p.submit_from = {"login1"};
  p.nodes = {{2, 48, mebibytes(512'000), {{"a100", 4}, {"", 1}}, {"ib"}, {}, {}},
             {1, 2, mebibytes(2048), {}, {}, {}, {}}};
  cluster.partitions = {p};
  cluster.qos = {{"normal", {24h, 3, 4}}, {"none"}};
  cluster.associations = {{"proj", "gpu", {"normal", "none"}, "normal", {1h, 0, 7}}, {"other"}};
  return cluster;
}

TEST(Profile, that_is_printed_is_read_as_the_same_cluster) {
  const Read done = read(to_profile(full()));
  ASSERT_TRUE(done.cluster) << done.mistakes << to_profile(full());
  EXPECT_EQ(*done.cluster, full()) << to_profile(full());
}

TEST(Profile, says_nothing_of_what_passes_by_itself) {
  Cluster cluster = full();
  const std::string before = to_profile(cluster);
  cluster.partitions[0].nodes[0].idle = 1;
  cluster.partitions[0].nodes[0].usable = 2;
  cluster.read_at = 5s;
  cluster.limits_missing = "no slurmdbd";
  EXPECT_EQ(to_profile(cluster), before);
}

TEST(Profile, of_a_few_lines_is_enough) {
  const Read done = read("partitions: [{name: p, nodes: [{count: 1, cpus: 2, memory: 1g}]}]\n");
  ASSERT_TRUE(done.cluster) << done.mistakes;
  EXPECT_EQ(done.cluster->partitions[0].nodes[0].memory, mebibytes(1024));
  EXPECT_TRUE(done.cluster->partitions[0].is_up);
  EXPECT_EQ(done.cluster->accounting, std::nullopt);
}

TEST(Profile, with_mistakes_is_none_and_each_is_told_at_its_place) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"partitions: [{nam: p}]\n", "p.yaml:1:15: error: unknown key 'nam' of a partition"},
      {"partitions: [{walltime: 1h}]\n", "p.yaml:1:14: error: a partition has no 'name'"},
      {"partitions: [{name: p, default: 1}]\n", "'1' is neither true nor false"},
      {"partitions: [{name: p, default: \"true\"}]\n", "'true' is neither true nor false"},
      {"partitions: [{name: p, max_nodes: -1}]\n", "'-1' is not a count"},
      {"partitions: [{name: p, max_nodes: 10000001}]\n", "up to 10,000,000"},
      {"partitions: [{name: p, walltime: 30}]\n", "p.yaml:1:34: error:"},
      {"partitions: [{name: p, walltime: [1h]}]\n", "a single value is wanted here"},
      {"partitions: [{name: p, nodes: [{count: 1}]}]\n", "need 'count', 'cpus' and 'memory'"},
      {"partitions: [{name: p, nodes: [{count: 1, cpus: 1, memory: 1q}]}]\n",
       "p.yaml:1:60: error:"},
      {"partitions: {name: p}\n", "a list is wanted here"},
      {"partitions: []\n", "the profile has no partitions"},
      {"cluster: a\n", "the profile has no partitions"},
      {"read_at: noon\npartitions: [{name: p}]\n", "'noon' is not a time"},
      {"[1]\n", "a profile is a map"},
      {"", "the profile is empty"},
      {"partitions: [{name: p}]\nqos: [{}]\n", "a QOS has no 'name'"},
      {"partitions: [{name: p}]\nassociations: [1]\n", "an association is a map"},
  };
  for (const auto& [text, told] : wrong) {
    const Read done = read(text);
    EXPECT_FALSE(done.cluster) << text;
    EXPECT_NE(done.mistakes.find(told), std::string::npos) << text << done.mistakes;
  }
}

TEST(Profile, names_one_mistake_once) {
  const Read done = read("partitions: [{name: p, nodes: [{count: x, cpus: 2, memory: 1g}]}]\n");
  EXPECT_NE(done.mistakes.find("'x' is not a count"), std::string::npos) << done.mistakes;
  EXPECT_EQ(done.mistakes.find("need 'count'"), std::string::npos) << done.mistakes;
}

}  // namespace
}  // namespace torc::cluster
