// Mistakes in the parts of the language that say more than names and commands, and what comes when
// several kinds meet: all in one round.
#include "lib/spec/testing/test_mistakes.h"

namespace torc::spec {
namespace {

class LanguageMistake : public MistakeTest {};

TEST_P(LanguageMistake, is_shown_at_its_place_with_a_remedy) {
  EXPECT_EQ(shown(), GetParam().shown.substr(1));
}

// clang-format off
const Mistake kLanguage[] = {
    {"a_job_that_is_empty", R"(
name: w
jobs:
  -
  - {name: a, command: b}
)", R"(
wf.yaml:3:3: error: a job must be a map
    3 |   -
      |   ^
      = write 'key: value' lines behind the '- '
)"},
    {"a_missing_comma_between_brackets", R"(
{
	"name": "w",
	"jobs": [
		{"name": "a", "command": "b"}
		{"name": "c", "command": "d"}
	]
}
)", R"(
wf.yaml:3:10: error: not valid YAML: this '[' is not closed
    3 |         "jobs": [
      |                 ^
      = close it, or add the comma that is missing within; put quotes around a text that starts with it
      = correct this first: nothing else in the file was checked
)"},
    {"every_kind_of_mistake_in_one_round", R"(
name: w
user_data: [{name: d}, {name: d}]
files: [{name: f, path: x}]
jobs:
  - {name: a, command: b, comand: c}
  - {name: a, command: b}
  - {name: c, command: d, depends_on: [e, nobody]}
  - {name: e, command: d, depends_on: [c], priority: high}
  - {name: f, command: "cat ${files.input.g}", resource_requirements: big}
  - {name: "g_{i:zz}", command: h, parameters: {i: "1:3"}}
)", R"(
wf.yaml:2:31: error: two user data are named 'd': one of 'd' on line 2, one of 'd' on line 2
    2 | user_data: [{name: d}, {name: d}]
      |                               ^
      = rename one of them
wf.yaml:5:27: error: unknown key 'comand' in a job
    5 |   - {name: a, command: b, comand: c}
      |                           ^~~~~~
      = did you mean 'command'?
wf.yaml:6:12: error: two jobs are named 'a': one of 'a' on line 5, one of 'a' on line 6
    6 |   - {name: a, command: b}
      |            ^
      = rename one of them
wf.yaml:7:39: error: jobs wait for each other in a circle: c -> e -> c
    7 |   - {name: c, command: d, depends_on: [e, nobody]}
      |                                       ^
      = remove one of these dependencies ('->' is 'waits for'; files count too)
wf.yaml:7:43: error: no job is named 'nobody'
    7 |   - {name: c, command: d, depends_on: [e, nobody]}
      |                                           ^~~~~~
      = name a job of this file, as it reads when its parameters are filled in
wf.yaml:8:54: error: 'priority' must be a whole number, not 'high'
    8 |   - {name: e, command: d, depends_on: [c], priority: high}
      |                                                      ^~~~
      = write a whole number from -2147483648 to 2147483647
wf.yaml:9:29: error: no file is named 'g'
    9 |   - {name: f, command: "cat ${files.input.g}", resource_requirements: big}
      |                             ^~~~~~~~~~~~~~~~
      = name a file of this file, as it reads when its parameters are filled in
wf.yaml:9:71: error: no set of resource requirements is named 'big'
    9 |   - {name: f, command: "cat ${files.input.g}", resource_requirements: big}
      |                                                                       ^~~
      = define it under resource_requirements
wf.yaml:10:15: error: the format of '{i:zz}' is not known
   10 |   - {name: "g_{i:zz}", command: h, parameters: {i: "1:3"}}
      |               ^~~~~~
      = formats are like {i:03d} for integers, {x:.4f} or {x:.2e} for numbers and {s:>10} for text
)"},
    {"names_of_a_broken_entry_are_not_unknown", R"(
name: w
jobs:
  - {name: "work_{i}", command: b, parameters: {i: "3:1"}}
  - {name: after, command: c, depends_on: [work_1, "work_{i}", other]}
)", R"(
wf.yaml:3:52: error: the range '3:1' is empty
    3 |   - {name: "work_{i}", command: b, parameters: {i: "3:1"}}
      |                                                    ^~~~~
      = write the smaller bound first
wf.yaml:4:64: error: no job is named 'other'
    4 |   - {name: after, command: c, depends_on: [work_1, "work_{i}", other]}
      |                                                                ^~~~~
      = name a job of this file, as it reads when its parameters are filled in
)"},
    {"names_beside_a_job_without_a_name_are_not_unknown", R"(
name: w
jobs:
  - {nmae: prep, command: b}
  - {name: after, command: c, depends_on: [prep]}
)", R"(
wf.yaml:3:5: error: a job has no 'name'
    3 |   - {nmae: prep, command: b}
      |     ^
      = add 'name: …'
wf.yaml:3:6: error: unknown key 'nmae' in a job
    3 |   - {nmae: prep, command: b}
      |      ^~~~
      = did you mean 'name'?
)"},
    {"an_expression_that_is_none_is_told_once", R"(
name: w
jobs:
  - {name: a, command: b}
  - {name: c, command: d, depends_on_regexes: ['a(']}
)", R"(
wf.yaml:4:48: error: 'a(' is not a regular expression: missing ): a(
    4 |   - {name: c, command: d, depends_on_regexes: ['a(']}
      |                                                ^~~~
      = write it in RE2's syntax, and in single quotes, where '\' needs no doubling
)"},
    {"a_wrong_format_in_the_middle_of_a_block", R"(
name: w
jobs:
  - name: a_{i}
    command: |
      echo one
      echo {i} {i:04d} {i:zz}
    parameters: {i: "1:3"}
)", R"(
wf.yaml:6:24: error: the format of '{i:zz}' is not known
    6 |       echo {i} {i:04d} {i:zz}
      |                        ^~~~~~
      = formats are like {i:03d} for integers, {x:.4f} or {x:.2e} for numbers and {s:>10} for text
)"},
    {"a_format_of_numbers_for_a_text", R"(
name: w
jobs:
  - name: a_{s}
    command: run {s:03d}
    parameters: {s: [x, y]}
)", R"(
wf.yaml:4:18: error: the format of '{s:03d}' does not fit the value 'x'
    4 |     command: run {s:03d}
      |                  ^~~~~~~
      = formats are like {i:03d} for integers, {x:.4f} or {x:.2e} for numbers and {s:>10} for text
)"},
    {"a_variable_with_a_wrong_format", R"(
name: w
variables: {root: /tmp}
jobs:
  - {name: a, command: "ls {root:zz}"}
)", R"(
wf.yaml:4:28: error: variable 'root' takes no format ':zz'
    4 |   - {name: a, command: "ls {root:zz}"}
      |                            ^~~~~~~~~
      = write the value as it shall look, and {name} alone
)"},
    {"slips_of_references", R"(
name: w
files: [{name: x, path: y}]
jobs:
  - name: a
    command: >-
      cat ${files.inptu.x} ${file.input.x}
      ${files.x} ${files.input.} ${user_dat.output.x}
)", R"(
wf.yaml:6:11: error: '${files.inptu.x}' names no file and no user data
    6 |       cat ${files.inptu.x} ${file.input.x}
      |           ^~~~~~~~~~~~~~~~
      = did you mean ${files.input.x}?
wf.yaml:6:28: error: '${file.input.x}' names no file and no user data
    6 |       cat ${files.inptu.x} ${file.input.x}
      |                            ^~~~~~~~~~~~~~~
      = did you mean ${files.input.x}?
wf.yaml:7:7: error: '${files.x}' names no file and no user data
    7 |       ${files.x} ${files.input.} ${user_dat.output.x}
      |       ^~~~~~~~~~
      = write ${files.input.NAME}, ${files.output.NAME}, or the same with user_data
wf.yaml:7:18: error: '${files.input.}' names no file and no user data
    7 |       ${files.x} ${files.input.} ${user_dat.output.x}
      |                  ^~~~~~~~~~~~~~~
      = write ${files.input.NAME}, ${files.output.NAME}, or the same with user_data
wf.yaml:7:34: error: '${user_dat.output.x}' names no file and no user data
    7 |       ${files.x} ${files.input.} ${user_dat.output.x}
      |                                  ^~~~~~~~~~~~~~~~~~~~
      = did you mean ${user_data.output.x}?
)"},
    {"a_reference_that_is_never_closed", R"(
name: w
jobs:
  - {name: a, command: "cat ${files.input.x"}
)", R"(
wf.yaml:3:29: error: '${files' is never closed
    3 |   - {name: a, command: "cat ${files.input.x"}
      |                             ^~~~~~~
      = add the '}'
)"},
    {"user_data_that_is_not_there", R"(
name: w
user_data: [{name: settings, data: {a: 1}}]
jobs:
  - {name: a, command: "use ${user_data.input.setings}", input_user_data: [other]}
)", R"(
wf.yaml:4:29: error: no user data is named 'setings'
    4 |   - {name: a, command: "use ${user_data.input.setings}", input_user_data: [other]}
      |                             ^~~~~~~~~~~~~~~~~~~~~~~~~~
      = did you mean 'settings'?
wf.yaml:4:76: error: no user data is named 'other'
    4 |   - {name: a, command: "use ${user_data.input.setings}", input_user_data: [other]}
      |                                                                            ^~~~~
      = name user data of this file, as it reads when its parameters are filled in
)"},
    {"user_data_with_an_unknown_key", R"(
name: w
user_data:
  - {name: a, value: 3}
  - {data: 3}
jobs: [{name: j, command: b}]
)", R"(
wf.yaml:3:15: error: unknown key 'value' in user data
    3 |   - {name: a, value: 3}
      |               ^~~~~
      = remove it
wf.yaml:4:5: error: user data has no 'name'
    4 |   - {data: 3}
      |     ^
      = add 'name: …'
)"},
    {"two_jobs_that_write_one_user_data", R"(
name: w
user_data: [{name: d}]
jobs:
  - {name: a, command: b, output_user_data: [d]}
  - {name: c, command: b, output_user_data: [d]}
)", R"(
wf.yaml:5:46: error: two jobs output the user data 'd': 'a' and 'c'
    5 |   - {name: c, command: b, output_user_data: [d]}
      |                                              ^
      = let one job make it, or give each job a name of its own
)"},
    {"an_unknown_condition", R"(
name: w
jobs:
  - {name: a, command: b}
  - {name: c, command: d, depends: {aftersome: [a]}}
)", R"(
wf.yaml:4:37: error: unknown key 'aftersome' in depends
    4 |   - {name: c, command: d, depends: {aftersome: [a]}}
      |                                     ^~~~~~~~~
      = did you mean 'afterok'?
)"},
    {"a_condition_on_a_job_that_is_not_there", R"(
name: w
jobs:
  - {name: prepare, command: b}
  - {name: c, command: d, depends: {afternotok: prepar, afterany: [prepare, c]}}
)", R"(
wf.yaml:4:49: error: no job is named 'prepar'
    4 |   - {name: c, command: d, depends: {afternotok: prepar, afterany: [prepare, c]}}
      |                                                 ^~~~~~
      = did you mean 'prepare'?
wf.yaml:4:77: error: job 'c' depends on itself
    4 |   - {name: c, command: d, depends: {afternotok: prepar, afterany: [prepare, c]}}
      |                                                                             ^
      = take it out of its dependencies
)"},
    {"depends_as_a_list", R"(
name: w
jobs:
  - {name: a, command: b}
  - {name: c, command: d, depends: [a]}
  - {name: e, command: d, depends: {}}
)", R"(
wf.yaml:4:36: error: 'depends' must be a map, not a list
    4 |   - {name: c, command: d, depends: [a]}
      |                                    ^
      = write 'key: value' lines below it, without '- '
wf.yaml:5:36: error: 'depends' is empty
    5 |   - {name: e, command: d, depends: {}}
      |                                    ^
      = write a condition and names, as afterany: [prepare]
)"},
    {"a_circle_through_conditions", R"(
name: w
jobs:
  - {name: a, command: b, depends: {afternotok: [c]}}
  - {name: c, command: d, depends_on: [a]}
)", R"(
wf.yaml:3:12: error: jobs wait for each other in a circle: a -> c -> a
    3 |   - {name: a, command: b, depends: {afternotok: [c]}}
      |            ^
      = remove one of these dependencies ('->' is 'waits for'; files count too)
)"},
};
// clang-format on

INSTANTIATE_TEST_SUITE_P(Spec, LanguageMistake, ::testing::ValuesIn(kLanguage), mistake_name);

}  // namespace
}  // namespace torc::spec
