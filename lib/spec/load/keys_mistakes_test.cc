// Keys that are unknown, missing, misplaced or of the wrong type. Each is shown with its place, its
// line, a caret and a remedy.
#include "lib/spec/testing/test_mistakes.h"

namespace torc::spec {
namespace {

class KeysMistake : public MistakeTest {};

TEST_P(KeysMistake, is_shown_at_its_place_with_a_remedy) {
  EXPECT_EQ(shown(), GetParam().shown.substr(1));
}

// clang-format off
const Mistake kKeys[] = {
    {"an_unknown_key_of_a_job", R"(
name: w
jobs:
  - name: a
    comand: echo hi
)", R"(
wf.yaml:3:5: error: job 'a' has no 'command'
    3 |   - name: a
      |     ^
      = add 'command: …'
wf.yaml:4:5: error: unknown key 'comand' in a job
    4 |     comand: echo hi
      |     ^~~~~~
      = did you mean 'command'?
)"},
    {"an_unknown_key_of_the_workflow", R"(
name: w
jobs:
  - name: a
    command: b
jobz: 1
)", R"(
wf.yaml:5:1: error: unknown key 'jobz' in the workflow
    5 | jobz: 1
      | ^~~~
      = did you mean 'jobs'?
)"},
    {"a_key_like_no_other", R"(
name: w
jobs:
  - name: a
    command: b
colour: red
)", R"(
wf.yaml:5:1: error: unknown key 'colour' in the workflow
    5 | colour: red
      | ^~~~~~
      = remove it
)"},
    {"a_key_of_another_place", R"(
name: w
jobs:
  - name: a
    command: b
    walltime: 4
)", R"(
wf.yaml:5:5: error: unknown key 'walltime' in a job
    5 |     walltime: 4
      |     ^~~~~~~~
      = it belongs to a Slurm scheduler
)"},
    {"a_missing_name_and_jobs", R"(
user: me
)", R"(
wf.yaml:1:1: error: the workflow has no 'jobs'
    1 | user: me
      | ^
      = add 'jobs: …'
wf.yaml:1:1: error: the workflow has no 'name'
    1 | user: me
      | ^
      = add 'name: …'
)"},
    {"a_job_without_a_name", R"(
name: w
jobs:
  - command: b
)", R"(
wf.yaml:3:5: error: a job has no 'name'
    3 |   - command: b
      |     ^
      = add 'name: …'
)"},
    {"jobs_that_are_empty", R"(
name: w
jobs: []
)", R"(
wf.yaml:2:7: error: 'jobs' is empty
    2 | jobs: []
      |       ^
      = write at least one job
)"},
    {"a_command_without_value", R"(
name: w
jobs:
  - name: a
    command:
)", R"(
wf.yaml:4:5: error: 'command' is empty
    4 |     command:
      |     ^~~~~~~
      = write its value
)"},
    {"a_command_of_blanks", R"(
name: w
jobs:
  - name: a
    command: '  '
)", R"(
wf.yaml:4:14: error: 'command' is empty
    4 |     command: '  '
      |              ^~~~
      = write a text
)"},
    {"jobs_that_are_a_map", R"(
name: w
jobs:
  a:
    command: b
)", R"(
wf.yaml:3:3: error: 'jobs' must be a list of maps, not a map
    3 |   a:
      |   ^
      = start each of them on a line of its own with '- '
)"},
    {"a_job_that_is_a_text", R"(
name: w
jobs:
  - a
)", R"(
wf.yaml:3:5: error: a job must be a map
    3 |   - a
      |     ^
      = write 'key: value' lines behind the '- '
)"},
    {"what_a_job_needs_where_the_name_of_it_belongs", R"(
name: w
jobs:
  - name: a
    command: b
    resource_requirements: {num_cpus: 2}
)", R"(
wf.yaml:5:28: error: 'resource_requirements' must be a text, not a map
    5 |     resource_requirements: {num_cpus: 2}
      |                            ^
      = write its keys in the job itself, or give the set a name under the top-level 'resource_requirements', and write that name here
)"},
    {"a_name_in_braces_without_quotes", R"(
name: w
jobs:
  - name: {i}
    command: b
)", R"(
wf.yaml:3:11: error: 'name' must be a text, not a map
    3 |   - name: {i}
      |           ^
      = put quotes around a text that starts with '{' or '['
)"},
    {"a_name_over_two_lines", R"(
name: w
jobs:
  - name: |
      a
      b
    command: c
)", R"(
wf.yaml:3:11: error: 'name' must be on one line
    3 |   - name: |
      |           ^
      = write it without '|' and line ends
)"},
    {"a_workflow_name_with_a_slash", R"(
name: a/b
jobs:
  - name: a
    command: b
)", R"(
wf.yaml:1:7: error: the workflow cannot be named 'a/b'
    1 | name: a/b
      |       ^~~
      = the store is named after it: no '/', and no '.' or '-' at the start
)"},
    {"depends_on_that_is_a_map", R"(
name: w
jobs:
  - name: a
    command: b
    depends_on: {first: 1}
)", R"(
wf.yaml:5:17: error: 'depends_on' must be a text or a list of texts, not a map
    5 |     depends_on: {first: 1}
      |                 ^
      = start each of them on a line of its own with '- '
)"},
    {"a_map_in_depends_on", R"(
name: w
jobs:
  - name: a
    command: b
    depends_on:
      - first: 1
)", R"(
wf.yaml:6:9: error: an element of 'depends_on' must be a text, not a map
    6 |       - first: 1
      |         ^
      = put quotes around a text that starts with '{' or '['
)"},
    {"a_priority_that_is_no_number", R"(
name: w
jobs:
  - name: a
    command: b
    priority: high
)", R"(
wf.yaml:5:15: error: 'priority' must be a whole number, not 'high'
    5 |     priority: high
      |               ^~~~
      = write a whole number from -2147483648 to 2147483647
)"},
    {"a_priority_in_quotes", R"(
name: w
jobs:
  - name: a
    command: b
    priority: "5"
)", R"(
wf.yaml:5:15: error: 'priority' must be a number, not a text in quotes
    5 |     priority: "5"
      |               ^~~
      = remove the quotes
)"},
    {"a_priority_out_of_range", R"(
name: w
jobs:
  - name: a
    command: b
    priority: 3000000000
)", R"(
wf.yaml:5:15: error: 3000000000 is out of range for 'priority'
    5 |     priority: 3000000000
      |               ^~~~~~~~~~
      = write a whole number from -2147483648 to 2147483647
)"},
    {"a_priority_beyond_64_bits", R"(
name: w
jobs:
  - name: a
    command: b
    priority: 99999999999999999999
)", R"(
wf.yaml:5:15: error: '99999999999999999999' does not fit into 64 bits
    5 |     priority: 99999999999999999999
      |               ^~~~~~~~~~~~~~~~~~~~
      = write a smaller number
)"},
    {"yes_for_true", R"(
name: w
jobs:
  - name: a
    command: b
execution_config:
  limit_resources: yes
)", R"(
wf.yaml:6:20: error: 'limit_resources' must be true or false, not 'yes'
    6 |   limit_resources: yes
      |                    ^~~
      = write true or false
)"},
    {"a_choice_that_is_none", R"(
name: w
jobs:
  - name: a
    command: b
    parameter_mode: zipp
)", R"(
wf.yaml:5:21: error: 'parameter_mode' cannot be 'zipp'
    5 |     parameter_mode: zipp
      |                     ^~~~
      = did you mean 'zip'?
)"},
    {"a_key_and_its_alias", R"(
name: w
jobs:
  - name: a
    command: b
    scheduler: s
    slurm_scheduler: s
slurm_schedulers:
  - name: s
)", R"(
wf.yaml:6:5: error: 'slurm_scheduler' and 'scheduler' are the same key
    6 |     slurm_scheduler: s
      |     ^~~~~~~~~~~~~~~
      = keep one of the two
)"},
    {"an_action_of_no_type", R"(
name: w
jobs:
  - name: a
    command: b
actions:
  - trigger_type: on_workflow_start
)", R"(
wf.yaml:6:5: error: an action has no 'action_type'
    6 |   - trigger_type: on_workflow_start
      |     ^
      = add 'action_type: …'
)"},
    {"a_key_of_a_job_without_effect", R"(
name: w
jobs:
  - name: a
    command: b
    supports_termination: true
)", R"(
wf.yaml:5:5: note: 'supports_termination' has no effect here
    5 |     supports_termination: true
      |     ^~~~~~~~~~~~~~~~~~~~
      = every job gets termination_signal before SIGKILL
)"},
    {"stdio_as_a_text", R"(
name: w
jobs:
  - name: a
    command: b
    stdio: combined
)", R"(
wf.yaml:5:12: error: 'stdio' must be a map, not a text
    5 |     stdio: combined
      |            ^~~~~~~~
      = write 'key: value' lines below it
)"},
    {"a_variable_name_with_a_dash", R"(
name: w
jobs:
  - name: a
    command: b
env:
  MY-VAR: 1
)", R"(
wf.yaml:6:3: error: 'MY-VAR' cannot be the name of a variable
    6 |   MY-VAR: 1
      |   ^~~~~~
      = use letters, digits and '_', a letter first
)"},
    {"a_variable_that_torc_sets", R"(
name: w
jobs:
  - name: a
    command: b
    env:
      TORC_JOB_ID: 1
)", R"(
wf.yaml:6:7: error: torc sets 'TORC_JOB_ID' itself
    6 |       TORC_JOB_ID: 1
      |       ^~~~~~~~~~~
      = use another name
)"},
    {"an_environment_value_that_is_a_list", R"(
name: w
jobs:
  - name: a
    command: b
    env:
      A: [1, 2]
)", R"(
wf.yaml:6:10: error: the value of 'A' must be a text
    6 |       A: [1, 2]
      |          ^
      = put quotes around a text that starts with '{' or '['
)"},
    {"metadata_that_is_no_json", R"(
name: w
jobs:
  - name: a
    command: b
metadata: '{a'
)", R"(
wf.yaml:5:11: error: 'metadata' is a text that is not valid JSON
    5 | metadata: '{a'
      |           ^~~~
      = write a map, or JSON in single quotes: '{"key": 1}'
)"},
    {"access_groups", R"(
name: w
jobs:
  - name: a
    command: b
access_groups: [a]
compute_node_wait_for_healthy_database_minutes: 5
)", R"(
wf.yaml:5:1: note: 'access_groups' has no effect here
    5 | access_groups: [a]
      | ^~~~~~~~~~~~~
      = there is no server; who may read the store's directory may see the workflow
wf.yaml:6:1: note: 'compute_node_wait_for_healthy_database_minutes' has no effect here
    6 | compute_node_wait_for_healthy_database_minutes: 5
      | ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
      = there is no server to wait for
)"},
};
// clang-format on

INSTANTIATE_TEST_SUITE_P(Spec, KeysMistake, ::testing::ValuesIn(kKeys), mistake_name);

}  // namespace
}  // namespace torc::spec
