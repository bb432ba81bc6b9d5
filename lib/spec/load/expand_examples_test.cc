// Workflows as users write them, from the text to every single job.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "lib/spec/testing/test_expansion.h"
#include "lib/spec/testing/test_parse.h"

namespace torc::spec {
namespace {

using Names = std::vector<std::string>;

Jobs jobs_of_example(const std::string& text) {
  const auto no_files = [](const std::string&) -> Result<std::string> {
    return Error{ErrorKind::not_found, "no such file", ""};
  };
  const Parsed parsed = parse(text, "wf.yaml", no_files);
  EXPECT_TRUE(parsed.workflow) << to_text(parsed.diagnostics);
  if (!parsed.workflow) return {};
  Expanded expanded = expand(*parsed.workflow, text, "wf.yaml");
  EXPECT_TRUE(expanded.expansion) << to_text(expanded.diagnostics);
  return expanded.expansion ? render_all(*std::move(expanded.expansion)) : Jobs{};
}

TEST(ExpandExamples, many_single_node_jobs_in_one_allocation) {
  const Jobs jobs = jobs_of_example(R"(
name: chunks
resource_requirements:
  - {name: one_node, num_cpus: 8, memory: 32g, runtime: PT1H}
slurm_schedulers:
  - {name: wide, account: lab, nodes: 4, walltime: "08:00:00"}
jobs:
  - name: chunk_{i}
    command: ./analyse --chunk {i}
    resource_requirements: one_node
    scheduler: wide
    parameters: {i: "1:100"}
)");
  ASSERT_EQ(jobs.names.size(), 100U);
  for (std::size_t k = 0; k < 100; ++k) {
    EXPECT_EQ(jobs.names[k], numbered("chunk_", k + 1));
    EXPECT_EQ(jobs.rendered[k].command, numbered("./analyse --chunk ", k + 1));
  }
  ASSERT_EQ(jobs.expansion.entries.size(), 1U);
  const ExpandedEntry& entry = jobs.expansion.entries[0];
  EXPECT_EQ(entry.scheduler, "wide");
  EXPECT_EQ(entry.resources.cpus, 8U);
  EXPECT_EQ(entry.resources.memory, mebibytes(32 * 1024));
  EXPECT_EQ(entry.resources.nodes, 1U);
  EXPECT_TRUE(jobs.expansion.dependencies.empty());
}

TEST(ExpandExamples, what_a_job_says_it_needs_wins_over_its_set_key_by_key) {
  const Jobs jobs = jobs_of_example(R"(
name: w
resource_requirements:
  - {name: small, cpus: 2, gpus: 1, memory: 4g, runtime: 30m}
  - {name: large, num_cpus: 64}
jobs:
  - {name: alone, command: x, cpus: 3, num_gpus: 4, num_nodes: 2, memory: 1g, runtime: 1h, time_limit: 2h}
  - {name: both, command: x, resource_requirements: small, memory: 8g, num_gpus: 0, time_limit: 1h}
  - {name: "of_{set}", command: x, resource_requirements: "{set}", memory: 8g, parameters: {set: [small, large]}}
  - {name: saves, command: x, runtime: 5h, min_time: 1h, checkpoint_exit_code: 3}
)");
  ASSERT_EQ(jobs.names, (Names{"alone", "both", "of_small", "of_large", "saves"}));
  const auto needs = [&](std::size_t i) { return Resources(jobs.expansion.entries[i].resources); };
  using namespace std::chrono_literals;
  EXPECT_EQ(needs(0), (Resources{3, 4, 2, mebibytes(1024), 1h, 2h}));
  EXPECT_EQ(needs(1), (Resources{2, 0, 1, mebibytes(8 * 1024), 30min, 1h}));
  EXPECT_EQ(needs(2), (Resources{2, 1, 1, mebibytes(8 * 1024), 30min}));
  EXPECT_EQ(needs(3), (Resources{64, 0, 1, mebibytes(8 * 1024)}));
  EXPECT_EQ(needs(4), (Resources{1, 0, 1, mebibytes(1), 5h, 0s, 1h}));
}

TEST(ExpandExamples, who_reads_a_dataset_waits_for_all_that_write_into_it) {
  const Jobs jobs = jobs_of_example(R"(
name: w
datasets:
  - {name: parts, path: out/parts/, hash_mode: content, description: of all}
  - {name: raw, path: raw/}
jobs:
  - {name: "part_{i}", command: x, output_datasets: parts, parameters: {i: "1:3"}}
  - {name: extra, command: x, input_datasets: [raw], output_datasets: [parts]}
  - {name: "join_{i}", command: x, input_datasets: [parts, raw], parameters: {i: "1:2"}}
  - {name: tidy, command: x, input_datasets: parts, output_datasets: parts}
)");
  const Names writers{"part_1", "part_2", "part_3", "extra"};
  EXPECT_EQ(jobs.upstream("tidy"), writers);
  Names all = writers;
  all.push_back("tidy");
  EXPECT_EQ(jobs.upstream("join_1"), all);
  EXPECT_EQ(jobs.upstream("join_2"), all);
  EXPECT_TRUE(jobs.upstream("extra").empty());
}

TEST(ExpandExamples, one_job_on_four_nodes) {
  Workflow w;
  w.resource_requirements = {
      {Resources{32, 0, 4, mebibytes(128 * 1024), std::chrono::hours(8)}, "gang", {}}};
  w.jobs = {job("train", "./train --all")};
  w.jobs[0].resource_requirements = "gang";
  const Jobs jobs = expand_all(w);
  EXPECT_EQ(jobs.names, Names{"train"});
  EXPECT_EQ(jobs.expansion.entries.at(0).resources.nodes, 4U);
}

TEST(ExpandExamples, preprocessing_before_a_job_that_waits_for_all_of_it) {
  const Jobs jobs = jobs_of_example(R"(
name: stages
resource_requirements:
  - {name: small, num_cpus: 4, memory: 16g, runtime: PT30M}
  - {name: large, num_cpus: 32, memory: 128g, runtime: PT4H}
slurm_schedulers:
  - {name: first, account: lab, nodes: 2, walltime: "01:00:00"}
  - {name: second, account: lab, nodes: 4, walltime: "06:00:00"}
jobs:
  - name: prep_{i}
    command: ./prepare --shard {i}
    resource_requirements: small
    scheduler: first
    parameters: {i: "1:8"}
  - name: train
    command: ./train
    resource_requirements: large
    scheduler: second
    depends_on: [prep_1, prep_2, prep_3, prep_4, prep_5, prep_6, prep_7, prep_8]
)");
  EXPECT_EQ(jobs.names, (Names{"prep_1", "prep_2", "prep_3", "prep_4", "prep_5", "prep_6", "prep_7",
                               "prep_8", "train"}));
  for (std::size_t k = 0; k < 8; ++k) EXPECT_EQ(jobs.upstream(jobs.names[k]), Names{});
  EXPECT_EQ(jobs.upstream("train"), (Names{"prep_1", "prep_2", "prep_3", "prep_4", "prep_5",
                                           "prep_6", "prep_7", "prep_8"}));
  ASSERT_EQ(jobs.expansion.dependencies.size(), 1U);
  EXPECT_EQ(jobs.expansion.dependencies[0].upstream, (std::vector<Range>{{1, 8}}));
  EXPECT_EQ(jobs.expansion.entries.at(1).scheduler, "second");
}

TEST(ExpandExamples, shared_parameters_of_a_workflow) {
  const Jobs jobs = jobs_of_example(R"(
name: shared
parameters: {i: "1:3"}
jobs:
  - {name: "work_{i}", command: "bash my.sh {i}", use_parameters: [i]}
  - {name: after, command: "true", depends_on: ["work_{i}"]}
)");
  EXPECT_EQ(jobs.names, (Names{"work_1", "work_2", "work_3", "after"}));
  EXPECT_EQ(jobs.upstream("after"), (Names{"work_1", "work_2", "work_3"}));
}

TEST(ExpandExamples, a_diamond_by_files) {
  const Jobs jobs = jobs_of_example(R"(
name: diamond
files:
  - {name: source, path: in.txt}
  - {name: "half_{s}", path: "tmp/{s}.txt", parameters: {s: [left, right]}}
  - {name: whole, path: out.txt}
jobs:
  - name: split
    command: split ${files.input.source} ${files.output.half_left} ${files.output.half_right}
  - name: work_{s}
    command: work ${files.input.half_{s}}
    parameters: {s: [left, right]}
  - name: join
    command: cat > ${files.output.whole}
    depends_on_regexes: ["^work_"]
)");
  EXPECT_EQ(jobs.names, (Names{"split", "work_left", "work_right", "join"}));
  EXPECT_EQ(jobs.rendered[0].command, "split in.txt tmp/left.txt tmp/right.txt");
  EXPECT_EQ(jobs.rendered[2].command, "work tmp/right.txt");
  EXPECT_EQ(jobs.upstream("work_left"), Names{"split"});
  EXPECT_EQ(jobs.upstream("join"), (Names{"work_left", "work_right"}));
}

TEST(ExpandExamples, learning_rates_as_names) {
  const Jobs jobs = jobs_of_example(R"(
name: rates
jobs:
  - name: train_lr{lr:.4f}_bs{bs}
    command: train --lr {lr} --bs {bs}
    parameters: {lr: "[0.0001, 0.001]", bs: "[16, 32]"}
  - name: step_{x}
    command: "true"
    parameters: {x: "0.0:0.3:0.1"}
)");
  EXPECT_EQ(jobs.names,
            (Names{"train_lr0.0001_bs16", "train_lr0.0001_bs32", "train_lr0.0010_bs16",
                   "train_lr0.0010_bs32", "step_0.0", "step_0.1", "step_0.2", "step_0.3"}));
  EXPECT_EQ(jobs.rendered[2].command, "train --lr 0.001 --bs 16");
}

TEST(ExpandExamples, a_mistake_points_at_its_element_of_the_list) {
  const std::string text = R"(name: wrong
jobs:
  - {name: prep, command: "true"}
  - name: work
    command: "true"
    depends_on:
      - prep
      - perp
)";
  const auto no_files = [](const std::string&) -> Result<std::string> {
    return Error{ErrorKind::not_found, "no such file", ""};
  };
  const Parsed parsed = parse(text, "wf.yaml", no_files);
  ASSERT_TRUE(parsed.workflow) << to_text(parsed.diagnostics);
  const Expanded expanded = expand(*parsed.workflow, text, "wf.yaml");
  ASSERT_EQ(expanded.diagnostics.size(), 1U);
  EXPECT_EQ(expanded.diagnostics[0].place.line, 8U);
  EXPECT_EQ(expanded.diagnostics[0].source_line, "      - perp");
}

}  // namespace
}  // namespace torc::spec
