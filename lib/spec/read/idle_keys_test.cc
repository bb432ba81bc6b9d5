#include "lib/spec/read/readers.h"

#include <gtest/gtest.h>

#include "lib/spec/testing/test_parse.h"

namespace torc::spec {
namespace {

// The warnings, each on a line.
std::string warnings(const std::string& text) {
  const Parsed parsed = parse("name: wf\n" + text, "wf.yaml", {});
  EXPECT_TRUE(parsed.workflow) << to_text(parsed.diagnostics);
  std::string lines;
  for (const Diagnostic& d : parsed.diagnostics) lines += d.message + "\n";
  return lines;
}
std::string of_rules(const std::string& rules,
                     const std::string& needs = "runtime: PT1H, memory: 1g") {
  return warnings("resource_requirements: [{name: r, " + needs +
                  "}]\nfailure_handlers: [{name: h, rules: [" + rules +
                  "]}]\njobs: [{name: a, command: x, failure_handler: h, resource_requirements: "
                  "r}]\n");
}

TEST(IdleKeys, a_recovery_script_has_nobody_to_run_it_when_the_worker_is_gone) {
  EXPECT_EQ(of_rules("{on: node_death, recovery_script: mend}"),
            "the recovery script of a rule for node_death is never run\n");
  EXPECT_EQ(of_rules("{on: [node_death, oom], recovery_script: mend}"), "");
}

TEST(IdleKeys, a_number_of_recoveries_says_nothing_where_nothing_is_recovered) {
  const std::string jobs = "jobs: [{name: a, command: x}]\n";
  const std::string idle =
      "'max_recoveries' changes nothing: nothing is recovered without a person\n";
  EXPECT_EQ(warnings("max_recoveries: 5\n" + jobs), idle);
  EXPECT_EQ(warnings("max_recoveries: 5\non_failure: leave\n" + jobs), idle);
  EXPECT_EQ(warnings("max_recoveries: 5\non_failure: recover\n" + jobs), "");
}

TEST(IdleKeys, a_rule_behind_one_for_all_exit_codes_is_never_reached) {
  EXPECT_EQ(of_rules("{match_all_exit_codes: true}, {exit_codes: [3]}"),
            "a rule that is never reached: one before it matches all exit codes\n");
  EXPECT_EQ(of_rules("{match_all_exit_codes: true}, {on: node_death}"), "");
  EXPECT_EQ(of_rules("{exit_codes: [3]}, {match_all_exit_codes: true}"), "");
}

TEST(IdleKeys, a_rule_may_be_for_nothing) {
  EXPECT_EQ(of_rules("{match_all_exit_codes: false, exit_codes: []}"),
            "a rule that is for no end of a job\n");
}

TEST(IdleKeys, what_a_job_does_not_declare_cannot_grow) {
  const std::string rule = "{on: [oom, timeout], memory_multiplier: 2, runtime_multiplier: 2}";
  EXPECT_EQ(of_rules(rule), "");
  EXPECT_EQ(of_rules(rule, "memory: 1g"),
            "'a' declares no runtime, so the runtime_multiplier of 'h' changes nothing\n");
  EXPECT_EQ(of_rules(rule, "runtime: PT1H"),
            "'a' declares no memory, so the memory_multiplier of 'h' changes nothing\n");
}

TEST(IdleKeys, a_failure_handler_is_for_some_job) {
  const std::string handler = "failure_handlers: [{name: h, rules: [{exit_codes: [3]}]}]\n";
  EXPECT_EQ(warnings(handler + "jobs: [{name: a, command: x}]\n"),
            "no job has the failure handler 'h'\n");
  EXPECT_EQ(warnings(handler + "jobs: [{name: a, command: x, failure_handler: h}]\n"), "");
}

std::string with_action(const std::string& trigger) {
  return warnings("jobs: [{name: a, command: x}]\nactions: [{trigger_type: " + trigger +
                  ", action_type: run_commands, commands: [y], persistent: true}]\n");
}

TEST(IdleKeys, some_actions_run_no_oftener_for_being_persistent) {
  EXPECT_EQ(with_action("on_workflow_start"),
            "'persistent: true' changes nothing for on_workflow_start\n");
  EXPECT_EQ(with_action("on_worker_start"),
            "'persistent: true' changes nothing for actions of workers\n");
  EXPECT_EQ(with_action("on_worker_complete"),
            "'persistent: true' changes nothing for actions of workers\n");
  EXPECT_EQ(with_action("on_workflow_complete"), "");
}

std::string wrapped(const std::string& command) {
  return warnings("jobs: [{name: a, invocation_script: env FOO=1, command: \"" + command +
                  "\"}]\n");
}

TEST(IdleKeys, what_stands_before_a_command_is_for_its_first_part_only) {
  EXPECT_EQ(wrapped("a=1; echo $a"),
            "the invocation_script stands before the first of several commands only (the command "
            "has a ';')\n");
  EXPECT_EQ(wrapped("sh -c 'a=1; echo $a'"), "");
}

}  // namespace
}  // namespace torc::spec
