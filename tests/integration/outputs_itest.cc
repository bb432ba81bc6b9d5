// Files that a job says that it makes or takes, and that are not there.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

using nlohmann::json;

// Job `a` says that it makes out/x, by this command; `b` takes it.
std::string two_jobs(const std::string& command, const std::string& more = "") {
  return "name: wf\n"
         "files: [{name: x, path: out/x}]\n"
         "jobs:\n"
         "  - {name: a, command: '" +
         command + "', output_files: [x]" + more +
         "}\n"
         "  - {name: b, command: touch ran, input_files: [x]}\n";
}

TEST(Outputs, a_job_that_exits_with_0_without_its_output_file_has_failed_everywhere) {
  const Workplace here;
  here.write("wf.yaml", two_jobs("echo done"));
  const Ended ended = here.run({"run", "wf.yaml"});
  EXPECT_EQ(ended.exit_code, 1) << ended;
  EXPECT_TRUE(ended.says("failed: a: output file 'out/x' was not made")) << ended;
  EXPECT_FALSE(std::filesystem::exists(here.path() / "ran"));

  const json a = here.jobs("wf.torc").at("a");
  EXPECT_EQ(a["state"], "failed");
  EXPECT_EQ(a["cause"], "output_missing");
  EXPECT_EQ(a["missing_output"], "out/x");
  EXPECT_EQ(a["exit_code"], 0);
  const json result = here.json({"results", "a"})[0];
  EXPECT_EQ(result["cause"], "output_missing");
  EXPECT_EQ(result["missing_output"], "out/x");
  const json status = here.json({"status"});
  EXPECT_EQ(status["failures"][0]["reason"], "output file 'out/x' was not made");
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"job", "a"}, {"why", "a"}, {"history"}, {"status"}}) {
    const Ended told = here.run(words);
    EXPECT_TRUE(told.says("output file 'out/x' was not made")) << words[0] << told;
  }
  EXPECT_TRUE(here.run({"logs", "--diagnose"}).says("output file not made: 1 job: a"));
  EXPECT_EQ(here.run({"verify"}).exit_code, 0);
  EXPECT_EQ(here.run({"logs", "a"}).out, "done\n");

  // When the command is right it goes on.
  std::filesystem::create_directory(here.path() / "out");
  write_text(here.path() / "out/x", "x");
  ASSERT_EQ(here.run({"retry", "a"}).exit_code, 0);
  EXPECT_EQ(here.run({"run"}).exit_code, 0);
  EXPECT_EQ(here.jobs("wf.torc").at("a")["missing_output"], nullptr);
  EXPECT_TRUE(std::filesystem::exists(here.path() / "ran"));
}

TEST(Outputs, may_be_missing_where_the_job_or_the_workflow_allows_it) {
  for (const std::string& text : {two_jobs("true", ", allow_missing_outputs: true"),
                                  "allow_missing_outputs: true\n" + two_jobs("true")}) {
    const Workplace here;
    here.write("wf.yaml", text);
    const Ended ended = here.run({"run", "wf.yaml"});
    EXPECT_EQ(ended.exit_code, 0) << ended;
    EXPECT_TRUE(std::filesystem::exists(here.path() / "ran"));
    // And that is no reason to run it again.
    EXPECT_TRUE(here.run({"run", "wf.yaml"}).says("2 of 2 "));
    EXPECT_TRUE(here.run({"reinit"}).says("nothing is stale"));
    EXPECT_EQ(here.json({"results", "a"})[0]["attempt"], 1);
  }
  const Workplace here;
  here.write("wf.yaml",
             "allow_missing_outputs: true\n" + two_jobs("true", ", allow_missing_outputs: false"));
  EXPECT_EQ(here.run({"run", "wf.yaml"}).exit_code, 1);
}

TEST(Outputs, that_they_may_be_missing_is_taken_over_from_a_changed_file) {
  const Workplace here;
  here.write("wf.yaml", two_jobs("true"));
  EXPECT_EQ(here.run({"run", "wf.yaml"}).exit_code, 1);
  here.write("wf.yaml", two_jobs("true", ", allow_missing_outputs: true"));
  const Ended taken = here.run({"apply", "wf.yaml"});
  EXPECT_EQ(taken.exit_code, 0) << taken;
  EXPECT_TRUE(taken.says("allow_missing_outputs")) << taken;
  ASSERT_EQ(here.run({"retry", "a"}).exit_code, 0);
  EXPECT_EQ(here.run({"run", "wf.yaml"}).exit_code, 0);
}

TEST(Outputs, a_failure_handler_may_be_for_one_that_is_missing) {
  const Workplace here;
  here.write("wf.yaml",
             "failure_handlers: [{name: again, rules: [{on: output_missing, max_retries: 2}]}]\n" +
                 two_jobs("[ $TORC_ATTEMPT_ID -lt 2 ] || { mkdir out; touch out/x; }",
                          ", failure_handler: again"));
  const Ended ended = here.run({"run", "wf.yaml", "--engine", "journal"});
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_EQ(here.jobs("wf.torc").at("a")["attempt"], 2);
  std::vector<std::string> missed;
  const json history = here.json({"history"});
  for (const json& event : history["events"]) {
    if (!event["missing_output"].is_null()) missed.push_back(event["missing_output"]);
  }
  EXPECT_EQ(missed, std::vector<std::string>{"out/x"}) << "of the first attempt";
}

TEST(Outputs, a_short_job_among_many_is_looked_at_too) {
  const Workplace here;
  here.write("wf.yaml", R"(name: wf
files: [{name: "x_{i}", path: "x_{i}", parameters: {i: "1:200"}}]
jobs:
  - name: "j_{i}"
    command: "[ {i} = 77 ] || touch x_{i}"
    output_files: ["x_{i}"]
    parameters: {i: "1:200"}
)");
  EXPECT_EQ(here.run({"run", "wf.yaml"}).exit_code, 1);
  const json status = here.json({"status"});
  EXPECT_EQ(status["jobs_by_state"]["completed"], 199);
  EXPECT_EQ(status["failures"][0]["job"], "j_77");
}

TEST(Inputs, that_nobody_makes_are_told_before_anything_runs) {
  const Workplace here;
  here.write("wf.yaml", R"(name: wf
files: [{name: raw, path: raw.csv}, {name: mid, path: mid.csv}]
jobs:
  - {name: first, command: touch began}
  - {name: a, command: cat raw.csv > mid.csv, input_files: [raw], output_files: [mid]}
  - {name: b, command: cat mid.csv, input_files: [mid]}
)");
  const std::string told = "an input file is not there, and no job makes it: 'raw.csv' (of 'a')";
  const Ended checked = here.run({"check", "wf.yaml"});
  EXPECT_EQ(checked.exit_code, 0) << checked;
  EXPECT_TRUE(checked.says("wf.yaml:5:")) << checked;
  EXPECT_TRUE(checked.says("warning: " + told)) << checked;
  const json diagnostics = here.json({"check", "wf.yaml"})["diagnostics"];
  ASSERT_EQ(diagnostics.size(), 1U);
  EXPECT_EQ(diagnostics[0]["severity"], "warning");
  EXPECT_EQ(diagnostics[0]["message"], told);

  const Ended made = here.run({"init", "wf.yaml"});
  EXPECT_EQ(made.exit_code, 0) << made;
  EXPECT_TRUE(made.says("warning: " + told)) << made;

  for (const std::string target : {"wf.yaml", "wf.torc"}) {
    const Ended refused = here.run({"run", target});
    EXPECT_EQ(refused.exit_code, 2) << refused;
    EXPECT_TRUE(refused.says("nothing was started: " + told)) << refused;
    EXPECT_TRUE(refused.says("torc run " + target)) << refused;
  }
  EXPECT_FALSE(std::filesystem::exists(here.path() / "began"));
  for (const auto& [name, job] : here.jobs("wf.torc")) EXPECT_EQ(job["attempt"], nullptr) << name;

  here.write("raw.csv", "1\n");
  EXPECT_EQ(here.run({"run", "wf.yaml"}).exit_code, 0);
  // Of jobs that are over nothing is needed any more.
  std::filesystem::remove(here.path() / "raw.csv");
  EXPECT_EQ(here.run({"run", "wf.torc"}).exit_code, 0);
}

// Neither a store that has nothing to do, nor results that could not be made again, are the price.
TEST(Inputs, that_are_missing_cost_nothing) {
  const Workplace here;
  here.write("wf.yaml", R"(name: wf
files: [{name: raw, path: raw.csv}, {name: mid, path: mid.csv}]
jobs:
  - {name: a, command: cat raw.csv > mid.csv, input_files: [raw], output_files: [mid]}
  - {name: b, command: cat mid.csv, input_files: [mid]}
  - {name: c, command: echo}
)");
  const std::string told = "an input file is not there, and no job makes it: 'raw.csv' (of 'a')";
  const Ended looked = here.run({"run", "wf.yaml", "-n"});
  EXPECT_EQ(looked.exit_code, 2) << looked;
  EXPECT_TRUE(looked.says("3 jobs would run")) << looked;
  EXPECT_TRUE(looked.says("nothing would be started: " + told)) << looked;
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"run", "wf.yaml"}, {"run", "wf.yaml", "b"}}) {
    const Ended refused = here.run(words);
    EXPECT_EQ(refused.exit_code, 2) << refused;
    EXPECT_TRUE(refused.says("nothing was started: " + told)) << refused;
    EXPECT_FALSE(std::filesystem::exists(here.path() / "wf.torc"));
  }
  EXPECT_EQ(here.run({"run", "wf.yaml", "c"}).exit_code, 0) << "it needs no file";

  here.write("raw.csv", "1\n");
  ASSERT_EQ(here.run({"run", "wf.yaml"}).exit_code, 0);
  std::filesystem::remove(here.path() / "raw.csv");
  for (const std::vector<std::string>& words : {std::vector<std::string>{"redo", "a", "--yes"},
                                                {"redo", "a", "--dry-run"},
                                                {"run", "--force", "a"}}) {
    const Ended refused = here.run(words);
    EXPECT_EQ(refused.exit_code, 2) << refused;
    EXPECT_TRUE(refused.says("nothing was changed or started: " + told)) << refused;
  }
  EXPECT_EQ(here.json({"status"})["jobs_by_state"]["completed"], 3);
  EXPECT_EQ(here.run({"redo", "b", "--yes"}).exit_code, 0) << "its own is there";
  ASSERT_EQ(here.run({"reset", "a", "--yes"}).exit_code, 0);
  const Ended again = here.run({"run", "wf.torc", "-n"});
  EXPECT_EQ(again.exit_code, 2) << again;
  EXPECT_TRUE(again.says("2 jobs would run")) << again;
  EXPECT_TRUE(again.says("nothing would be started: " + told)) << again;
}

TEST(Inputs, that_an_action_may_bring_are_a_warning) {
  const Workplace here;
  here.write("wf.yaml", R"(name: wf
files: [{name: raw, path: raw.csv}]
jobs: [{name: a, command: cat raw.csv, input_files: [raw]}]
actions: [{trigger_type: on_worker_start, action_type: run_commands, commands: [echo 1 > raw.csv]}]
)");
  const Ended ended = here.run({"run", "wf.yaml"});
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_TRUE(ended.says("warning: an input file is not there")) << ended;
}

}  // namespace
}  // namespace torc::itest
