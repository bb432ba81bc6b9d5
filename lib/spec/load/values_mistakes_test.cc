// Amounts, names and combinations that cannot be. Each is shown with its place, its line, a caret
// and a remedy.
#include "lib/spec/testing/test_mistakes.h"

namespace torc::spec {
namespace {

class ValuesMistake : public MistakeTest {};

TEST_P(ValuesMistake, is_shown_at_its_place_with_a_remedy) {
  EXPECT_EQ(shown(), GetParam().shown.substr(1));
}

// clang-format off
const Mistake kValues[] = {
    {"memory_without_a_number", R"(
name: w
jobs:
  - name: a
    command: b
resource_requirements:
  - name: r
    memory: lots
)", R"(
wf.yaml:7:13: error: 'lots' is not an amount of memory
    7 |     memory: lots
      |             ^~~~
      = write it like 512k, 100m, 2g or 1t
)"},
    {"part_of_gpus", R"(
name: w
jobs:
  - name: a
    command: b
resource_requirements:
  - {name: r, num_gpus: 1.5}
)", R"(
wf.yaml:6:25: error: 'num_gpus' cannot be '1.5'
    6 |   - {name: r, num_gpus: 1.5}
      |                         ^~~
      = whole GPUs, or a part of one below 1, such as 0.25
)"},
    {"resources_that_cannot_be", R"(
name: w
jobs:
  - name: a
    command: b
resource_requirements:
  - name: r
    resources: {"a b": 1, cpus: 2, licence: 0, port: 0.0001, "gpus/a100": 2.5, x-y: 1, x_y: 1}
)", R"(
wf.yaml:7:17: error: no resource can be named 'a b'
    7 |     resources: {"a b": 1, cpus: 2, licence: 0, port: 0.0001, "gpus/a100": 2.5, x-y: 1, x_y: 1}
      |                 ^~~~~
      = a name begins with a letter and has letters, digits, '_', '-' and '.', then perhaps a type: gpus/a100
wf.yaml:7:27: error: 'cpus' has a key of its own
    7 |     resources: {"a b": 1, cpus: 2, licence: 0, port: 0.0001, "gpus/a100": 2.5, x-y: 1, x_y: 1}
      |                           ^~~~
      = write num_cpus, memory, num_gpus, … beside 'resources'
wf.yaml:7:45: error: 'licence' cannot be '0'
    7 |     resources: {"a b": 1, cpus: 2, licence: 0, port: 0.0001, "gpus/a100": 2.5, x-y: 1, x_y: 1}
      |                                             ^
      = a number above 0 with at most three decimals, or all
wf.yaml:7:54: error: 'port' cannot be '0.0001'
    7 |     resources: {"a b": 1, cpus: 2, licence: 0, port: 0.0001, "gpus/a100": 2.5, x-y: 1, x_y: 1}
      |                                                      ^~~~~~
      = a number above 0 with at most three decimals, or all
wf.yaml:7:75: error: 'gpus/a100' cannot be '2.5'
    7 |     resources: {"a b": 1, cpus: 2, licence: 0, port: 0.0001, "gpus/a100": 2.5, x-y: 1, x_y: 1}
      |                                                                           ^~~
      = whole GPUs, or a part of one below 1, such as 0.25
wf.yaml:7:88: error: 'x_y' is written the same in an environment variable as another name here (TORC_RESOURCE_X_Y)
    7 |     resources: {"a b": 1, cpus: 2, licence: 0, port: 0.0001, "gpus/a100": 2.5, x-y: 1, x_y: 1}
      |                                                                                        ^~~
      = give one of them another name
)"},
    {"gpus_beside_a_type_of_them", R"(
name: w
jobs:
  - name: a
    command: b
resource_requirements:
  - {name: r, num_gpus: 1, resources: {gpus/a100: 1}}
  - {name: s, resources: {fpga: 1, fpga/x: 1}}
)", R"(
wf.yaml:6:40: error: 'gpus/a100' beside num_gpus
    6 |   - {name: r, num_gpus: 1, resources: {gpus/a100: 1}}
      |                                        ^~~~~~~~~
      = of which type its GPUs are is said of all of them: write one of the two
wf.yaml:7:36: error: 'fpga/x' beside a type of it
    7 |   - {name: s, resources: {fpga: 1, fpga/x: 1}}
      |                                    ^~~~~~
      = the type is said of all of it: write one of the two
)"},
    {"memory_of_zero", R"(
name: w
jobs:
  - name: a
    command: b
resource_requirements:
  - name: r
    memory: 0
)", R"(
wf.yaml:7:13: error: '0' is zero
    7 |     memory: 0
      |             ^
      = write it like 512k, 100m, 2g or 1t
)"},
    {"memory_beyond_all", R"(
name: w
jobs:
  - name: a
    command: b
resource_requirements:
  - name: r
    memory: 5000p
)", R"(
wf.yaml:7:13: error: '5000p' is more than 1 EiB
    7 |     memory: 5000p
      |             ^~~~~
      = write it like 512k, 100m, 2g or 1t
)"},
    {"negative_memory", R"(
name: w
jobs:
  - name: a
    command: b
resource_requirements:
  - name: r
    memory: -2g
)", R"(
wf.yaml:7:13: error: '-2g' is not an amount of memory
    7 |     memory: -2g
      |             ^~~
      = write it like 512k, 100m, 2g or 1t
)"},
    {"a_runtime_in_hours_and_minutes", R"(
name: w
jobs:
  - name: a
    command: b
resource_requirements:
  - name: r
    runtime: 30:00
)", R"(
wf.yaml:7:14: error: '30:00' may be minutes or hours
    7 |     runtime: 30:00
      |              ^~~~~
      = write it like PT30M, P1DT12H, 30m, 1h30m, 1:30:00 or 2-12:00:00
)"},
    {"a_runtime_in_months", R"(
name: w
jobs:
  - name: a
    command: b
resource_requirements:
  - name: r
    runtime: P1M
)", R"(
wf.yaml:7:14: error: 'P1M': months and years have no fixed length
    7 |     runtime: P1M
      |              ^~~
      = write days, as in P30D; minutes stand behind a T, as in PT30M
)"},
    {"a_runtime_of_zero", R"(
name: w
jobs:
  - name: a
    command: b
resource_requirements:
  - name: r
    runtime: PT0S
)", R"(
wf.yaml:7:14: error: 'PT0S' is zero
    7 |     runtime: PT0S
      |              ^~~~
      = write it like PT30M, P1DT12H, 30m, 1h30m, 1:30:00 or 2-12:00:00
)"},
    {"a_runtime_of_centuries", R"(
name: w
jobs:
  - name: a
    command: b
resource_requirements:
  - name: r
    runtime: P99999D
)", R"(
wf.yaml:7:14: error: 'P99999D' is longer than 3650 days
    7 |     runtime: P99999D
      |              ^~~~~~~
      = write it like PT30M, P1DT12H, 30m, 1h30m, 1:30:00 or 2-12:00:00
)"},
    {"no_cpus", R"(
name: w
jobs:
  - name: a
    command: b
resource_requirements:
  - name: r
    num_cpus: 0
)", R"(
wf.yaml:7:15: error: 0 is out of range for 'num_cpus'
    7 |     num_cpus: 0
      |               ^
      = write a whole number from 1 to 65536
)"},
    {"half_a_cpu", R"(
name: w
jobs:
  - name: a
    command: b
resource_requirements:
  - name: r
    num_cpus: 0.5
)", R"(
wf.yaml:7:15: error: 'num_cpus' must be a whole number, not '0.5'
    7 |     num_cpus: 0.5
      |               ^~~
      = write a whole number from 1 to 65536
)"},
    {"negative_gpus", R"(
name: w
jobs:
  - name: a
    command: b
resource_requirements:
  - name: r
    num_gpus: -1
)", R"(
wf.yaml:7:15: error: 'num_gpus' cannot be '-1'
    7 |     num_gpus: -1
      |               ^~
      = a whole number from 0 to 1024, a part of one GPU such as 0.25, or all
)"},
    {"launch_of_one_node", R"(
name: w
jobs:
  - {name: a, command: b, launch: all, ntasks_per_node: 2}
)", R"(
wf.yaml:3:35: error: 'launch' is for jobs of several nodes, and job 'a' has one
    3 |   - {name: a, command: b, launch: all, ntasks_per_node: 2}
      |                                   ^~~
      = remove it, or give the job a num_nodes above 1
wf.yaml:3:57: error: 'ntasks_per_node' is for jobs of several nodes, and job 'a' has one
    3 |   - {name: a, command: b, launch: all, ntasks_per_node: 2}
      |                                                         ^
      = remove it, or give the job a num_nodes above 1
)"},
    {"launch_end_of_a_head", R"(
name: w
jobs:
  - {name: a, command: b, launch_end: all, resource_requirements: r}
resource_requirements:
  - {name: r, num_nodes: 4}
)", R"(
wf.yaml:3:39: error: 'launch_end' is for commands that run on every node, and that of job 'a' runs on the first one
    3 |   - {name: a, command: b, launch_end: all, resource_requirements: r}
      |                                       ^~~
      = remove it, or write launch: all
)"},
    {"more_nodes_than_its_scheduler", R"(
name: w
jobs:
  - {name: a, command: b, resource_requirements: r, scheduler: s}
  - {name: c, command: d, resource_requirements: r}
resource_requirements:
  - {name: r, num_nodes: 4}
slurm_schedulers:
  - {name: s, nodes: 2}
  - {name: t, nodes: 3}
)", R"(
wf.yaml:3:64: error: job 'a' needs 4 nodes, and an allocation of scheduler 's' has 2
    3 |   - {name: a, command: b, resource_requirements: r, scheduler: s}
      |                                                                ^
      = raise nodes of the scheduler, or lower num_nodes
wf.yaml:4:50: error: job 'c' needs 4 nodes, and no scheduler has allocations of more than 3
    4 |   - {name: c, command: d, resource_requirements: r}
      |                                                  ^
      = raise nodes of a scheduler, or lower num_nodes
)"},
    {"unknown_resources", R"(
name: w
jobs:
  - name: a
    command: b
    resource_requirements: smal
resource_requirements:
  - name: small
)", R"(
wf.yaml:5:28: error: no set of resource requirements is named 'smal'
    5 |     resource_requirements: smal
      |                            ^~~~
      = did you mean 'small'?
)"},
    {"an_unknown_scheduler", R"(
name: w
jobs:
  - name: a
    command: b
    scheduler: gpu
)", R"(
wf.yaml:5:16: error: no scheduler is named 'gpu'
    5 |     scheduler: gpu
      |                ^~~
      = define it under slurm_schedulers
)"},
    {"resources_defined_twice", R"(
name: w
jobs:
  - name: a
    command: b
resource_requirements:
  - name: r
  - name: r
)", R"(
wf.yaml:7:11: error: the set of resource requirements 'r' is defined twice
    7 |   - name: r
      |           ^
      = rename one; the other is in line 6
)"},
    {"a_walltime_that_is_none", R"(
name: w
jobs:
  - name: a
    command: b
slurm_schedulers:
  - name: s
    walltime: 8h
)", R"(
wf.yaml:7:15: error: '8h' is not a time limit of Slurm
    7 |     walltime: 8h
      |               ^~
      = write it like 30 (minutes), 01:30:00 (hours:minutes:seconds) or 2-00:00:00 (with days)
)"},
    {"a_walltime_of_zero", R"(
name: w
jobs:
  - name: a
    command: b
slurm_schedulers:
  - name: s
    walltime: 0
)", R"(
wf.yaml:7:15: error: '0' is zero
    7 |     walltime: 0
      |               ^
      = write it like 30 (minutes), 01:30:00 (hours:minutes:seconds) or 2-00:00:00 (with days)
)"},
    {"a_partition_with_a_blank", R"(
name: w
jobs:
  - name: a
    command: b
slurm_schedulers:
  - name: s
    partition: a b
)", R"(
wf.yaml:7:16: error: 'partition' cannot be 'a b'
    7 |     partition: a b
      |                ^~~
      = use letters, digits and any of _.-+,
)"},
    {"a_size_with_a_wrong_unit", R"(
name: w
jobs:
  - name: a
    command: b
slurm_schedulers:
  - name: s
    mem: 64GB
)", R"(
wf.yaml:7:10: error: '64GB' is not a size of sbatch
    7 |     mem: 64GB
      |          ^~~~
      = write a whole number with K, M, G or T, like 64G; without a unit it means MiB
)"},
    {"an_option_that_torc_sets", R"(
name: w
jobs:
  - name: a
    command: b
slurm_defaults:
  time: 10
)", R"(
wf.yaml:6:3: error: torc sets 'time' itself
    6 |   time: 10
      |   ^~~~
      = remove it; partition, nodes, walltime, mem and gres stand in slurm_schedulers
)"},
    {"an_option_with_dashes", R"(
name: w
jobs:
  - name: a
    command: b
slurm_defaults:
  --exclusive: true
)", R"(
wf.yaml:6:3: error: '--exclusive' is not a long option of sbatch
    6 |   --exclusive: true
      |   ^~~~~~~~~~~
      = write it without the leading '-'
)"},
    {"an_option_over_two_lines", R"(
name: w
jobs:
  - name: a
    command: b
slurm_defaults:
  comment: "a\nb"
)", R"(
wf.yaml:6:12: error: the value of 'comment' must be on one line
    6 |   comment: "a\nb"
      |            ^~~~~~
      = write it without '|' and line ends
)"},
    {"a_runtime_beyond_the_walltime", R"(
name: w
jobs:
  - name: a
    command: b
    resource_requirements: r
    scheduler: s
resource_requirements:
  - {name: r, runtime: PT10H}
slurm_schedulers:
  - {name: s, walltime: '08:00:00'}
)", R"(
wf.yaml:6:16: warning: job 'a' may run 10 h, and scheduler 's' has a walltime of 8 h
    6 |     scheduler: s
      |                ^
      = no worker would start it: raise the walltime, or lower the runtime
)"},
    {"a_runtime_that_fills_the_walltime", R"(
name: w
jobs:
  - name: a
    command: b
    resource_requirements: r
    scheduler: s
resource_requirements:
  - {name: r, runtime: PT8H}
slurm_schedulers:
  - {name: s, walltime: '08:00:00'}
)", R"(
wf.yaml:6:16: warning: job 'a' may run 8 h, and scheduler 's' has a walltime of 8 h
    6 |     scheduler: s
      |                ^
      = no worker would start it: jobs cannot use all of a walltime: it includes up to 60 s (sigkill_headroom_seconds), up to 30 s (sigterm_lead_seconds) and about 15 s to start. Raise the walltime to 8 h 2 min, or lower the runtime
)"},
    {"a_runtime_that_leaves_no_time_for_the_termination_signal", R"(
name: w
jobs:
  - name: a
    command: b
    resource_requirements: r
    scheduler: s
  - {name: fits, command: b, resource_requirements: r, scheduler: t}
resource_requirements:
  - {name: r, runtime: PT20M}
slurm_schedulers:
  - {name: s, walltime: '00:21:00'}
  - {name: t, walltime: '00:22:00'}
)", R"(
wf.yaml:6:16: warning: job 'a' may run 20 min, and scheduler 's' has a walltime of 21 min
    6 |     scheduler: s
      |                ^
      = no worker would start it: jobs cannot use all of a walltime: it includes up to 60 s (sigkill_headroom_seconds), up to 30 s (sigterm_lead_seconds) and about 15 s to start. Raise the walltime to 22 min, or lower the runtime
)"},
    {"memory_beyond_the_node", R"(
name: w
jobs:
  - name: a
    command: b
    resource_requirements: r
    scheduler: s
resource_requirements:
  - {name: r, memory: 100g, num_gpus: 4}
slurm_schedulers:
  - {name: s, mem: 64G, gres: 'gpu:a100:2'}
)", R"(
wf.yaml:6:16: error: job 'a' needs 100 GiB, and a node of scheduler 's' has 64 GiB
    6 |     scheduler: s
      |                ^
      = raise mem, or lower the memory
wf.yaml:6:16: error: job 'a' needs 4 GPUs, and a node of scheduler 's' has 2
    6 |     scheduler: s
      |                ^
      = raise gres, or lower num_gpus
)"},
    {"slurm_mode", R"(
name: w
jobs:
  - name: a
    command: b
execution_config:
  mode: slurm
  srun_mpi: pmix
)", R"(
wf.yaml:7:13: error: 'srun_mpi' belongs to mode direct, not to slurm
    7 |   srun_mpi: pmix
      |             ^~~~
      = remove it, or change the mode
)"},
    {"a_signal_of_steps_in_direct_mode", R"(
name: w
jobs:
  - name: a
    command: b
execution_config:
  mode: direct
  srun_termination_signal: TERM@120
)", R"(
wf.yaml:7:28: error: 'srun_termination_signal' belongs to mode slurm, not to direct
    7 |   srun_termination_signal: TERM@120
      |                            ^~~~~~~~
      = remove it, or change the mode
)"},
    {"a_signal_that_ends_nothing", R"(
name: w
jobs:
  - name: a
    command: b
execution_config:
  termination_signal: SIGSTOP
)", R"(
wf.yaml:6:23: error: 'SIGSTOP' is not a signal that ends a process
    6 |   termination_signal: SIGSTOP
      |                       ^~~~~~~
      = write a name or a number, as SIGTERM, INT or 10
)"},
    {"an_exit_code_of_zero", R"(
name: w
jobs:
  - name: a
    command: b
execution_config:
  timeout_exit_code: 0
)", R"(
wf.yaml:6:22: error: 0 is out of range for 'timeout_exit_code'
    6 |   timeout_exit_code: 0
      |                      ^
      = write a whole number from 1 to 255
)"},
    {"an_expression_that_is_none", R"(
name: w
jobs:
  - name: a
    command: b
    depends_on_regexes: ['work_(']
)", R"(
wf.yaml:5:26: error: 'work_(' is not a regular expression: missing ): work_(
    5 |     depends_on_regexes: ['work_(']
      |                          ^~~~~~~~
      = write it in RE2's syntax, and in single quotes, where '\' needs no doubling
)"},
};
// clang-format on

INSTANTIATE_TEST_SUITE_P(Spec, ValuesMistake, ::testing::ValuesIn(kValues), mistake_name);

}  // namespace
}  // namespace torc::spec
