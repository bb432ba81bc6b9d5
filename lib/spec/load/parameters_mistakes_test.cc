// Parameters, variables and their placeholders. Each is shown with its place, its line, a caret and
// a remedy.
#include "lib/spec/testing/test_mistakes.h"

namespace torc::spec {
namespace {

class ParametersMistake : public MistakeTest {};

TEST_P(ParametersMistake, is_shown_at_its_place_with_a_remedy) {
  EXPECT_EQ(shown(), GetParam().shown.substr(1));
}

// clang-format off
const Mistake kParameters[] = {
    {"an_empty_range", R"(
name: w
jobs:
  - name: a
    command: b
    parameters:
      i: "5:1"
)", R"(
wf.yaml:6:10: error: the range '5:1' is empty
    6 |       i: "5:1"
      |          ^~~~~
      = write the smaller bound first
)"},
    {"a_step_of_zero", R"(
name: w
jobs:
  - name: a
    command: b
    parameters:
      i: "1:5:0"
)", R"(
wf.yaml:6:10: error: the step of '1:5:0' is zero
    6 |       i: "1:5:0"
      |          ^~~~~~~
      = write a range like "1:100" or "0.0:1.0:0.1", or a list like [1, 5, 10]
)"},
    {"a_negative_step", R"(
name: w
jobs:
  - name: a
    command: b
    parameters:
      i: "10:1:-1"
)", R"(
wf.yaml:6:10: error: the step of '10:1:-1' is negative
    6 |       i: "10:1:-1"
      |          ^~~~~~~~~
      = write the smaller bound first and a positive step
)"},
    {"a_range_without_end", R"(
name: w
jobs:
  - name: a
    command: b
    parameters:
      i: "1:"
)", R"(
wf.yaml:6:10: error: '1:' is not a range
    6 |       i: "1:"
      |          ^~~~
      = write first:last or first:last:step; a list in quotes for a text with ':', like ['a:b']
)"},
    {"a_range_of_words", R"(
name: w
jobs:
  - name: a
    command: b
    parameters:
      i: "a:z"
)", R"(
wf.yaml:6:10: error: 'a:z' is not a range
    6 |       i: "a:z"
      |          ^~~~~
      = write first:last or first:last:step; a list in quotes for a text with ':', like ['a:b']
)"},
    {"a_range_beyond_64_bits", R"(
name: w
jobs:
  - name: a
    command: b
    parameters:
      i: "0:99999999999999999999"
)", R"(
wf.yaml:6:10: error: '99999999999999999999' does not fit into 64 bits
    6 |       i: "0:99999999999999999999"
      |          ^~~~~~~~~~~~~~~~~~~~~~~~
      = write a smaller number
)"},
    {"a_range_of_too_many", R"(
name: w
jobs:
  - name: a
    command: b
    parameters:
      i: "0:9000000000000000000"
)", R"(
wf.yaml:6:10: error: '0:9000000000000000000' has more than 1000000000 values
    6 |       i: "0:9000000000000000000"
      |          ^~~~~~~~~~~~~~~~~~~~~~~
      = use a larger step, or several parameters
)"},
    {"a_range_in_tiny_steps", R"(
name: w
jobs:
  - name: a
    command: b
    parameters:
      i: "0.0:1.0:1e-12"
)", R"(
wf.yaml:6:10: error: '0.0:1.0:1e-12' has more than 1000000000 values
    6 |       i: "0.0:1.0:1e-12"
      |          ^~~~~~~~~~~~~~~
      = use a larger step, or several parameters
)"},
    {"a_value_that_is_infinite", R"(
name: w
jobs:
  - name: a
    command: b
    parameters:
      i: [.inf, .nan]
)", R"(
wf.yaml:6:11: error: '.inf' is not a finite number
    6 |       i: [.inf, .nan]
      |           ^~~~
      = put quotes around it to use it as text
wf.yaml:6:17: error: '.nan' is not a finite number
    6 |       i: [.inf, .nan]
      |                 ^~~~
      = put quotes around it to use it as text
)"},
    {"a_list_without_end", R"(
name: w
jobs:
  - name: a
    command: b
    parameters:
      i: "[1, 2"
)", R"(
wf.yaml:6:10: error: the list '[1, 2' has no ']' at its end
    6 |       i: "[1, 2"
      |          ^~~~~~~
      = write a range like "1:100" or "0.0:1.0:0.1", or a list like [1, 5, 10]
)"},
    {"a_range_with_leading_zeros", R"(
name: w
jobs:
  - name: a_{i}_{j}_{k}_{x}
    command: b
    parameters: {i: "01:03", j: "00:10", k: "-01:009:02", x: "00.5:1.0"}
)", R"(
wf.yaml:5:21: error: the bounds of '01:03' have leading zeros
    5 |     parameters: {i: "01:03", j: "00:10", k: "-01:009:02", x: "00.5:1.0"}
      |                     ^~~~~~~
      = write 1:3, and a format such as {i:02d} where they are to be seen; a list in quotes for a text, like ['01:03']
wf.yaml:5:33: error: the bounds of '00:10' have leading zeros
    5 |     parameters: {i: "01:03", j: "00:10", k: "-01:009:02", x: "00.5:1.0"}
      |                                 ^~~~~~~
      = write 0:10, and a format such as {i:02d} where they are to be seen; a list in quotes for a text, like ['00:10']
wf.yaml:5:45: error: the bounds of '-01:009:02' have leading zeros
    5 |     parameters: {i: "01:03", j: "00:10", k: "-01:009:02", x: "00.5:1.0"}
      |                                             ^~~~~~~~~~~~
      = write -1:9:2, and a format such as {i:03d} where they are to be seen; a list in quotes for a text, like ['-01:009:02']
wf.yaml:5:62: error: the bounds of '00.5:1.0' have leading zeros
    5 |     parameters: {i: "01:03", j: "00:10", k: "-01:009:02", x: "00.5:1.0"}
      |                                                              ^~~~~~~~~~
      = write 0.5:1.0
)"},
    {"an_empty_element", R"(
name: w
jobs:
  - name: a
    command: b
    parameters:
      i: "[1,,2]"
)", R"(
wf.yaml:6:10: error: '[1,,2]' has an empty element
    6 |       i: "[1,,2]"
      |          ^~~~~~~~
      = write a range like "1:100" or "0.0:1.0:0.1", or a list like [1, 5, 10]
)"},
    {"an_empty_list", R"(
name: w
jobs:
  - name: a
    command: b
    parameters:
      i: []
)", R"(
wf.yaml:6:10: error: a parameter without values
    6 |       i: []
      |          ^
      = write at least one value
)"},
    {"an_unclosed_quote_in_a_list", R"(
name: w
jobs:
  - name: a
    command: b
    parameters:
      i: "['a, b]"
)", R"(
wf.yaml:6:10: error: a ' in '['a, b]' is never closed
    6 |       i: "['a, b]"
      |          ^~~~~~~~~
      = close the quote
)"},
    {"a_parameter_that_is_a_map", R"(
name: w
jobs:
  - name: a
    command: b
    parameters:
      i: {from: 1}
)", R"(
wf.yaml:6:10: error: the value of a parameter must be a range or a list, not a map
    6 |       i: {from: 1}
      |          ^
      = write a range like "1:100", or a list like [1, 5, 10]
)"},
    {"a_parameter_without_values", R"(
name: w
jobs:
  - name: a
    command: b
    parameters:
      i:
)", R"(
wf.yaml:6:7: error: parameter 'i' has no values
    6 |       i:
      |       ^
      = write a range like "1:100", or a list like [1, 5, 10]
)"},
    {"a_parameter_name_with_a_dash", R"(
name: w
jobs:
  - name: a
    command: b
    parameters:
      my-i: "1:3"
)", R"(
wf.yaml:6:7: error: 'my-i' cannot be the name of a parameter
    6 |       my-i: "1:3"
      |       ^~~~
      = use letters, digits and '_', a letter first
)"},
    {"a_file_of_values_that_is_not_there", R"(
name: w
jobs:
  - name: a
    command: b
    parameters:
      i: "@nowhere.txt"
)", R"(
wf.yaml:6:10: error: the values cannot be read: there is no 'nowhere.txt'
    6 |       i: "@nowhere.txt"
      |          ^~~~~~~~~~~~~~
      = a path is relative to the spec's directory
)"},
    {"a_table", R"(
name: w
jobs:
  - name: a
    command: b
    parameters: "@grid.csv"
)", R"(
wf.yaml:5:17: error: the values cannot be read: there is no 'grid.csv'
    5 |     parameters: "@grid.csv"
      |                 ^~~~~~~~~~~
      = a path is relative to the spec's directory
)"},
    {"a_table_as_a_file_of_values", R"(
name: w
jobs:
  - name: a
    command: b
    parameters:
      i: "@grid.csv"
)", R"(
wf.yaml:6:10: error: the columns of the table 'grid.csv' are parameters
    6 |       i: "@grid.csv"
      |          ^~~~~~~~~~~
      = write parameters: "@grid.csv"
)"},
    {"zip_of_unequal_lengths", R"(
name: w
jobs:
  - name: a
    command: b
    parameter_mode: zip
    parameters:
      i: "1:3"
      j: [a, b]
)", R"(
wf.yaml:5:21: error: zip needs equal lengths, but 'i' has 3 values and 'j' has 2
    5 |     parameter_mode: zip
      |                     ^~~
      = make the lengths equal, or use parameter_mode: product
)"},
    {"an_unknown_shared_parameter", R"(
name: w
jobs:
  - name: a
    command: b
    use_parameters: [lerning_rate]
parameters:
  learning_rate: [0.1, 0.2]
)", R"(
wf.yaml:5:22: error: the workflow has no parameter 'lerning_rate'
    5 |     use_parameters: [lerning_rate]
      |                      ^~~~~~~~~~~~
      = did you mean 'learning_rate'?
)"},
    {"a_name_with_an_unknown_parameter", R"(
name: w
jobs:
  - name: a_{j}
    command: b
    parameters:
      i: "1:3"
)", R"(
wf.yaml:3:13: error: no parameter and no variable is named 'j'
    3 |   - name: a_{j}
      |             ^~~
      = define it under 'parameters', or write the name without braces
)"},
    {"a_shared_parameter_that_was_not_taken", R"(
name: w
parameters:
  i: "1:3"
jobs:
  - name: a_{i}
    command: b {i}
)", R"(
wf.yaml:5:13: error: no parameter and no variable is named 'i'
    5 |   - name: a_{i}
      |             ^~~
      = to take it from the workflow, add use_parameters: [i]
wf.yaml:6:16: warning: {i} stays as it is: no parameter of this job has that name
    6 |     command: b {i}
      |                ^~~
      = to take it from the workflow, add use_parameters: [i]
)"},
    {"a_slip_in_a_placeholder", R"(
name: w
jobs:
  - name: a_{index}
    command: b {indx}
    parameters:
      index: "1:3"
)", R"(
wf.yaml:4:16: warning: {indx} stays as it is: no parameter of this job has that name
    4 |     command: b {indx}
      |                ^~~~~~
      = did you mean {index}?
)"},
    {"a_range_in_a_list", R"(
name: w
jobs:
  - name: a
    command: b
    parameters:
      i: [1:100]
)", R"(
wf.yaml:6:11: warning: '1:100' in a list is a text, not a range
    6 |       i: [1:100]
      |           ^~~~~
      = write the range alone, without [ ]; or put quotes around it
)"},
    {"a_variable_and_a_parameter", R"(
name: w
jobs:
  - name: a
    command: b
    parameters:
      i: "1:3"
variables:
  i: 5
)", R"(
wf.yaml:6:7: error: 'i' is a variable and a parameter
    6 |       i: "1:3"
      |       ^
      = rename one of the two
)"},
    {"a_variable_before_its_definition", R"(
name: w
jobs:
  - name: a
    command: b
variables:
  a: "{b}/x"
  b: y
)", R"(
wf.yaml:6:6: error: variable 'a' uses 'b', which is not defined before it
    6 |   a: "{b}/x"
      |      ^~~~~~~
      = define it above
)"},
    {"a_variable_with_a_format", R"(
name: w
variables:
  n: 5
jobs:
  - name: a
    command: b {n:03d}
)", R"(
wf.yaml:6:16: error: variable 'n' takes no format ':03d'
    6 |     command: b {n:03d}
      |                ^~~~~~~
      = write the value as it shall look, and {name} alone
)"},
};
// clang-format on

INSTANTIATE_TEST_SUITE_P(Spec, ParametersMistake, ::testing::ValuesIn(kParameters), mistake_name);

}  // namespace
}  // namespace torc::spec
