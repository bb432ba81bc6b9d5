// Mistakes in what a scheduler says of allocations that come and go by themselves, and in actions
// that ask for some.
#include "lib/spec/testing/test_mistakes.h"

namespace torc::spec {
namespace {

class AllocateMistake : public MistakeTest {};

TEST_P(AllocateMistake, is_shown_at_its_place_with_a_remedy) {
  EXPECT_EQ(shown(), GetParam().shown.substr(1));
}

// clang-format off
const Mistake kAllocate[] = {
    {"keys_that_are_none", R"(
name: w
slurm_schedulers:
  - {name: s, walltime: 1-0, allocate: {max_qeued: 2, budget: {core_hour: 3}}, submit_from: logn}
jobs: [{name: a, command: b}]
)", R"(
wf.yaml:3:41: error: unknown key 'max_qeued' in allocate
    3 |   - {name: s, walltime: 1-0, allocate: {max_qeued: 2, budget: {core_hour: 3}}, submit_from: logn…
      |                                         ^~~~~~~~~
      = did you mean 'max_queued'?
wf.yaml:3:64: error: unknown key 'core_hour' in budget
    3 | … 1-0, allocate: {max_qeued: 2, budget: {core_hour: 3}}, submit_from: logn}
      |                                          ^~~~~~~~~
      = did you mean 'core_hours'?
wf.yaml:3:93: error: 'submit_from' cannot be 'logn'
    3 | …, budget: {core_hour: 3}}, submit_from: logn}
      |                                          ^~~~
      = did you mean 'login'?
)"},
    {"values_out_of_range", R"(
name: w
slurm_schedulers:
  - name: s
    allocate:
      min: -1
      max: 0
      max_queued: 10001
      backlog: some
      min_utilization: 150%
      workers_idle: PT4S
  - {name: t, allocate: true}
  - {name: u, allocate: {min_utilization: 0.12345, workers_idle: 30}}
jobs: [{name: a, command: b}]
)", R"(
wf.yaml:5:12: error: -1 is out of range for 'min'
    5 |       min: -1
      |            ^~
      = write a whole number from 0 to 10000
wf.yaml:6:12: error: 0 is out of range for 'max'
    6 |       max: 0
      |            ^
      = write a whole number from 1 to 10000
wf.yaml:7:19: error: 10001 is out of range for 'max_queued'
    7 |       max_queued: 10001
      |                   ^~~~~
      = write a whole number from 1 to 10000
wf.yaml:8:16: error: 'backlog' must be a whole number, not 'some'
    8 |       backlog: some
      |                ^~~~
      = write a whole number from 0 to 10000
wf.yaml:9:24: error: 'min_utilization' cannot be '150%'
    9 |       min_utilization: 150%
      |                        ^~~~
      = write a number from 0 to 1 with at most three decimals, or a percentage: 0.5, 50%
wf.yaml:10:21: error: a workers_idle of less than 5 seconds
   10 |       workers_idle: PT4S
      |                     ^~~~
      = write PT5S or more
wf.yaml:11:25: error: 'allocate' must be a map, not a text
   11 |   - {name: t, allocate: true}
      |                         ^~~~
      = write 'key: value' lines below it
wf.yaml:12:43: error: 'min_utilization' cannot be '0.12345'
   12 |   - {name: u, allocate: {min_utilization: 0.12345, workers_idle: 30}}
      |                                           ^~~~~~~
      = write a number from 0 to 1 with at most three decimals, or a percentage: 0.5, 50%
wf.yaml:12:66: error: '30' is a duration without a unit
   12 |   - {name: u, allocate: {min_utilization: 0.12345, workers_idle: 30}}
      |                                                                  ^~
      = write it like PT30M, P1DT12H, 30m, 1h30m, 1:30:00 or 2-12:00:00
)"},
    {"more_at_least_than_at_most", R"(
name: w
slurm_schedulers:
  - {name: s, allocate: {min: 3, max: 2}}
  - {name: t, allocate: {min: 17}}
  - {name: u, serialize_allocations: true, allocate: {min: 3}}
  - {name: v, allocate: {min: 3, max: none}}
jobs: [{name: a, command: b}]
)", R"(
wf.yaml:3:31: error: 'min' is 3, and 'max' only 2
    3 |   - {name: s, allocate: {min: 3, max: 2}}
      |                               ^
      = let 'max' be at least 'min'
wf.yaml:4:31: error: 'min' is 17, and 'max' is 16 where it is not said
    4 |   - {name: t, allocate: {min: 17}}
      |                               ^~
      = let 'max' be at least 'min'
wf.yaml:5:60: error: 'min' is 3, and 'max' is 2 where it is not said
    5 |   - {name: u, serialize_allocations: true, allocate: {min: 3}}
      |                                                            ^
      = let 'max' be at least 'min'
wf.yaml:6:39: error: 'max' must be a whole number, not 'none'
    6 |   - {name: v, allocate: {min: 3, max: none}}
      |                                       ^~~~
      = write a whole number from 1 to 10000
)"},
    {"several_one_after_the_other", R"(
name: w
slurm_schedulers:
  - {name: s, serialize_allocations: true, allocate: {max: 5}}
jobs: [{name: a, command: b}]
)", R"(
wf.yaml:3:60: warning: with serialize_allocations one allocation runs at a time, and others wait for it
    3 |   - {name: s, serialize_allocations: true, allocate: {max: 5}}
      |                                                            ^
      = write max: 2, which is the one that runs and the next
)"},
    {"a_budget_without_a_walltime", R"(
name: w
slurm_schedulers:
  - {name: s, allocate: {budget: {core_hours: 5}}}
  - {name: t, walltime: UNLIMITED, allocate: {budget: {core_hours: 5}}}
  - {name: u, walltime: long, allocate: {budget: {core_hours: 5}}}
jobs: [{name: a, command: b}]
)", R"(
wf.yaml:3:34: error: a budget of allocations, and 's' has no limit to its walltime
    3 |   - {name: s, allocate: {budget: {core_hours: 5}}}
      |                                  ^
      = give the scheduler a walltime: what an allocation may use follows from it
wf.yaml:4:55: error: a budget of allocations, and 't' has no limit to its walltime
    4 |   - {name: t, walltime: UNLIMITED, allocate: {budget: {core_hours: 5}}}
      |                                                       ^
      = give the scheduler a walltime: what an allocation may use follows from it
wf.yaml:5:25: error: 'long' is not a time limit of Slurm
    5 |   - {name: u, walltime: long, allocate: {budget: {core_hours: 5}}}
      |                         ^~~~
      = write it like 30 (minutes), 01:30:00 (hours:minutes:seconds) or 2-00:00:00 (with days)
)"},
    {"an_action_that_asks_for_none", R"(
name: w
slurm_schedulers: [{name: s}]
actions:
  - {trigger_type: on_workflow_start, action_type: schedule_nodes, scheduler: s, num_allocations: 0}
  - {trigger_type: on_workflow_start, action_type: schedule_nodes, scheduler: s, max_parallel_jobs: 0}
  - {trigger_type: on_workflow_start, action_type: schedule_nodes, scheduler: s, scheduler_type: slrum}
  - {trigger_type: on_workflow_start, action_type: run_commands, commands: [x], num_allocations: 2}
jobs: [{name: a, command: b}]
)", R"(
wf.yaml:4:99: error: 0 is out of range for 'num_allocations'
    4 | …e_nodes, scheduler: s, num_allocations: 0}
      |                                          ^
      = write a whole number from 1 to 10000
wf.yaml:5:101: error: 0 is out of range for 'max_parallel_jobs'
    5 | …nodes, scheduler: s, max_parallel_jobs: 0}
      |                                          ^
      = write a whole number from 1 to 2147483647
wf.yaml:6:98: error: 'scheduler_type' cannot be 'slrum'
    6 | …le_nodes, scheduler: s, scheduler_type: slrum}
      |                                          ^~~~~
      = did you mean 'slurm'?
wf.yaml:7:98: error: 'num_allocations' belongs to schedule_nodes
    7 | …mmands, commands: [x], num_allocations: 2}
      |                                          ^
      = remove it, or change the action
)"},
};
// clang-format on

INSTANTIATE_TEST_SUITE_P(Spec, AllocateMistake, ::testing::ValuesIn(kAllocate), mistake_name);

}  // namespace
}  // namespace torc::spec
