#include "lib/cluster/job_groups.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "lib/cluster/profile.h"
#include "lib/spec/load/load.h"

namespace torc::cluster {
namespace {

using namespace std::chrono_literals;

Cluster cluster_of(const std::string& text) {
  const spec::Source source(text, "alpha.yaml");
  spec::Report report(source);
  return read_profile(source, report).value();
}

Cluster site() {
  return cluster_of(R"(cluster: alpha
partitions:
  - name: standard
    default: true
    walltime: 2d
    max_nodes: 50
    nodes:
      - {count: 90, cpus: 64, memory: 256g}
      - {count: 10, cpus: 64, memory: 1t}
  - name: gpu
    whole_nodes: true
    min_nodes: 2
    nodes: [{count: 4, cpus: 32, memory: 512g, gpus: [{type: a100, count: 4}]}]
qos: [{name: normal, running_jobs: 20, walltime: 1d}]
associations: [{account: lab, qos: [normal], default_qos: normal, submitted_jobs: 30}]
)");
}

struct Loaded {
  spec::Workflow workflow;
  spec::Expansion expansion;
};
Loaded load(const std::string& jobs, const std::string& schedulers = "") {
  std::string text = "name: wf\n";
  if (!schedulers.empty()) text += "slurm_schedulers:\n" + schedulers;
  text += "jobs:\n" + jobs;
  auto done = spec::load(text, "wf.yaml", {});
  EXPECT_TRUE(done.workflow && done.expansion) << spec::to_text(done.diagnostics);
  return {*std::move(done.workflow), *std::move(done.expansion)};
}
JobGroups by_partition(const Loaded& loaded, const Cluster& cluster = site()) {
  return group_by_partition(loaded.workflow, loaded.expansion, spec::outline(loaded.expansion),
                            cluster, "");
}
JobGroups by_scheduler(const Loaded& loaded) {
  return group_by_scheduler(loaded.workflow, loaded.expansion, spec::outline(loaded.expansion),
                            site());
}

TEST(JobGroups, without_schedulers_are_by_the_nodes_that_hold_them_best) {
  const JobGroups all = by_partition(load(R"(
  - {name: "a_{i}", command: x, num_cpus: 4, memory: 8g, runtime: PT1H, parameters: {i: "1:9"}}
  - {name: b, command: x, memory: 400g, runtime: PT1H}
  - {name: c, command: x, num_gpus: 1, num_nodes: 2, runtime: PT2H}
  - {name: d, command: x, num_cpus: 8, runtime: PT3H}
)"));
  EXPECT_TRUE(all.left_out.empty());
  ASSERT_EQ(all.groups.size(), 3U);
  EXPECT_EQ(all.groups[0].partition, 0U);
  EXPECT_EQ(all.groups[0].node, (NodeShape{64, mebibytes(256U << 10U), 0}));
  EXPECT_EQ(all.groups[0].entries, (std::vector<std::size_t>{0, 3}));
  EXPECT_EQ(all.groups[0].batches[0].jobs, 9U);
  EXPECT_EQ(all.groups[0].bounds.all_nodes, 100U);
  EXPECT_EQ(all.groups[0].bounds.most_nodes, 50U);
  EXPECT_EQ(all.groups[1].node.memory, mebibytes(1U << 20U));
  EXPECT_EQ(all.groups[1].bounds.all_nodes, 10U);
  EXPECT_EQ(all.groups[2].partition, 1U);
  EXPECT_EQ(all.groups[2].node.gpus, 4U);
  EXPECT_EQ(all.groups[2].bounds.least_nodes, 2U);
}

TEST(JobGroups, keep_within_the_limits_of_the_account) {
  const Loaded loaded = load("  - {name: a, command: x, runtime: PT1H}\n");
  const JobGroups all = by_partition(loaded);
  EXPECT_EQ(all.groups.at(0).bounds.running, 20U) << "of the QOS, which is less than the account's";
  EXPECT_EQ(all.groups.at(0).bounds.walltime, 24h);
  EXPECT_LT(all.groups.at(0).bounds.time(), 24h) << "some of it is kept free at the end";
}

TEST(JobGroups, tell_of_a_job_that_no_partition_holds) {
  const JobGroups all = by_partition(load(R"(
  - {name: a, command: x, num_cpus: 65, runtime: PT1H}
  - {name: b, command: x, runtime: P3D}
  - {name: c, command: x, runtime: PT1H, label: fast}
)"));
  ASSERT_EQ(all.left_out.size(), 3U);
  EXPECT_EQ(all.left_out[0].why,
            "no partition can hold it (standard: at most 64 CPUs a node; gpu: at most 32 CPUs a "
            "node)");
  EXPECT_NE(all.left_out[1].why.find("standard: at most 2 d"), std::string::npos)
      << all.left_out[1].why;
  EXPECT_NE(all.left_out[2].why.find("label fast"), std::string::npos) << all.left_out[2].why;
}

TEST(JobGroups, are_of_the_schedulers_of_the_file) {
  const JobGroups all = by_scheduler(load(R"(
  - {name: a, command: x, runtime: PT1H}
  - {name: b, command: x, num_gpus: 1, runtime: PT1H}
  - {name: c, command: x, num_cpus: 3, scheduler: small, runtime: PT1H}
  - {name: d, command: x, runtime: PT9H}
)",
                                          R"(
  - {name: small, account: lab, walltime: "02:00:00", extra: --cpus-per-task=2}
  - {name: g, account: lab, partition: gpu, walltime: "08:00:00", gres: "gpu:a100:2"}
  - {name: n, account: lab, partition: none, walltime: "08:00:00"}
)"));
  ASSERT_EQ(all.groups.size(), 3U);
  EXPECT_EQ(all.groups[0].node.cpus, 2U) << "as it asks for";
  EXPECT_EQ(all.groups[0].bounds.walltime, 2h);
  EXPECT_EQ(all.groups[0].entries, (std::vector<std::size_t>{0}));
  EXPECT_EQ(all.groups[1].node, (NodeShape{32, mebibytes(512U << 10U), 2})) << "whole nodes";
  EXPECT_EQ(all.groups[1].entries, (std::vector<std::size_t>{1}));
  EXPECT_EQ(all.groups[2].why_none, "the cluster has no partition none");
  ASSERT_EQ(all.left_out.size(), 2U);
  EXPECT_EQ(all.left_out[0].entry, 2U);
  EXPECT_EQ(all.left_out[0].why, "scheduler small has at most 2 CPUs a node");
  EXPECT_EQ(all.left_out[1].entry, 3U);
}

TEST(JobGroups, take_jobs_without_a_runtime_for_as_long_as_the_longest) {
  const JobGroups some = by_partition(load(R"(
  - {name: a, command: x, runtime: PT1H}
  - {name: "b_{i}", command: x, parameters: {i: "1:3"}}
)"));
  EXPECT_EQ(some.groups.at(0).guessed, 3U);
  for (const Batch& batch : some.groups.at(0).batches) EXPECT_EQ(batch.runtime, 1h);
  const JobGroups none = by_partition(load("  - {name: a, command: x}\n"));
  EXPECT_EQ(none.groups.at(0).why_none,
            "no job declares a runtime, so it is not known how much there is to do");
}

TEST(JobGroups, are_for_the_account_that_allows_their_time) {
  const Cluster cluster = cluster_of(R"(
partitions:
  - {name: p, nodes: [{count: 4, cpus: 8, memory: 8g}]}
associations:
  - {account: brief, walltime: 1h}
  - {account: long}
)");
  const JobGroups all = by_partition(load("  - {name: a, command: x, runtime: PT2H}\n"), cluster);
  EXPECT_TRUE(all.left_out.empty());
  EXPECT_EQ(all.groups.at(0).bounds.walltime, std::nullopt);
}

TEST(JobGroups, leave_out_what_the_qos_gives_no_time_for) {
  const JobGroups all = by_partition(load(R"(
  - {name: a, command: x, runtime: PT25H}
  - {name: b, command: x, runtime: PT1H}
)"));
  ASSERT_EQ(all.left_out.size(), 1U);
  EXPECT_NE(all.left_out[0].why.find("standard: at most 1 d by your account"), std::string::npos)
      << all.left_out[0].why;
  EXPECT_EQ(all.groups.at(0).entries, (std::vector<std::size_t>{1}));
}

TEST(JobGroups, leave_out_what_fits_no_allocation_that_can_be_had) {
  const Cluster cluster = cluster_of(R"(
partitions:
  - {name: p, nodes: [{count: 4, cpus: 8, memory: 8g, usable: 2}]}
  - {name: q, nodes: [{count: 4, cpus: 8, memory: 16g}]}
)");
  const Loaded wide = load("  - {name: a, command: x, num_nodes: 3, runtime: PT1H}\n");
  const JobGroups all = by_partition(wide, cluster);
  EXPECT_TRUE(all.left_out.empty());
  ASSERT_EQ(all.groups.size(), 1U);
  EXPECT_EQ(all.groups[0].partition, 1U) << "of the first two nodes can be used";
  Cluster one = cluster;
  one.partitions.pop_back();
  const JobGroups none = by_partition(wide, one);
  EXPECT_TRUE(none.groups.empty());
  ASSERT_EQ(none.left_out.size(), 1U);
  EXPECT_EQ(none.left_out[0].why, "no partition can hold it (p: at most 2 nodes an allocation)");
}

TEST(JobGroups, count_nodes_that_are_all_down_as_there) {
  const Cluster cluster = cluster_of(
      "partitions: [{name: p, nodes: [{count: 4, cpus: 8, memory: 8g, usable: 0, idle: 0}]}]\n");
  const JobGroups all = by_partition(load("  - {name: a, command: x, runtime: PT1H}\n"), cluster);
  EXPECT_EQ(all.groups.at(0).bounds.all_nodes, 4U);
  EXPECT_EQ(all.groups.at(0).idle, 0U);
}

TEST(JobGroups, count_no_nodes_of_other_gpus) {
  const Cluster cluster = cluster_of(R"(
partitions:
  - name: gpu
    nodes:
      - {count: 3, cpus: 8, memory: 8g, gpus: [{type: a100, count: 2}]}
      - {count: 5, cpus: 8, memory: 16g, gpus: [{type: v100, count: 4}]}
)");
  const JobGroups all = by_partition(
      load("  - {name: a, command: x, resources: {gpus/a100: 1}, runtime: PT1H}\n"), cluster);
  EXPECT_EQ(all.groups.at(0).bounds.all_nodes, 3U);
}

TEST(JobGroups, take_a_job_that_goes_on_in_the_next_allocation_as_several) {
  const JobGroups all = by_scheduler(
      load("  - {name: a, command: x, runtime: PT10H, min_time: PT1H, scheduler: small}\n",
           "  - {name: small, account: lab, walltime: \"04:00:00\"}\n"));
  EXPECT_TRUE(all.left_out.empty());
  ASSERT_EQ(all.groups.at(0).batches.size(), 1U);
  const Batch& batch = all.groups[0].batches[0];
  EXPECT_EQ(batch.runtime, all.groups[0].bounds.time());
  EXPECT_EQ(batch.jobs, 3U);
}

}  // namespace
}  // namespace torc::cluster
