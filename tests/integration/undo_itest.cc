// torc undo, torc status --at, and what is kept of attempts: everything is told, and what a person
// changed can be taken back.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Words = std::vector<std::string>;

const std::string kFile = R"(name: wf
jobs:
  - {name: "a_{i}", command: "echo {i} > a_{i}.txt", parameters: {i: "1:3"}}
  - {name: b, command: "cat a_*.txt > b.txt", depends_on_regexes: ["^a_"]}
)";
const std::string kOther = R"(name: wf
jobs:
  - {name: "a_{i}", command: "echo x{i} > a_{i}.txt", parameters: {i: "1:4"}}
  - {name: b, command: "cat a_*.txt > b.txt", depends_on_regexes: ["^a_"]}
)";

class Undo : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    here.write("wf.yaml", kFile);
    ASSERT_EQ(here.run({"run", "wf.yaml", "--engine", GetParam()}).exit_code, 0);
  }
  std::string state(const std::string& job) const { return here.json({"job", job})["state"]; }
  void expect_sound() const { EXPECT_EQ(here.run({"verify"}).exit_code, 0); }
  // What status says of jobs.
  json counts() const { return here.json({"status"})["jobs_by_state"]; }
  Ended undo(Words words = {}) const {
    words.insert(words.begin(), "undo");
    const Ended done = here.run(words);
    expect_sound();
    return done;
  }

  Workplace here;
};
INSTANTIATE_TEST_SUITE_P(Engines, Undo, ::testing::Values("journal", "lmdb"));

TEST_P(Undo, a_result_that_was_thrown_away_counts_again) {
  ASSERT_EQ(here.run({"reset", "a_2", "--yes"}).exit_code, 0);
  EXPECT_EQ(state("b"), "blocked");
  const Ended dry = undo({"--dry-run"});
  EXPECT_EQ(dry.exit_code, 0) << dry;
  EXPECT_TRUE(dry.says("would take back `torc reset a_2 --yes`")) << dry;
  EXPECT_EQ(state("b"), "blocked");
  const Ended done = undo();
  EXPECT_EQ(done.exit_code, 0) << done;
  EXPECT_TRUE(done.says("took back `torc reset a_2 --yes`")) << done;
  EXPECT_TRUE(done.says("2 jobs are as before")) << done;
  EXPECT_EQ(state("a_2"), "completed");
  EXPECT_EQ(state("b"), "completed");
  const Ended again = here.run({"run", "wf.yaml"});
  EXPECT_TRUE(again.says("nothing to do")) << again;
  EXPECT_EQ(here.json({"job", "a_2"})["attempt"], 1);
}

TEST_P(Undo, one_change_after_the_other_and_then_nothing_is_left) {
  ASSERT_EQ(here.run({"rm", "b"}).exit_code, 0);
  ASSERT_EQ(here.run({"reset", "a_1", "--yes"}).exit_code, 0);
  EXPECT_TRUE(undo().says("torc reset a_1"));
  EXPECT_TRUE(undo().says("torc rm b"));
  EXPECT_EQ(here.json({"job", "b"})["removed"], false);
  const Ended none = undo();
  EXPECT_EQ(none.exit_code, 0) << none;
  EXPECT_TRUE(none.says("nothing to take back")) << none;
  const json list = here.json({"undo", "--list"})["kept_changes"];
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0]["command_line"], "torc reset a_1 --yes");
  EXPECT_FALSE(list[0]["undone_at"].is_null());
  EXPECT_EQ(list[1]["command_line"], "torc rm b");
}

TEST_P(Undo, what_a_job_has_come_of_stays_and_it_is_said_why) {
  ASSERT_EQ(here.run({"redo", "a_2", "--yes"}).exit_code, 0);
  const Ended done = undo();
  EXPECT_EQ(done.exit_code, 1) << done;
  EXPECT_TRUE(done.says("`torc redo a_2 --yes`")) << done;
  EXPECT_TRUE(done.says("job a_2 has gone on since, and is completed now")) << done;
  EXPECT_EQ(here.json({"job", "a_2"})["attempt"], 2);
  const json told = json::parse(here.run({"undo", "--json"}).out);
  EXPECT_EQ(told["undone"], false);
  EXPECT_EQ(told["kept_changes"][0]["command_line"], "torc redo a_2 --yes");
}

TEST_P(Undo, an_edit_that_was_applied_and_the_copy_of_the_file) {
  here.write("wf.yaml", kOther);
  ASSERT_EQ(here.run({"apply", "wf.yaml"}).exit_code, 0);
  EXPECT_EQ(state("a_4"), "ready");
  const Ended done = undo();
  EXPECT_EQ(done.exit_code, 0) << done;
  EXPECT_TRUE(done.says("wf.yaml still says what was taken back")) << done;
  EXPECT_EQ(state("b"), "completed");
  EXPECT_EQ(here.run({"job", "a_4"}).exit_code, 2);
  EXPECT_EQ(read_text(here.path() / "wf.torc" / "spec.yaml"), kFile);
  fs::copy_file(here.path() / "wf.torc" / "spec.yaml", here.path() / "wf.yaml",
                fs::copy_options::overwrite_existing);
  const Ended back = here.run({"run", "wf.yaml"});
  EXPECT_TRUE(back.says("nothing to do")) << back;
  here.write("wf.yaml", kOther);
  ASSERT_EQ(here.run({"run", "wf.yaml", "--yes"}).exit_code, 0);
  EXPECT_EQ(read_text(here.path() / "b.txt"), "x1\nx2\nx3\nx4\n");
  expect_sound();
}

// It had no record that the edit could have written: what it ran by is what counts.
TEST_P(Undo, a_job_that_ran_by_the_edit_for_the_first_time_stands_against_it) {
  here.write("other.yaml", "name: other\njobs: [{name: a, command: echo old > f}]\n");
  ASSERT_EQ(here.run({"init", "other.yaml", "--engine", GetParam()}).exit_code, 0);
  here.write("other.yaml", "name: other\njobs: [{name: a, command: echo new > f}]\n");
  ASSERT_EQ(here.run({"apply", "other.yaml"}).exit_code, 0);
  EXPECT_EQ(here.json({"undo", "--list", "other.torc"})["kept_changes"][0]["undoable"], true);
  ASSERT_EQ(here.run({"run", "other.torc"}).exit_code, 0);
  const Ended done = here.run({"undo", "other.torc"});
  EXPECT_EQ(done.exit_code, 1) << done;
  EXPECT_TRUE(done.says("job a has gone on since")) << done;
  EXPECT_EQ(here.json({"job", "other.torc", "a"})["command"], "echo new > f");
}

TEST_P(Undo, user_data_that_a_job_has_seen_since_stays) {
  ASSERT_EQ(here.run({"data", "set", "lr", "1", "--create"}).exit_code, 0);
  ASSERT_EQ(here.run({"redo", "b", "--yes"}).exit_code, 0);
  ASSERT_EQ(here.run({"data", "set", "lr", "2"}).exit_code, 0);
  EXPECT_EQ(undo().exit_code, 0) << "nothing was started since";
  ASSERT_EQ(here.run({"data", "set", "lr", "3"}).exit_code, 0);
  ASSERT_EQ(here.run({"retry", "--failed"}).exit_code, 0);
  here.write("more.yaml", "jobs: [{name: late, command: echo}]\n");
  ASSERT_EQ(here.run({"run", "wf.yaml", "--force", "b", "--yes"}).exit_code, 0);
  EXPECT_EQ(undo().exit_code, 1);
  EXPECT_EQ(here.run({"data", "get", "lr"}).out, "3\n");
}

TEST_P(Undo, what_somebody_else_changed_is_asked_for) {
  Launch other = here.torc({"reset", "a_1", "--yes"});
  other.env["USER"] = "somebody";
  ASSERT_EQ(run(other).exit_code, 0);
  const Ended refused = undo();
  EXPECT_EQ(refused.exit_code, 2) << refused;
  EXPECT_TRUE(refused.says("the last change is not yours: `torc reset a_1 --yes`")) << refused;
  EXPECT_EQ(state("a_1"), "ready");
  EXPECT_EQ(undo({"--yes"}).exit_code, 0);
  EXPECT_EQ(state("a_1"), "completed");
}

TEST_P(Undo, what_was_set_has_its_old_value) {
  ASSERT_EQ(here.run({"reset", "a_1", "--yes"}).exit_code, 0);
  ASSERT_EQ(here.run({"set", "a_1", "priority=7", "cpus=1"}).exit_code, 0);
  ASSERT_EQ(here.json({"job", "a_1"})["priority"], 7);
  ASSERT_EQ(here.run({"set", "--keep-attempts", "3"}).exit_code, 0);
  EXPECT_TRUE(undo().says("--keep-attempts 3"));
  EXPECT_EQ(here.json({"set", "--keep-attempts", "50"})["kept_attempts_before"], 50);
  EXPECT_TRUE(undo().says("priority=7"));
  EXPECT_EQ(here.json({"job", "a_1"})["priority"], 0);
}

TEST_P(Undo, user_data_that_a_person_set) {
  ASSERT_EQ(here.run({"data", "set", "lr", "1", "--create"}).exit_code, 0);
  ASSERT_EQ(here.run({"data", "set", "lr", "2"}).exit_code, 0);
  EXPECT_TRUE(undo().says("torc data set lr 2"));
  EXPECT_EQ(here.run({"data", "get", "lr"}).out, "1\n");
  EXPECT_EQ(undo().exit_code, 0);
  EXPECT_NE(here.run({"data", "get", "lr"}).exit_code, 0);
}

TEST_P(Undo, history_tells_who_changed_what) {
  ASSERT_EQ(here.run({"reset", "a_2", "--yes"}).exit_code, 0);
  ASSERT_EQ(undo().exit_code, 0);
  std::string kinds;
  const json of_it = here.json({"history", "a_2"});
  for (const json& event : of_it["events"]) {
    if (event["change"].is_null()) continue;
    kinds += event["event"].get<std::string>() + " ";
    EXPECT_EQ(event["change"]["command_line"], "torc reset a_2 --yes");
  }
  EXPECT_EQ(kinds, "changed undone ");
  const json of_another = here.json({"history", "a_1"});
  EXPECT_FALSE(of_another["events"].empty());
  for (const json& event : of_another["events"]) EXPECT_TRUE(event["change"].is_null());
}

TEST_P(Undo, an_attempt_tells_what_it_ran_and_what_threw_it_away) {
  here.write("wf.yaml", kOther);
  ASSERT_EQ(here.run({"run", "wf.yaml", "--yes"}).exit_code, 0);
  const json job = here.json({"job", "a_2"});
  EXPECT_EQ(job["command"], "echo x2 > a_2.txt");
  EXPECT_EQ(job["command_of_attempt"], "echo x2 > a_2.txt");
  ASSERT_EQ(job["past_attempts"].size(), 1U);
  const json& past = job["past_attempts"][0];
  EXPECT_EQ(past["attempt"], 1);
  EXPECT_EQ(past["command"], "echo 2 > a_2.txt");
  EXPECT_EQ(past["same_command"], false);
  EXPECT_EQ(past["exit_code"], 0);
  EXPECT_EQ(past["change"]["command_line"], "torc run wf.yaml --yes");
  const Ended text = here.run({"job", "a_2"});
  EXPECT_TRUE(text.says("it ran: echo 2 > a_2.txt; then: torc run wf.yaml --yes")) << text;
}

TEST_P(Undo, a_job_that_waits_tells_what_had_it_run_again) {
  ASSERT_EQ(here.run({"reset", "a_2", "--yes"}).exit_code, 0);
  EXPECT_TRUE(here.run({"job", "a_2"}).says(": torc reset a_2 --yes ("));
  EXPECT_FALSE(here.run({"job", "a_1"}).says("torc reset"));
}

TEST_P(Undo, what_is_canceled_or_runs_again_tells_the_last_word) {
  ASSERT_EQ(here.run({"reset", "b", "--yes"}).exit_code, 0);
  ASSERT_EQ(here.run({"cancel", "b"}).exit_code, 0);
  EXPECT_TRUE(here.run({"job", "b"}).says(": torc cancel b ("));
  ASSERT_EQ(here.run({"retry", "b", "--run"}).exit_code, 0);
  EXPECT_EQ(here.json({"job", "b"})["past_attempts"][0]["change"]["command_line"],
            "torc retry b --run");
}

TEST_P(Undo, the_list_says_what_can_be_taken_back_now) {
  ASSERT_EQ(here.run({"set", "a_1", "priority=3"}).exit_code, 0);
  ASSERT_EQ(here.run({"reset", "a_1", "--yes"}).exit_code, 0);
  ASSERT_EQ(here.run({"set", "a_1", "priority=3"}).exit_code, 0);
  json list = here.json({"undo", "--list"})["kept_changes"];
  ASSERT_EQ(list.size(), 2U) << "a completed job is left alone";
  EXPECT_EQ(list[0]["undoable"], true);
  EXPECT_EQ(list[0]["changed_jobs"], 1);
  EXPECT_EQ(list[1]["undoable"], false) << "after the newer one";
  EXPECT_TRUE(here.run({"undo", "--list"}).says("after those above"));
  ASSERT_EQ(here.run({"run"}).exit_code, 0);
  EXPECT_EQ(here.json({"undo", "--list"})["kept_changes"][0]["undoable"], false);
  EXPECT_TRUE(here.run({"undo", "--list"}).says("no: "));
}

TEST_P(Undo, an_attempt_that_is_kept_no_more_is_told_as_such) {
  ASSERT_EQ(here.run({"set", "--keep-attempts", "0"}).exit_code, 0);
  ASSERT_EQ(here.run({"redo", "b", "--yes"}).exit_code, 0);
  const json events = here.json({"history", "a_1"})["events"];
  std::uint64_t first = 0;
  for (const json& event : events) {
    if (event["event"] == "claimed") first = event["commit"];
  }
  EXPECT_EQ(here.json({"status", "--at", std::to_string(first + 1)})["forgotten_jobs"], 1);
}

// What was used meanwhile nobody has counted.
TEST_P(Undo, not_a_budget_without_which_jobs_were_started) {
  const std::string two = "jobs: [{name: a, command: echo}, {name: b, command: echo}]\n";
  here.write("budget.yaml", "name: budget\nbudget: {core_hours: 1}\n" + two);
  ASSERT_EQ(here.run({"run", "budget.yaml", "a", "--engine", GetParam()}).exit_code, 0);
  here.write("budget.yaml", "name: budget\n" + two);
  ASSERT_EQ(here.run({"apply", "budget.yaml"}).exit_code, 0);
  ASSERT_EQ(here.run({"run", "budget.torc"}).exit_code, 0);
  const Ended refused = here.run({"undo", "budget.torc"});
  EXPECT_EQ(refused.exit_code, 1) << refused;
  EXPECT_TRUE(refused.says("job b has gone on since")) << refused;
}

TEST_P(Undo, is_of_a_whole_change_and_not_of_jobs) {
  ASSERT_EQ(here.run({"reset", "a_1", "--yes"}).exit_code, 0);
  for (const Words& words : {Words{"undo", "a_1"}, {"undo", "wf.torc", "a_1"}}) {
    const Ended refused = here.run(words);
    EXPECT_EQ(refused.exit_code, 2) << refused;
    EXPECT_TRUE(refused.says("torc undo --list")) << refused;
  }
  EXPECT_EQ(state("a_1"), "ready");
  EXPECT_EQ(here.run({"undo", "wf.yaml"}).exit_code, 0);
  EXPECT_EQ(state("a_1"), "completed");
}

TEST_P(Undo, no_more_attempts_are_kept_than_was_said) {
  ASSERT_EQ(here.run({"set", "--keep-attempts", "2"}).exit_code, 0);
  for (int n = 0; n < 4; ++n) ASSERT_EQ(here.run({"redo", "b", "--yes"}).exit_code, 0);
  const json past = here.json({"job", "b"})["past_attempts"];
  ASSERT_EQ(past.size(), 2U);
  EXPECT_EQ(past[0]["attempt"], 3);
  EXPECT_EQ(past[1]["attempt"], 4);
  const Ended results = here.run({"results", "b", "--all-attempts"});
  EXPECT_TRUE(results.says("2")) << results;
  EXPECT_EQ(here.run({"set", "--keep-attempts", "10001"}).exit_code, 2);
  EXPECT_EQ(here.run({"set", "b", "--keep-attempts", "3"}).exit_code, 2);
  expect_sound();
}

TEST_P(Undo, status_at_a_commit_and_at_a_time) {
  const json done = here.json({"history", "b"})["events"];
  std::uint64_t claim = 0;
  std::uint64_t end = 0;
  for (const json& event : done) {
    if (event["event"] == "claimed") claim = event["commit"];
    if (event["event"] == "finished" && event["commit"].is_number()) end = event["commit"];
  }
  const json then = here.json({"status", "--at", std::to_string(claim)});
  EXPECT_EQ(then["jobs"], 4);
  EXPECT_EQ(then["forgotten_jobs"], 0);
  EXPECT_EQ(then["first_running"], (json{"b"}));
  // "waiting running completed" at that time; there is none in another state.
  const auto at = [&](const std::string& when) {
    json states = here.json({"status", "--at", when})["past_jobs_by_state"];
    std::string text;
    for (const char* state : {"waiting", "running", "completed"}) {
      text += states[state].dump() + " ";
      states.erase(state);
    }
    for (const json& none : states) EXPECT_EQ(none, 0) << states;
    return text;
  };
  EXPECT_EQ(at(std::to_string(claim)), "0 1 3 ");
  EXPECT_EQ(at("1"), "4 0 0 ");
  EXPECT_EQ(at("1h"), "4 0 0 ");
  EXPECT_EQ(at("0s"), "0 0 4 ");
  ASSERT_EQ(here.run({"reset", "a_1", "--yes"}).exit_code, 0);
  EXPECT_EQ(at("0s"), "2 0 2 ");
  // Where the files of commits are there, also ends have the number of theirs.
  // Between them may be commits that only tell that the job has been started.
  if (GetParam() == "journal") {
    ASSERT_GT(end, claim);
    EXPECT_EQ(at(std::to_string(end)), "0 0 4 ");
  }
  for (const char* wrong : {"1000000", "yesterday", "2100-01-01 12:00"}) {
    const Ended refused = here.run({"status", "--at", wrong});
    EXPECT_EQ(refused.exit_code, 2) << refused;
    EXPECT_TRUE(refused.says("--at")) << refused;
  }
}

TEST_P(Undo, a_file_that_has_another_form_by_now_is_put_back_in_the_one_it_had) {
  fs::remove(here.path() / "wf.yaml");
  here.write("wf.json5", R"({name: "wf", jobs: [{name: "c", command: "true"}]})");
  ASSERT_EQ(here.run({"apply", "wf.json5"}).exit_code, 0);
  EXPECT_TRUE(fs::exists(here.path() / "wf.torc" / "spec.json5"));
  EXPECT_FALSE(fs::exists(here.path() / "wf.torc" / "spec.yaml"));
  const Ended done = undo();
  EXPECT_EQ(done.exit_code, 0) << done;
  EXPECT_EQ(read_text(here.path() / "wf.torc" / "spec.yaml"), kFile);
  EXPECT_FALSE(fs::exists(here.path() / "wf.torc" / "spec.json5"));
  EXPECT_EQ(state("b"), "completed");
}

TEST_P(Undo, nothing_is_applied_where_the_file_before_cannot_be_kept) {
  fs::remove(here.path() / "wf.torc" / "spec.yaml");
  fs::create_directory(here.path() / "wf.torc" / "spec.yaml");
  here.write("wf.yaml", kOther);
  const Ended refused = here.run({"apply", "wf.yaml"});
  EXPECT_NE(refused.exit_code, 0) << refused;
  EXPECT_EQ(counts()["completed"], 4);
  fs::remove(here.path() / "wf.torc" / "spec.yaml");
  EXPECT_EQ(here.run({"apply", "wf.yaml"}).exit_code, 0) << "there is none";
}

TEST_P(Undo, that_the_file_would_do_it_again_is_told_from_anywhere) {
  here.write("wf.yaml", kOther);
  ASSERT_EQ(here.run({"apply", "wf.yaml"}).exit_code, 0);
  fs::create_directory(here.path() / "elsewhere");
  Launch launch = here.torc({"undo", "../wf.torc"});
  launch.directory = here.path() / "elsewhere";
  const Ended done = run(launch);
  EXPECT_EQ(done.exit_code, 0) << done;
  EXPECT_TRUE(done.says("wf.yaml still says what was taken back")) << done;
}

TEST_P(Undo, who_has_edited_nothing_is_not_told_to_edit_it_back) {
  ASSERT_EQ(here.run({"run", "wf.yaml", "--force", "a_1", "--yes"}).exit_code, 0);
  const Ended refused = undo();
  EXPECT_EQ(refused.exit_code, 1) << refused;
  EXPECT_TRUE(refused.says("results that were thrown away are not put back any more")) << refused;
  EXPECT_FALSE(refused.says("edit")) << refused;
}

}  // namespace
}  // namespace torc::itest
