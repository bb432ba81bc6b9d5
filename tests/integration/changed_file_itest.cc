// A workflow file that changes while its store is there: `torc apply`, and `torc run FILE`, which
// applies first.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/integration/harness.h"

#define EXPECT_SAYS(ended, text) EXPECT_TRUE((ended).says(text)) << (text) << "\n" << (ended)

namespace torc::itest {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

class ChangedFile : public ::testing::TestWithParam<const char*> {
 protected:
  // `range` of the samples; `merge`: how they are merged.
  void write(const std::string& range, const std::string& merge = "echo merge >> log",
             const std::string& more = "") {
    here.write("wf.yaml",
               "name: wf\njobs:\n  - {name: 'align_{i}', command: 'echo {i} >> log', "
               "parameters: {i: '" +
                   range + "'}}\n  - {name: merge, command: '" + merge +
                   "', depends_on_regexes: ['align_.*']}\n" + more);
  }
  Ended run(std::vector<std::string> flags = {}) {
    flags.insert(flags.begin(), {"run", "wf.yaml", "--num-cpus", "1"});
    if (made_) {
      Ended ended = here.run(flags);
      const Ended verified = here.run({"verify", "wf.torc"});
      EXPECT_EQ(verified.exit_code, 0) << verified;
      return ended;
    }
    made_ = true;
    flags.insert(flags.end(), {"--engine", GetParam()});
    return here.run(flags);
  }
  // What ran since the last call.
  std::string ran() {
    std::vector<std::string> lines = lines_of(read_text(here.path() / "log"));
    here.write("log", "");
    std::ranges::sort(lines);
    std::string all;
    for (const std::string& line : lines) all += line + " ";
    return all;
  }
  json apply(std::vector<std::string> flags = {}) {
    flags.insert(flags.begin(), {"apply", "wf.yaml"});
    return here.json(flags);
  }

  const Workplace here;

 private:
  bool made_ = false;
};

TEST_P(ChangedFile, a_file_that_says_the_same_runs_nothing) {
  write("1:2");
  ASSERT_EQ(run().exit_code, 0);
  EXPECT_EQ(ran(), "1 2 merge ");
  EXPECT_EQ(run().exit_code, 0);
  here.write("wf.yaml", "# a remark\n" + read_text(here.path() / "wf.yaml"));
  const Ended again = run();
  EXPECT_EQ(again.exit_code, 0) << again;
  EXPECT_EQ(ran(), "");
  const Ended same = here.run({"apply", "wf.yaml"});
  EXPECT_EQ(same.exit_code, 0) << same;
  EXPECT_SAYS(same, "nothing differs");
}

TEST_P(ChangedFile, further_samples_run_and_what_waits_for_them_runs_again) {
  write("1:2");
  ASSERT_EQ(run().exit_code, 0);
  (void)ran();
  write("1:4");
  const Ended tried = run({"-n"});
  EXPECT_EQ(tried.exit_code, 0) << tried;
  EXPECT_SAYS(tried, "+ 2 jobs align_{i} (align_3 to align_4)");
  EXPECT_SAYS(tried, "1 job would run again: merge");
  EXPECT_EQ(ran(), "");
  const Ended done = run();
  EXPECT_EQ(done.exit_code, 0) << done;
  EXPECT_SAYS(done, "1 job runs again: merge");
  EXPECT_EQ(ran(), "3 4 merge ");
}

TEST_P(ChangedFile, another_command_runs_again_and_the_way_back_runs_the_same_jobs) {
  write("1:2");
  ASSERT_EQ(run().exit_code, 0);
  (void)ran();
  write("1:2", "echo MERGE >> log");
  const Ended done = run();
  EXPECT_EQ(done.exit_code, 0) << done;
  EXPECT_SAYS(done, "the command changed: 'echo MERGE >> log' was 'echo merge >> log'");
  EXPECT_EQ(ran(), "MERGE ");
}

TEST_P(ChangedFile, a_change_that_is_taken_back_before_anything_ran_costs_nothing) {
  write("1:2");
  ASSERT_EQ(run().exit_code, 0);
  (void)ran();
  write("1:2", "echo MERGE >> log");
  ASSERT_EQ(here.run({"apply", "wf.yaml"}).exit_code, 0);
  EXPECT_EQ(here.json({"job", "merge"})["state"], "ready");
  write("1:2");
  const Ended back = here.run({"apply", "wf.yaml"});
  EXPECT_EQ(back.exit_code, 0) << back;
  EXPECT_SAYS(back, "1 earlier result counts again: the file is as it was when it was made");
  EXPECT_EQ(run().exit_code, 0);
  EXPECT_EQ(ran(), "");
}

TEST_P(ChangedFile, samples_that_are_taken_out_and_come_back_do_not_run_twice) {
  write("1:3");
  ASSERT_EQ(run().exit_code, 0);
  (void)ran();
  write("2:3");
  EXPECT_EQ(run().exit_code, 0);
  EXPECT_EQ(ran(), "merge ");
  write("1:3");
  EXPECT_EQ(run().exit_code, 0);
  EXPECT_EQ(ran(), "merge ");
}

TEST_P(ChangedFile, what_is_removed_before_it_ran_is_no_failure) {
  write("1:2", "false", "  - {name: extra, command: 'false'}\n");
  EXPECT_EQ(run().exit_code, 1);
  write("1:2");
  const Ended done = run();
  EXPECT_EQ(done.exit_code, 0) << done << "the job that failed is not in the file";
  EXPECT_EQ(here.json({"job", "extra"})["state"], "canceled");
  EXPECT_EQ(here.run({"retry", "extra"}).exit_code, 0);
  EXPECT_EQ(here.json({"job", "extra"})["state"], "canceled") << "the file does not have it";
}

TEST_P(ChangedFile, other_resources_run_nothing_again) {
  write("1:2");
  ASSERT_EQ(run().exit_code, 0);
  (void)ran();
  write("1:2", "echo merge >> log", "  - {name: last, command: 'echo last >> log', memory: 64m}\n");
  ASSERT_EQ(run().exit_code, 0);
  EXPECT_EQ(ran(), "last ");
  write("1:2", "echo merge >> log",
        "  - {name: last, command: 'echo last >> log', memory: 128m, priority: 3}\n");
  const Ended done = run();
  EXPECT_EQ(done.exit_code, 0) << done;
  EXPECT_SAYS(done, "~ job last: memory, priority; nothing runs again for it");
  EXPECT_EQ(ran(), "");
  EXPECT_EQ(here.json({"job", "last"})["memory_bytes"], 128U << 20);
}

TEST_P(ChangedFile, apply_says_what_it_does_for_programs) {
  write("1:2");
  ASSERT_EQ(run().exit_code, 0);
  write("1:3", "echo MERGE >> log");
  const json tried = apply({"--dry-run"});
  EXPECT_EQ(tried["dry_run"], true);
  EXPECT_EQ(tried["again_jobs"], 1);
  EXPECT_EQ(here.json({"status"})["jobs"], 3);
  const json done = apply();
  EXPECT_EQ(done["added_jobs"], 1);
  EXPECT_EQ(done["edits"][0]["edit_kind"], "added");
  EXPECT_EQ(done["edits"][1]["edit_kind"], "redefined");
  EXPECT_EQ(here.json({"status"})["jobs"], 4);
  EXPECT_EQ(apply()["edits"], json::array());
}

TEST_P(ChangedFile, an_output_that_is_gone_is_made_again) {
  here.write("wf.yaml", R"(name: wf
files: [{name: out, path: out.txt}]
jobs:
  - {name: a, command: 'echo a >> log; echo x > ${files.output.out}'}
  - {name: b, command: 'echo b >> log; cat ${files.input.out}'}
)");
  ASSERT_EQ(run().exit_code, 0);
  EXPECT_EQ(ran(), "a b ");
  fs::remove(here.path() / "out.txt");
  const Ended done = run();
  EXPECT_EQ(done.exit_code, 0) << done;
  EXPECT_SAYS(done, "output out.txt is not there");
  EXPECT_EQ(ran(), "a b ");
}

// Also where its jobs find their files by expressions.
TEST_P(ChangedFile, adding_the_file_itself_adds_nothing) {
  here.write("wf.yaml", R"(name: wf
files:
  - {name: 'out_{i}', path: 'out_{i}', parameters: {i: '1:3'}}
  - {name: all, path: all}
jobs:
  - {name: 'a_{i}', command: 'echo {i} > out_{i}', output_files: ['out_{i}'], parameters: {i: '1:3'}}
  - {name: merge, command: 'cat out_* > all', input_file_regexes: ['^out_'], output_files: [all]}
)");
  ASSERT_EQ(run().exit_code, 0);
  const Ended added = here.run({"add", "wf.yaml"});
  EXPECT_EQ(added.exit_code, 0) << added;
  EXPECT_SAYS(added, "nothing to add");
}

TEST_P(ChangedFile, an_action_runs_what_the_file_says_by_then) {
  const auto file = [&](const std::string& command) {
    return "actions:\n  - {trigger_type: on_workflow_complete, action_type: run_commands, "
           "commands: "
           "['" +
           command + " >> log']}\n";
  };
  write("1:2", "echo merge >> log", file("echo before"));
  ASSERT_EQ(here.run({"init", "wf.yaml", "--engine", GetParam()}).exit_code, 0);
  write("1:2", "echo merge >> log", file("echo after"));
  const Ended told = run();
  EXPECT_EQ(told.exit_code, 0) << told;
  EXPECT_SAYS(told, "~ action 1: on_workflow_complete: it runs ");
  const std::string log = read_text(here.path() / "log");
  EXPECT_NE(log.find("after"), std::string::npos) << log;
  EXPECT_EQ(log.find("before"), std::string::npos) << log;
  write("1:2", "echo merge >> log", file("echo over"));
  EXPECT_EQ(run().exit_code, 0);
  EXPECT_EQ(read_text(here.path() / "log"), log) << "it has run already";
  EXPECT_EQ(here.run({"verify"}).exit_code, 0);
}

TEST_P(ChangedFile, the_actions_of_a_store_stay_and_the_refusal_changes_nothing) {
  write("1:2");
  ASSERT_EQ(run().exit_code, 0);
  write("1:3", "echo merge >> log",
        "actions:\n  - {trigger_type: on_workflow_complete, action_type: run_commands, commands: "
        "['echo over']}\n");
  const Ended refused = run();
  EXPECT_EQ(refused.exit_code, 2) << refused;
  EXPECT_SAYS(refused, "of the actions of a workflow only the commands can change");
  EXPECT_EQ(here.json({"status"})["jobs"], 3);
}

// Whoever goes by the store alone is told that a result is not what the file says; a run of the
// file follows it, whoever has applied it.
TEST_P(ChangedFile, what_was_at_work_when_it_was_applied_is_known_to_be_outdated) {
  Fifo began(here.path() / "began");
  Fifo gate(here.path() / "gate");
  const auto write = [&](const std::string& what, const std::string& more = "") {
    here.write("wf.yaml", "name: wf\njobs:\n  - {name: a, " + more + "command: 'echo " + what +
                              " | tee a.txt > began; read x < gate'}\n" +
                              "  - {name: b, command: cat a.txt > b.txt, depends_on: [a]}\n");
  };
  write("old");
  ASSERT_EQ(here.run({"init", "wf.yaml", "--engine", GetParam()}).exit_code, 0);
  const auto by_store = here.start({"run", "wf.torc"});
  ASSERT_TRUE(wait_for_line(began, "old", *by_store));
  write("new");
  EXPECT_TRUE(here.run({"apply", "wf.yaml"}).says("1 job at work goes on"));
  EXPECT_EQ(here.json({"status"})["outdated_jobs"], 1);
  gate.open_gate(1);
  EXPECT_EQ(by_store->wait().exit_code, 3);
  EXPECT_EQ(here.run({"status", "--exit-code"}).exit_code, 3);
  const Ended waited = here.run({"wait"});
  EXPECT_EQ(waited.exit_code, 3) << waited;
  EXPECT_TRUE(waited.says("`torc run wf.yaml` runs it again")) << waited;
  EXPECT_EQ(here.run({"verify"}).exit_code, 0);

  const auto by_file = here.start({"run", "wf.yaml"});
  ASSERT_TRUE(wait_for_line(began, "new", *by_file));
  write("newest", "memory: 2m, ");
  EXPECT_EQ(here.run({"apply", "wf.yaml"}).exit_code, 0);
  gate.open_gate(1);
  ASSERT_TRUE(wait_for_line(began, "newest", *by_file)) << "it follows the file again";
  // What is only to be called otherwise is no reason to run.
  write("newest", "memory: 3m, ");
  const Ended later = here.run({"apply", "wf.yaml"});
  EXPECT_TRUE(later.says("1 job at work has not been changed yet")) << later;
  EXPECT_EQ(here.json({"status"})["outdated_jobs"], 0);
  gate.open_gate(1);
  EXPECT_EQ(by_file->wait().exit_code, 0);
  EXPECT_EQ(read_text(here.path() / "b.txt"), "newest\n");
  EXPECT_EQ(here.json({"job", "a"})["memory_bytes"], 3U << 20U);
  EXPECT_TRUE(here.run({"apply", "wf.yaml"}).says("nothing differs"));
  EXPECT_EQ(here.run({"status", "--exit-code"}).exit_code, 0);
  // Where the file is as it was before, nothing is outdated any more.
  write("third", "memory: 3m, ");
  const auto third = here.start({"run", "wf.yaml"});
  ASSERT_TRUE(wait_for_line(began, "third", *third));
  write("other", "memory: 3m, ");
  EXPECT_EQ(here.run({"apply", "wf.yaml"}).exit_code, 0);
  write("third", "memory: 3m, ");
  EXPECT_EQ(here.run({"apply", "wf.yaml"}).exit_code, 0);
  EXPECT_EQ(here.json({"status"})["outdated_jobs"], 0);
  gate.open_gate(1);
  EXPECT_EQ(third->wait().exit_code, 0);
  EXPECT_EQ(read_text(here.path() / "b.txt"), "third\n");
}

TEST_P(ChangedFile, what_is_accepted_stays_and_is_not_asked_for_again) {
  write("1:2");
  ASSERT_EQ(run().exit_code, 0);
  EXPECT_SAYS(here.run({"apply", "wf.yaml", "--accept", "merge"}),
              "nothing speaks against the results that --accept names");
  (void)ran();
  write("1:2", "echo merged >> log");
  const json tried = apply({"--accept", "merge", "--dry-run"});
  EXPECT_EQ(tried["again_jobs"], 0) << tried;
  EXPECT_EQ(tried["edits"][0]["spared_jobs"], 1) << tried;
  EXPECT_EQ(apply({"--dry-run"})["again_jobs"], 1);
  const Ended accepted = here.run({"apply", "wf.yaml", "--accept", "merge"});
  EXPECT_EQ(accepted.exit_code, 0) << accepted;
  EXPECT_SAYS(accepted, "1 had run and keeps its result");
  EXPECT_EQ(run().exit_code, 0);
  EXPECT_EQ(ran(), "");
  ASSERT_EQ(here.run({"redo", "merge", "--yes"}).exit_code, 0);
  EXPECT_EQ(run().exit_code, 0);
  EXPECT_EQ(ran(), "merged ");
}

TEST_P(ChangedFile, only_failed_jobs_take_the_new_command_where_it_is_said) {
  here.write("wf.yaml",
             "name: wf\njobs:\n  - {name: 'a_{i}', command: 'echo {i} >> log; test {i} = 1', "
             "parameters: {i: '1:2'}}\n");
  ASSERT_EQ(run().exit_code, 1);
  EXPECT_EQ(ran(), "1 2 ");
  here.write("wf.yaml",
             "name: wf\njobs:\n  - {name: 'a_{i}', command: 'echo {i}b >> log', "
             "parameters: {i: '1:2'}}\n");
  EXPECT_EQ(apply({"--only-failed"})["again_jobs"], 1);
  EXPECT_EQ(run().exit_code, 0);
  EXPECT_EQ(ran(), "2b ");
}

TEST_P(ChangedFile, what_is_no_trigger_is_taken_over_and_nothing_runs_again_for_it) {
  write("1:2", "echo merge >> log", "rerun_triggers: [inputs]\n");
  ASSERT_EQ(run().exit_code, 0);
  (void)ran();
  write("1:2", "echo merged >> log", "rerun_triggers: [inputs]\n");
  EXPECT_EQ(run().exit_code, 0);
  EXPECT_EQ(ran(), "");
  const json job = here.json({"job", "wf.torc", "merge"});
  EXPECT_EQ(job["command"], "echo merged >> log") << job;
  write("1:2", "echo MERGED >> log", "rerun_triggers: [inputs]\n");
  EXPECT_EQ(apply({"--rerun-triggers", "command"})["again_jobs"], 1);
  const Ended wrong = here.run({"apply", "wf.yaml", "--rerun-triggers", "command,mtime"});
  EXPECT_EQ(wrong.exit_code, 2) << wrong;
  EXPECT_SAYS(wrong, "command,inputs,params,upstream");
}

TEST_P(ChangedFile, touched_results_count_with_the_files_as_they_are) {
  const auto file = [&](const std::string& inputs) {
    here.write("wf.yaml",
               "name: wf\nfiles:\n  - {name: x, path: x.txt}\n  - {name: y, path: y.txt}\n  - "
               "{name: z, path: z.txt}\njobs:\n  - {name: a, command: 'echo a >> log; cat x.txt > "
               "z.txt', input_files: [" +
                   inputs + "], output_files: [z]}\n");
  };
  here.write("x.txt", "1");
  here.write("y.txt", "1");
  file("x");
  ASSERT_EQ(run().exit_code, 0);
  EXPECT_EQ(ran(), "a ");
  here.write("x.txt", "22");
  file("y, x");
  const json touched = apply({"--touch"});
  EXPECT_EQ(touched["again_jobs"], 0) << touched;
  EXPECT_EQ(touched["renewed_jobs"], 1) << touched;
  EXPECT_EQ(run().exit_code, 0);
  EXPECT_EQ(ran(), "");
  here.write("y.txt", "333");
  EXPECT_EQ(run({"--yes"}).exit_code, 0);
  EXPECT_EQ(ran(), "a ");
  fs::remove(here.path() / "z.txt");
  const Ended gone = here.run({"apply", "wf.yaml", "--accept", "a"});
  EXPECT_EQ(gone.exit_code, 2) << gone;
  EXPECT_SAYS(gone, "there is no result of 'a' to accept: output z.txt is not there");
  EXPECT_EQ(apply({"--touch"})["again_jobs"], 1);
}

TEST_P(ChangedFile, a_renamed_job_keeps_its_result) {
  const auto file = [&](const std::string& name, const std::string& more) {
    here.write("wf.yaml", "name: wf\njobs:\n  - {name: '" + name +
                              "_{i}', command: 'echo {i} | tee -a log', parameters: {i: '1:3'}" +
                              more +
                              "}\n  - {name: merge, command: 'echo merge >> log', "
                              "depends_on_regexes: ['" +
                              name + "_.*']}\n");
  };
  file("align", "");
  ASSERT_EQ(run().exit_code, 0);
  (void)ran();
  file("map", ", was: 'align_{i}'");
  const Ended renamed = run();
  EXPECT_EQ(renamed.exit_code, 0) << renamed;
  EXPECT_EQ(ran(), "");
  EXPECT_SAYS(here.run({"logs", "wf.torc", "map_2"}), "2\n");
  EXPECT_EQ(here.jobs("wf.torc")["map_3"]["state"], "completed");
  EXPECT_EQ(here.run({"job", "wf.torc", "align_1"}).exit_code, 2);
  EXPECT_SAYS(here.run({"apply", "wf.yaml"}), "nothing differs");
  file("map", "");
  EXPECT_SAYS(here.run({"apply", "wf.yaml"}), "nothing differs");
}

TEST_P(ChangedFile, a_former_name_that_another_job_has_is_not_taken_from_it) {
  here.write("wf.yaml", "name: wf\njobs:\n  - {name: a, command: 'echo a >> log'}\n");
  ASSERT_EQ(run().exit_code, 0);
  (void)ran();
  here.write("wf.yaml",
             "name: wf\njobs:\n  - {name: b, was: a, command: 'echo b >> log'}\n  - {name: a, "
             "command: 'echo a >> log'}\n");
  EXPECT_EQ(run().exit_code, 0);
  EXPECT_EQ(ran(), "b ");
}

TEST_P(ChangedFile, a_fan_in_that_does_not_wait_for_what_is_added_is_named) {
  write("1:2");
  ASSERT_EQ(run().exit_code, 0);
  here.write("more.yaml", "jobs: [{name: align_9, command: 'echo 9 >> log'}]\n");
  const Ended added = here.run({"add", "wf.torc", "more.yaml"});
  EXPECT_EQ(added.exit_code, 0) << added;
  EXPECT_SAYS(added, "merge does not wait for align_9, although its 'align_.*' matches it");
  here.write("other.yaml", "jobs: [{name: other, command: 'echo o >> log'}]\n");
  EXPECT_FALSE(here.run({"add", "wf.torc", "other.yaml"}).says("does not wait"));
}

INSTANTIATE_TEST_SUITE_P(Engines, ChangedFile, testing::Values("lmdb", "journal"));

TEST(RestartRunning, says_of_a_job_at_work_only_that_it_is_ended) {
  const Workplace here;
  Fifo record(here.path() / "record");
  Fifo gate(here.path() / "gate");
  const std::string text =
      "name: wf\njobs: [{name: slow, command: 'echo slow > record; read x < gate'}]\n";
  here.write("wf.yaml", text);
  ASSERT_EQ(here.run({"init", "wf.yaml"}).exit_code, 0);
  const auto worker = here.start({"worker", "wf.torc"});
  ASSERT_TRUE(wait_for_line(record, "slow", *worker)) << worker->err();
  std::string other = text;
  here.write("wf.yaml", other.replace(other.find("echo slow"), 9, "echo again"));
  const Ended ends = here.run({"apply", "wf.yaml", "--dry-run"});
  EXPECT_SAYS(ends, "at work ends by what it was");
  const Ended restarts = here.run({"apply", "wf.yaml", "--dry-run", "--restart-running"});
  EXPECT_SAYS(restarts, "1 of these is at work and is ended first");
  EXPECT_FALSE(restarts.says("ends by what it was")) << restarts;
  gate.open_gate(1);
  EXPECT_EQ(worker->wait().exit_code, 0);
}

}  // namespace
}  // namespace torc::itest
