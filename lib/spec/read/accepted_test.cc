// Workflows as people have them today.
#include <gtest/gtest.h>

#include <string>

#include "lib/spec/testing/test_parse.h"

namespace torc::spec {
namespace {

Parsed read_spec(std::string_view text) {
  return parse(text, "wf.yaml", {});
}

// What a file says in words, when it is accepted without a remark.
std::string remarks(std::string_view text) {
  const Parsed parsed = read_spec(text);
  return parsed.workflow ? to_text(parsed.diagnostics) : "refused:\n" + to_text(parsed.diagnostics);
}

TEST(Accepted, many_jobs_of_one_node_on_an_allocation_of_four) {
  const std::string text = R"(
name: parallel_analysis
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
)";
  EXPECT_EQ(remarks(text), "");
  const std::string with_actions = text + R"(
actions:
  - trigger_type: on_workflow_start
    action_type: schedule_nodes
    scheduler: multi_node
    scheduler_type: slurm
    num_allocations: 1
)";
  EXPECT_EQ(remarks(with_actions), "");
}

TEST(Accepted, direct_execution_with_one_worker_a_node) {
  EXPECT_EQ(remarks(R"(
name: parallel_analysis_direct
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
)"),
            "");
}

TEST(Accepted, stages_of_two_schedulers_with_dependencies_by_name) {
  EXPECT_EQ(remarks(R"(
name: preprocess_then_train
resource_requirements:
  - name: preprocess
    num_cpus: 4
    memory: 16g
    runtime: PT30M

  - name: training
    num_cpus: 32
    memory: 128g
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
    resource_requirements: training
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
)"),
            "");
}

TEST(Accepted, jobs_of_different_sizes_and_priorities) {
  EXPECT_EQ(remarks(R"(
name: sizes
resource_requirements:
- name: small
  num_cpus: 2
  num_gpus: 0
  memory: 4g
  runtime: PT30M
- name: large
  num_cpus: 16
  num_gpus: 2
  memory: 128g
  runtime: PT8H
jobs:
- name: preprocessing
  command: ./preprocess.sh
  resource_requirements: small
  priority: 10
- name: model_training
  command: python train.py
  resource_requirements: large
  priority: 100
)"),
            "");
}

TEST(Accepted, jobs_bound_to_schedulers_by_the_other_spelling) {
  EXPECT_EQ(remarks(R"(
name: clusters
slurm_schedulers:
- name: gpu_cluster
  partition: gpu
  account: myproject
- name: highmem_cluster
  partition: highmem
  account: myproject
resource_requirements: [{name: large}, {name: highmem}]
jobs:
- name: model_training
  command: python train.py
  resource_requirements: large
  slurm_scheduler: gpu_cluster # Binds to specific scheduler
- name: large_analysis
  command: ./analyze.sh
  resource_requirements: highmem
  slurm_scheduler: highmem_cluster
)"),
            "");
}

TEST(Accepted, shared_parameters_with_use_parameters) {
  EXPECT_EQ(remarks(R"(
name: queue
parameters:
  i: "1:100"
resource_requirements:
  - name: "work_resources"
    num_cpus: 32
    memory: "200g"
    runtime: "PT4H"
    num_nodes: 1
jobs:
  - name: "work_{i}"
    command: bash my_script.sh {i}
    resource_requirements: work_resources
    use_parameters:
    - i
)"),
            "");
}

TEST(Accepted, distributed_training_with_its_own_launcher) {
  const Parsed parsed = read_spec(R"(
name: distributed_training_mpi
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
)");
  EXPECT_EQ(parsed.diagnostics.size(), 0U);
}

}  // namespace
}  // namespace torc::spec
