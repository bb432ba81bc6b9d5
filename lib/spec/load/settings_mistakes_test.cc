// Mistakes in what a workflow says of events and settings: actions, failures, budgets, leases,
// limits; and what many jobs have in common.
#include "lib/spec/testing/test_mistakes.h"

namespace torc::spec {
namespace {

class SettingMistake : public MistakeTest {};

TEST_P(SettingMistake, is_shown_at_its_place_with_a_remedy) {
  EXPECT_EQ(shown(), GetParam().shown.substr(1));
}

// clang-format off
const Mistake kSettings[] = {
    {"actions_without_what_they_need", R"(
name: w
slurm_schedulers: [{name: big}]
actions:
  - {trigger_type: on_workflow_start, action_type: schedule_nodes}
  - {trigger_type: on_workflow_start, action_type: run_commands, scheduler: big}
  - {trigger_type: on_jobs_ready, action_type: run_commands, commands: [x]}
  - {trigger_type: on_worker_start, action_type: run_commands, commands: [x], jobs: [a]}
  - {trigger_type: on_worker_start, action_type: run_commands, commands: []}
jobs: [{name: a, command: b}]
)", R"(
wf.yaml:4:5: error: an action without 'scheduler'
    4 |   - {trigger_type: on_workflow_start, action_type: schedule_nodes}
      |     ^
      = add 'scheduler: …'
wf.yaml:5:5: error: an action without 'commands'
    5 |   - {trigger_type: on_workflow_start, action_type: run_commands, scheduler: big}
      |     ^
      = add 'commands: […]'
wf.yaml:5:77: error: 'scheduler' belongs to schedule_nodes
    5 |   - {trigger_type: on_workflow_start, action_type: run_commands, scheduler: big}
      |                                                                             ^~~
      = remove it, or change the action
wf.yaml:6:5: error: an action without jobs
    6 |   - {trigger_type: on_jobs_ready, action_type: run_commands, commands: [x]}
      |     ^
      = name them with 'jobs: […]' or 'job_name_regexes: […]'
wf.yaml:7:85: error: 'jobs' belongs to on_jobs_ready and on_jobs_complete
    7 |   - {trigger_type: on_worker_start, action_type: run_commands, commands: [x], jobs: [a]}
      |                                                                                     ^
      = remove it, or change the action
wf.yaml:8:74: error: 'commands' is empty
    8 |   - {trigger_type: on_worker_start, action_type: run_commands, commands: []}
      |                                                                          ^
      = write at least one command, or remove the action
)"},
    {"actions_that_name_what_is_not_there", R"(
name: w
slurm_schedulers: [{name: big}]
actions:
  - {trigger_type: on_jobs_ready, action_type: schedule_nodes, scheduler: bgi, jobs: [prepar]}
  - {trigger_type: on_jobs_complete, action_type: run_commands, commands: x, job_name_regexes: ['(']}
jobs: [{name: prepare, command: b}]
)", R"(
wf.yaml:4:75: error: no scheduler is named 'bgi'
    4 |   - {trigger_type: on_jobs_ready, action_type: schedule_nodes, scheduler: bgi, jobs: [prepar]}
      |                                                                           ^~~
      = did you mean 'big'?
wf.yaml:4:87: error: no job is named 'prepar'
    4 |   - {trigger_type: on_jobs_ready, action_type: schedule_nodes, scheduler: bgi, jobs: [prepar]}
      |                                                                                       ^~~~~~
      = did you mean 'prepare'?
wf.yaml:5:97: error: '(' is not a regular expression: missing ): (
    5 | …mmands, commands: x, job_name_regexes: ['(']}
      |                                          ^~~
      = write it in RE2's syntax, and in single quotes, where '\' needs no doubling
)"},
    {"an_unknown_trigger", R"(
name: w
actions:
  - {trigger_type: on_workflow_begin, action_type: run_comands, commands: [x]}
jobs: [{name: a, command: b}]
)", R"(
wf.yaml:3:20: error: 'trigger_type' cannot be 'on_workflow_begin'
    3 |   - {trigger_type: on_workflow_begin, action_type: run_comands, commands: [x]}
      |                    ^~~~~~~~~~~~~~~~~
      = did you mean 'on_workflow_start'?
wf.yaml:3:52: error: 'action_type' cannot be 'run_comands'
    3 |   - {trigger_type: on_workflow_begin, action_type: run_comands, commands: [x]}
      |                                                    ^~~~~~~~~~~
      = did you mean 'run_commands'?
)"},
    {"one_worker_per_node_in_slurm_mode", R"(
name: w
execution_config: {mode: slurm}
slurm_schedulers: [{name: big, nodes: 2}]
actions:
  - trigger_type: on_workflow_start
    action_type: schedule_nodes
    scheduler: big
    start_one_worker_per_node: true
jobs: [{name: a, command: b}]
)", R"(
wf.yaml:8:32: error: 'start_one_worker_per_node' belongs to mode direct, not to slurm
    8 |     start_one_worker_per_node: true
      |                                ^~~~
      = remove it: in mode slurm one worker serves all nodes of an allocation
)"},
    {"a_launcher_within_a_launcher", R"(
name: w
execution_config: {mode: slurm}
jobs:
  - {name: a, command: "OMP_NUM_THREADS=1 srun --mpi=pmix python train.py"}
  - {name: b, command: /usr/bin/mpirun python train.py}
  - {name: c, command: python srun.py}
)", R"(
wf.yaml:4:43: warning: in mode slurm every job is started by srun, so this srun starts tasks within its step
    4 |   - {name: a, command: "OMP_NUM_THREADS=1 srun --mpi=pmix python train.py"}
      |                                           ^~~~
      = write the command without srun: the CPUs that it asks for are those that the step has, and it waits for them; to start tasks yourself use mode: direct
wf.yaml:5:24: warning: in mode slurm every job is started by srun, so this mpirun starts tasks within its step
    5 |   - {name: b, command: /usr/bin/mpirun python train.py}
      |                        ^~~~~~~~~~~~~~~
      = write the command without mpirun: the CPUs that it asks for are those that the step has, and it waits for them; to start tasks yourself use mode: direct
)"},
    {"a_failure_handler_that_is_not_there", R"(
name: w
failure_handlers: [{name: again, rules: [{exit_codes: [1]}]}]
jobs:
  - {name: a, command: b, failure_handler: agian}
)", R"(
wf.yaml:4:44: error: no failure handler is named 'agian'
    4 |   - {name: a, command: b, failure_handler: agian}
      |                                            ^~~~~
      = did you mean 'again'?
)"},
    {"a_failure_handler_by_a_parameter", R"(
name: w
failure_handlers: [{name: h_1, rules: [{exit_codes: [1]}]}]
jobs:
  - {name: "a_{i}", command: b, failure_handler: "h_{i}", parameters: {i: [1, 2]}}
)", R"(
wf.yaml:4:50: error: no failure handler is named 'h_{i}'
    4 |   - {name: "a_{i}", command: b, failure_handler: "h_{i}", parameters: {i: [1, 2]}}
      |                                                  ^~~~~~~
      = define it under failure_handlers
)"},
    {"rules_that_cannot_be", R"(
name: w
failure_handlers:
  - name: h
    rules:
      - {max_retries: 2}
      - {exit_codes: [0, 300, x]}
      - {exit_codes: [1], match_all_exit_codes: true}
      - {on: oom, memory_multiplier: 0}
      - {on: [out_of_memory]}
      - {on: timeout, runtime_multiplier: "2", backoff: 30}
  - {name: e, rules: []}
jobs: [{name: a, command: b}]
)", R"(
wf.yaml:5:9: error: a rule that does not say what it is for
    5 |       - {max_retries: 2}
      |         ^
      = add 'exit_codes: […]', 'match_all_exit_codes: true' or 'on: …'
wf.yaml:6:23: error: 0 is out of range for 'exit_codes'
    6 |       - {exit_codes: [0, 300, x]}
      |                       ^
      = write a whole number from 1 to 255
wf.yaml:6:26: error: 300 is out of range for 'exit_codes'
    6 |       - {exit_codes: [0, 300, x]}
      |                          ^~~
      = write a whole number from 1 to 255
wf.yaml:6:31: error: 'exit_codes' must be a whole number, not 'x'
    6 |       - {exit_codes: [0, 300, x]}
      |                               ^
      = write a whole number from 1 to 255
wf.yaml:7:22: error: 'exit_codes' beside 'match_all_exit_codes: true'
    7 |       - {exit_codes: [1], match_all_exit_codes: true}
      |                      ^
      = keep one of the two
wf.yaml:8:38: error: 'memory_multiplier' cannot be '0'
    8 |       - {on: oom, memory_multiplier: 0}
      |                                      ^
      = write a number above 0, at most 1000, without quotes
wf.yaml:9:15: error: 'on' cannot be 'out_of_memory'
    9 |       - {on: [out_of_memory]}
      |               ^~~~~~~~~~~~~
      = one of oom, timeout, signal, node_death, output_missing
wf.yaml:10:43: error: 'runtime_multiplier' cannot be '2'
   10 |       - {on: timeout, runtime_multiplier: "2", backoff: 30}
      |                                           ^~~
      = write a number above 0, at most 1000, without quotes
wf.yaml:10:57: error: '30' is a duration without a unit
   10 |       - {on: timeout, runtime_multiplier: "2", backoff: 30}
      |                                                         ^~
      = write it like PT30M, P1DT12H, 30m, 1h30m, 1:30:00 or 2-12:00:00
wf.yaml:11:22: error: 'rules' is empty
   11 |   - {name: e, rules: []}
      |                      ^
      = write at least one rule
)"},
    {"a_budget_that_is_no_number", R"(
name: w
budget: {core_hours: many, node_hours: -1, gpu_hours: 3}
jobs: [{name: a, command: b}]
)", R"(
wf.yaml:2:22: error: 'core_hours' cannot be 'many'
    2 | budget: {core_hours: many, node_hours: -1, gpu_hours: 3}
      |                      ^~~~
      = write a number above 0, at most 2147483647, without quotes
wf.yaml:2:40: error: 'node_hours' cannot be '-1'
    2 | budget: {core_hours: many, node_hours: -1, gpu_hours: 3}
      |                                        ^~
      = write a number above 0, at most 2147483647, without quotes
wf.yaml:2:44: error: unknown key 'gpu_hours' in budget
    2 | budget: {core_hours: many, node_hours: -1, gpu_hours: 3}
      |                                            ^~~~~~~~~
      = remove it
)"},
    {"a_lease_that_is_too_short", R"(
name: w
lease: {ttl: PT5S, beat: PT3S}
jobs: [{name: a, command: b}]
)", R"(
wf.yaml:2:14: error: a ttl of less than 10 seconds
    2 | lease: {ttl: PT5S, beat: PT3S}
      |              ^~~~
      = write PT10S or more
wf.yaml:2:26: error: fewer than three heartbeats in one ttl
    2 | lease: {ttl: PT5S, beat: PT3S}
      |                          ^~~~
      = make ttl longer or beat shorter; five heartbeats are usual
)"},
    {"a_lease_that_is_too_long", R"(
name: w
lease: {ttl: P2D, beat: PT0S}
jobs: [{name: a, command: b}]
)", R"(
wf.yaml:2:14: error: a ttl of more than a day
    2 | lease: {ttl: P2D, beat: PT0S}
      |              ^~~
      = write P1D or less: so long the jobs of a dead worker would wait
wf.yaml:2:25: error: 'PT0S' is zero
    2 | lease: {ttl: P2D, beat: PT0S}
      |                         ^~~~
      = write it like PT30M, P1DT12H, 30m, 1h30m, 1:30:00 or 2-12:00:00
)"},
    {"beats_without_a_lease_to_hold_them", R"(
name: w
lease: {beat: PT3M}
jobs: [{name: a, command: b}]
)", R"(
wf.yaml:2:15: error: fewer than three heartbeats in a ttl of 5 minutes
    2 | lease: {beat: PT3M}
      |               ^~~~
      = give a longer ttl too; five heartbeats are usual
)"},
    {"a_walltime_that_is_all_kept_free", R"(
name: w
compute_node_expiration_buffer_seconds: 3600
slurm_schedulers: [{name: s, walltime: "01:00:00"}]
jobs: [{name: a, command: b, scheduler: s}]
)", R"(
wf.yaml:2:41: error: the whole walltime of scheduler 's', 1 h, would be kept free
    2 | compute_node_expiration_buffer_seconds: 3600
      |                                         ^~~~
      = make it smaller, or the walltime longer
)"},
    {"limits_of_entries_that_are_not_there", R"(
name: w
limits: {"work_{j}": 3, "work_{i}": 0}
jobs: [{name: "work_{i}", command: b, parameters: {i: "1:3"}}]
)", R"(
wf.yaml:2:10: error: no entry of 'jobs' is named 'work_{j}', and no job has it among its limits
    2 | limits: {"work_{j}": 3, "work_{i}": 0}
      |          ^~~~~~~~~~
      = did you mean 'work_{i}'?
wf.yaml:2:37: error: 0 is out of range for 'work_{i}'
    2 | limits: {"work_{j}": 3, "work_{i}": 0}
      |                                     ^
      = write a whole number from 1 to 2147483647
)"},
    {"a_limit_of_no_job", R"(
name: w
jobs: [{name: a, command: b, max_parallel: 0, crash_limit: none}]
)", R"(
wf.yaml:2:44: error: 0 is out of range for 'max_parallel'
    2 | jobs: [{name: a, command: b, max_parallel: 0, crash_limit: none}]
      |                                            ^
      = write a whole number from 1 to 2147483647
wf.yaml:2:60: error: 'crash_limit' must be a whole number, not 'none'
    2 | jobs: [{name: a, command: b, max_parallel: 0, crash_limit: none}]
      |                                                            ^~~~
      = write a whole number from 1 to 1000
)"},
    {"jobs_that_add_jobs_without_end", R"(
name: w
dynamic_jobs: {max_iterations: unlimited}
jobs: [{name: a, command: b}]
)", R"(
wf.yaml:2:32: error: 'max_iterations' must be a whole number, not 'unlimited'
    2 | dynamic_jobs: {max_iterations: unlimited}
      |                                ^~~~~~~~~
      = write a whole number from 1 to 2147483647
)"},
    {"a_label_that_looks_like_a_slip", R"(
name: w
jobs:
  - {name: a, command: b, label: gpu}
  - {name: c, command: b, label: gpu}
  - {name: d, command: b, label: gpuu}
)", R"(
wf.yaml:5:34: warning: only this job has the label 'gpuu'
    5 |   - {name: d, command: b, label: gpuu}
      |                                  ^~~~
      = did you mean 'gpu', as 2 others have?
)"},
    {"a_monitor_with_an_unknown_key", R"(
name: w
resource_monitor: {enable: true, granularity: fine}
jobs: [{name: a, command: b}]
)", R"(
wf.yaml:2:20: error: unknown key 'enable' in resource_monitor
    2 | resource_monitor: {enable: true, granularity: fine}
      |                    ^~~~~~
      = did you mean 'enabled'?
wf.yaml:2:47: error: 'granularity' cannot be 'fine'
    2 | resource_monitor: {enable: true, granularity: fine}
      |                                               ^~~~
      = one of summary, time_series, Summary, TimeSeries
)"},
    {"a_signal_without_its_time", R"(
name: w
execution_config: {mode: slurm, srun_termination_signal: "TERM@soon"}
jobs: [{name: a, command: b}]
)", R"(
wf.yaml:2:58: error: 'TERM@soon' is not a signal with its time
    2 | execution_config: {mode: slurm, srun_termination_signal: "TERM@soon"}
      |                                                          ^~~~~~~~~~~
      = write a signal, '@' and seconds, as TERM@120
)"},
    {"a_table_that_is_none", R"(
name: w
jobs:
  - {name: "a_{x}", command: b, parameters: "@values.txt"}
)", R"(
wf.yaml:3:45: error: the table 'values.txt' is neither CSV nor JSON by its name
    3 |   - {name: "a_{x}", command: b, parameters: "@values.txt"}
      |                                             ^~~~~~~~~~~~~
      = name a file that ends in .csv, .json, .jsonl or .ndjson; a list of values belongs to one parameter, as name: "@file"
)"},
    {"a_table_and_a_parameter_of_other_length", R"(
name: w
parameters: {k: "1:3"}
jobs:
  - {name: "t_{a}_{k}", command: c, parameters: "@good.csv", use_parameters: [k], parameter_mode: zip}
)", R"(
wf.yaml:4:99: error: zip needs equal lengths, but 'a' has 2 values and 'k' has 3
    4 | …", use_parameters: [k], parameter_mode: zip}
      |                                          ^~~
      = make the lengths equal, or use parameter_mode: product
)"},
    {"names_that_cannot_be_shown", R"(
name: w
jobs:
  - {name: "a\nb", command: c}
  - {name: "a\tb", command: c}
  - {name: "a\e[31mb", command: c}
  - {name: "a\u202eb", command: c, label: "x\ay"}
)", R"(
wf.yaml:3:12: error: 'name' must be on one line
    3 |   - {name: "a\nb", command: c}
      |            ^~~~~~
      = write it without '|' and line ends
wf.yaml:4:12: error: 'name' has a tab
    4 |   - {name: "a\tb", command: c}
      |            ^~~~~~
      = write a blank instead
wf.yaml:5:12: error: 'name' has the control character U+001B
    5 |   - {name: "a\e[31mb", command: c}
      |            ^~~~~~~~~~
      = remove it
wf.yaml:6:12: error: 'name' has the direction character U+202E
    6 |   - {name: "a\u202eb", command: c, label: "x\ay"}
      |            ^~~~~~~~~~
      = remove it
wf.yaml:6:43: error: 'label' has the control character U+0007
    6 |   - {name: "a\u202eb", command: c, label: "x\ay"}
      |                                           ^~~~~~
      = remove it
)"},
    {"numbers_in_other_systems", R"(
name: w
slurm_schedulers: [{name: s, serialize_allocations: yes}]
jobs:
  - {name: a, command: c, priority: 010}
  - {name: b, command: c, priority: 1e3}
  - {name: d, command: c, priority: 0x10}
  - {name: e, command: c, priority: 1_000}
)", R"(
wf.yaml:2:53: error: 'serialize_allocations' must be true or false, not 'yes'
    2 | slurm_schedulers: [{name: s, serialize_allocations: yes}]
      |                                                     ^~~
      = write true or false
wf.yaml:4:37: error: 'priority' must be a whole number, not '010'
    4 |   - {name: a, command: c, priority: 010}
      |                                     ^~~
      = write a whole number from -2147483648 to 2147483647
wf.yaml:5:37: error: 'priority' must be a whole number, not '1e3'
    5 |   - {name: b, command: c, priority: 1e3}
      |                                     ^~~
      = write a whole number from -2147483648 to 2147483647
wf.yaml:6:37: error: 'priority' must be a whole number, not '0x10'
    6 |   - {name: d, command: c, priority: 0x10}
      |                                     ^~~~
      = write a whole number from -2147483648 to 2147483647
wf.yaml:7:37: error: 'priority' must be a whole number, not '1_000'
    7 |   - {name: e, command: c, priority: 1_000}
      |                                     ^~~~~
      = write a whole number from -2147483648 to 2147483647
)"},
    {"a_command_as_a_list", R"(
name: w
jobs:
  - {name: a, command: [echo, hi]}
)", R"(
wf.yaml:3:24: error: 'command' must be a text, not a list
    3 |   - {name: a, command: [echo, hi]}
      |                        ^
      = put quotes around a text that starts with '{' or '['
)"},
    {"one_mistake_of_all_jobs_is_told_once", R"(
name: w
jobs:
  - {name: j0, command: b, scheduler: gpuu}
  - {name: j1, command: b, scheduler: gpuu}
  - {name: j2, command: b, scheduler: gpuu}
  - {name: j3, command: b, scheduler: gpuu}
)", R"(
wf.yaml:3:39: error: no scheduler is named 'gpuu' (4 name it)
    3 |   - {name: j0, command: b, scheduler: gpuu}
      |                                       ^~~~
      = define it under slurm_schedulers
)"},
    {"a_place_behind_wide_characters", R"(
name: w
jobs:
  - {name: "模型_é", command: c, depends_on: [模形_é]}
)", R"(
wf.yaml:3:45: error: no job is named '模形_é'
    3 |   - {name: "模型_é", command: c, depends_on: [模形_é]}
      |                                               ^~~~~~
      = did you mean '模型_é'?
)"},
};
// clang-format on

INSTANTIATE_TEST_SUITE_P(Spec, SettingMistake, ::testing::ValuesIn(kSettings), mistake_name);

}  // namespace
}  // namespace torc::spec
