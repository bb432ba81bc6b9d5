// One workflow in each form in which it can be written, and what is said of mistakes in JSON5 and
// KDL: the same checks with the same places, and remedies in the words of the form.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lib/spec/load/load.h"
#include "lib/spec/testing/test_expansion.h"

namespace torc::spec {
namespace {

Loaded load_form(std::string_view text, const std::string& file) {
  const auto nothing_there = [](const std::string& path) -> Result<std::string> {
    if (path == "t.csv") return std::string("a,b\n1,x\n2,y\n");
    return Error{ErrorKind::not_found, "there is no '" + path + "'", ""};
  };
  return load(text, file, nothing_there);
}

constexpr std::string_view kYaml = R"(name: w
metadata: {a: [1, {b: null}], c: "x"}
env: {A: 1}
parameters: {lr: [0.1, 0.5]}
files:
  - {name: "in_{i}", path: "in/{i}", parameters: {i: "1:3"}}
  - {name: sum, path: sum.txt}
user_data: [{name: d, data: {k: [1, "2"]}, is_ephemeral: true}]
resource_requirements: [{name: small, num_cpus: 2, memory: 1g}]
failure_handlers: [{name: h, rules: [{exit_codes: [1, 2], max_retries: 2}, {on: [oom]}]}]
jobs:
  - {name: "make_{i}", command: "echo {i}", output_files: ["in_{i}"], parameters: {i: "1:3"},
     resource_requirements: small, priority: 31, failure_handler: h}
  - {name: "use_{lr}", command: "cat {lr}", input_files: [in_1, in_2], use_parameters: [lr],
     env: {B: "x y"}}
  - {name: end, command: "true", depends_on_regexes: [^use_], depends_on: [make_3, make_2],
     output_user_data: [d]}
actions:
  - {trigger_type: on_workflow_start, action_type: run_commands, commands: [a, "b c"]}
)";

constexpr std::string_view kJson5 = R"(// The same.
{
  name: 'w',
  metadata: {a: [1, {b: null}], 'c': "x",},
  env: {A: +1},
  parameters: {lr: [.1, 0.5]},
  files: [
    {name: 'in_{i}', path: 'in/{i}', parameters: {i: '1:3'}},
    {name: "sum", path: "sum.txt"},
  ],
  user_data: [{name: 'd', data: {k: [1, "2"]}, is_ephemeral: true}],
  resource_requirements: [{name: 'small', num_cpus: 2, memory: '1g'}],
  failure_handlers: [{name: 'h', rules: [{exit_codes: [1, 2], max_retries: 2}, {on: ['oom']}]}],
  jobs: [
    {name: 'make_{i}', command: 'echo {i}', output_files: ['in_{i}'], parameters: {i: '1:3'},
     resource_requirements: 'small', priority: 0x1F, failure_handler: 'h'},
    {name: 'use_{lr}', command: 'cat {lr}', input_files: ['in_1', 'in_2'], use_parameters: ['lr'],
     env: {B: 'x\
 y'}},
    {name: 'end', command: 'true', depends_on_regexes: ['^use_'], depends_on: ['make_3', 'make_2'],
     output_user_data: ['d']},
  ],
  actions: [  /* one */
    {trigger_type: 'on_workflow_start', action_type: 'run_commands', commands: ['a', 'b c']},
  ],
}
)";

constexpr std::string_view kKdl = R"(// The same.
name "w"
metadata { a { - 1; - b=#null }; c "x" }
env { A 1 }
parameters { lr 0.1 0.5 }
file "in_{i}" path="in/{i}" { parameters { i "1:3" } }
file "sum" { path "sum.txt" }
user_data "d" {
  data "{\"k\": [1, \"2\"]}"
  is_ephemeral #true
}
resource_requirements "small" { num_cpus 2; memory "1g" }
failure_handler "h" {
  rule { exit_codes 1 2; max_retries 2 }
  rule { on oom }
}
job "make_{i}" priority=0x1F {
  command "echo {i}"
  output_file "in_{i}"
  parameters { i "1:3" }
  resource_requirements "small"
  failure_handler h
}
job "use_{lr}" {
  command "cat {lr}"
  input_file "in_1"
  input_file "in_2"
  use_parameters "lr"
  env B="x y"
}
job "end" {
  command "true"
  depends_on_regex "^use_"
  depends_on "make_3"; depends_on_job "make_2"
  output_user_data "d"
}
action {
  trigger_type "on_workflow_start"
  action_type "run_commands"
  command "a"
  command "b c"
}
)";

std::string all_of(const Loaded& loaded) {
  if (!loaded.expansion) return to_text(loaded.diagnostics);
  const Workflow& w = *loaded.workflow;
  std::string out;
  for (const auto& [name, value] : w.env) out += name + "=" + value + " ";
  for (const UserDataEntry& d : w.user_data)
    out += d.name + "=" + d.data + (d.is_ephemeral ? " ephemeral\n" : "\n");
  for (const FailureHandler& h : w.failure_handlers) {
    for (const FailureRule& rule : h.rules)
      out += h.name + " " + std::to_string(rule.exit_codes.size()) + " " +
             std::to_string(rule.on.size()) + " " + std::to_string(rule.max_retries) + "\n";
  }
  for (const Action& a : w.actions) {
    for (const std::string& command : a.commands) out += "run " + command + "\n";
  }
  const Jobs jobs = render_all(*loaded.expansion);
  for (const RenderedJob& job : jobs.rendered) {
    out += job.name + ": " + job.command + ";";
    for (const auto& [name, value] : job.env) out += " " + name + "=" + value;
    for (const std::string& up : jobs.upstream(job.name)) out += " <" + up;
    out += "\n";
  }
  for (const ExpandedEntry& e : loaded.expansion->entries)
    out += std::to_string(e.priority) + " " + std::to_string(e.resources.cpus) + "\n";
  return out;
}

TEST(Forms, one_workflow_is_the_same_in_yaml_json5_and_kdl) {
  const std::string yaml = all_of(load_form(kYaml, "wf.yaml"));
  EXPECT_NE(yaml.find("use_0.5: cat 0.5; B=x y <make_1 <make_2"), std::string::npos) << yaml;
  EXPECT_EQ(all_of(load_form(kJson5, "wf.json5")), yaml);
  EXPECT_EQ(all_of(load_form(kKdl, "wf.kdl")), yaml);
}

TEST(Forms, the_ending_of_the_name_says_which) {
  EXPECT_FALSE(load_form(kKdl, "wf.yaml").expansion);
  EXPECT_FALSE(load_form(kKdl, "wf.json5").expansion);
  EXPECT_FALSE(load_form(kJson5, "wf.kdl").expansion);
  EXPECT_TRUE(
      load_form(R"({"name": "w", "jobs": [{"name": "a", "command": "b"}]})", "wf.json").expansion);
}

struct FormMistakeCase {
  std::string_view name;
  std::string_view file;
  std::string_view text;   // starts with a line end that is not part of the spec
  std::string_view shown;  // the same
};

class FormMistakes : public ::testing::TestWithParam<FormMistakeCase> {};

TEST_P(FormMistakes, are_shown_at_their_place_with_a_remedy_of_the_form) {
  const FormMistakeCase& c = GetParam();
  EXPECT_EQ(to_text(load_form(c.text.substr(1), std::string(c.file)).diagnostics),
            c.shown.substr(1));
}

// clang-format off
const FormMistakeCase kFormMistakes[] = {
    {"json5_unknown_key_and_wrong_type", "wf.json5", R"(
{name: 'w', jobs: [{name: 'a', comand: 'b', priority: '3'},
  {name: 'c', command: 'd', env: ['A']}]}
)", R"(
wf.json5:1:20: error: job 'a' has no 'command'
    1 | {name: 'w', jobs: [{name: 'a', comand: 'b', priority: '3'},
      |                    ^
      = add 'command: …'
wf.json5:1:32: error: unknown key 'comand' in a job
    1 | {name: 'w', jobs: [{name: 'a', comand: 'b', priority: '3'},
      |                                ^~~~~~
      = did you mean 'command'?
wf.json5:1:55: error: 'priority' must be a number, not a text in quotes
    1 | {name: 'w', jobs: [{name: 'a', comand: 'b', priority: '3'},
      |                                                       ^~~
      = remove the quotes
wf.json5:2:34: error: 'env' must be a map, not a list
    2 |   {name: 'c', command: 'd', env: ['A']}]}
      |                                  ^
      = write env: { key: value }
)"},
    {"json5_a_comma_is_missing", "wf.json5", R"(
{
  name: 'w'
  jobs: []
}
)", R"(
wf.json5:3:3: error: not valid JSON5: a comma is missing before this key
    3 |   jobs: []
      |   ^~~~
      = separate them with ',', and end with '}'
      = correct this first: nothing else in the file was checked
)"},
    {"json5_no_number_that_is_not_finite", "wf.json5", R"(
{name: 'w', max_failures: Infinity, metadata: {a: NaN},
 jobs: [{name: 'a_{i}', command: 'b', parameters: {i: [1, -Infinity]}}]}
)", R"(
wf.json5:1:27: error: 'max_failures' must be a whole number, not 'Infinity'
    1 | {name: 'w', max_failures: Infinity, metadata: {a: NaN},
      |                           ^~~~~~~~
      = write a whole number from 1 to 2147483647
wf.json5:1:51: error: NaN is not a number of JSON
    1 | {name: 'w', max_failures: Infinity, metadata: {a: NaN},
      |                                                   ^~~
      = put quotes around it to keep it as a text
wf.json5:2:59: error: '-Infinity' is not a finite number
    2 |  jobs: [{name: 'a_{i}', command: 'b', parameters: {i: [1, -Infinity]}}]}
      |                                                           ^~~~~~~~~
      = put quotes around it to use it as text
)"},
    {"json5_a_list", "wf.json5", R"(
[1]
)", R"(
wf.json5:1:1: error: a workflow is a map, and this is not one
    1 | [1]
      | ^
      = write { name: '…', jobs: [ … ] }
)"},
    {"kdl_unknown_key_and_wrong_type", "wf.kdl", R"(
name "w"
job "a" { comand "b"; priority "3" }
job "c" { command "d"; env "A" }
jib "x"
)", R"(
wf.kdl:2:1: error: job 'a' has no 'command'
    2 | job "a" { comand "b"; priority "3" }
      | ^~~
      = add 'command …'
wf.kdl:2:11: error: unknown key 'comand' in a job
    2 | job "a" { comand "b"; priority "3" }
      |           ^~~~~~
      = did you mean 'command'?
wf.kdl:2:32: error: 'priority' must be a number, not a text in quotes
    2 | job "a" { comand "b"; priority "3" }
      |                                ^~~
      = remove the quotes
wf.kdl:3:28: error: 'env' must be a map, not a text
    3 | job "c" { command "d"; env "A" }
      |                            ^~~
      = write env { key value }
wf.kdl:4:1: error: unknown key 'jib' in the workflow
    4 | jib "x"
      | ^~~
      = did you mean 'job'?
)"},
    {"kdl_a_key_twice_and_a_name_too_many", "wf.kdl", R"(
name "w"; name "v"
job "a" "b" { command "b"; command "c"; input_file; label "x" "y" }
action "a" { trigger_type "on_workflow_start"; action_type "run_commands"; command "c" }
)", R"(
wf.kdl:1:11: error: duplicate key 'name'
    1 | name "w"; name "v"
      |           ^~~~
      = keep one of the two
wf.kdl:2:9: error: a job has one name
    2 | job "a" "b" { command "b"; command "c"; input_file; label "x" "y" }
      |         ^~~
      = its keys stand in a block: { key value }, or as key=value
wf.kdl:2:28: error: duplicate key 'command'
    2 | job "a" "b" { command "b"; command "c"; input_file; label "x" "y" }
      |                            ^~~~~~~
      = keep one of the two
wf.kdl:2:41: error: 'input_file' has no value
    2 | job "a" "b" { command "b"; command "c"; input_file; label "x" "y" }
      |                                         ^~~~~~~~~~
      = write input_file "…", or remove it
wf.kdl:2:53: error: 'label' must be a text, not a list
    2 | job "a" "b" { command "b"; command "c"; input_file; label "x" "y" }
      |                                                     ^~~~~
      = write label and one value
wf.kdl:3:8: error: an action has no name
    3 | action "a" { trigger_type "on_workflow_start"; action_type "run_commands"; command "c" }
      |        ^~~
      = its keys stand in a block: { key value }, or as key=value
)"},
    {"kdl_values_and_blocks", "wf.kdl", R"(
name "w"
metadata 1 { a 2 }
user_data "d" { data "{x" }
job "a" { command "b"; depends_on { c "d" } }
)", R"(
wf.kdl:2:10: error: 'metadata' has a value and a block
    2 | metadata 1 { a 2 }
      |          ^
      = keep one of the two
wf.kdl:3:22: error: 'data' is not valid JSON: no ':' follows the key 'x'
    3 | user_data "d" { data "{x" }
      |                      ^~~~
      = write JSON in the quotes, a text as "\"text\""; or a block of keys and values
wf.kdl:4:24: error: 'depends_on' takes values, no block
    4 | job "a" { command "b"; depends_on { c "d" } }
      |                        ^~~~~~~~~~
      = write depends_on "…"
)"},
    {"kdl_types_are_told_of", "wf.kdl", R"(
name "w"
job "a" { command "b"; priority (u8)1 }
)", R"(
wf.kdl:2:33: note: types in '(' and ')' have no effect here
    2 | job "a" { command "b"; priority (u8)1 }
      |                                 ^
      = remove them
)"},
    {"kdl_not_closed", "wf.kdl", R"(
name "w"
job "a" {
  command "b"
)", R"(
wf.kdl:2:9: error: not valid KDL: this '{' is not closed
    2 | job "a" {
      |         ^
      = close it with '}'
      = correct this first: nothing else in the file was checked
)"},
    {"kdl_empty", "wf.kdl", R"(
// nothing
)", R"(
wf.kdl: error: the file is empty
      = a workflow needs at least 'name' and 'jobs'
)"},
};
// clang-format on

INSTANTIATE_TEST_SUITE_P(Spec, FormMistakes, ::testing::ValuesIn(kFormMistakes),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace torc::spec
