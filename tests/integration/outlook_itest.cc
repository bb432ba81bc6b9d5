// What `torc run` says before it does something: -n, and what is refused before anything is
// changed; and that a run of a file ends with what the file says.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

class Outlook : public ::testing::TestWithParam<std::string> {
 protected:
  // `count` jobs that write their names.
  void write_file(int count, const std::string& more = "", const std::string& command = "echo") {
    here.write("wf.yaml", "name: wf\njobs:\n  - name: a_{i}\n    command: \"" + command +
                              " a_{i} >> log\"\n    parameters: {i: \"1:" + std::to_string(count) +
                              "\"}\n" + more);
  }
  Ended run_file(Words words = {}) const {
    words.insert(words.begin(), {"run", "wf.yaml"});
    if (!fs::exists(here.path() / "wf.torc")) words.insert(words.end(), {"--engine", GetParam()});
    return here.run(words);
  }
  [[nodiscard]] std::size_t ran() const {
    return fs::exists(here.path() / "log") ? lines_of(read_text(here.path() / "log")).size() : 0;
  }

  Workplace here;
};
INSTANTIATE_TEST_SUITE_P(Engines, Outlook, ::testing::Values("journal", "lmdb"));

TEST_P(Outlook, a_name_that_nobody_has_is_refused_before_the_file_is_followed) {
  write_file(3);
  ASSERT_EQ(run_file().exit_code, 0);
  write_file(3, "", "echo other");
  for (const Words& words : {Words{"nobody"}, Words{"--until", "nobody"},
                             Words{"--force", "nobody"}, Words{"a_1", "--force", "nobody"}}) {
    for (const bool tries : {true, false}) {
      Words all = words;
      if (tries) all.emplace_back("-n");
      const Ended refused = run_file(all);
      EXPECT_EQ(refused.exit_code, 2) << refused;
      EXPECT_TRUE(refused.says("nobody")) << refused;
    }
  }
  EXPECT_EQ(here.json({"jobs", "--state", "completed"}).size(), 3U) << "nothing was changed";
  EXPECT_EQ(run_file({"-n", "a_2"}).exit_code, 0);
  // Nor is a job reset where another name is wrong.
  EXPECT_EQ(here.run({"run", "wf.torc", "nobody", "--force", "a_1"}).exit_code, 2);
  EXPECT_EQ(here.json({"jobs", "--state", "completed"}).size(), 3U);
  EXPECT_EQ(ran(), 3U);
}

TEST_P(Outlook, tells_what_would_run_also_where_the_file_differs) {
  write_file(3);
  ASSERT_EQ(run_file({"a_1"}).exit_code, 0);
  write_file(5, "    memory: 9m\n");
  const Ended all = run_file({"-n"});
  EXPECT_EQ(all.exit_code, 0) << all;
  EXPECT_TRUE(all.says("4 jobs would run: 4 ready; 1 of 5 jobs completed")) << all;
  const Ended done = run_file({"-n", "a_1"});
  EXPECT_TRUE(done.says("nothing would run: 1 of 1 job that was asked for completed")) << done;
  const Ended one = run_file({"-n", "a_4"});
  EXPECT_TRUE(one.says("1 job would run: 1 ready; 0 of 1 job")) << one;
  EXPECT_EQ(here.json({"jobs"}).size(), 3U) << "nothing was changed";
  ASSERT_EQ(run_file().exit_code, 0);
  EXPECT_EQ(ran(), 5U);
}

TEST_P(Outlook, counts_what_force_lets_run_and_changes_nothing) {
  write_file(3, "  - {name: z, command: echo z >> log, depends_on: [a_1, a_2, a_3]}\n");
  ASSERT_EQ(run_file().exit_code, 0);
  for (const char* what : {"wf.yaml", "wf.torc"}) {
    const Ended told = here.run({"run", what, "-n", "--force", "a_2"});
    EXPECT_EQ(told.exit_code, 0) << told;
    EXPECT_TRUE(told.says("2 jobs would run: 1 ready, 1 that waits for others; 2 of 4")) << told;
  }
  EXPECT_EQ(here.json({"jobs", "--state", "completed"}).size(), 4U);
}

TEST_P(Outlook, does_not_count_what_waits_for_a_failure) {
  write_file(3,
             "  - {name: \"b_{i}\", command: \"test {i} -ne 2\", parameters: {i: \"1:3\"}}\n"
             "  - {name: \"c_{i}\", command: echo, depends_on: [\"b_{i}\"], parameters: {i: "
             "\"1:3\"}}\n");
  ASSERT_EQ(run_file({"stage:b"}).exit_code, 1);
  const Ended some = run_file({"-n"});
  EXPECT_TRUE(
      some.says("5 jobs would run: 5 ready; 2 of 9 jobs completed, 1 failed, 1 never "
                "reached"))
      << some;
  ASSERT_EQ(run_file().exit_code, 1);
  const Ended none = run_file({"-n"});
  EXPECT_TRUE(none.says("nothing would run: 7 of 9 jobs completed, 1 failed, 1 never reached"))
      << none;
}

TEST_P(Outlook, says_that_nothing_starts_after_too_many_failures) {
  write_file(3, "max_failures: 1\n", "false");
  ASSERT_EQ(run_file({"-j", "1"}).exit_code, 1);
  const Ended told = run_file({"-n"});
  EXPECT_TRUE(told.says("nothing would run: 1 job failed, and max_failures is 1")) << told;
}

// It is still there when they have ended: they run again by the file as it is.
TEST_P(Outlook, a_run_ends_with_what_the_file_says_also_of_jobs_that_were_at_work) {
  Fifo record(here.path() / "record");
  Fifo gate(here.path() / "gate");
  const auto write = [&](const std::string& word) {
    here.write("wf.yaml", "name: wf\njobs:\n  - {name: a, command: \"echo " + word +
                              " > record; read x < gate; echo " + word + " >> log\"}\n");
  };
  write("old");
  const auto first = here.start({"run", "wf.yaml", "--engine", GetParam()});
  ASSERT_TRUE(wait_for_line(record, "old", *first)) << first->err();
  write("new");
  const auto second = here.start({"run", "wf.yaml"});
  EXPECT_TRUE(wait_until({second.get()}, [&] {
    return second->out().find(
               "1 job at work goes on as the file described them; when it has ended, it runs again "
               "as it does now") != std::string::npos;
  })) << second->out();
  gate.open_gate(1);
  // Either of them may have it; the first may have left before it was to run again.
  ASSERT_TRUE(wait_for_line(record, "new", *second)) << second->err();
  gate.open_gate(1);
  const Ended ended = second->wait();
  EXPECT_FALSE(first->wait().timed_out);
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_EQ(read_text(here.path() / "log"), "old\nnew\n");
  EXPECT_TRUE(run_file().says("nothing to do")) << "it is what the file says";
}

TEST_P(Outlook, a_job_that_the_file_has_no_more_is_not_reset_by_its_name) {
  write_file(3);
  ASSERT_EQ(run_file().exit_code, 0);
  write_file(2);
  ASSERT_EQ(run_file().exit_code, 0);
  for (const Words& words : {Words{"redo", "a_3", "--yes"}, Words{"reset", "a_3", "--yes"},
                             Words{"run", "wf.yaml", "--force", "a_3"}}) {
    const Ended told = here.run(words);
    EXPECT_EQ(told.exit_code, 0) << told;
    EXPECT_TRUE(told.says("1 of these is out of the workflow")) << told;
  }
  EXPECT_EQ(here.json({"job", "a_3"})["state"], "completed");
  const Ended both = here.run({"reset", "a_*", "--yes"});
  EXPECT_TRUE(both.says("2 jobs")) << both;
  EXPECT_EQ(here.json({"job", "a_3"})["state"], "completed");
  EXPECT_EQ(here.run({"verify"}).exit_code, 0);
  write_file(3);
  ASSERT_EQ(run_file().exit_code, 0);
  EXPECT_EQ(ran(), 5U) << "a_3 did not run twice";
}

TEST_P(Outlook, a_removed_job_that_was_canceled_says_so_when_it_is_retried) {
  write_file(3, "", "false");
  ASSERT_EQ(run_file().exit_code, 1);
  write_file(2, "", "false");
  ASSERT_EQ(run_file().exit_code, 1);
  const Ended told = here.run({"retry", "a_3"});
  EXPECT_EQ(told.exit_code, 0) << told;
  EXPECT_TRUE(told.says("1 of these is out of the workflow")) << told;
}

// The word that is named is the file, which says what is run.
TEST_P(Outlook, retry_and_redo_of_a_file_run_what_the_file_says) {
  write_file(1, "", "false");
  ASSERT_EQ(run_file().exit_code, 1);
  write_file(1);
  const Ended retried = here.run({"retry", "wf.yaml", "--failed", "--run"});
  EXPECT_EQ(retried.exit_code, 0) << retried;
  EXPECT_EQ(read_text(here.path() / "log"), "a_1\n");
  write_file(1, "", "echo again");
  const Ended redone = here.run({"redo", "wf.yaml", "a_1", "--yes"});
  EXPECT_EQ(redone.exit_code, 0) << redone;
  EXPECT_EQ(read_text(here.path() / "log"), "a_1\nagain a_1\n");
}

TEST_P(Outlook, who_runs_the_store_is_told_that_its_file_was_edited) {
  write_file(1);
  ASSERT_EQ(run_file().exit_code, 0);
  EXPECT_FALSE(here.run({"run", "wf.torc"}).says("was edited"));
  write_file(2);
  for (const Words& words : {Words{"run"}, Words{"run", "wf.torc"}}) {
    const Ended told = here.run(words);
    EXPECT_EQ(told.exit_code, 0) << told;
    EXPECT_TRUE(told.says("wf.yaml was edited since it was applied; `torc run wf.yaml`")) << told;
  }
  ASSERT_EQ(run_file().exit_code, 0);
  EXPECT_FALSE(here.run({"run"}).says("was edited"));
}

TEST_P(Outlook, what_cannot_run_here_keeps_its_results) {
  write_file(2);
  ASSERT_EQ(run_file().exit_code, 0);
  fs::create_directory(here.path() / "away");
  fs::copy(here.path() / "wf.torc", here.path() / "away/wf.torc", fs::copy_options::recursive);
  for (const Words& words : {Words{"redo", "away/wf.torc", "a_1", "--yes"},
                             Words{"run", "away/wf.torc", "--force", "a_1"}}) {
    const Ended refused = here.run(words);
    EXPECT_EQ(refused.exit_code, 4) << refused;
  }
  EXPECT_EQ(here.json({"jobs", "away/wf.torc", "--state", "completed"}).size(), 2U);
}

TEST_P(Outlook, an_entry_that_grew_is_one_stage) {
  write_file(2);
  ASSERT_EQ(run_file().exit_code, 0);
  write_file(3);
  ASSERT_EQ(run_file().exit_code, 0);
  const auto stages = here.json({"status", "--stages"})["jobs_by_entry"];
  ASSERT_EQ(stages.size(), 1U) << stages;
  EXPECT_EQ(stages[0]["jobs"], 3) << stages;
}

// A file that was only touched is as it was, where its content is known.
TEST_P(Outlook, contents_decide_in_a_store_that_was_made_with_checksum) {
  here.write("in", "content\n");
  here.write("wf.yaml", R"(name: wf
files: [{name: in, path: in}, {name: out, path: out}]
jobs: [{name: a, command: "cat in > out; echo a >> log", input_files: [in], output_files: [out]}]
)");
  ASSERT_EQ(here.run({"init", "wf.yaml", "--checksum", "--engine", GetParam()}).exit_code, 0);
  ASSERT_EQ(run_file().exit_code, 0);
  const auto later = fs::last_write_time(here.path() / "in") + std::chrono::seconds(5);
  for (const char* file : {"in", "out"}) fs::last_write_time(here.path() / file, later);
  const Ended touched = run_file();
  EXPECT_EQ(touched.exit_code, 0) << touched;
  EXPECT_TRUE(touched.says("nothing to do")) << touched;
  EXPECT_EQ(ran(), 1U);
  here.write("in", "another\n");
  fs::last_write_time(here.path() / "in", later + std::chrono::seconds(5));
  EXPECT_EQ(run_file().exit_code, 0);
  EXPECT_EQ(ran(), 2U);
}

TEST_P(Outlook, of_a_first_run_is_told_and_names_are_looked_up_before_there_is_a_store) {
  write_file(3, "  - {name: b, command: echo b >> log, depends_on: [a_1]}\n");
  for (const Words& words :
       {Words{"nobody"}, Words{"--until", "nobody"}, Words{"--force", "nobody"}}) {
    const Ended refused = run_file(words);
    EXPECT_EQ(refused.exit_code, 2) << refused;
    EXPECT_TRUE(refused.says("nobody")) << refused;
    EXPECT_FALSE(fs::exists(here.path() / "wf.torc"));
  }
  const Ended all = run_file({"-n"});
  EXPECT_EQ(all.exit_code, 0) << all;
  EXPECT_TRUE(all.says("4 jobs would run: 3 ready, 1 that waits for others")) << all;
  const Ended some = run_file({"-n", "b"});
  EXPECT_TRUE(some.says("2 jobs would run: 1 ready, 1 that waits for others")) << some;
  EXPECT_FALSE(fs::exists(here.path() / "wf.torc"));
  EXPECT_EQ(run_file({"b"}).exit_code, 0);
  EXPECT_EQ(ran(), 2U);
}

TEST_P(Outlook, whether_a_failure_cancels_others_makes_no_result_count_no_more) {
  const auto file = [&](const std::string& cancels) {
    write_file(2, "  - {name: b, command: echo b >> log, depends_on: [a_1]" + cancels + "}\n");
  };
  file("");
  ASSERT_EQ(run_file().exit_code, 0);
  file(", cancel_on_blocking_job_failure: true");
  const Ended told = run_file();
  EXPECT_EQ(told.exit_code, 0) << told;
  EXPECT_TRUE(told.says("cancel_on_blocking_job_failure; nothing runs again for it")) << told;
  EXPECT_EQ(ran(), 3U);
  EXPECT_TRUE(run_file().says("nothing to do"));
  EXPECT_EQ(here.run({"verify"}).exit_code, 0);
}

TEST(OutlookWithoutAStore, a_file_without_a_store_says_what_makes_one) {
  const Workplace here;
  here.write("wf.yaml", "name: wf\njobs: [{name: a, command: echo}]\n");
  fs::create_directory(here.path() / "sub");
  for (const char* command : {"status", "apply"}) {
    const Ended refused = here.run({command, "wf.yaml"});
    EXPECT_EQ(refused.exit_code, 4) << refused;
    EXPECT_TRUE(refused.says("wf.yaml has no store here")) << refused;
    EXPECT_TRUE(refused.says("torc run wf.yaml")) << refused;
    EXPECT_TRUE(here.run({command, "nowhere.yaml"}).says("there is no file 'nowhere.yaml'"))
        << command;
  }
  ASSERT_EQ(here.run({"run", "wf.yaml"}).exit_code, 0);
  EXPECT_TRUE(here.run({"run", "nowhere.yml"}).says("there is no file 'nowhere.yml'"))
      << "also where a store is";
  Launch below = here.torc({"status", "../wf.yaml"});
  below.directory = here.path() / "sub";
  EXPECT_EQ(run(below).exit_code, 0) << "the one beside the file";
  below = here.torc({"apply", "../wf.yaml"});
  below.directory = here.path() / "sub";
  const Ended told = run(below);
  EXPECT_EQ(told.exit_code, 4) << told;
  EXPECT_TRUE(told.says("there is one beside the file")) << told;
}

}  // namespace
}  // namespace torc::itest
