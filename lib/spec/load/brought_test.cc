// Workflows of people who come from other tools, as they are: what they say, job by job.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "lib/spec/load/load.h"
#include "lib/spec/testing/test_expansion.h"

namespace torc::spec {
namespace {

using Names = std::vector<std::string>;
using std::chrono::hours;
using std::chrono::minutes;

constexpr std::string_view kManyJobsOnFourNodes = R"(name: parallel_analysis
description: Run 100 analysis tasks across 4 nodes

resource_requirements:
  - name: analysis
    num_cpus: 8       # per node
    memory: 32g       # per node
    runtime: PT1H

jobs:
  - name: analyze_{i}
    command: python analyze.py --chunk {i}
    resource_requirements: analysis
    scheduler: multi_node
    parameters:
      i: "1:100"

slurm_schedulers:
  - name: multi_node
    account: myproject
    nodes: 4
    walltime: "08:00:00"

actions:
  - trigger_type: on_workflow_start
    action_type: schedule_nodes
    scheduler: multi_node
    scheduler_type: slurm
    num_allocations: 1
)";

constexpr std::string_view kManyJobsDirect = R"(name: parallel_analysis_direct
description: Run 20 analysis tasks across 2 nodes via direct execution

execution_config:
  mode: direct

resource_requirements:
  - name: analysis
    num_cpus: 5
    num_nodes: 1
    memory: 2g
    runtime: PT3M

jobs:
  - name: analyze_{i}
    command: python analyze.py --chunk {i}
    resource_requirements: analysis
    scheduler: multi_node
    parameters:
      i: "1:20"

slurm_schedulers:
  - name: multi_node
    account: myproject
    nodes: 2
    walltime: "00:10:00"

actions:
  - trigger_type: on_workflow_start
    action_type: schedule_nodes
    scheduler: multi_node
    scheduler_type: slurm
    start_one_worker_per_node: true
    num_allocations: 1
)";

constexpr std::string_view kOneJobOnFourNodes = R"(name: distributed_training
description: Distributed training across 4 nodes

resource_requirements:
  - name: mpi_training
    num_cpus: 32      # per node (128 total across 4 nodes)
    memory: 128g      # per node (512 GB total across 4 nodes)
    num_nodes: 4      # allocates and spans 4 nodes
    runtime: PT8H

jobs:
  - name: train
    command: python -m torch.distributed.run train.py
    resource_requirements: mpi_training
    scheduler: training_nodes

slurm_schedulers:
  - name: training_nodes
    account: myproject
    nodes: 4
    walltime: "12:00:00"

actions:
  - trigger_type: on_workflow_start
    action_type: schedule_nodes
    scheduler: training_nodes
    scheduler_type: slurm
    num_allocations: 1
)";

constexpr std::string_view kOneJobWithMpirun = R"(name: distributed_training_mpi
description: MPI training across 4 nodes with explicit mpirun

execution_config:
  mode: direct

resource_requirements:
  - name: mpi_training
    num_cpus: 32
    memory: 128g
    num_nodes: 4
    runtime: PT8H

jobs:
  - name: train
    command: mpirun python train.py
    resource_requirements: mpi_training
    scheduler: training_nodes

slurm_schedulers:
  - name: training_nodes
    account: myproject
    nodes: 4
    walltime: "12:00:00"

actions:
  - trigger_type: on_workflow_start
    action_type: schedule_nodes
    scheduler: training_nodes
    scheduler_type: slurm
    num_allocations: 1
)";

constexpr std::string_view kStages = R"(name: preprocess_then_train

resource_requirements:
  - name: preprocess
    num_cpus: 4
    memory: 16g
    runtime: PT30M

  - name: distributed_training
    num_cpus: 32
    memory: 128g
    num_nodes: 4
    runtime: PT4H

jobs:
  - name: prep_{i}
    command: python preprocess.py --shard {i}
    resource_requirements: preprocess
    scheduler: prep_nodes
    parameters:
      i: "1:8"

  - name: train
    command: python -m torch.distributed.run train.py
    resource_requirements: distributed_training
    scheduler: training_nodes
    depends_on: [prep_1, prep_2, prep_3, prep_4, prep_5, prep_6, prep_7, prep_8]

slurm_schedulers:
  - name: prep_nodes
    account: myproject
    nodes: 2
    walltime: "01:00:00"

  - name: training_nodes
    account: myproject
    nodes: 4
    walltime: "06:00:00"

actions:
  - trigger_type: on_workflow_start
    action_type: schedule_nodes
    scheduler: prep_nodes
    scheduler_type: slurm
    num_allocations: 1

  - trigger_type: on_jobs_ready
    action_type: schedule_nodes
    jobs: [train]
    scheduler: training_nodes
    scheduler_type: slurm
    num_allocations: 1
)";

struct Read {
  Workflow workflow;
  Jobs jobs;
};

// Expects that nothing is wrong.
Read read(std::string_view text) {
  Loaded loaded = load(text, "wf.yaml", {});
  Read result;
  for (const Diagnostic& d : loaded.diagnostics) ADD_FAILURE() << to_text(d);
  EXPECT_TRUE(loaded.expansion);
  if (!loaded.expansion) return result;
  result.workflow = *std::move(loaded.workflow);
  result.jobs = render_all(*std::move(loaded.expansion));
  return result;
}

void expect_sweep(const Read& r, std::size_t first, std::size_t count, const std::string& name,
                  const std::string& command) {
  ASSERT_LE(first + count, r.jobs.names.size());
  for (std::size_t k = 0; k < count; ++k) {
    EXPECT_EQ(r.jobs.names[first + k], numbered(name, k + 1));
    EXPECT_EQ(r.jobs.rendered[first + k].command, numbered(command, k + 1));
  }
}

void expect_resources(const ExpandedEntry& entry, std::uint32_t cpus, std::uint64_t gibibytes,
                      std::uint32_t nodes, std::chrono::seconds runtime) {
  EXPECT_EQ(entry.resources.cpus, cpus);
  EXPECT_EQ(entry.resources.memory, mebibytes(gibibytes * 1024));
  EXPECT_EQ(entry.resources.nodes, nodes);
  EXPECT_EQ(entry.resources.runtime, runtime);
}

void expect_allocation(const Action& action, Trigger trigger, const std::string& scheduler) {
  EXPECT_EQ(action.trigger, trigger);
  EXPECT_EQ(action.kind, Action::Kind::schedule_nodes);
  EXPECT_EQ(action.scheduler, scheduler);
  EXPECT_EQ(action.num_allocations, 1U);
}

TEST(Brought, a_hundred_jobs_of_one_node_on_an_allocation_of_four) {
  const Read r = read(kManyJobsOnFourNodes);
  ASSERT_EQ(r.jobs.names.size(), 100U);
  expect_sweep(r, 0, 100, "analyze_", "python analyze.py --chunk ");
  ASSERT_EQ(r.jobs.expansion.entries.size(), 1U);
  expect_resources(r.jobs.expansion.entries[0], 8, 32, 1, hours(1));
  EXPECT_EQ(r.jobs.expansion.entries[0].scheduler, "multi_node");
  EXPECT_TRUE(r.jobs.expansion.dependencies.empty());
  EXPECT_EQ(r.workflow.slurm_schedulers.at(0).nodes, 4U);
  EXPECT_EQ(r.workflow.slurm_schedulers.at(0).walltime, "08:00:00");
  expect_allocation(r.workflow.actions.at(0), Trigger::on_workflow_start, "multi_node");
}

TEST(Brought, the_same_with_a_worker_on_every_node) {
  const Read r = read(kManyJobsDirect);
  ASSERT_EQ(r.jobs.names.size(), 20U);
  expect_sweep(r, 0, 20, "analyze_", "python analyze.py --chunk ");
  expect_resources(r.jobs.expansion.entries.at(0), 5, 2, 1, minutes(3));
  EXPECT_EQ(r.workflow.execution.mode, ExecutionMode::direct);
  EXPECT_TRUE(r.workflow.actions.at(0).start_one_worker_per_node);
}

TEST(Brought, one_job_that_spans_four_nodes) {
  const Read r = read(kOneJobOnFourNodes);
  EXPECT_EQ(r.jobs.names, Names{"train"});
  EXPECT_EQ(r.jobs.rendered.at(0).command, "python -m torch.distributed.run train.py");
  expect_resources(r.jobs.expansion.entries.at(0), 32, 128, 4, hours(8));
}

TEST(Brought, one_job_that_brings_its_own_launcher) {
  const Read r = read(kOneJobWithMpirun);
  EXPECT_EQ(r.jobs.names, Names{"train"});
  EXPECT_EQ(r.jobs.rendered.at(0).command, "mpirun python train.py");
  expect_resources(r.jobs.expansion.entries.at(0), 32, 128, 4, hours(8));
  EXPECT_EQ(r.workflow.execution.mode, ExecutionMode::direct);
}

TEST(Brought, preparation_on_few_nodes_before_a_job_on_many) {
  const Read r = read(kStages);
  ASSERT_EQ(r.jobs.names.size(), 9U);
  expect_sweep(r, 0, 8, "prep_", "python preprocess.py --shard ");
  EXPECT_EQ(r.jobs.names[8], "train");
  EXPECT_EQ(r.jobs.rendered[8].command, "python -m torch.distributed.run train.py");
  for (std::size_t k = 0; k < 8; ++k) EXPECT_EQ(r.jobs.upstream(r.jobs.names[k]), Names{});
  EXPECT_EQ(r.jobs.upstream("train"), (Names{"prep_1", "prep_2", "prep_3", "prep_4", "prep_5",
                                             "prep_6", "prep_7", "prep_8"}));
  expect_resources(r.jobs.expansion.entries.at(0), 4, 16, 1, minutes(30));
  expect_resources(r.jobs.expansion.entries.at(1), 32, 128, 4, hours(4));
  EXPECT_EQ(r.jobs.expansion.entries[0].scheduler, "prep_nodes");
  EXPECT_EQ(r.jobs.expansion.entries[1].scheduler, "training_nodes");
  ASSERT_EQ(r.workflow.actions.size(), 2U);
  expect_allocation(r.workflow.actions[0], Trigger::on_workflow_start, "prep_nodes");
  expect_allocation(r.workflow.actions[1], Trigger::on_jobs_ready, "training_nodes");
  EXPECT_EQ(r.workflow.actions[1].jobs, Names{"train"});
}

TEST(Brought, small_and_large_jobs_with_priorities) {
  const Read r = read(R"(
name: priorities
resource_requirements:
  - {name: small, num_cpus: 2, num_gpus: 0, memory: 4g, runtime: PT30M}
  - {name: large, num_cpus: 16, num_gpus: 2, memory: 128g, runtime: PT8H}
jobs:
  - name: preprocess
    command: ./preprocess.sh
    resource_requirements: small
    priority: 10
  - name: train_model
    command: python train.py
    resource_requirements: large
    priority: 100
)");
  EXPECT_EQ(r.jobs.names, (Names{"preprocess", "train_model"}));
  EXPECT_EQ(r.jobs.rendered.at(0).command, "./preprocess.sh");
  EXPECT_EQ(r.jobs.rendered.at(1).command, "python train.py");
  expect_resources(r.jobs.expansion.entries.at(0), 2, 4, 1, minutes(30));
  expect_resources(r.jobs.expansion.entries.at(1), 16, 128, 1, hours(8));
  EXPECT_EQ(r.jobs.expansion.entries[1].resources.gpus, 2U);
  EXPECT_EQ(r.jobs.expansion.entries[0].priority, 10);
  EXPECT_EQ(r.jobs.expansion.entries[1].priority, 100);
}

TEST(Brought, jobs_bound_to_two_clusters_by_the_other_spelling_of_scheduler) {
  const Read r = read(R"(
name: two_clusters
resource_requirements:
  - {name: large, num_cpus: 16, num_gpus: 2, memory: 128g, runtime: PT8H}
  - {name: highmem, num_cpus: 8, memory: 1t, runtime: PT2H}
slurm_schedulers:
  - name: gpu_cluster
    partition: gpu
    account: myproject
  - name: highmem_cluster
    partition: highmem
    account: myproject
jobs:
  - name: model_training
    command: python train.py
    resource_requirements: large
    slurm_scheduler: gpu_cluster
  - name: large_analysis
    command: ./analyze.sh
    resource_requirements: highmem
    slurm_scheduler: highmem_cluster
)");
  EXPECT_EQ(r.jobs.names, (Names{"model_training", "large_analysis"}));
  EXPECT_EQ(r.jobs.expansion.entries.at(0).scheduler, "gpu_cluster");
  EXPECT_EQ(r.jobs.expansion.entries.at(1).scheduler, "highmem_cluster");
  expect_resources(r.jobs.expansion.entries[1], 8, 1024, 1, hours(2));
}

TEST(Brought, a_list_of_jobs_without_resources) {
  std::string text = "name: queue\njobs:\n";
  for (int i = 1; i <= 102; ++i) {
    const std::string n = std::to_string(i);
    text += "- name: process_file_" + n + "\n  command: ./process.sh file" + n + ".txt\n";
  }
  const Read r = read(text);
  ASSERT_EQ(r.jobs.names.size(), 102U);
  for (std::size_t k = 0; k < 102; ++k) {
    EXPECT_EQ(r.jobs.names[k], numbered("process_file_", k + 1));
    EXPECT_EQ(r.jobs.rendered[k].command, numbered("./process.sh file", k + 1) + ".txt");
    EXPECT_EQ(r.jobs.expansion.entries[k].resources.cpus, 1U);
    EXPECT_EQ(r.jobs.expansion.entries[k].resources.memory, mebibytes(1));
  }
}

TEST(Brought, shared_parameters_with_and_without_resources) {
  const Read plain = read(R"(
name: queue_of_cpus
parameters:
  i: "1:100"
jobs:
- name: "work_{i}"
  command: bash my_script.sh {i}
  use_parameters:
  - i
)");
  ASSERT_EQ(plain.jobs.names.size(), 100U);
  expect_sweep(plain, 0, 100, "work_", "bash my_script.sh ");
  EXPECT_EQ(plain.jobs.expansion.entries.at(0).resources.cpus, 1U);
  const Read sized = read(R"(
name: sized
resource_requirements:
- name: "work_resources"
  num_cpus: 32
  memory: "200g"
  runtime: "PT4H"
  num_nodes: 1
parameters:
  i: "1:100"
jobs:
- name: "work_{i}"
  command: bash my_script.sh {i}
  resource_requirements: work_resources
  use_parameters:
  - i
)");
  ASSERT_EQ(sized.jobs.names.size(), 100U);
  expect_sweep(sized, 0, 100, "work_", "bash my_script.sh ");
  expect_resources(sized.jobs.expansion.entries.at(0), 32, 200, 1, hours(4));
}

// An array of Slurm's: five rates by twenty seeds, counted from one number.
TEST(Brought, a_job_array_as_parameters) {
  const Read r = read(R"(
name: hp-sweep
resource_requirements:
  - {name: one_gpu, num_gpus: 1, runtime: PT4H}
jobs:
  - name: sweep_{seed}_{lr}
    command: python train.py --lr {lr} --seed {seed}
    resource_requirements: one_gpu
    max_parallel: 10
    parameters:
      seed: "0:19"
      lr: [1e-2, 1e-3, 1e-4, 5e-4, 1e-5]
)");
  ASSERT_EQ(r.jobs.names.size(), 100U);
  const Names rates{"1e-2", "1e-3", "1e-4", "5e-4", "1e-5"};
  for (std::size_t k = 0; k < 100; ++k) {
    const std::string seed = std::to_string(k / 5);
    EXPECT_EQ(r.jobs.names[k], "sweep_" + seed + "_" + rates[k % 5]);
    EXPECT_EQ(r.jobs.rendered[k].command,
              "python train.py --lr " + rates[k % 5] + " --seed " + seed);
  }
  EXPECT_EQ(r.workflow.jobs.at(0).max_parallel, 10U);
}

// afterok:A:B, afternotok, afterany and after, as on the command line of sbatch.
TEST(Brought, a_chain_of_dependencies_with_conditions) {
  const Read r = read(R"(
name: chain
jobs:
  - {name: data, command: ./data-prep.sh}
  - {name: train, command: ./train.sh, depends: {afterok: [data]}}
  - {name: rescue, command: ./rescue.sh, depends: {afternotok: [train]}}
  - {name: watch, command: ./watch.sh, depends: {after: train}}
  - {name: cleanup, command: ./cleanup.sh, depends: {afterok: [data], afterany: [train, rescue]}}
)");
  EXPECT_EQ(r.jobs.names, (Names{"data", "train", "rescue", "watch", "cleanup"}));
  EXPECT_EQ(r.jobs.upstream("train"), Names{"data"});
  EXPECT_EQ(r.jobs.upstream("cleanup"), Names{"data"});
  const auto& conditional = r.jobs.expansion.conditional;
  ASSERT_EQ(conditional.size(), 3U);
  EXPECT_EQ(conditional[0].condition, Condition::afternotok);
  EXPECT_EQ(conditional[0].set.upstream, (std::vector<Range>{{2, 1}}));
  EXPECT_EQ(conditional[0].set.members, (std::vector<Range>{{3, 1}}));
  EXPECT_EQ(conditional[1].condition, Condition::afterany);
  EXPECT_EQ(conditional[1].set.upstream, (std::vector<Range>{{2, 2}}));
  EXPECT_EQ(conditional[1].set.members, (std::vector<Range>{{5, 1}}));
  EXPECT_EQ(conditional[2].condition, Condition::after);
  EXPECT_EQ(conditional[2].set.members, (std::vector<Range>{{4, 1}}));
  // On whatever condition, each job once.
  const std::vector<DependencySet> all = all_dependencies(r.jobs.expansion);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].upstream, (std::vector<Range>{{1, 1}}));
  EXPECT_EQ(all[1].upstream, (std::vector<Range>{{2, 1}}));
  EXPECT_EQ(all[1].members, (std::vector<Range>{{3, 2}}));
  EXPECT_EQ(all[2].upstream, (std::vector<Range>{{1, 3}}));
}

}  // namespace
}  // namespace torc::spec
