// Jobs that a job spawned belong to it: what becomes of them when it goes back to the start, and
// what it spawns then.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

class Spawned : public ::testing::TestWithParam<std::string> {
 protected:
  Ended run_file(const std::string& text, Words words = {}) {
    here.write("wf.yaml", "name: wf\n" + text);
    words.insert(words.begin(), {"run", "wf.yaml", "--num-cpus", "1"});
    if (is_new_) words.insert(words.end(), {"--engine", GetParam()});
    is_new_ = false;
    here.write("log", "");
    return here.run(words);
  }
  // One that spawns itself again, as often as it may.
  std::string loop(const std::string& word, int iterations = 3) const {
    return "dynamic_jobs: {max_iterations: " + std::to_string(iterations) +
           "}\njobs:\n  - name: refine\n    command: |\n      echo " + word +
           " $TORC_ITERATION $TORC_SPAWN_STATE >> log\n      " + torc_ +
           " spawn --state \"{\\\"from\\\":\\\"" + word + "\\\"}\" || true\n";
  }
  // `gen` spawns sp_I of each of the words, all with that command.
  std::string generator(const std::string& numbers, const std::string& command,
                        const std::string& more = "") const {
    return "jobs:\n  - name: gen\n    command: |\n      for i in " + numbers + "; do " + torc_ +
           " spawn --name sp_$i --command \"echo " + command + "$i >> log\" " + more +
           " || exit 1; done\n      echo gen >> log\n";
  }
  std::string log() const { return read_text(here.path() / "log"); }
  std::string state(const std::string& job) const { return here.json({"job", job})["state"]; }
  bool is_removed(const std::string& job) const { return here.json({"job", job})["removed"]; }
  void expect_sound() const {
    const Ended verified = here.run({"verify"});
    EXPECT_EQ(verified.exit_code, 0) << verified;
  }

  const Workplace here;

 private:
  const std::string torc_ = here.torc({}).argv[0];
  bool is_new_ = true;
};
INSTANTIATE_TEST_SUITE_P(Engines, Spawned, ::testing::Values("journal", "lmdb"));

// Else it would go with who spawned it, and the file would not be done.
TEST_P(Spawned, a_job_that_the_file_has_by_now_is_of_the_file) {
  const std::string own = "  - {name: sp_1, command: 'echo own1 >> log', depends_on: [gen]}\n";
  ASSERT_EQ(run_file(generator("1", "own")).exit_code, 0);
  ASSERT_EQ(log(), "gen\nown1\n");
  const Ended moved = run_file("jobs:\n  - {name: gen, command: 'echo gen2 >> log'}\n" + own);
  EXPECT_EQ(moved.exit_code, 0) << moved;
  EXPECT_EQ(log(), "gen2\nown1\n");
  EXPECT_EQ(state("sp_1"), "completed");
  EXPECT_FALSE(is_removed("sp_1"));
  expect_sound();
  here.write("log", "");
  EXPECT_EQ(here.run({"redo", "gen", "--yes"}).exit_code, 0);
  EXPECT_EQ(log(), "gen2\nown1\n");
  expect_sound();
  EXPECT_TRUE(run_file("jobs:\n  - {name: gen, command: 'echo gen2 >> log'}\n" + own)
                  .says("nothing to do"));
}

TEST_P(Spawned, iterations_run_by_what_the_edited_file_says) {
  ASSERT_EQ(run_file(loop("old")).exit_code, 0);
  ASSERT_EQ(log(), "old 1\nold 2 {\"from\":\"old\"}\nold 3 {\"from\":\"old\"}\n");
  const Ended again = run_file(loop("new"));
  EXPECT_EQ(again.exit_code, 0) << again;
  EXPECT_EQ(log(), "new 1\nnew 2 {\"from\":\"new\"}\nnew 3 {\"from\":\"new\"}\n");
  EXPECT_EQ(here.json({"jobs"}).size(), 3U);
  EXPECT_EQ(here.json({"job", "refine.2"})["origin"]["parent_attempt"], 2);
  expect_sound();
}

TEST_P(Spawned, iterations_that_are_no_more_do_not_run) {
  ASSERT_EQ(run_file(loop("old")).exit_code, 0);
  const Ended again = run_file(loop("new", 2));
  EXPECT_EQ(again.exit_code, 0) << again;
  EXPECT_EQ(log(), "new 1\nnew 2 {\"from\":\"new\"}\n");
  EXPECT_TRUE(is_removed("refine.3"));
  expect_sound();
}

TEST_P(Spawned, what_an_edited_job_spawns_no_more_does_not_run) {
  ASSERT_EQ(run_file(generator("1 2 3", "sp")).exit_code, 0);
  ASSERT_EQ(log(), "gen\nsp1\nsp2\nsp3\n");
  const Ended again = run_file(generator("1", "sp"));
  EXPECT_EQ(again.exit_code, 0) << again;
  EXPECT_TRUE(again.says("1 job runs again: gen\n")) << again;
  EXPECT_TRUE(
      again.says("3 jobs that it spawned run only if it spawns them again: "
                 "sp_1, sp_2, sp_3"))
      << again;
  EXPECT_EQ(log(), "gen\nsp1\n");
  EXPECT_EQ(state("sp_1"), "completed");
  EXPECT_TRUE(is_removed("sp_2"));
  EXPECT_TRUE(here.run({"why", "sp_2"}).says("gen")) << here.run({"why", "sp_2"});
  EXPECT_EQ(here.json({"status"})["jobs"], 2);
  expect_sound();
  // They are not forgotten.
  EXPECT_EQ(run_file(generator("1 2 3 4", "other")).exit_code, 0);
  EXPECT_EQ(log(), "gen\nother1\nother2\nother3\nother4\n");
  expect_sound();
}

TEST_P(Spawned, a_job_that_was_removed_comes_back_when_it_is_spawned) {
  ASSERT_EQ(run_file(loop("old")).exit_code, 0);
  ASSERT_EQ(here.run({"rm", "refine.2", "--with-dependents"}).exit_code, 0);
  here.write("log", "");
  const Ended again = here.run({"redo", "refine", "--yes"});
  EXPECT_EQ(again.exit_code, 0) << again;
  EXPECT_EQ(log(), "old 1\nold 2 {\"from\":\"old\"}\nold 3 {\"from\":\"old\"}\n");
  expect_sound();
}

TEST_P(Spawned, a_file_that_is_as_it_was_gives_their_results_back) {
  ASSERT_EQ(run_file(generator("1 2", "sp")).exit_code, 0);
  here.write("wf.yaml", "name: wf\n" + generator("1", "sp"));
  ASSERT_EQ(here.run({"apply", "wf.yaml"}).exit_code, 0);
  EXPECT_TRUE(is_removed("sp_1"));
  const Ended back = run_file(generator("1 2", "sp"));
  EXPECT_EQ(back.exit_code, 0) << back;
  EXPECT_TRUE(back.says("3 earlier results count again")) << back;
  EXPECT_EQ(log(), "");
  EXPECT_EQ(state("sp_2"), "completed");
  EXPECT_EQ(here.json({"job", "sp_2"})["attempt"], 1);
  expect_sound();
}

TEST_P(Spawned, a_reset_can_be_taken_back) {
  ASSERT_EQ(run_file(generator("1 2", "sp")).exit_code, 0);
  ASSERT_EQ(here.run({"reset", "gen", "--yes"}).exit_code, 0);
  EXPECT_TRUE(is_removed("sp_1"));
  expect_sound();
  const Ended undone = here.run({"undo"});
  EXPECT_EQ(undone.exit_code, 0) << undone;
  EXPECT_EQ(state("sp_1"), "completed");
  EXPECT_FALSE(is_removed("sp_1"));
  expect_sound();
}

TEST_P(Spawned, what_waits_for_them_waits_until_they_are_spawned_again) {
  ASSERT_EQ(run_file(generator("1 2", "sp", "--now")).exit_code, 0);
  here.write("more.yaml", R"(jobs:
  - {name: all, command: echo all >> log, depends_on: [sp_1, sp_2]}
  - {name: any, command: echo any >> log, depends: {afterany: [sp_2]}}
)");
  const Ended added = here.run({"add", "more.yaml"});
  ASSERT_EQ(added.exit_code, 0) << added;
  ASSERT_EQ(here.run({"run"}).exit_code, 0);
  ASSERT_EQ(here.run({"reset", "gen", "--yes"}).exit_code, 0);
  EXPECT_EQ(state("all"), "blocked");
  EXPECT_EQ(state("any"), "blocked");
  EXPECT_TRUE(here.run({"why", "all"}).says("gen")) << here.run({"why", "all"});
  expect_sound();
  here.write("log", "");
  EXPECT_EQ(here.run({"run", "--num-cpus", "1"}).exit_code, 0);
  EXPECT_NE(log().find("all\n"), std::string::npos) << log();
  EXPECT_NE(log().find("any\n"), std::string::npos) << log();
  EXPECT_LT(log().find("sp2\n"), log().find("any\n")) << log();
  expect_sound();
}

// Whatever it is that changed: here a script that the store does not know.
TEST_P(Spawned, a_retried_attempt_may_say_something_else_of_what_it_spawned) {
  here.write("words", "first");
  const std::string file =
      "jobs:\n  - name: gen\n    command: |\n      " + here.torc({}).argv[0] +
      " spawn --name sp --now --command \"echo $(cat words) >> log\"\n      test -e good\n";
  ASSERT_EQ(run_file(file).exit_code, 1);
  ASSERT_EQ(log(), "first\n");
  ASSERT_EQ(here.run({"retry", "--failed", "--run"}).exit_code, 1);
  EXPECT_EQ(log(), "first\n") << "the same again adds nothing";
  here.write("words", "second");
  here.write("good", "");
  const Ended again = here.run({"retry", "--failed", "--run"});
  EXPECT_EQ(again.exit_code, 0) << again;
  EXPECT_EQ(log(), "first\nsecond\n");
  expect_sound();
}

TEST_P(Spawned, two_jobs_of_one_name_are_a_mistake_of_an_attempt) {
  const std::string spawn = here.torc({}).argv[0] + " spawn --name sp --command ";
  ASSERT_EQ(run_file("jobs: [{name: gen, command: \"" + spawn + "one && " + spawn + "two\"}]\n")
                .exit_code,
            1);
  const Ended logs = here.run({"logs", "gen", "--stderr"});
  EXPECT_TRUE(logs.says("there 'one', here 'two'")) << logs;
}

TEST_P(Spawned, a_circle_is_refused) {
  const std::string file = generator("1", "sp");
  ASSERT_EQ(run_file(file).exit_code, 0);
  here.write("more.yaml", "jobs: [{name: report, command: echo, depends_on: [sp_1]}]\n");
  ASSERT_EQ(here.run({"add", "more.yaml"}).exit_code, 0);
  ASSERT_EQ(here.run({"run"}).exit_code, 0);
  EXPECT_EQ(run_file(generator("1", "sp", "--depends-on report")).exit_code, 1);
  const Ended logs = here.run({"logs", "gen", "--stderr"});
  EXPECT_TRUE(logs.says("would wait for itself")) << logs;
  expect_sound();
}

// No `was:` says that it is the same job.
TEST_P(Spawned, a_job_of_another_name_spawns_what_the_earlier_one_had) {
  std::string file = generator("1 2", "sp");
  ASSERT_EQ(run_file(file).exit_code, 0);
  ASSERT_EQ(log(), "gen\nsp1\nsp2\n");
  file.replace(file.find("name: gen"), 9, "name: other");
  const Ended renamed = run_file(file);
  EXPECT_EQ(renamed.exit_code, 0) << renamed;
  EXPECT_EQ(log(), "gen\nsp1\nsp2\n");
  EXPECT_EQ(here.json({"job", "sp_1"})["origin"]["parent"], "other");
  EXPECT_FALSE(is_removed("sp_2"));
  expect_sound();
  // It has the higher number.
  ASSERT_EQ(here.run({"reset", "other", "--yes"}).exit_code, 0);
  EXPECT_TRUE(is_removed("sp_1"));
  const Ended again = here.run({"run", "--num-cpus", "1"});
  EXPECT_EQ(again.exit_code, 0) << again;
  EXPECT_EQ(log(), "gen\nsp1\nsp2\ngen\nsp1\nsp2\n");
  expect_sound();
}

// It would be completed, and what it spawned would not be there.
TEST_P(Spawned, a_spawner_that_comes_back_runs_again_where_another_one_has_what_it_spawned) {
  const std::string first = generator("1 2", "sp");
  std::string second = first;
  second.replace(second.find("name: gen"), 9, "name: other");
  ASSERT_EQ(run_file(first).exit_code, 0);
  ASSERT_EQ(run_file(second).exit_code, 0);
  const Ended back = run_file(first);
  EXPECT_EQ(back.exit_code, 0) << back;
  EXPECT_TRUE(back.says("1 job runs again: gen\n")) << back;
  EXPECT_EQ(log(), "gen\nsp1\nsp2\n");
  EXPECT_EQ(here.json({"job", "sp_1"})["origin"]["parent"], "gen");
  EXPECT_TRUE(is_removed("other"));
  expect_sound();
  EXPECT_TRUE(run_file(first).says("nothing to do"));
}

TEST_P(Spawned, jobs_whose_spawner_left_the_file_go_with_it_and_come_back_with_it) {
  const std::string file =
      generator("1 2", "sp", "--priority 1") + "  - {name: own, command: echo own >> log}\n";
  ASSERT_EQ(run_file(file).exit_code, 0);
  const Ended without = run_file("jobs: [{name: own, command: echo own >> log}]\n");
  EXPECT_EQ(without.exit_code, 0) << without;
  EXPECT_EQ(log(), "");
  EXPECT_TRUE(is_removed("sp_1"));
  EXPECT_TRUE(is_removed("sp_2"));
  EXPECT_EQ(here.json({"status"})["jobs"], 1);
  expect_sound();
  const Ended back = run_file(file);
  EXPECT_EQ(back.exit_code, 0) << back;
  EXPECT_EQ(log(), "") << "their results are what they were";
  EXPECT_FALSE(is_removed("sp_2"));
  EXPECT_EQ(here.json({"status"})["jobs"], 4);
  expect_sound();
}

// Else nothing would end them, and the workflow could not be done.
TEST_P(Spawned, failed_ones_whose_spawner_left_the_file_fail_nothing_any_more) {
  const std::string own = "jobs: [{name: own, command: echo own >> log}]\n";
  ASSERT_EQ(
      run_file("jobs:\n  - name: gen\n    command: " + here.torc({}).argv[0] +
               " spawn --name sp --command false\n  - {name: own, command: echo own >> log}\n")
          .exit_code,
      1);
  EXPECT_EQ(state("sp"), "failed");
  const Ended without = run_file(own);
  EXPECT_EQ(without.exit_code, 0) << without;
  EXPECT_TRUE(is_removed("sp"));
  EXPECT_EQ(here.run({"status", "--exit-code"}).exit_code, 0);
  expect_sound();
}

// From the beginning, and of an earlier version of the file.
TEST_P(Spawned, a_job_that_was_of_the_file_is_not_silently_left_out) {
  const std::string spawn = "{name: gen, command: \"" + here.torc({}).argv[0] +
                            " spawn --name sp --command true --now\"}";
  ASSERT_EQ(run_file("jobs: [{name: sp, command: 'true'}]\n").exit_code, 0);
  EXPECT_EQ(run_file("jobs: [" + spawn + "]\n").exit_code, 1);
  const Ended logs = here.run({"logs", "gen", "--stderr"});
  EXPECT_TRUE(logs.says("the job 'sp' is out of the workflow")) << logs;
}

TEST_P(Spawned, nobody_spawns_a_job_from_which_it_comes) {
  const std::string torc = here.torc({}).argv[0];
  const auto file = [&](const std::string& what) {
    return "jobs:\n  - name: gen\n    command: " + torc + " spawn --name sp --command '" + what +
           "'\n";
  };
  ASSERT_EQ(run_file(file("true")).exit_code, 0);
  ASSERT_EQ(here.run({"rm", "sp"}).exit_code, 0);
  EXPECT_EQ(run_file(file(torc + " spawn --name sp --command true")).exit_code, 1);
  expect_sound();
}

TEST_P(Spawned, a_sweep_comes_back_in_part) {
  const auto file = [&](const std::string& values, const std::string& word) {
    return "jobs:\n  - name: gen\n    command: |\n      " + here.torc({}).argv[0] +
           " spawn --name 'sp_{i}' --param i=" + values + " --command 'echo " + word +
           "{i} >> log'\n";
  };
  ASSERT_EQ(run_file(file("1:4", "a")).exit_code, 0);
  ASSERT_EQ(log(), "a1\na2\na3\na4\n");
  const Ended again = run_file(file("2:3", "b"));
  EXPECT_EQ(again.exit_code, 0) << again;
  EXPECT_EQ(log(), "b2\nb3\n");
  expect_sound();
  EXPECT_EQ(here.json({"job", "sp_3"})["origin"]["parent_attempt"], 2);
  EXPECT_EQ(here.json({"job", "sp_4"})["origin"]["parent_attempt"], 1);
  EXPECT_EQ(run_file(file("[4,2,6]", "c")).exit_code, 0);
  EXPECT_EQ(log(), "c2\nc4\nc6\n");
  expect_sound();
}

}  // namespace
}  // namespace torc::itest
