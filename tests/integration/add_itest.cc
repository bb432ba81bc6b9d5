// Jobs are added to a workflow in a store: by people from files, by running jobs themselves.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "tests/integration/harness.h"

#define EXPECT_SAYS(ended, text) \
  EXPECT_TRUE((ended).says(text)) << "missing: " << (text) << '\n' << (ended)

namespace torc::itest {
namespace {

using nlohmann::json;

constexpr const char* kMore = R"(jobs:
  - {name: merge, command: "cat ${files.input.part_1} ${files.input.part_2}"}
  - {name: "more_{i}", command: "echo {i}", depends_on: ["work_{i}"], parameters: {i: "1:3"}}
)";

class Adding : public ::testing::TestWithParam<const char*> {
 protected:
  Adding() {
    here.write("wf.yaml", R"(name: wf
files:
  - {name: "part_{i}", path: "part_{i}.txt", parameters: {i: "1:3"}}
jobs:
  - {name: "work_{i}", command: "echo {i} > ${files.output.part_{i}}", parameters: {i: "1:3"}}
)");
    here.write("more.yaml", kMore);
    const Ended made = here.run({"init", "wf.yaml", "--engine", GetParam()});
    EXPECT_EQ(made.exit_code, 0) << made;
  }
  const Workplace here;
};

TEST_P(Adding, jobs_of_a_file_are_added_once_and_wait_for_those_that_are_there) {
  EXPECT_EQ(here.json({"add", "more.yaml"})["added_jobs"], 4);
  const json again = here.json({"add", "more.yaml"});
  EXPECT_EQ(again["added_jobs"], 0);
  EXPECT_EQ(again["existing_jobs"], 4);
  EXPECT_EQ(here.json({"job", "merge"})["waits_for"][1]["job"], "work_2");
  EXPECT_EQ(here.run({"run"}).exit_code, 0);
  EXPECT_EQ(here.json({"status"})["jobs_by_state"]["completed"], 7);
  EXPECT_EQ(here.json({"add", "more.yaml"})["added_jobs"], 0);
  EXPECT_EQ(here.run({"verify"}).exit_code, 0);
}

TEST_P(Adding, another_job_of_the_same_name_is_an_error_that_shows_both) {
  ASSERT_EQ(here.run({"add", "more.yaml"}).exit_code, 0);
  here.write("other.yaml", "jobs: [{name: work_2, command: other}, {name: x, command: y}]\n");
  const Ended refused = here.run({"add", "other.yaml"});
  EXPECT_EQ(refused.exit_code, 2) << refused;
  EXPECT_NE(refused.err.find("there 'echo 2 > part_2.txt', here 'other'"), std::string::npos)
      << refused;
  EXPECT_EQ(here.json({"status"})["jobs"], 7);
}

INSTANTIATE_TEST_SUITE_P(Engines, Adding, ::testing::Values("lmdb", "journal"));

TEST(Spawning, a_job_goes_on_in_iterations_until_its_lineage_ends) {
  const Workplace here;
  here.write("wf.yaml", R"(name: wf
dynamic_jobs: {max_iterations: 3}
jobs:
  - name: refine
    command: |
      echo "$TORC_ITERATION $TORC_SPAWN_STATE" >> trace
      )" + here.torc({}).argv[0] +
                            R"( spawn --state "{\"x\": $TORC_ITERATION}"; echo "rc $?" >> trace
)");
  const Ended ran = here.run({"run", "wf.yaml"});
  EXPECT_EQ(ran.exit_code, 0) << ran;
  std::ifstream trace(here.path() / "trace");
  const std::string text(std::istreambuf_iterator<char>(trace), {});
  EXPECT_EQ(text, "1 \nrc 0\n2 {\"x\":1}\nrc 0\n3 {\"x\":2}\nrc 1\n");
  EXPECT_EQ(here.json({"jobs"}).size(), 3U);
  EXPECT_EQ(here.run({"verify"}).exit_code, 0);
}

TEST(Spawning, a_mistake_in_a_flag_is_told_by_the_name_of_the_flag) {
  const Workplace here;
  here.write("wf.yaml", R"(name: wf
jobs:
  - name: a
    command: |
      )" + here.torc({}).argv[0] +
                            R"( spawn --name b --command true --depends-on nobody
)");
  EXPECT_EQ(here.run({"run", "wf.yaml"}).exit_code, 1);
  const Ended logs = here.run({"logs", "a", "--stderr"});
  EXPECT_TRUE(logs.says("--depends-on: error: ")) << logs;
  EXPECT_TRUE(logs.says("nobody")) << logs;
  EXPECT_FALSE(logs.says(":4:")) << logs;
}

TEST(Spawning, an_attempt_that_is_tried_again_spawns_nothing_twice) {
  const Workplace here;
  here.write("wf.yaml", R"(name: wf
jobs:
  - name: a
    command: |
      )" + here.torc({}).argv[0] +
                            R"( spawn --name b --command true --now
      test $TORC_ATTEMPT_ID = 2
)");
  EXPECT_EQ(here.run({"run", "wf.yaml"}).exit_code, 1);
  EXPECT_EQ(here.run({"retry", "a"}).exit_code, 0);
  EXPECT_EQ(here.run({"run"}).exit_code, 0);
  EXPECT_EQ(here.json({"jobs"}).size(), 2U);
}

// They belong to the job that made them, and that is in the file.
TEST_P(Adding, what_a_job_of_the_file_spawned_goes_on_by_the_name_of_the_file) {
  here.write("s.yaml", R"(name: s
jobs:
  - name: gen
    command: |
      for i in 1 2; do )" + here.torc({}).argv[0] +
                           R"( spawn --name sp_$i --command "echo $i >> log"; done
)");
  ASSERT_EQ(here.run({"run", "s.yaml", "gen", "--engine", GetParam()}).exit_code, 0);
  ASSERT_EQ(here.json({"job", "s.torc", "sp_2"})["state"], "ready");
  const Ended ran = here.run({"run", "s.yaml"});
  EXPECT_EQ(ran.exit_code, 0) << ran;
  EXPECT_EQ(lines_of(read_text(here.path() / "log")).size(), 2U);
  EXPECT_EQ(here.run({"verify", "s.torc"}).exit_code, 0);
}

// What a person added does not: then the command that goes on is another one.
TEST_P(Adding, the_advice_at_the_end_of_a_run_is_the_command_that_works) {
  here.write("late.yaml", "jobs: [{name: late, command: 'true', depends_on: [bad]}]\n");
  const auto run_of = [&](const std::string& name, const std::string& command) {
    here.write(name + ".yaml", "name: " + name + "\njobs: [{name: bad, command: '" + command +
                                   "; test -e mended'}]\n");
    return here.run({"run", name + ".yaml", "--engine", GetParam()});
  };
  EXPECT_SAYS(run_of("plain", "true"), "torc retry plain.torc --failed, then torc run plain.yaml");
  EXPECT_SAYS(run_of("more", here.torc({}).argv[0] + " add more.torc late.yaml"),
              "torc retry more.torc --failed, then torc run more.torc");
  here.write("mended", "");
  ASSERT_EQ(here.run({"retry", "more.torc", "--failed"}).exit_code, 0);
  const Ended refused = here.run({"run", "more.yaml"});
  EXPECT_EQ(refused.exit_code, 4) << refused;
  EXPECT_SAYS(refused, "job 'late' is not in the file");
  EXPECT_SAYS(refused, "torc rm more.torc NAME");
  ASSERT_EQ(here.run({"rm", "more.torc", "late"}).exit_code, 0);
  EXPECT_EQ(here.run({"run", "more.yaml"}).exit_code, 0);
}

TEST_P(Adding, a_job_that_was_taken_out_comes_back) {
  here.write("one.yaml", "jobs: [{name: extra, command: echo extra}]\n");
  ASSERT_EQ(here.run({"add", "one.yaml"}).exit_code, 0);
  ASSERT_EQ(here.run({"rm", "extra"}).exit_code, 0);
  here.write("other.yaml", "jobs: [{name: extra, command: echo other}]\n");
  const Ended refused = here.run({"add", "other.yaml"});
  EXPECT_EQ(refused.exit_code, 2) << refused;
  EXPECT_SAYS(refused, "the job 'extra' was taken out of the workflow");
  EXPECT_SAYS(refused, "torc rm --undo extra");
  const Ended dry = here.run({"add", "--dry-run", "one.yaml"});
  EXPECT_SAYS(dry, "would be back in the workflow: 1 job: extra");
  const Ended back = here.run({"add", "one.yaml"});
  EXPECT_EQ(back.exit_code, 0) << back;
  EXPECT_SAYS(back, "back in the workflow: 1 job: extra");
  EXPECT_FALSE(back.says("there already")) << back;
  EXPECT_EQ(here.json({"job", "extra"})["state"], "ready");
  ASSERT_EQ(here.run({"rm", "extra"}).exit_code, 0);
  // With one that is new, and waits for it.
  here.write("one.yaml",
             "jobs: [{name: extra, command: echo extra}, {name: y, command: echo, depends_on: "
             "[extra]}]\n");
  const json told = here.json({"add", "one.yaml"});
  EXPECT_EQ(told["added_jobs"], 1);
  EXPECT_EQ(told["existing_jobs"], 0);
  EXPECT_EQ(told["returned_jobs"], 1);
  EXPECT_EQ(told["returned_names"], json::array({"extra"}));
  const Ended ran = here.run({"run", "wf.torc"});
  EXPECT_EQ(ran.exit_code, 0) << ran;
  EXPECT_SAYS(ran, "5 of 5 jobs completed");
  EXPECT_EQ(here.run({"verify"}).exit_code, 0);
}

TEST_P(Adding, a_job_that_its_file_has_no_more_comes_back_for_the_store) {
  here.write("p.yaml", "name: p\njobs: [{name: a, command: echo}, {name: b, command: echo b}]\n");
  ASSERT_EQ(here.run({"init", "p.yaml", "--engine", GetParam()}).exit_code, 0);
  here.write("p.yaml", "name: p\njobs: [{name: a, command: echo}]\n");
  ASSERT_EQ(here.run({"apply", "p.yaml"}).exit_code, 0);
  here.write("b.yaml", "jobs: [{name: b, command: echo b}]\n");
  EXPECT_EQ(here.json({"add", "p.torc", "b.yaml"})["returned_names"], json::array({"b"}));
  EXPECT_SAYS(here.run({"run", "p.torc"}), "2 of 2 jobs completed");
  EXPECT_EQ(here.run({"verify", "p.torc"}).exit_code, 0);
}

TEST_P(Adding, two_that_add_the_same_at_once_add_it_once) {
  std::string text = "jobs:\n";
  for (int i = 0; i < 200; ++i) text += "  - {name: n" + std::to_string(i) + ", command: 'true'}\n";
  here.write("many.yaml", text);
  std::vector<std::unique_ptr<Process>> all;
  for (int i = 0; i < 4; ++i) all.push_back(here.start({"add", "many.yaml", "--json"}));
  std::uint64_t added = 0;
  for (const auto& one : all) {
    const Ended ended = one->wait();
    ASSERT_EQ(ended.exit_code, 0) << ended;
    const json told = json::parse(ended.out);
    added += told["added_jobs"].get<std::uint64_t>();
    EXPECT_EQ(told["added_jobs"].get<int>() + told["existing_jobs"].get<int>(), 200);
  }
  EXPECT_EQ(added, 200U);
  EXPECT_EQ(here.json({"status"})["jobs"], 203);
  EXPECT_EQ(here.run({"verify"}).exit_code, 0);
}

TEST_P(Adding, it_is_told_who_added_a_job) {
  ASSERT_EQ(here.run({"add", "more.yaml"}).exit_code, 0);
  json events = here.json({"history", "--job", "more_2"})["events"];
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[1]["event"], "changed");
  EXPECT_EQ(events[1]["change"]["command_line"], "torc add more.yaml");
  EXPECT_EQ(events[0]["event"], "added");
  EXPECT_EQ(events[0]["job"], "merge") << "the first of those that were added with it";
  EXPECT_EQ(events[0]["addition"]["added_jobs"], 4);
  EXPECT_EQ(events[0]["commit"].is_null(), std::string(GetParam()) == "lmdb");
  EXPECT_EQ(here.json({"job", "more_2"})["origin"]["added_by"], events[0]["addition"]["added_by"]);
  EXPECT_TRUE(here.json({"job", "work_2"})["origin"].is_null());
}

TEST_P(Adding, failure_handlers_and_user_data_come_with_it) {
  here.write("mend.yaml", R"(failure_handlers: [{name: again, rules: [{exit_codes: [3]}]}]
user_data: [{name: seed, data: {a: 1}}]
jobs:
  - name: shaky
    command: "echo ${user_data.input.seed} > told; test $TORC_ATTEMPT_ID = 2 || exit 3"
    failure_handler: again
)");
  EXPECT_EQ(here.json({"add", "mend.yaml"})["added_jobs"], 1);
  EXPECT_EQ(here.json({"add", "mend.yaml"})["existing_jobs"], 1);
  EXPECT_EQ(here.run({"run"}).exit_code, 0);
  EXPECT_EQ(here.json({"job", "shaky"})["attempt"], 2);
  EXPECT_EQ(here.run({"data", "get", "seed"}).out, "{\"a\":1}\n");
  here.write("other.yaml",
             "failure_handlers: [{name: again, rules: [{exit_codes: [4]}]}]\n"
             "jobs: [{name: x, command: y}]\n");
  const Ended refused = here.run({"add", "other.yaml"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_TRUE(refused.says("the failure handler 'again' is in the workflow already")) << refused;
  EXPECT_TRUE(refused.says("1 mistake in other.yaml; nothing was added")) << refused;
  EXPECT_EQ(here.run({"verify"}).exit_code, 0);
}

TEST(Spawning, a_job_that_is_killed_after_it_spawned_spawns_nothing_twice) {
  const Workplace here;
  here.write(
      "wf.yaml",
      R"(name: wf
failure_handlers: [{name: again, rules: [{on: signal}]}]
jobs:
  - name: a
    failure_handler: again
    stdio: {mode: combined}
    command: |
      )" + here.torc({}).argv[0] +
          R"( spawn --name b --state "{\"from\": $TORC_ATTEMPT_ID}" --command 'echo $TORC_SPAWN_STATE >> trace'
      test $TORC_ATTEMPT_ID = 2 || kill -KILL $$
)");
  const Ended ran = here.run({"run", "wf.yaml"});
  EXPECT_EQ(ran.exit_code, 0) << ran;
  EXPECT_EQ(read_text(here.path() / "trace"), "{\"from\":1}\n");
  EXPECT_EQ(here.json({"jobs"}).size(), 2U);
  const json told = here.json({"job", "b"})["origin"];
  EXPECT_EQ(told["parent"], "a");
  EXPECT_EQ(told["parent_attempt"], 1);
  EXPECT_EQ(told["iteration"], 2);
  EXPECT_EQ(here.run({"verify"}).exit_code, 0);
}

}  // namespace
}  // namespace torc::itest
