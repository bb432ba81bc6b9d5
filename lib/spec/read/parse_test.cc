#include "lib/spec/testing/test_parse.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "lib/spec/language/format.h"
#include "lib/spec/text/source.h"

namespace torc::spec {
namespace {

Result<std::string> no_files(const std::string& path) {
  return Error{ErrorKind::not_found, "there is no '" + path + "'", ""};
}

// The workflow of a text without mistakes; what is shown of one with mistakes fails the test.
Workflow accepted(std::string_view text, const ReadFile& read = no_files) {
  Parsed parsed = parse(text, "wf.yaml", read);
  EXPECT_TRUE(parsed.workflow.has_value()) << to_text(parsed.diagnostics);
  EXPECT_EQ(to_text(parsed.diagnostics), "");
  if (parsed.workflow) return *std::move(parsed.workflow);
  Workflow none;  // with a job, so that a test that fails goes on to its end
  none.jobs.emplace_back();
  return none;
}

// A workflow of one job with further lines of the job.
Workflow with_job(const std::string& lines, const ReadFile& read = no_files) {
  Workflow w = accepted("name: w\njobs:\n  - name: a\n    command: b\n" + lines, read);
  if (w.jobs.empty()) w.jobs.emplace_back();
  return w;
}

template <class T>
T values(const Workflow& w, std::size_t parameter = 0) {
  EXPECT_LT(parameter, w.jobs[0].parameters.size());
  if (parameter >= w.jobs[0].parameters.size()) return {};
  const auto* typed = std::get_if<T>(&w.jobs[0].parameters[parameter].values);
  EXPECT_NE(typed, nullptr);
  return typed == nullptr ? T{} : *typed;
}

TEST(Parse, reads_every_part_of_a_workflow) {
  const Workflow w = accepted(R"(
name: all
user: me
description: |
  two
  lines
project: p
metadata: {run: 7, tags: [a, "1"], ok: true, none: null}
env: {LEVEL: 1, FLAG: yes}
files:
  - {name: raw, path: data/raw.csv}
resource_requirements:
  - {name: big, num_cpus: 8, num_gpus: 2, memory: 32g, runtime: PT1H}
slurm_schedulers:
  - name: gpu
    account: project1
    partition: gpu,long
    nodes: 2
    walltime: 08:00:00
    mem: 64G
    gres: gpu:a100:4
    qos: high
    ntasks_per_node: 1
    tmp: 100G
    extra: --exclusive
    serialize_allocations: true
slurm_defaults: {cpus-per-task: 4, exclusive: , mail-type: "END,FAIL"}
execution_config:
  mode: direct
  limit_resources: false
  termination_signal: SIGINT
  sigterm_lead_seconds: 10
  sigkill_headroom_seconds: 20
  timeout_exit_code: 3
  stdio: {mode: combined, delete_on_success: true}
jobs_sort_method: gpus_memory_runtime
jobs:
  - name: train
    command: python train.py
    priority: -3
    invocation_script: nice
    env: {SEED: 5}
    resource_requirements: big
    slurm_scheduler: gpu
    label: fast
    depends_on: [prepare]
    depends_on_regexes: ['^clean_\d+$']
    input_files: [raw]
    output_files: []
    input_file_regexes: [r.*]
    stdio: {mode: none}
user_data:
  - {name: start, data: {run: 7, tags: [a, "1"], ok: true, none: null}}
)");
  EXPECT_EQ(w.name, "all");
  ASSERT_EQ(w.user_data.size(), 1U);
  EXPECT_EQ(w.user_data[0].data, R"({"run":7,"tags":["a","1"],"ok":true,"none":null})");
  EXPECT_EQ(w.env, (Environment{{"LEVEL", "1"}, {"FLAG", "yes"}}));
  EXPECT_EQ(w.sort, SortMethod::gpus_memory_runtime);
  ASSERT_EQ(w.resource_requirements.size(), 1U);
  EXPECT_EQ(w.resource_requirements[0].gpus, 2U);
  EXPECT_EQ(w.resource_requirements[0].memory.value, 32ULL << 30U);
  EXPECT_EQ(w.resource_requirements[0].runtime, std::chrono::hours(1));
  ASSERT_EQ(w.slurm_schedulers.size(), 1U);
  EXPECT_EQ(w.slurm_schedulers[0].walltime, "08:00:00");
  EXPECT_EQ(w.slurm_schedulers[0].ntasks_per_node, 1U);
  EXPECT_TRUE(w.slurm_schedulers[0].serialize_allocations);
  EXPECT_EQ(w.slurm_defaults,
            (std::vector<std::pair<std::string, std::string>>{
                {"cpus-per-task", "4"}, {"exclusive", ""}, {"mail-type", "END,FAIL"}}));
  EXPECT_EQ(w.execution.mode, ExecutionMode::direct);
  EXPECT_FALSE(w.execution.limit_resources);
  EXPECT_EQ(w.execution.termination_signal, 2);
  EXPECT_EQ(w.execution.sigkill_headroom, std::chrono::seconds(20));
  EXPECT_EQ(w.execution.stdio.mode, StdioMode::combined);
  ASSERT_EQ(w.jobs.size(), 1U);
  const JobEntry& job = w.jobs[0];
  EXPECT_EQ(job.priority, -3);
  EXPECT_EQ(job.scheduler, "gpu");
  EXPECT_EQ(job.depends_on_regexes, std::vector<std::string>{R"(^clean_\d+$)"});
  ASSERT_TRUE(job.stdio.has_value());
  EXPECT_EQ(job.stdio->mode, StdioMode::none);
  EXPECT_EQ(job.place.line, 38U);
  EXPECT_EQ(job.places.at("depends_on[0]").line, 46U);
  EXPECT_EQ(job.places.at("depends_on[0]").column, 18U);
}

TEST(Parse, json_is_accepted) {
  const Workflow w = accepted(R"({"name": "w", "description": null,
	"jobs": [{"name": "a\u00e9", "command": "echo \"hi\"", "priority": 5}]})");
  ASSERT_EQ(w.jobs.size(), 1U);
  EXPECT_EQ(w.jobs[0].name, "aé");
  EXPECT_EQ(w.jobs[0].command, "echo \"hi\"");
  EXPECT_EQ(w.jobs[0].priority, 5);
}

TEST(Parse, a_text_stays_as_it_was_written) {
  const Workflow w = accepted(
      "name: 010\njobs:\n  - name: 1e3\n    command: yes\n    env: {A: 1.10, B: 'null', D: , "
      "E: 0x1F, F: No}\n");
  EXPECT_EQ(w.name, "010");
  EXPECT_EQ(w.jobs[0].name, "1e3");
  EXPECT_EQ(w.jobs[0].command, "yes");
  EXPECT_EQ(w.jobs[0].env,
            (Environment{{"A", "1.10"}, {"B", "null"}, {"D", ""}, {"E", "0x1F"}, {"F", "No"}}));
}

TEST(Parse, a_byte_order_mark_and_dos_line_ends_are_accepted) {
  const Workflow w = accepted(
      "\xEF\xBB\xBFname: w\r\njobs:\r\n  - name: a\r\n    command: |\r\n      b\r\n      c\r\n");
  EXPECT_EQ(w.name, "w");
  EXPECT_EQ(w.jobs[0].name, "a");
}

TEST(Parse, jobs_share_settings_through_merged_maps) {
  const Workflow w = accepted(
      "name: w\njobs:\n  - &base\n    name: a\n    command: run\n    priority: 5\n  - <<: *base\n  "
      "  name: b\n");
  ASSERT_EQ(w.jobs.size(), 2U);
  EXPECT_EQ(w.jobs[1].name, "b");
  EXPECT_EQ(w.jobs[1].command, "run");
  EXPECT_EQ(w.jobs[1].priority, 5);
}

TEST(Parse, variables_are_put_in_everywhere) {
  const Workflow w = accepted(R"(
name: run_{version}
variables:
  version: 010
  root: /data/{version}
  mem: 2g
env: {ROOT: "{root}"}
resource_requirements:
  - {name: "r{version}", memory: "{mem}"}
files:
  - {name: f, path: "{root}/f"}
jobs:
  - name: a_{version}
    command: echo {root} ${root} {{root}} {other}
    label: "{version}"
    resource_requirements: r010
    depends_on: ["b_{version}"]
)");
  EXPECT_EQ(w.name, "run_010");
  EXPECT_EQ(w.env, (Environment{{"ROOT", "/data/010"}}));
  EXPECT_EQ(w.resource_requirements[0].memory.value, 2ULL << 30U);
  EXPECT_EQ(w.files[0].path, "/data/010/f");
  EXPECT_EQ(w.jobs[0].name, "a_010");
  EXPECT_EQ(w.jobs[0].command, "echo /data/010 ${root} {{root}} {other}");
  EXPECT_EQ(w.jobs[0].labels, std::vector<std::string>{"010"});
  EXPECT_EQ(w.jobs[0].depends_on, std::vector<std::string>{"b_010"});
}

TEST(Parameters, ranges_keep_their_bounds) {
  const Workflow w =
      with_job("    parameters: {i: '1:100', j: 0:100:10, x: '0.0:1.0:0.1', y: '0:1:0.25'}\n");
  const auto i = values<IntegerRange>(w, 0);
  EXPECT_EQ(std::make_pair(i.first, i.last), std::make_pair(std::int64_t{1}, std::int64_t{100}));
  EXPECT_EQ(values<IntegerRange>(w, 1).step, 10);
  const auto x = values<FloatRange>(w, 2);
  EXPECT_EQ(x.count, 11U);
  EXPECT_EQ(std::get<double>(value_at(x, 10)), 1.0);
  EXPECT_EQ(std::get<double>(value_at(x, 3)), 0.3);
  EXPECT_EQ(values<FloatRange>(w, 3).count, 5U);
}

TEST(Parameters, lists_in_yaml_and_in_a_text_are_the_same) {
  using List = std::vector<ParameterValue>;
  const List expected = {std::int64_t{1}, 0.5, std::string("a b"), std::string("7"),
                         std::string("007")};
  EXPECT_EQ(values<List>(with_job("    parameters: {i: [1, 0.5, a b, '7', 007]}\n")), expected);
  EXPECT_EQ(values<List>(with_job("    parameters: {i: \"[1, 0.5, a b, '7', 007]\"}\n")), expected);
}

std::string printed(const ParameterValue& value, const std::string& format = "") {
  std::string out;
  append_value(out, std::vector<ParameterValue>{value}, 0, *parse_format(format));
  return out;
}

TEST(Parameters, a_number_is_printed_as_it_was_written_and_formatted_as_a_number) {
  const auto all = values<std::vector<ParameterValue>>(with_job(
      "    parameters: {i: [3.9, 3.10, 1E5, +5, -0, 0.1e-5, 123456789.123456789, 1e3]}\n"));
  std::string texts;
  std::string formatted;
  for (const ParameterValue& value : all) {
    texts += printed(value) + " ";
    formatted += printed(value, ".1f") + " ";
  }
  EXPECT_EQ(texts, "3.9 3.10 1E5 +5 -0 0.1e-5 123456789.123456789 1e3 ");
  EXPECT_EQ(formatted, "3.9 3.1 100000.0 5.0 0.0 0.0 123456789.1 1000.0 ");
  EXPECT_EQ(printed(all[3], "03d"), "005");
}

TEST(Parameters, of_a_number_the_spelling_is_kept_only_where_it_differs) {
  using List = std::vector<ParameterValue>;
  EXPECT_EQ(values<List>(with_job("    parameters: {i: \"[1, -7, 0.25, 2.50]\"}\n")),
            (List{std::int64_t{1}, std::int64_t{-7}, 0.25, Numeral{"2.50"}}));
  EXPECT_EQ(values<List>(with_job("    parameters: {i: 3.10}\n")), List{Numeral{"3.10"}});
}

TEST(Parameters, a_file_keeps_the_spelling_of_its_numbers) {
  const auto read = [](const std::string&) -> Result<std::string> {
    return std::string("1e3\n+5\n-0\n12\n");
  };
  using List = std::vector<ParameterValue>;
  EXPECT_EQ(values<List>(with_job("    parameters: {i: '@v'}\n", read)),
            (List{Numeral{"1e3"}, Numeral{"+5"}, Numeral{"-0"}, std::int64_t{12}}));
}

TEST(Parameters, one_value_is_a_list_of_one) {
  using List = std::vector<ParameterValue>;
  EXPECT_EQ(values<List>(with_job("    parameters: {i: adam}\n")), List{std::string("adam")});
}

TEST(Parameters, a_file_gives_one_value_a_line) {
  const auto read = [](const std::string& path) -> Result<std::string> {
    EXPECT_EQ(path, "lists/names.txt");
    return std::string("alpha\r\n\n12\n  beta gamma  \n");
  };
  using List = std::vector<ParameterValue>;
  EXPECT_EQ(values<List>(with_job("    parameters: {i: '@lists/names.txt'}\n", read)),
            (List{std::string("alpha"), std::int64_t{12}, std::string("  beta gamma")}));
}

TEST(Parameters, own_ones_come_first_and_win_against_those_of_the_workflow) {
  const Workflow w = with_job(
      "    use_parameters: [i, j]\n    parameters: {j: '1:2', k: '1:3'}\nparameters: {i: '1:7', j: "
      "'1:9'}\n");
  ASSERT_EQ(w.jobs[0].parameters.size(), 3U);
  EXPECT_EQ(w.jobs[0].parameters[0].name, "j");
  EXPECT_EQ(count(w.jobs[0].parameters[0].values), 2U);
  EXPECT_EQ(w.jobs[0].parameters[2].name, "i");
  EXPECT_EQ(count(w.jobs[0].parameters[2].values), 7U);
}

TEST(Parameters, zip_wants_equal_lengths) {
  const Workflow w =
      with_job("    parameter_mode: zip\n    parameters: {i: '1:3', j: [a, b, c]}\n");
  EXPECT_EQ(w.jobs[0].mode, ParameterMode::zip);
}

TEST(Parse, a_command_full_of_braces_is_left_alone) {
  const Workflow w = accepted(
      "name: w\njobs:\n  - name: a\n    command: awk '{print $1}' ${F} {{ x }} {} {a,b} {n} | jq "
      "'{k:1}'\n");
  EXPECT_EQ(w.jobs[0].command, "awk '{print $1}' ${F} {{ x }} {} {a,b} {n} | jq '{k:1}'");
}

TEST(Parse, resources_and_schedulers_may_be_chosen_by_a_parameter) {
  const Workflow w = with_job(
      "    parameters: {size: [small, large]}\n    resource_requirements: \"{size}\"\n    "
      "scheduler: on_{size}\n");
  EXPECT_EQ(w.jobs[0].resource_requirements, "{size}");
}

TEST(Parse, every_mistake_is_told_at_once_in_the_order_of_the_file) {
  const Parsed parsed =
      parse("nam: w\njobs:\n  - name: a\n    comand: b\n  - command: c\n    priority: x\n", "f",
            no_files);
  EXPECT_FALSE(parsed.workflow.has_value());
  std::string lines;
  for (const Diagnostic& d : parsed.diagnostics) lines += std::to_string(d.place.line) + " ";
  EXPECT_EQ(lines, "1 1 3 4 5 6 ");
}

TEST(Parse, a_mistake_behind_several_aliases_is_told_once) {
  const Parsed parsed = parse(
      "name: w\njobs:\n  - {name: a, command: b, env: &e {1A: x}}\n  - {name: c, command: b, env: "
      "*e}\n",
      "f", no_files);
  EXPECT_EQ(parsed.diagnostics.size(), 1U);
}

TEST(Parse, thousands_of_mistakes_are_cut_and_counted) {
  std::string text = "name: w\njobs:\n";
  for (int i = 0; i < 1000; ++i) text += "  - nme: a\n";
  const Parsed parsed = parse(text, "f", no_files);
  EXPECT_EQ(parsed.diagnostics.size(), Report::kMaxDiagnostics + 1);
  EXPECT_NE(parsed.diagnostics.back().message.find("more were left out"), std::string::npos);
}

TEST(Parse, a_name_that_nobody_defines_is_one_mistake_however_many_jobs_use_it) {
  std::string text = "name: w\njobs:\n";
  for (int i = 0; i < 50; ++i) {
    text +=
        "  - {name: a" + std::to_string(i) + ", command: b, resource_requirements: none_such}\n";
  }
  const Parsed parsed = parse(text, "f", no_files);
  ASSERT_EQ(parsed.diagnostics.size(), 1U);
  EXPECT_EQ(parsed.diagnostics[0].message,
            "no set of resource requirements is named 'none_such' (50 name it)");
}

TEST(Parse, fifty_thousand_lines_are_read) {
  std::string text = "name: big\njobs:\n";
  for (int i = 0; i < 12'500; ++i) {
    const std::string n = std::to_string(i);
    text += "  - name: job_" + n + "\n    command: run " + n +
            "\n    label: x\n    depends_on: [job_0]\n";
  }
  EXPECT_EQ(accepted(text).jobs.size(), 12'500U);
}

TEST(Parse, a_reader_of_files_that_throws_does_not_reach_the_caller) {
  const auto throws = [](const std::string&) -> Result<std::string> {
    throw std::runtime_error("gone");
  };
  const Parsed parsed = parse("name: w\nparameters: {i: '@x'}\njobs: []\n", "f", throws);
  EXPECT_FALSE(parsed.workflow.has_value());
}

}  // namespace
}  // namespace torc::spec
