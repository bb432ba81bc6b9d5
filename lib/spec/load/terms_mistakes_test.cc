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
    {"limits_that_jobs_cannot_have", R"(
name: w
limits: {licence: 2, unused: 1}
jobs:
  - {name: a, command: b, limits: [license]}
  - {name: c, command: b, limits: {licence: 3}}
  - {name: d, command: b, limits: [licence, licence]}
  - {name: e, command: b, limits: {licence: 0}}
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
wf.yaml:6:45: error: the limit 'licence' stands there twice
    6 |   - {name: d, command: b, limits: [licence, licence]}
      |                                             ^~~~~~~
      = write limits: {licence: 2} for two of it
wf.yaml:7:45: error: 0 is out of range for 'licence'
    7 |   - {name: e, command: b, limits: {licence: 0}}
      |                                             ^
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
wf.yaml:5:46: error: the label 'gpu' stands there twice
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
jobs: [{name: a, command: b, resource_requirements: saves}]
)", R"(
wf.yaml:3:12: error: 'long' is expected to run 2 h and is ended after 1 h
    3 |   - {name: long, runtime: PT2H, time_limit: PT1H}
      |            ^~~~
      = let time_limit be the longer one
wf.yaml:4:12: error: 'least' needs at least 2 h and is ended after 1 h
    4 |   - {name: least, runtime: PT1H, min_time: PT2H}
      |            ^~~~~
      = min_time is a part of the runtime
wf.yaml:6:53: warning: 'a' starts where 10 min are left and has no checkpoint_exit_code: what it has not done by the end of its worker's time is lost
    6 | jobs: [{name: a, command: b, resource_requirements: saves}]
      |                                                     ^~~~~
      = give it a checkpoint_exit_code, or leave min_time out
)"},
};
// clang-format on

INSTANTIATE_TEST_SUITE_P(Spec, TermMistake, ::testing::ValuesIn(kTerms), mistake_name);

}  // namespace
}  // namespace torc::spec
