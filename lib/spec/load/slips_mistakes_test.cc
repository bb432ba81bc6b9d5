// Slips that users made with the program in hand, and what they are told.
#include "lib/spec/testing/test_mistakes.h"

namespace torc::spec {
namespace {

class SlipMistake : public MistakeTest {};

TEST_P(SlipMistake, is_shown_at_its_place_with_a_remedy) {
  EXPECT_EQ(shown(), GetParam().shown.substr(1));
}

// clang-format off
const Mistake kSlips[] = {
    {"braces_in_a_text_between_brackets", R"(
name: w
jobs:
  - {name: a, command: awk '{print $1}' f}
  - {name: b, command: c}
)", R"(
wf.yaml:3:24: error: not valid YAML: a text without quotes that has a '{', between brackets
    3 |   - {name: a, command: awk '{print $1}' f}
      |                        ^~~~~~~~~~~~~~~~~~
      = put quotes around the whole text: "awk '{print $1}' f"
      = correct this first: nothing else in the file was checked
)"},
    {"braces_in_a_text_between_brackets_of_several_lines", R"(
name: w
jobs:
  - {name: a,
     command: echo ${HOME}, label: x}
  - {name: b, command: c}
)", R"(
wf.yaml:4:15: error: not valid YAML: a text without quotes that has a '{', between brackets
    4 |      command: echo ${HOME}, label: x}
      |               ^~~~~~~~~~~~
      = put quotes around the whole text: "echo ${HOME}"
      = correct this first: nothing else in the file was checked
)"},
    {"a_placeholder_without_quotes_between_brackets", R"(
name: w
jobs:
  - {name: first, command: c}
  - {name: a_{i}, command: echo, parameters: {i: "1:3"}}
user: me
)", R"(
wf.yaml:4:12: error: not valid YAML: a text without quotes that has a '{', between brackets
    4 |   - {name: a_{i}, command: echo, parameters: {i: "1:3"}}
      |            ^~~~~
      = put quotes around the whole text: "a_{i}"
      = correct this first: nothing else in the file was checked
)"},
    {"a_list_in_a_text_between_brackets", R"(
name: w
jobs:
  - {name: a, command: "c", depends_on: [b[1], c]}
)", R"(
wf.yaml:3:42: error: not valid YAML: a text without quotes that has a '[', between brackets
    3 |   - {name: a, command: "c", depends_on: [b[1], c]}
      |                                          ^~~~
      = put quotes around the whole text: "b[1]"
      = correct this first: nothing else in the file was checked
)"},
    {"two_escapes_for_one_character_outside_of_json", R"(
name: w
jobs:
  - {name: a, command: "echo \ud83d\ude00"}
)", R"(
wf.yaml:3:36: error: not valid YAML: invalid unicode: 55357
    3 |   - {name: a, command: "echo \ud83d\ude00"}
      |                                    ^
      = write the character itself; two escapes that make one together are for JSON files
      = correct this first: nothing else in the file was checked
)"},
    {"one_exit_code_without_a_list", R"(
name: w
failure_handlers:
  - {name: h, rules: [{exit_codes: 5}]}
jobs:
  - {name: a, command: b, failure_handler: h}
)", R"(
wf.yaml:3:36: error: 'exit_codes' must be a list of whole numbers, not a text
    3 |   - {name: h, rules: [{exit_codes: 5}]}
      |                                    ^
      = write exit_codes: [5]
)"},
    {"lists_in_place_of_maps", R"(
name: w
env: [A=1]
variables: [a]
jobs:
  - {name: a, command: b, env: [B]}
)", R"(
wf.yaml:2:6: error: 'env' must be a map, not a list
    2 | env: [A=1]
      |      ^
      = write 'key: value' lines below it, without '- '
wf.yaml:3:12: error: 'variables' must be a map, not a list
    3 | variables: [a]
      |            ^
      = write 'key: value' lines below it, without '- '
wf.yaml:5:32: error: 'env' must be a map, not a list
    5 |   - {name: a, command: b, env: [B]}
      |                                ^
      = write 'key: value' lines below it, without '- '
)"},
    {"an_entry_that_an_alias_repeats", R"(
name: w
jobs:
  - &r {name: c, command: x}
  - {name: d, command: y}
  - *r
)", R"(
wf.yaml:5:5: error: two jobs are named 'c': one of 'c' on line 3, one of 'c' on line 5
    5 |   - *r
      |     ^~
      = an alias repeats the name as well: write '<<: *…' in a map with another name
)"},
    {"two_values_that_are_the_same", R"(
name: w
jobs:
  - {name: "a_{i}", command: x, parameters: {i: [1, 2, 1]}}
)", R"(
wf.yaml:3:12: error: job 1 and 3 of 'a_{i}' would both be named 'a_1'
    3 |   - {name: "a_{i}", command: x, parameters: {i: [1, 2, 1]}}
      |            ^~~~~~~
      = their values are the same: take one of the two out of the list or the table
)"},
    {"two_circles", R"(
name: w
jobs:
  - {name: a, command: x, depends_on: b}
  - {name: b, command: x, depends_on: a}
  - {name: "c_{i}", command: x, depends_on: ["d_{i}"], parameters: {i: "1:3"}}
  - {name: "d_{i}", command: x, depends_on: ["c_{i}"], parameters: {i: "1:3"}}
)", R"(
wf.yaml:3:39: error: jobs wait for each other in a circle: a -> b -> a
    3 |   - {name: a, command: x, depends_on: b}
      |                                       ^
      = remove one of these dependencies ('->' is 'waits for'; files count too)
wf.yaml:5:45: error: jobs wait for each other in a circle: c_1 -> d_1 -> c_1 (and 2 more like it)
    5 |   - {name: "c_{i}", command: x, depends_on: ["d_{i}"], parameters: {i: "1:3"}}
      |                                             ^
      = remove one of these dependencies ('->' is 'waits for'; files count too)
)"},
    {"a_name_that_is_a_slip_hides_no_others", R"(
name: w
resource_requirements:
  - {nmae: small, num_cpus: 2}
jobs:
  - {nmae: first, command: x}
  - {command: y}
  - {name: b, command: x, depends_on: [first, frist], resource_requirements: small}
  - {name: c, command: x, depends_on: nobody, resource_requirements: large}
)", R"(
wf.yaml:3:5: error: resource requirements has no 'name'
    3 |   - {nmae: small, num_cpus: 2}
      |     ^
      = add 'name: …'
wf.yaml:3:6: error: unknown key 'nmae' in resource requirements
    3 |   - {nmae: small, num_cpus: 2}
      |      ^~~~
      = did you mean 'name'?
wf.yaml:5:5: error: a job has no 'name'
    5 |   - {nmae: first, command: x}
      |     ^
      = add 'name: …'
wf.yaml:5:6: error: unknown key 'nmae' in a job
    5 |   - {nmae: first, command: x}
      |      ^~~~
      = did you mean 'name'?
wf.yaml:6:5: error: a job has no 'name'
    6 |   - {command: y}
      |     ^
      = add 'name: …'
wf.yaml:7:47: error: no job is named 'frist'
    7 |   - {name: b, command: x, depends_on: [first, frist], resource_requirements: small}
      |                                               ^~~~~
      = name a job of this file, as it reads when its parameters are filled in
wf.yaml:8:39: error: no job is named 'nobody'
    8 |   - {name: c, command: x, depends_on: nobody, resource_requirements: large}
      |                                       ^~~~~~
      = name a job of this file, as it reads when its parameters are filled in
wf.yaml:8:70: error: no set of resource requirements is named 'large'
    8 |   - {name: c, command: x, depends_on: nobody, resource_requirements: large}
      |                                                                      ^~~~~
      = define it under resource_requirements
)"},
    {"several_bad_formats_in_one_text", R"(
name: w
jobs:
  - {name: "a_{i}_{s}", command: "x {i:zz} {s:d} {s:.2f}", parameters: {i: "1:2", s: [p, q]}}
)", R"(
wf.yaml:3:37: error: the format of '{i:zz}' is not known
    3 |   - {name: "a_{i}_{s}", command: "x {i:zz} {s:d} {s:.2f}", parameters: {i: "1:2", s: [p, q]}}
      |                                     ^~~~~~
      = formats are like {i:03d} for integers, {x:.4f} or {x:.2e} for numbers and {s:>10} for text
wf.yaml:3:44: error: the format of '{s:d}' does not fit the value 'p'
    3 |   - {name: "a_{i}_{s}", command: "x {i:zz} {s:d} {s:.2f}", parameters: {i: "1:2", s: [p, q]}}
      |                                            ^~~~~
      = formats are like {i:03d} for integers, {x:.4f} or {x:.2e} for numbers and {s:>10} for text
wf.yaml:3:50: error: the format of '{s:.2f}' does not fit the value 'p'
    3 |   - {name: "a_{i}_{s}", command: "x {i:zz} {s:d} {s:.2f}", parameters: {i: "1:2", s: [p, q]}}
      |                                                  ^~~~~~~
      = formats are like {i:03d} for integers, {x:.4f} or {x:.2e} for numbers and {s:>10} for text
)"},
    {"two_files_with_one_path", R"(
name: w
files:
  - {name: a, path: out/x.txt}
  - {name: b, path: ./out//x.txt}
  - {name: c, path: y.txt}
  - {name: d, path: ./y.txt}
  - {name: "e_{i}", path: e.txt, parameters: {i: "1:2"}}
jobs:
  - {name: make, command: "x > ${files.output.a}"}
  - {name: take, command: "x < ${files.input.b}"}
)", R"(
wf.yaml:4:21: error: the files 'a' and 'b' have the same path 'out/x.txt'
    4 |   - {name: b, path: ./out//x.txt}
      |                     ^~~~~~~~~~~~
      = use one name for both: a job that takes the one does not wait for a job that makes the other
wf.yaml:6:21: warning: the files 'c' and 'd' have the same path 'y.txt'
    6 |   - {name: d, path: ./y.txt}
      |                     ^~~~~~~
      = use one name for both, or give each a path of its own
wf.yaml:7:27: warning: the files 'e_1' and 'e_2' have the same path 'e.txt'
    7 |   - {name: "e_{i}", path: e.txt, parameters: {i: "1:2"}}
      |                           ^~~~~
      = use one name for both, or give each a path of its own
)"},
    {"both_conditions_on_one_job", R"(
name: w
jobs:
  - {name: a, command: x}
  - {name: b, command: x, depends: {afterok: a, afternotok: [a]}}
)", R"(
wf.yaml:4:62: warning: 'b' can never start: 'a' would have to both complete and fail
    4 |   - {name: b, command: x, depends: {afterok: a, afternotok: [a]}}
      |                                                              ^
      = keep one of the two conditions; afterany is for either end
)"},
    {"memory_without_a_unit", R"(
name: w
resource_requirements: [{name: r, memory: 100}, {name: s, memory: 4096k}, {name: t, memory: 2097152}]
jobs:
  - {name: a, command: x, resource_requirements: r}
)", R"(
wf.yaml:2:43: error: '100' without a unit is 100 bytes
    2 | …source_requirements: [{name: r, memory: 100}, {name: s, memory: 4096k}, {name: t, memory: 209715…
      |                                          ^~~
      = write 100m or 100g, or 100b where bytes are meant
)"},
    {"files_where_nobody_knows_them", R"(
name: w
env: {F: "${files.input.f}"}
files: [{name: f, path: f}]
failure_handlers:
  - {name: h, rules: [{on: oom, recovery_script: "rm ${files.output.f}"}]}
jobs:
  - {name: a, command: x, failure_handler: h, env: {G: "${user_data.inptu.u}"}, invocation_script: "sh ${files.inptu.f}"}
actions:
  - {trigger_type: on_workflow_complete, action_type: run_commands, commands: ["cat ${files.input.f}"]}
)", R"(
wf.yaml:2:11: error: '${files.input.f}' means something in 'command' and 'invocation_script' of a job only
    2 | env: {F: "${files.input.f}"}
      |           ^~~~~~~~~~~~~~~~
      = write the path, or the name of the user data, itself
wf.yaml:5:54: error: '${files.output.f}' means something in 'command' and 'invocation_script' of a job only
    5 |   - {name: h, rules: [{on: oom, recovery_script: "rm ${files.output.f}"}]}
      |                                                      ^~~~~~~~~~~~~~~~~
      = write the path, or the name of the user data, itself
wf.yaml:7:57: error: '${user_data.inptu.u}' means something in 'command' and 'invocation_script' of a job only
    7 | …mmand: x, failure_handler: h, env: {G: "${user_data.inptu.u}"}, invocation_script: "sh ${files.i…
      |                                          ^~~~~~~~~~~~~~~~~~~~
      = write the path, or the name of the user data, itself
wf.yaml:7:104: error: '${files.inptu.f}' names no file and no user data
    7 | …data.inptu.u}"}, invocation_script: "sh ${files.inptu.f}"}
      |                                          ^~~~~~~~~~~~~~~~
      = did you mean ${files.input.f}?
wf.yaml:9:85: error: '${files.input.f}' means something in 'command' and 'invocation_script' of a job only
    9 | …ion_type: run_commands, commands: ["cat ${files.input.f}"]}
      |                                          ^~~~~~~~~~~~~~~~
      = write the path, or the name of the user data, itself
)"},
    {"variables_without_a_value", R"(
name: w
env:
  A:
jobs:
  - {name: a, command: x, env: {C: null, D: ''}}
)", R"(
wf.yaml:5:36: error: null is not a value of the variable 'C'
    5 |   - {name: a, command: x, env: {C: null, D: ''}}
      |                                    ^~~~
      = write 'null' for this text, '' for an empty one
)"},
};
// clang-format on

INSTANTIATE_TEST_SUITE_P(Spec, SlipMistake, ::testing::ValuesIn(kSlips), mistake_name);

}  // namespace
}  // namespace torc::spec
