// Mistakes in the terms of jobs: limits that they share, labels, times.
#include "lib/spec/testing/test_mistakes.h"

namespace torc::spec {
namespace {

class TermMistake : public MistakeTest {};

TEST_P(TermMistake, is_shown_at_its_place_with_a_remedy) {
  EXPECT_EQ(shown(), GetParam().shown.substr(1));
}

// clang-format off
const Mistake kTerms[] = {
    {"a_part_of_a_gpu_that_no_step_has", R"(
name: w
execution_config: {mode: slurm}
jobs:
  - {name: a, command: b, gpus: 0.25}
)", R"(
wf.yaml:4:33: error: 0.25 of 'gpus' is not a part of a step of Slurm
    4 |   - {name: a, command: b, gpus: 0.25}
      |                                 ^~~~
      = ask for whole GPUs, or use mode: direct or auto, where jobs share them
)"},
    {"limits_that_jobs_cannot_have", R"(
name: w
limits: {licence: 2, unused: 1}
jobs:
  - {name: a, command: b, limits: [license]}
  - {name: c, command: b, limits: {licence: 3}}
  - {name: d, command: b, limits: [licence, licence]}
  - {name: e, command: b, limits: {licence: 0}}
  - {name: f, command: b, limits: {licence: -1}}
)", R"(
wf.yaml:2:22: warning: no entry of 'jobs' is named 'unused', and no job has it among its limits
    2 | limits: {licence: 2, unused: 1}
      |                      ^~~~~~
      = name an entry as it is written, with its braces; or say limits: [unused] in the jobs that it is for
wf.yaml:4:36: error: no limit is named 'license'
    4 |   - {name: a, command: b, limits: [license]}
      |                                    ^~~~~~~
      = did you mean 'licence'?
wf.yaml:5:36: error: job 'c' needs 3 of 'licence', and there are 2: it could never run
    5 |   - {name: c, command: b, limits: {licence: 3}}
      |                                    ^~~~~~~
      = raise the limit, or let the job need less
wf.yaml:6:45: error: the limit 'licence' is given twice
    6 |   - {name: d, command: b, limits: [licence, licence]}
      |                                             ^~~~~~~
      = write limits: {licence: 2} for two of it
wf.yaml:7:45: error: 0 is out of range for 'licence'
    7 |   - {name: e, command: b, limits: {licence: 0}}
      |                                             ^
      = write a whole number from 1 to 2147483647
wf.yaml:8:45: error: -1 is out of range for 'licence'
    8 |   - {name: f, command: b, limits: {licence: -1}}
      |                                             ^~
      = write a whole number from 1 to 2147483647
)"},
    {"labels_that_no_worker_can_have", R"(
name: w
jobs:
  - {name: a, command: b, label: gpu, labels: [ssd]}
  - {name: c, command: b, labels: [gpu, "a,b"]}
  - {name: d, command: b, labels: [gpu, ssd, gpu]}
  - {name: e, command: b, labels: [""]}
  - {name: "f_{i}", command: b, labels: ["{i}"], parameters: {i: ["x", "y,z"]}}
)", R"(
wf.yaml:3:47: error: a job has 'labels' or 'label', not both
    3 |   - {name: a, command: b, label: gpu, labels: [ssd]}
      |                                               ^
      = write all of them in 'labels', and leave 'label' out
wf.yaml:4:41: error: the label 'a,b' has a comma
    4 |   - {name: c, command: b, labels: [gpu, "a,b"]}
      |                                         ^~~~~
      = write several labels as labels: [gpu, ssd]
wf.yaml:5:46: error: the label 'gpu' is given twice
    5 |   - {name: d, command: b, labels: [gpu, ssd, gpu]}
      |                                              ^~~
      = once is enough
wf.yaml:6:36: error: an element of 'labels' is empty
    6 |   - {name: e, command: b, labels: [""]}
      |                                    ^~
      = write a text, or remove it
wf.yaml:7:41: error: the label 'y,z' is not one
    7 |   - {name: "f_{i}", command: b, labels: ["{i}"], parameters: {i: ["x", "y,z"]}}
      |                                         ^
      = a label is a word without commas
)"},
    {"times_that_contradict_each_other", R"(
name: w
resource_requirements:
  - {name: long, runtime: PT2H, time_limit: PT1H}
  - {name: least, runtime: PT1H, min_time: PT2H}
  - {name: saves, runtime: PT1H, min_time: PT10M}
  - {name: brief, time_limit: PT1H}
jobs:
  - {name: a, command: b, resource_requirements: saves}
  - {name: c, command: b, resource_requirements: brief, runtime: PT2H}
)", R"(
wf.yaml:3:12: error: 'long' is expected to run 2 h and is ended after 1 h
    3 |   - {name: long, runtime: PT2H, time_limit: PT1H}
      |            ^~~~
      = let time_limit be the longer one
wf.yaml:4:12: error: 'least' needs at least 2 h and is ended after 1 h
    4 |   - {name: least, runtime: PT1H, min_time: PT2H}
      |            ^~~~~
      = min_time is a part of the runtime
wf.yaml:8:50: warning: 'a' starts where 10 min are left and has no checkpoint_exit_code: what it has not finished by the end of its worker's time is lost
    8 |   - {name: a, command: b, resource_requirements: saves}
      |                                                  ^~~~~
      = give it a checkpoint_exit_code, or leave min_time out
wf.yaml:9:66: error: 'c' is expected to run 2 h and is ended after 1 h
    9 |   - {name: c, command: b, resource_requirements: brief, runtime: PT2H}
      |                                                                  ^~~~
      = let time_limit be the longer one
)"},
    {"datasets", R"(
name: w
datasets:
  - {name: parts, path: out/, hash_mode: all}
  - {name: parts, path: other/}
  - {name: nowhere}
jobs:
  - {name: a, command: b, output_datasets: [parts], input_datasets: [prats]}
  - {name: "c_{i}", command: d, output_datasets: ["x_{i}"], parameters: {i: "1:2"}}
)", R"(
wf.yaml:3:31: note: 'hash_mode' has no effect here
    3 |   - {name: parts, path: out/, hash_mode: all}
      |                               ^~~~~~~~~
      = what a dataset holds is not compared; `torc reinit` looks at files
wf.yaml:3:42: error: 'hash_mode' cannot be 'all'
    3 |   - {name: parts, path: out/, hash_mode: all}
      |                                          ^~~
      = one of manifest, content, none
wf.yaml:4:12: error: the dataset 'parts' is defined twice
    4 |   - {name: parts, path: other/}
      |            ^~~~~
      = rename one; the other is in line 3
wf.yaml:5:5: error: dataset 'nowhere' has no 'path'
    5 |   - {name: nowhere}
      |     ^
      = add 'path: …'
wf.yaml:7:70: error: no dataset is named 'prats'
    7 |   - {name: a, command: b, output_datasets: [parts], input_datasets: [prats]}
      |                                                                      ^~~~~
      = did you mean 'parts'?
wf.yaml:8:51: error: no dataset is named 'x_{i}'
    8 |   - {name: "c_{i}", command: d, output_datasets: ["x_{i}"], parameters: {i: "1:2"}}
      |                                                   ^~~~~~~
      = define it under datasets
)"},
    {"times_of_a_job_itself", R"(
name: w
resource_requirements:
  - {name: hour, runtime: 1h}
jobs:
  - {name: a, command: b, resource_requirements: hour, time_limit: 30m}
  - {name: c, command: d, runtime: 2h, time_limit: 1h}
  - {name: e, command: f, runtime: 2h, min_time: 10m}
)", R"(
wf.yaml:5:68: error: 'a' is expected to run 1 h and is ended after 30 min
    5 |   - {name: a, command: b, resource_requirements: hour, time_limit: 30m}
      |                                                                    ^~~
      = let time_limit be the longer one
wf.yaml:6:52: error: 'c' is expected to run 2 h and is ended after 1 h
    6 |   - {name: c, command: d, runtime: 2h, time_limit: 1h}
      |                                                    ^~
      = let time_limit be the longer one
wf.yaml:7:50: warning: 'e' starts where 10 min are left and has no checkpoint_exit_code: what it has not finished by the end of its worker's time is lost
    7 |   - {name: e, command: f, runtime: 2h, min_time: 10m}
      |                                                  ^~~
      = give it a checkpoint_exit_code, or leave min_time out
)"},
    {"needs_of_a_job_itself", R"(
name: w
resource_requirements:
  - {name: small, cpus: 2, num_cpus: 3}
slurm_schedulers:
  - {name: s, account: x, nodes: 2, mem: 8G, walltime: "01:00:00", gres: "gpu:1"}
jobs:
  - {name: a, command: b, cpus: 0, gpus: many, memory: lots, runtime: 90}
  - {name: c, command: d, num_gpus: 1, gpus: 1}
  - {name: e, command: f, scheduler: s, memory: 9g, gpus: 2, num_nodes: 3, runtime: 2h}
  - {name: g, command: h, num_nodes: 3}
  - {name: i, command: j, memory: 100}
)", R"(
wf.yaml:3:28: error: 'num_cpus' and 'cpus' are the same key
    3 |   - {name: small, cpus: 2, num_cpus: 3}
      |                            ^~~~~~~~
      = keep one of the two
wf.yaml:7:33: error: 0 is out of range for 'cpus'
    7 |   - {name: a, command: b, cpus: 0, gpus: many, memory: lots, runtime: 90}
      |                                 ^
      = write a whole number from 1 to 65536
wf.yaml:7:42: error: 'gpus' cannot be 'many'
    7 |   - {name: a, command: b, cpus: 0, gpus: many, memory: lots, runtime: 90}
      |                                          ^~~~
      = a whole number from 0 to 1024, a part of one GPU such as 0.25, or all
wf.yaml:7:56: error: 'lots' is not an amount of memory
    7 |   - {name: a, command: b, cpus: 0, gpus: many, memory: lots, runtime: 90}
      |                                                        ^~~~
      = write it like 512k, 100m, 2g or 1t
wf.yaml:7:71: error: '90' is a duration without a unit
    7 |   - {name: a, command: b, cpus: 0, gpus: many, memory: lots, runtime: 90}
      |                                                                       ^~
      = write it like PT30M, P1DT12H, 30m, 1h30m, 1:30:00 or 2-12:00:00
wf.yaml:8:40: error: 'gpus' and 'num_gpus' are the same key
    8 |   - {name: c, command: d, num_gpus: 1, gpus: 1}
      |                                        ^~~~
      = keep one of the two
wf.yaml:9:38: error: job 'e' needs 2 GPUs, and a node of scheduler 's' has 1
    9 |   - {name: e, command: f, scheduler: s, memory: 9g, gpus: 2, num_nodes: 3, runtime: 2h}
      |                                      ^
      = raise gres, or lower num_gpus
wf.yaml:9:38: error: job 'e' needs 3 nodes, and an allocation of scheduler 's' has 2
    9 |   - {name: e, command: f, scheduler: s, memory: 9g, gpus: 2, num_nodes: 3, runtime: 2h}
      |                                      ^
      = raise nodes of the scheduler, or lower num_nodes
wf.yaml:9:38: error: job 'e' needs 9 GiB, and a node of scheduler 's' has 8 GiB
    9 |   - {name: e, command: f, scheduler: s, memory: 9g, gpus: 2, num_nodes: 3, runtime: 2h}
      |                                      ^
      = raise mem, or lower the memory
wf.yaml:9:38: warning: job 'e' may run 2 h, and scheduler 's' has a walltime of 1 h
    9 |   - {name: e, command: f, scheduler: s, memory: 9g, gpus: 2, num_nodes: 3, runtime: 2h}
      |                                      ^
      = no worker would start it: raise the walltime, or lower the runtime
wf.yaml:10:38: error: job 'g' needs 3 nodes, and no scheduler has allocations of more than 2
   10 |   - {name: g, command: h, num_nodes: 3}
      |                                      ^
      = raise nodes of a scheduler, or lower num_nodes
wf.yaml:11:35: error: '100' without a unit is 100 bytes
   11 |   - {name: i, command: j, memory: 100}
      |                                   ^~~
      = write 100m or 100g, or 100b where bytes are meant
)"},
};
// clang-format on

INSTANTIATE_TEST_SUITE_P(Spec, TermMistake, ::testing::ValuesIn(kTerms), mistake_name);

}  // namespace
}  // namespace torc::spec
