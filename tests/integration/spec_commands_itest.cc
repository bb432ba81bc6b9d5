// plan, graph, new and schema: what people look at before they run anything.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/integration/harness.h"

#define EXPECT_SAYS(ended, text) \
  EXPECT_TRUE((ended).says(text)) << "missing: " << (text) << '\n' << (ended)

namespace torc::itest {
namespace {

using nlohmann::json;

constexpr std::string_view kStages = R"(name: stages
resource_requirements:
  - {name: small, num_cpus: 4, memory: 16g, runtime: PT30M}
  - {name: gang, num_cpus: 128, memory: 128g, num_nodes: 4, runtime: PT4H}
slurm_schedulers:
  - {name: first, account: lab, nodes: 2, walltime: "01:00:00"}
  - {name: second, account: lab, nodes: 4, walltime: "06:00:00"}
jobs:
  - {name: "prep_{i}", command: prepare, resource_requirements: small, scheduler: first, parameters: {i: "1:8"}}
  - {name: "train_{k}", command: mpirun train, resource_requirements: gang, scheduler: second, depends_on: ["prep_{i}"], parameters: {k: [a, b]}}
  - {name: mail, command: mail, label: login, depends: {afterany: ["train_{k}"]}}
actions:
  - {trigger_type: on_workflow_start, action_type: schedule_nodes, scheduler: first}
)";

TEST(Plan, shows_stages_the_longest_chain_and_what_nodes_need) {
  const Workplace here;
  here.write("wf.yaml", kStages);
  const Ended ended = here.run({"plan", "wf.yaml"});
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_EQ(ended.out, R"(workflow 'stages': 11 jobs in 3 stages

stage  jobs  entry      each needs                       scheduler  label
    1     8  prep_{i}   4 CPUs, 16 GiB, 30 min           first      -
    2     2  train_{k}  128 CPUs, 128 GiB, 4 nodes, 4 h  second     -
    3     1  mail       1 CPU, 1 MiB                     -          login

widest point: stage 1 with 8 jobs: 32 CPUs if all ran at once
critical path: 4 h 30 min: prep_1 (30 min) -> train_a (4 h) -> mail (?)
work: 4,112 core-hours, 32 node-hours of whole nodes, not counting 1 job without a runtime

any worker: 1 job, 0 core-hours, for no job declares a runtime
  a node must have 1 CPU, 1 MiB
  some jobs want workers with the label login
scheduler first: 8 jobs, 16 core-hours
  a node must have 4 CPUs, 16 GiB; walltime 32 min or more
  it asks for 2 nodes, walltime 01:00:00
scheduler second: 2 jobs, 4,096 core-hours, 32 node-hours of whole nodes
  a node must have 128 CPUs, 128 GiB; 4 nodes at a time; walltime 4 h 2 min or more
  it asks for 4 nodes, walltime 06:00:00
)") << ended;
}

// A file that others may exchange is never a pipe; one that the user names may be.
TEST(Plan, and_what_adds_jobs_read_what_another_program_writes) {
  const Workplace here;
  here.write("wf.yaml", "name: wf\njobs: [{name: a, command: echo}]\n");
  const std::string torc = here.torc({}).argv[0];
  const auto shell = [&](const std::string& line) {
    return run({{"/bin/bash", "-c", line}, {}, here.path(), {}, {}});
  };
  EXPECT_SAYS(shell(torc + " plan <(cat wf.yaml)"), "workflow 'wf'");
  EXPECT_SAYS(shell("cat wf.yaml | " + torc + " check /dev/stdin"), "1 job");
  ASSERT_EQ(here.run({"init", "wf.yaml"}).exit_code, 0);
  const Ended added = shell(torc + " add wf.torc <(echo 'jobs: [{name: b, command: echo}]')");
  EXPECT_EQ(added.exit_code, 0) << added;
  EXPECT_SAYS(here.run({"jobs", "wf.torc"}), "b");
  const Ended device = here.run({"check", "/dev/zero"});
  EXPECT_EQ(device.exit_code, 2) << device;
  EXPECT_SAYS(device, "device");
}

TEST(Plan, warns_of_the_mistakes_that_are_made_most) {
  const Workplace here;
  here.write("wf.yaml", kStages);
  const Ended ended = here.run({"plan", "wf.yaml"});
  EXPECT_SAYS(ended,
              "wf.yaml:4:12: warning: 'gang' asks for 128 CPUs and 128 GiB on each of 4 nodes: "
              "512 CPUs and 512 GiB in all");
  EXPECT_SAYS(ended, "if 128 CPUs are the total, write 32");
  // Of several nodes: there it is what starts the others.
  EXPECT_EQ(ended.err.find("in mode slurm srun"), std::string::npos) << ended;
  EXPECT_SAYS(ended, "warning: each of the 2 jobs of 'train_{k}' takes 4 whole nodes for itself");
  EXPECT_SAYS(ended, "warning: nothing asks for allocations of scheduler 'second'");
  EXPECT_SAYS(ended, "warning: no batch script starts workers with the label 'login'");
  here.write("nested.yaml", R"(name: nested
slurm_schedulers: [{name: s}]
jobs: [{name: a, command: mpirun b, scheduler: s}]
)");
  EXPECT_SAYS(here.run({"plan", "nested.yaml"}),
              "nested.yaml:3:27: warning: in mode slurm srun starts every job, and this mpirun "
              "would start tasks within it");
  here.write("long.yaml", R"(name: long
resource_requirements: [{name: r, runtime: PT10H}]
slurm_schedulers: [{name: s, walltime: "01:00:00"}]
jobs: [{name: a, command: b, resource_requirements: r}]
)");
  EXPECT_SAYS(here.run({"plan", "long.yaml"}),
              "long.yaml:4:53: warning: 'a' may run 10 h, and no scheduler has a walltime of more "
              "than 1 h");
}

TEST(Check, warns_of_cpus_that_an_allocation_will_not_have) {
  const Workplace here;
  const auto check = [&](const std::string& scheduler, const std::string& more = "") {
    here.write("wf.yaml",
               "name: wf\nresource_requirements: [{name: r, num_cpus: 4}]\n"
               "slurm_schedulers: [{name: s" +
                   scheduler + "}]\n" + more +
                   "jobs:\n  - {name: a, command: b, resource_requirements: r, scheduler: s}\n");
    return here.run({"check", "--no-slurm", "wf.yaml"});
  };
  const Ended bare = check("");
  EXPECT_EQ(bare.exit_code, 0) << bare;
  EXPECT_SAYS(bare,
              "wf.yaml:5:64: warning: job 'a' needs 4 CPUs, and a node of scheduler 's' has 1 CPU");
  EXPECT_SAYS(
      bare,
      "= Slurm gives one CPU a task unless it is asked for more, or the site's defaults say "
      "otherwise: add --exclusive or --cpus-per-task=4 to `extra` of the scheduler");
  const Ended few = check(", extra: -c 2");
  EXPECT_SAYS(few, "has 2 CPUs\n");
  EXPECT_SAYS(few, "= add --exclusive or --cpus-per-task=4");
  for (const char* enough : {", extra: -c 4", ", extra: --exclusive", ", ntasks_per_node: 4"}) {
    const Ended ended = check(enough);
    EXPECT_EQ((ended.out + ended.err).find("warning"), std::string::npos) << ended;
  }
  const Ended defaults = check("", "slurm_defaults: {exclusive: true}\n");
  EXPECT_EQ((defaults.out + defaults.err).find("warning"), std::string::npos) << defaults;
  here.write("any.yaml",
             "name: wf\nresource_requirements: [{name: r, num_cpus: 4}]\n"
             "slurm_schedulers: [{name: s}, {name: t, extra: -c 3}]\n"
             "jobs: [{name: a, command: b, resource_requirements: r}]\n");
  EXPECT_SAYS(here.run({"check", "--no-slurm", "any.yaml"}),
              "job 'a' needs 4 CPUs, and no scheduler's node has as many: the largest has 3 CPUs");
}

TEST(Plan, tells_scripts_the_same_figures) {
  const Workplace here;
  here.write("wf.yaml", kStages);
  const json plan = json::parse(here.run({"plan", "wf.yaml", "--json"}).out, nullptr, false);
  ASSERT_TRUE(plan.is_object());
  EXPECT_EQ(plan["jobs"], 11);
  ASSERT_EQ(plan["stages"].size(), 3U);
  EXPECT_EQ(plan["stages"][0]["cpus"], 32);
  EXPECT_EQ(plan["stages"][1]["entries"][0]["entry"], "train_{k}");
  EXPECT_EQ(plan["critical_path"], json({"prep_1", "train_a", "mail"}));
  EXPECT_EQ(plan["critical_path_seconds"], 16'200);
  EXPECT_EQ(plan["total"]["core_hours"], 4112);
  EXPECT_EQ(plan["schedulers"][1]["walltime_seconds"], 1'920);
  EXPECT_GE(plan["diagnostics"].size(), 5U);
}

TEST(Plan, of_a_spec_with_mistakes_shows_the_mistakes) {
  const Workplace here;
  here.write("wf.yaml", "name: w\njobs: [{name: a}]\n");
  EXPECT_EQ(here.run({"plan", "wf.yaml"}).exit_code, 2);
  EXPECT_EQ(here.run({"graph", "wf.yaml"}).exit_code, 2);
}

TEST(Graph, draws_one_node_for_each_entry) {
  const Workplace here;
  here.write("wf.yaml", kStages);
  EXPECT_EQ(here.run({"graph", "wf.yaml"}).out, R"(digraph "stages" {
  rankdir=LR;
  node [shape=box, style=rounded, fontname="sans-serif"];
  n1 [label="prep_{i}\n8 jobs\n4 CPUs, 16 GiB, 30 min"];
  n2 [label="train_{k}\n2 jobs\n128 CPUs, 128 GiB, 4 nodes, 4 h"];
  n3 [label="mail\n1 CPU, 1 MiB"];
  n1 -> n2;
  n2 -> n3 [style=dashed, label="afterany"];
}
)");
  EXPECT_EQ(here.run({"graph", "wf.yaml", "--format", "mermaid"}).out, R"(flowchart LR
  n1["prep_{i}<br/>8 jobs<br/>4 CPUs, 16 GiB, 30 min"]
  n2["train_{k}<br/>2 jobs<br/>128 CPUs, 128 GiB, 4 nodes, 4 h"]
  n3["mail<br/>1 CPU, 1 MiB"]
  n1 --> n2
  n2 -. afterany .-> n3
)");
  const json graph = json::parse(here.run({"graph", "wf.yaml", "--json"}).out, nullptr, false);
  ASSERT_TRUE(graph.is_object());
  EXPECT_EQ(graph["vertices"].size(), 3U);
  EXPECT_EQ(graph["edges"][1], json({{"from", 2}, {"to", 3}, {"condition", "afterany"}}));
  const std::string svg = here.run({"graph", "wf.yaml", "--format", "svg"}).out;
  EXPECT_TRUE(svg.starts_with("<svg ")) << svg;
  EXPECT_TRUE(svg.ends_with("</svg>\n")) << svg;
  EXPECT_NE(svg.find(">train_{k}</text>"), std::string::npos) << svg;
  EXPECT_NE(svg.find("stroke-dasharray"), std::string::npos) << svg;
}

TEST(Graph, of_named_jobs_has_what_they_need_and_nothing_else) {
  const Workplace here;
  here.write("wf.yaml", R"(name: wf
jobs:
  - {name: "a_{i}", command: echo, parameters: {i: "1:3"}}
  - {name: other, command: echo}
  - {name: b, command: echo, depends_on: [a_2]}
  - {name: c, command: echo, depends_on: [b, other]}
)");
  const auto entries = [&](std::vector<std::string> names) {
    names.insert(names.begin(), {"graph"});
    names.emplace_back("--json");
    std::vector<std::string> found;
    const json graph = json::parse(here.run(names).out, nullptr, false);
    for (const json& vertex : graph["vertices"]) found.push_back(vertex["entry"]);
    found.push_back(std::to_string(graph["edges"].size()));
    return found;
  };
  using Words = std::vector<std::string>;
  EXPECT_EQ(entries({"wf.yaml", "b"}), (Words{"a_{i}", "b", "1"}));
  EXPECT_EQ(entries({"wf.yaml", "stage:a", "other"}), (Words{"a_{i}", "other", "0"}));
  EXPECT_EQ(entries({"wf.yaml", "c"}), (Words{"a_{i}", "other", "b", "c", "3"}));
  EXPECT_EQ(here.run({"graph", "wf.yaml", "nobody"}).exit_code, 2);
  ASSERT_EQ(here.run({"init", "wf.yaml"}).exit_code, 0);
  EXPECT_EQ(entries({"wf.torc", "b"}), (Words{"a_{i}", "b", "1"}));
}

TEST(Graph, of_thousands_of_entries_stays_readable) {
  const Workplace here;
  std::string text = "name: many\njobs:\n";
  for (int i = 0; i < 3000; ++i) {
    const std::string n = std::to_string(i);
    text += "  - {name: prep_" + n + ", command: a}\n  - {name: work_" + n +
            ", command: b, depends_on: [prep_" + n + "]}\n";
  }
  here.write("wf.yaml", text);
  const json graph = json::parse(here.run({"graph", "wf.yaml", "--json"}).out, nullptr, false);
  ASSERT_EQ(graph["vertices"].size(), 2U) << graph;
  EXPECT_EQ(graph["vertices"][1]["entry"], "work_#");
  EXPECT_EQ(graph["vertices"][1]["jobs"], 3000);
  EXPECT_EQ(graph["edges"].size(), 1U);
}

TEST(Graph, of_a_store_shows_what_has_become_of_its_jobs) {
  const Workplace here;
  here.write("values.txt", "0\n1\n");
  here.write("wf.yaml",
             "name: wf\njobs:\n  - {name: \"a_{v}\", command: \"exit {v}\", parameters: {v: "
             "\"@values.txt\"}}\n"
             "  - {name: b, command: \"true\", depends_on: [\"a_{v}\"]}\n"
             "  - {name: c, command: \"true\"}\n");
  ASSERT_EQ(here.run({"init", "wf.yaml"}).exit_code, 0);
  EXPECT_EQ(here.run({"run", "wf.torc", "-q"}).exit_code, 1);
  const json graph = here.json({"graph", "wf.torc"});
  ASSERT_EQ(graph["vertices"].size(), 3U) << graph;
  EXPECT_EQ(graph["vertices"][0]["jobs_by_state"]["completed"], 1);
  EXPECT_EQ(graph["vertices"][0]["jobs_by_state"]["failed"], 1);
  EXPECT_EQ(graph["vertices"][1]["jobs_by_state"]["blocked"], 1);
  EXPECT_EQ(graph["edges"], here.json({"graph", "wf.yaml"})["edges"]);
  EXPECT_TRUE(here.json({"graph", "wf.yaml"})["vertices"][0]["jobs_by_state"].is_null());
  const Ended dot = here.run({"graph", "wf.torc"});
  EXPECT_SAYS(dot, "1 completed, 1 failed\", style=\"rounded,filled\", fillcolor=\"#ffb3ad\"];");
  EXPECT_SAYS(dot, "subgraph cluster_legend");
  EXPECT_SAYS(here.run({"graph", "wf.torc", "--format", "svg"}), "1 completed, 1 failed");
  EXPECT_SAYS(here.run({"graph", "wf.torc", "--format", "mermaid"}), "style n3 fill:#b4e5bc");
}

// Not from what its file would say today: a list may be another one, or be gone.
TEST(Graph, of_a_store_is_drawn_from_what_the_store_has) {
  const Workplace here;
  here.write("samples.txt", "x\ny\n");
  here.write("wf.yaml", R"(name: wf
jobs:
  - {name: "call_{s}", command: "true", parameters: {s: "@samples.txt"}}
  - {name: merge, command: "true", depends_on: ["call_{s}"]}
  - {name: other, command: "true"}
)");
  ASSERT_EQ(here.run({"init", "wf.yaml"}).exit_code, 0);
  ASSERT_EQ(here.run({"run", "wf.torc", "-q"}).exit_code, 0);
  const json before = here.json({"graph", "wf.torc"});
  ASSERT_EQ(before["vertices"].size(), 3U) << before;
  EXPECT_EQ(before["vertices"][0]["entry"], "call_{s}");
  EXPECT_EQ(before["vertices"][0]["jobs_by_state"]["completed"], 2);
  EXPECT_EQ(before["vertices"][1]["stage"], 2);
  here.write("samples.txt", "y\nz\nw\n");
  EXPECT_EQ(here.json({"graph", "wf.torc"}), before);
  std::filesystem::remove(here.path() / "samples.txt");
  EXPECT_EQ(here.json({"graph", "wf.torc"}), before);
  here.write("more.yaml", "jobs: [{name: late, command: echo, depends_on: [other]}]\n");
  ASSERT_EQ(here.run({"add", "more.yaml"}).exit_code, 0);
  ASSERT_EQ(here.run({"rm", "--with-dependents", "call_x"}).exit_code, 0);
  const json after = here.json({"graph", "wf.torc"});
  ASSERT_EQ(after["vertices"].size(), 3U) << after;
  EXPECT_EQ(after["vertices"][0]["jobs"], 1);
  EXPECT_EQ(after["vertices"][0]["jobs_by_state"]["completed"], 1);
  EXPECT_EQ(after["vertices"][1]["entry"], "other");
  EXPECT_EQ(after["vertices"][2]["entry"], "late");
  EXPECT_EQ(after["vertices"][2]["jobs_by_state"]["ready"], 1);
  ASSERT_EQ(after["edges"].size(), 1U) << after;
  EXPECT_EQ(after["edges"][0]["from"], 2);
  EXPECT_EQ(here.json({"graph", "wf.torc", "late"})["vertices"].size(), 2U);
}

TEST(Check, reads_standard_input_and_pipes) {
  const Workplace here;
  here.write("wf.yaml", "name: w\njobs: [{name: a, command: b}]\n");
  const std::string torc = std::string(TORC_PROGRAM);
  const auto shell = [&](const std::string& command) {
    return run({{"/bin/bash", "-c", command}, {}, here.path(), {}, {}});
  };
  const Ended piped = shell("cat wf.yaml | " + torc + " check -");
  EXPECT_EQ(piped.exit_code, 0) << piped;
  EXPECT_SAYS(piped, "<stdin>: good: workflow 'w', 1 job");
  EXPECT_EQ(shell(torc + " check <(cat wf.yaml)").exit_code, 0);
  EXPECT_EQ(shell("cat wf.yaml | " + torc + " check /dev/stdin").exit_code, 0);
  EXPECT_SAYS(shell(torc + " plan - < wf.yaml"), "1 job in 1 stage");
  EXPECT_SAYS(shell(torc + " graph - --format mermaid < wf.yaml"), "flowchart");
  const Ended wrong = shell("echo 'nam: w' | " + torc + " check -");
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_SAYS(wrong, "<stdin>:1:1: error: unknown key 'nam'");
}

TEST(Check, says_how_many_mistakes_there_are_beyond_those_that_it_shows) {
  const Workplace here;
  std::string text = "name: w\njobs:\n";
  for (int i = 0; i < 600; ++i)
    text += "  - {name: a" + std::to_string(i) + ", command: b, label: [x]}\n";
  here.write("wf.yaml", text);
  EXPECT_SAYS(here.run({"check", "wf.yaml"}), "the first 200 of 600 mistakes in wf.yaml");
}

TEST(Graph, tells_mistakes_as_json_when_it_is_asked_for_json) {
  const Workplace here;
  here.write("wf.yaml", "name: w\njobs: [{name: a, comand: b}]\n");
  const Ended ended = here.run({"graph", "wf.yaml", "--json"});
  EXPECT_EQ(ended.exit_code, 2);
  const json out = json::parse(ended.out);
  EXPECT_EQ(out["valid"], false);
  EXPECT_EQ(out["diagnostics"][1]["message"], "unknown key 'comand' in a job") << out;
}

TEST(Plan, warns_of_what_only_just_does_not_fit) {
  const Workplace here;
  here.write("wf.yaml",
             "name: w\nresource_requirements: [{name: r, runtime: PT1H}]\n"
             "slurm_schedulers: [{name: s, account: x, walltime: \"01:00:00\"}]\n"
             "jobs: [{name: a, command: b, resource_requirements: r}]\n");
  const Ended ended = here.run({"plan", "wf.yaml"});
  EXPECT_SAYS(ended, "'a' may run 1 h, and no scheduler has a walltime of more than 1 h");
  EXPECT_SAYS(ended, "Raise a walltime to 1 h 2 min, or lower the runtime");
}

TEST(Plan, leaves_out_two_lines_or_none) {
  const Workplace here;
  const auto plan = [&](int entries) {
    std::string text = "name: w\njobs:\n";
    for (int i = 0; i < entries; ++i)
      text += "  - {name: a" + std::to_string(i) + ", command: b}\n";
    here.write("wf.yaml", text);
    return here.run({"plan", "wf.yaml"});
  };
  const Ended nine = plan(9);
  EXPECT_SAYS(nine, "a8");
  EXPECT_FALSE(nine.says("more entries")) << nine;
  EXPECT_SAYS(plan(17), "(5 more entries; --json has all)");
}

constexpr const char* kKinds[] = {"sweep", "pipeline", "mpi", "diamond", "array", "checkpointing"};

std::vector<std::string> kinds_and_script() {
  std::vector<std::string> all(std::begin(kKinds), std::end(kKinds));
  all.emplace_back("script");
  return all;
}

TEST(New, starters_are_sound_and_those_that_can_be_run_here_run) {
  const Workplace here;
  const Ended list = here.run({"new"});
  for (const std::string& kind : kinds_and_script()) {
    SCOPED_TRACE(kind);
    EXPECT_SAYS(list, kind);
    const std::string file = kind + (kind == "script" ? ".sh" : ".yaml");
    const Ended made = here.run({"new", kind, file});
    EXPECT_EQ(made.exit_code, 0) << made;
    EXPECT_SAYS(made, "torc check " + file);
    EXPECT_EQ(read_text(here.path() / file).find('@'), std::string::npos);
    const Ended check = here.run({"check", "--no-slurm", file});
    EXPECT_EQ(check.exit_code, 0) << check;
    EXPECT_EQ(check.err, "");
    if (kind == "mpi") {
      EXPECT_EQ(here.run({"init", file}).exit_code, 0);
    } else {
      const Ended ended = here.run({"run", file, "-q"});
      EXPECT_EQ(ended.exit_code, 0) << ended;
    }
  }
  EXPECT_EQ(read_text(here.path() / "out/7.txt"), "result of 7, CPUs: 1\n");
}

TEST(New, the_checkpointing_starter_goes_on_from_its_checkpoint_until_it_is_done) {
  const Workplace here;
  ASSERT_EQ(here.run({"new", "checkpointing", "wf.yaml"}).exit_code, 0);
  const Ended ended = here.run({"run", "wf.yaml", "-q"});
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_EQ(read_text(here.path() / "result.txt"), "6 steps\n");
  const std::string legs = read_text(here.path() / "legs.txt");
  EXPECT_TRUE(legs.starts_with("from step 0\n")) << legs;
  EXPECT_GE(std::count(legs.begin(), legs.end(), '\n'), 2) << legs;
  EXPECT_EQ(legs.find("from step 0", 1), std::string::npos)
      << "a leg lost what was saved: " << legs;
}

TEST(New, overwrites_nothing) {
  const Workplace here;
  here.write("mine.yaml", "mine");
  const Ended ended = here.run({"new", "sweep", "mine.yaml"});
  EXPECT_EQ(ended.exit_code, 2) << ended;
  EXPECT_SAYS(ended, "exists already");
  EXPECT_EQ(here.run({"new", "sweeep"}).exit_code, 2);
}

// With the jsonschema of Debian, as an editor would.
class Schema : public testing::Test {
 protected:
  Ended validate(const std::vector<std::string>& files) {
    here_.write("schema.json", here_.run({"schema"}).out);
    std::string command = "exec python3 " + std::string(TORC_SOURCE_DIR) +
                          "/tests/integration/validate_schema.py schema.json";
    for (const std::string& file : files) command += " '" + file + "'";
    return run({{"/bin/sh", "-c", command}, {}, here_.path(), {}, {}});
  }
  const Workplace here_;
};

TEST_F(Schema, takes_all_examples_and_starters) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(
           std::filesystem::path(TORC_SOURCE_DIR) / "examples")) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path().string());
  }
  EXPECT_GE(files.size(), 4U);
  for (const std::string kind : kKinds) {  // a script is for no editor of YAML
    ASSERT_EQ(here_.run({"new", kind, kind + ".yaml"}).exit_code, 0);
    files.push_back(kind + ".yaml");
  }
  here_.write("stages.yaml", kStages);
  files.emplace_back("stages.yaml");
  const Ended ended = validate(files);
  if (ended.exit_code == 77) GTEST_SKIP() << ended.out;
  EXPECT_EQ(ended.exit_code, 0) << ended;
}

TEST_F(Schema, refuses_slips) {
  here_.write("slip.yaml", "name: w\njobs: [{name: a, comand: b}]\n");
  const Ended ended = validate({"slip.yaml"});
  if (ended.exit_code == 77) GTEST_SKIP() << ended.out;
  EXPECT_EQ(ended.exit_code, 1) << ended;
  EXPECT_SAYS(ended, "comand");
  EXPECT_SAYS(ended, "'command' is a required property");
}

constexpr std::string_view kEager = R"YAML(name: eager
failure_handlers:
  - name: again
    rules: [{exit_codes: [3], recovery_script: "touch done_by_a_script", max_retries: 1}]
variables: {out: "$(touch done_by_a_variable)"
}
files: [{name: "f_{i}", path: "made_{i}", parameters: {i: "1:2"}}]
jobs:
  - name: "a_{i}"
    command: "touch done_by_a_job; `touch done_by_a_shell` {out}"
    invocation_script: "touch done_before"
    failure_handler: again
    output_files: ["f_{i}"]
    parameters: {i: "@values"}
  - {name: b, command: "cat ${files.input.f_1}"}
actions:
  - {trigger_type: on_workflow_start, action_type: run_commands, commands: ["touch done_by_an_action"]}
)YAML";

// Whatever a workflow says, to look at it is safe.
TEST(Looking, executes_nothing_and_changes_nothing) {
  const Workplace here;
  here.write("values", "1\n2\n");
  here.write("wf.yaml", kEager);
  here.write("wrong.yaml", "name: w\njobs: [{name: a, comand: touch done}]\n");
  const auto look = [&](const std::vector<std::string>& words) {
    Launch launch = here.torc(words);
    launch.only_looks = true;
    return run(launch);
  };
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"check", "wf.yaml"},
           {"check", "wf.yaml", "--json"},
           {"plan", "wf.yaml"},
           {"plan", "wf.yaml", "--json"},
           {"graph", "wf.yaml"},
           {"graph", "wf.yaml", "--format", "dot"},
           {"graph", "wf.yaml", "--format", "svg"},
           {"exec", "--dry-run", "-c", "touch {}", ":::", "a", "b"},
           {"schema"},
           {"--version"}}) {
    const Ended ended = look(words);
    EXPECT_EQ(ended.exit_code, 0) << words.front() << ": " << ended;
  }
  EXPECT_EQ(look({"check", "wrong.yaml"}).exit_code, 2);
  // That it would be seen.
  EXPECT_EQ(look({"new", "sweep", "other.yaml"}).signal, SIGSYS);
  EXPECT_EQ(look({"run", "wf.yaml"}).signal, SIGSYS);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(here.path()), {}), 3);
}

}  // namespace
}  // namespace torc::itest
