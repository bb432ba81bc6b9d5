// What is no YAML, or not the YAML of a spec. Each is shown with its place, its line, a caret and a
// remedy.
#include "lib/spec/testing/test_mistakes.h"

namespace torc::spec {
namespace {

class YamlMistake : public MistakeTest {};

TEST_P(YamlMistake, is_shown_at_its_place_with_a_remedy) {
  EXPECT_EQ(shown(), GetParam().shown.substr(1));
}

// clang-format off
const Mistake kYamlMistakes[] = {
    {"a_value_with_a_colon", R"(
name: w
jobs:
  - name: a
    command: b
description: a: b
)", R"(
wf.yaml:5:15: error: not valid YAML: illegal map value
    5 | description: a: b
      |               ^
      = put quotes around a text that holds ': ', and check the indentation
      = correct this first: nothing else in the file was checked
)"},
    {"an_unclosed_bracket", R"(
name: w
jobs:
  - name: a
    command: b
env: {A: 1
)", R"(
wf.yaml:5:6: error: not valid YAML: this '{' is not closed
    5 | env: {A: 1
      |      ^
      = close it, or add the comma that is missing within; put quotes around a text that starts with it
      = correct this first: nothing else in the file was checked
)"},
    {"an_unclosed_quote", R"(
name: w
jobs:
  - name: a
    command: b
description: "a
)", R"(
wf.yaml:5:14: error: this " is never closed
    5 | description: "a
      |              ^
      = close the quote
      = correct this first: nothing else in the file was checked
)"},
    {"a_bracket_that_closes_nothing", R"(
name: w
jobs:
  - name: a
    command: b
env: {A: 1}}
)", R"(
wf.yaml:5:12: error: not valid YAML: illegal flow end
    5 | env: {A: 1}}
      |            ^
      = this bracket closes nothing
      = correct this first: nothing else in the file was checked
)"},
    {"wrong_indentation_of_a_key", R"(
name: w
jobs:
  - name: a
   command: b
)", R"(
wf.yaml:4:4: error: not valid YAML: end of sequence not found
    4 |    command: b
      |    ^
      = the '-' of one list stand in the same column, and so do the keys of one map
      = correct this first: nothing else in the file was checked
)"},
    {"a_tab_for_indentation", R"(
name: w
jobs:
	- name: a
	  command: b
)", R"(
wf.yaml:3:1: error: a tab used for indentation
    3 |         - name: a
      | ^~~~~~~~
      = indent with spaces
      = correct this first: nothing else in the file was checked
)"},
    {"a_tab_before_a_key", R"(
name: w
jobs:
  - name: a
	command: b
)", R"(
wf.yaml:4:1: error: a tab used for indentation
    4 |         command: b
      | ^~~~~~~~
      = indent with spaces
      = correct this first: nothing else in the file was checked
)"},
    {"an_undefined_anchor", R"(
name: w
jobs:
  - name: a
    command: b
env: *e
)", R"(
wf.yaml:5:6: error: not valid YAML: the referenced anchor is not defined
    5 | env: *e
      |      ^
      = mark the value with &name before; put quotes around a text that starts with '*'
      = correct this first: nothing else in the file was checked
)"},
    {"an_alias_within_itself", R"(
name: w
jobs:
  - name: a
    command: b
metadata: &m [*m]
)", R"(
wf.yaml:5:15: error: this alias names something that it is a part of
    5 | metadata: &m [*m]
      |               ^
      = write the value out here
      = correct this first: nothing else in the file was checked
)"},
    {"a_text_that_starts_with_an_at_sign", R"(
name: w
jobs:
  - name: a
    command: b
description: @home
)", R"(
wf.yaml:5:14: error: not valid YAML: unknown token
    5 | description: @home
      |              ^
      = put quotes around a text that starts with '@', '`' or another sign
      = correct this first: nothing else in the file was checked
)"},
    {"an_unknown_escape", R"(
name: w
jobs:
  - name: a
    command: b
description: "\q"
)", R"(
wf.yaml:5:17: error: not valid YAML: unknown escape character: q
    5 | description: "\q"
      |                 ^
      = write \\ for a backslash, or use single quotes
      = correct this first: nothing else in the file was checked
)"},
    {"a_second_document", R"(
name: w
jobs:
  - name: a
    command: b
---
name: v
)", R"(
wf.yaml:5:1: error: a second document starts here
    5 | ---
      | ^
      = a spec is one document: check the indentation of this line, or remove the '---'
      = correct this first: nothing else in the file was checked
)"},
    {"a_list_at_the_top", R"(
- name: w
)", R"(
wf.yaml:1:1: error: a workflow is a map, and this is not one
    1 | - name: w
      | ^
      = write 'name: …' and 'jobs:' at the left margin
)"},
    {"an_empty_file", R"(
# nothing
)", R"(
wf.yaml: error: the file is empty
      = a workflow needs at least 'name' and 'jobs'
)"},
    {"a_duplicate_key", R"(
name: w
jobs:
  - name: a
    command: b
user: a
user: b
)", R"(
wf.yaml:6:1: error: duplicate key 'user'
    6 | user: b
      | ^~~~
      = keep one of the two
)"},
    {"a_key_that_is_a_list", R"(
name: w
jobs:
  - name: a
    command: b
[a, b]: c
)", R"(
wf.yaml:5:1: error: a key must be a name, not a list or a map
    5 | [a, b]: c
      | ^
      = put quotes around it if it is meant as text
)"},
    {"a_merge_of_a_text", R"(
name: w
jobs:
  - name: a
    command: b
env:
  <<: A
)", R"(
wf.yaml:6:7: error: '<<' merges maps, and this is not one
    6 |   <<: A
      |       ^
      = write <<: *name, where &name marks a map
)"},
    {"an_unknown_tag", R"(
name: w
jobs:
  - name: a
    command: b
user: !me a
)", R"(
wf.yaml:5:7: error: unknown tag '!me'
    5 | user: !me a
      |       ^
      = remove the tag: a spec needs none
)"},
    {"nesting_without_end", R"(
name: w
jobs:
  - name: a
    command: b
metadata: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[
)", R"(
wf.yaml:5:43: error: nested more than 64 deep
    5 | metadata: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[
      |                                           ^
      = no part of a spec needs that: check the brackets and the indentation
      = correct this first: nothing else in the file was checked
)"},
    {"a_NUL_escape", R"(
name: w
jobs:
  - name: a
    command: b
user: "a\0b"
)", R"(
wf.yaml:5:7: error: a text with a NUL character
    5 | user: "a\0b"
      |       ^
      = remove the '\0'
)"},
};
// clang-format on

INSTANTIATE_TEST_SUITE_P(Spec, YamlMistake, ::testing::ValuesIn(kYamlMistakes), mistake_name);

}  // namespace
}  // namespace torc::spec
