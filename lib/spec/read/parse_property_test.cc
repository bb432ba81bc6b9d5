// Whatever the bytes: no crash, no exception, and every error at a place that exists.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/text/utf8.h"
#include "lib/spec/testing/test_parse.h"

namespace torc::spec {
namespace {

constexpr std::string_view kValid = R"(name: mutated
description: "text: with 'quotes'"
variables: {root: /data, n: 5}
parameters: {lr: "0.1:0.5:0.1", opt: "['adam','sgd']"}
env: &env {A: 1, B: "x"}
metadata: {k: [1, {z: ~}]}
resource_requirements:
  - &small {name: small, num_cpus: 2, memory: 4g, runtime: PT30M}
  - <<: *small
    name: large
slurm_schedulers:
  - name: gpu
    walltime: "1-00:00:00"
    gres: gpu:2
slurm_defaults: {cpus-per-task: 4}
execution_config:
  mode: direct
  stdio: {mode: combined}
files:
  - name: f_{i}
    path: "{root}/f_{i:03d}"
    parameters: {i: "1:9"}
jobs:
  - name: a_{i}
    command: |
      python a.py {i} ${HOME}
      echo é
    env: *env
    resource_requirements: small
    scheduler: gpu
    depends_on_regexes: ['b_\d+']
    output_files: ["f_{i}"]
    parameters:
      i: "1:9"
  - name: b_{lr:.2f}
    command: run
    use_parameters: [lr, opt]
    parameter_mode: product
)";

Result<std::string> some_file(const std::string&) {
  return std::string("1\n2\n");
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines(1);
  for (const char c : text) {
    if (c == '\n') {
      lines.emplace_back();
    } else {
      lines.back() += c;
    }
  }
  return lines;
}

void check(const std::string& text) {
  const Parsed parsed = parse(text, "f", some_file);
  const std::vector<std::string> lines = lines_of(text);
  bool error = false;
  std::size_t last = 0;
  for (const Diagnostic& d : parsed.diagnostics) {
    error = error || d.severity == Severity::error;
    RC_ASSERT(!d.message.empty());
    RC_ASSERT(!to_text(d).empty());
    if (d.place.line == 0) continue;
    RC_ASSERT(d.place.line >= last);
    last = d.place.line;
    RC_ASSERT(d.place.line <= lines.size());
    RC_ASSERT(d.place.column >= 1U);
    RC_ASSERT(d.place.column <= count_characters(lines[d.place.line - 1]) + 1);
    RC_ASSERT(d.place.length >= 1U);
  }
  RC_ASSERT(parsed.workflow.has_value() != error);
}

TEST(Mutation, the_text_to_start_from_is_valid) {
  const Parsed parsed = parse(kValid, "f", some_file);
  EXPECT_TRUE(parsed.workflow.has_value()) << to_text(parsed.diagnostics);
}

// Bytes that mean something in YAML or in a spec, far oftener than others.
rc::Gen<char> byte() {
  return rc::gen::oneOf(
      rc::gen::elementOf(std::string("{}[]:,&*!|>'\"%@`#-?<~ \n\t\r\\0123456789.aeix_/$")),
      rc::gen::arbitrary<char>());
}

RC_GTEST_PROP(Mutation, changed_bytes_never_crash_and_every_error_has_a_place, ()) {
  std::string text(kValid);
  const auto edits = *rc::gen::inRange(1, 8);
  for (int i = 0; i < edits; ++i) {
    const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
    switch (*rc::gen::inRange(0, 3)) {
      case 0:
        text[at] = *byte();
        break;
      case 1:
        text.insert(at, 1, *byte());
        break;
      default:
        text.erase(at, *rc::gen::inRange<std::size_t>(1, 20));
        if (text.empty()) text = "x";
    }
  }
  check(text);
}

RC_GTEST_PROP(Mutation, lines_in_another_order_never_crash, ()) {
  std::vector<std::string> lines = lines_of(kValid);
  const auto swaps = *rc::gen::inRange(1, 6);
  for (int i = 0; i < swaps; ++i) {
    std::swap(lines[*rc::gen::inRange<std::size_t>(0, lines.size())],
              lines[*rc::gen::inRange<std::size_t>(0, lines.size())]);
  }
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  check(text);
}

RC_GTEST_PROP(Mutation, a_file_that_ends_anywhere_never_crashes, ()) {
  check(std::string(kValid.substr(0, *rc::gen::inRange<std::size_t>(0, kValid.size()))));
}

RC_GTEST_PROP(Mutation, noise_never_crashes, ()) {
  check(*rc::gen::container<std::string>(byte()));
}

RC_GTEST_PROP(Mutation, a_value_replaced_by_noise_never_crashes, ()) {
  std::vector<std::string> lines = lines_of(kValid);
  std::string& line = lines[*rc::gen::inRange<std::size_t>(0, lines.size())];
  const std::size_t colon = line.find(": ");
  if (colon != std::string::npos) {
    line = line.substr(0, colon + 2) + *rc::gen::container<std::string>(byte());
  }
  std::string text;
  for (const std::string& each : lines) text += each + "\n";
  check(text);
}

}  // namespace
}  // namespace torc::spec
