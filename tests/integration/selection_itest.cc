// How commands are told which jobs they are about.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

using Words = std::vector<std::string>;

class Selecting : public ::testing::Test {
 protected:
  Selecting() {
    here.write(
        "wf.yaml",
        "name: wf\njobs:\n  - {name: 'align_{i}', command: \"true\", parameters: {i: '1:12'}}\n"
        "  - {name: merge, command: \"false\"}\n  - {name: mend, command: \"true\"}\n");
    EXPECT_EQ(here.run({"init", "wf.yaml"}).exit_code, 0);
  }
  // How many jobs the command would change.
  int about(Words words, const Words& more) const {
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"--dry-run", "--json"});
    return here.json(words)["changed_jobs"].get<int>();
  }

  const Workplace here;
};

TEST_F(Selecting, every_command_that_changes_jobs_takes_all_forms) {
  here.write("list", "align_1\r\n\nalign_1?\nstage:merge\n");
  for (const Words& command : {Words{"hold"}, Words{"cancel"}, Words{"set", "priority=3"}}) {
    EXPECT_EQ(about(command, {"align_*"}), 12) << command[0];
    EXPECT_EQ(about(command, {"align_?"}), 9) << command[0];
    EXPECT_EQ(about(command, {"align_[2-4]"}), 3) << command[0];
    EXPECT_EQ(about(command, {"me*"}), 2) << command[0];
    EXPECT_EQ(about(command, {"stage:align"}), 12) << command[0];
    EXPECT_EQ(about(command, {"stage:align_{i}", "merge"}), 13) << command[0];
    EXPECT_EQ(about(command, {"@list"}), 5) << command[0];
  }
  ASSERT_EQ(here.run({"run", "wf.torc", "-q"}).exit_code, 1);
  for (const Words& command : {Words{"reset", "--yes"}}) {
    EXPECT_EQ(about(command, {"align_*"}), 12) << command[0];
    EXPECT_EQ(about(command, {"stage:merge"}), 1) << command[0];
    EXPECT_EQ(about(command, {"--state", "completed,failed"}), 14) << command[0];
  }
  EXPECT_EQ(about({"retry"}, {"m*"}), 1);
}

TEST_F(Selecting, the_list_of_jobs_is_of_those_that_are_meant) {
  const auto listed = [&](Words words) {
    words.insert(words.begin(), "jobs");
    return here.json(words).size();
  };
  EXPECT_EQ(listed({}), 14U);
  EXPECT_EQ(listed({"wf.torc"}), 14U);
  EXPECT_EQ(listed({"align_1*"}), 4U);
  EXPECT_EQ(listed({"stage:align", "merge", "--limit", "13"}), 13U);
  ASSERT_EQ(here.run({"run", "wf.torc", "-q"}).exit_code, 1);
  EXPECT_EQ(listed({"--failed"}), 1U);
  EXPECT_EQ(listed({"--state", "failed,completed"}), 14U);
  EXPECT_EQ(listed({"--state", "failed,completed", "--limit", "1"}), 1U);
  EXPECT_EQ(listed({"m*", "--state", "completed"}), 1U);
  EXPECT_EQ(listed({"m*", "--name", "nd$"}), 1U);
  EXPECT_EQ(here.run({"jobs", "nobody"}).exit_code, 2);
}

// It would else mean what no name at all does.
TEST_F(Selecting, an_empty_list_is_not_all_jobs) {
  here.write("empty", "\n\n");
  for (const char* command : {"jobs", "results", "job", "hold", "run"}) {
    const Ended ended = here.run({command, "wf.torc", "@empty"});
    EXPECT_EQ(ended.exit_code, 2) << command << ended;
    EXPECT_TRUE(ended.says("'@empty' names no job")) << command << ended;
  }
}

TEST_F(Selecting, a_list_may_name_the_same_again_and_again) {
  std::string list;
  for (int i = 0; i < 2'000'000; ++i) list += i % 2 == 0 ? "align_*\n" : "merge\n";
  here.write("list", list);
  EXPECT_EQ(here.json({"jobs", "wf.torc", "@list"}).size(), 13U);
}

TEST_F(Selecting, of_several_jobs_each_is_told_of) {
  for (const char* command : {"job", "why"}) {
    const Ended ended = here.run({command, "wf.torc", "m*", "align_2"});
    EXPECT_EQ(ended.exit_code, 0) << ended;
    for (const char* name : {"align_2 (#", "merge (#", "mend (#"})
      EXPECT_TRUE(ended.says(name)) << command << name << ended;
    EXPECT_FALSE(ended.says("align_1 ")) << ended;
    EXPECT_TRUE(here.run({command, "stage:align"}).says("align_12 (#")) << command;
    EXPECT_EQ(here.run({command, "m*", "--json"}).exit_code, 2) << command;
    EXPECT_EQ(here.json({command, "mer*"})["job"], "merge") << command;
    EXPECT_EQ(here.run({command, "nobody"}).exit_code, 2) << command;
    EXPECT_EQ(here.run({command, "wf.torc"}).exit_code, 2) << command;
  }
}

TEST_F(Selecting, of_very_many_jobs_the_first_are_told_of) {
  here.write("many.yaml",
             "name: many\njobs: [{name: 'a_{i}', command: \"true\", parameters: {i: '1:25'}}]\n");
  ASSERT_EQ(here.run({"init", "many.yaml"}).exit_code, 0);
  const Ended ended = here.run({"job", "many.torc", "a_*"});
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_TRUE(ended.says("a_20 (#")) << ended;
  EXPECT_FALSE(ended.says("a_21 (#")) << ended;
  EXPECT_TRUE(ended.says("and 5 more")) << ended;
}

TEST_F(Selecting, a_shell_is_offered_jobs_and_stages) {
  const auto offered = [&](Words words) {
    words.insert(words.begin(), {"completion", "words"});
    const Ended ended = here.run(words);
    EXPECT_EQ(ended.exit_code, 0) << ended;
    EXPECT_EQ(ended.err, "");
    return ended.out;
  };
  EXPECT_EQ(offered({"me"}), "mend\nmerge\n");
  EXPECT_EQ(offered({"align_1"}), "align_1\nalign_10\nalign_11\nalign_12\n");
  EXPECT_EQ(offered({"sta", "wf.torc"}), "stage:align\n");
  EXPECT_EQ(offered({"nothing"}), "");
  EXPECT_EQ(offered({"me", "gone.torc"}), "") << "a store that is not there";
  here.write("odd.yaml",
             "name: odd\njobs:\n  - {name: 'o_$(reboot)', command: x}\n"
             "  - {name: 'o k', command: x}\n  - {name: ok, command: x}\n");
  ASSERT_EQ(here.run({"init", "odd.yaml"}).exit_code, 0);
  EXPECT_EQ(offered({"o", "odd.torc"}), "ok\n") << "nothing that a shell would take for more";
  here.write("many.yaml",
             "name: many\njobs: [{name: 'work_{i}', command: x, parameters: {i: '1:1000'}}]\n");
  ASSERT_EQ(here.run({"init", "many.yaml"}).exit_code, 0);
  EXPECT_EQ(offered({"w", "many.torc"}), "work_\n") << "what all of them begin with";
  std::string ten;
  for (char digit = '0'; digit <= '9'; ++digit) ten += std::string("work_99") + digit + "\n";
  EXPECT_EQ(offered({"work_99", "many.torc"}), "work_99\n" + ten);
}

// A command would read a flag or a list in them.
TEST_F(Selecting, a_shell_is_not_offered_what_is_no_name_to_a_command) {
  here.write("odd.yaml",
             "name: odd\njobs: [{name: '-rf', command: a}, {name: '@x', command: a}, "
             "{name: '--help', command: a}, {name: '-', command: a}, {name: 'x', command: a}]\n");
  ASSERT_EQ(here.run({"init", "odd.yaml"}).exit_code, 0);
  EXPECT_EQ(here.run({"completion", "words", "", "torc", "jobs", "odd.torc"}).out, "x\n");
}

TEST_F(Selecting, takes_names_from_standard_input) {
  Launch launch = here.torc({"hold", "-", "--dry-run"});
  launch.argv.insert(launch.argv.begin(),
                     {"/bin/sh", "-c", "printf 'align_1\\nme*\\n' | \"$@\"", "sh"});
  const Ended ended = run(launch);
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_TRUE(ended.says("3 jobs")) << ended;
}

TEST_F(Selecting, a_script_that_is_called_as_a_job_is_not_taken_for_a_store) {
  here.write("merge", "#!/bin/sh\ntrue\n");
  EXPECT_EQ(about({"hold"}, {"merge"}), 1);
}

TEST_F(Selecting, what_finds_nothing_is_an_error_that_guesses) {
  const auto refused = [&](const Words& words, const std::string& why) {
    Words all{"cancel"};
    all.insert(all.end(), words.begin(), words.end());
    const Ended ended = here.run(all);
    EXPECT_EQ(ended.exit_code, 2) << ended;
    EXPECT_TRUE(ended.says(why)) << why << "\n" << ended;
  };
  refused({"aling_*"}, "no job's name matches 'aling_*'");
  refused({"align"}, "there are several: stage:align means all of them");
  refused({"merg"}, "did you mean merge?");
  refused({"stage:algin"}, "did you mean stage:align?");
  refused({"@nowhere"}, "nowhere");
  refused({"x["}, "no job's name matches 'x['");
  refused({"[z-a]"}, "'[z-a]': ");
  refused({"--state", "ready,gone"}, "'gone' is not one of");
  EXPECT_EQ(here.json({"status"})["jobs_by_state"]["canceled"], 0);
}

TEST_F(Selecting, a_list_that_is_none_is_refused_with_its_line) {
  const auto refused = [&](const std::string& list, const std::string& why) {
    const Ended ended = here.run({"cancel", list});
    EXPECT_EQ(ended.exit_code, 2) << ended;
    EXPECT_TRUE(ended.says(why)) << why << "\n" << ended;
    EXPECT_LT(ended.err.size(), 1'000U) << list;
    EXPECT_EQ(ended.err.find("workflow file"), std::string::npos) << ended;
  };
  here.write("long", "align_1\n" + std::string(1'000'000, 'x') + "\n");
  refused("@long", "'long', line 2: too long for a name");
  here.write("nul", std::string("align_1\0align_2\n", 16));
  refused("@nul", "'nul', line 1: control characters in a name");
  here.write("escape", "\033[31mred\n");
  refused("@escape", "control characters");
  here.write("name", std::string(4'000, 'x') + "\n");
  refused("@name", "there is no job 'xxx");
  std::filesystem::create_directory(here.path() / "directory");
  refused("@directory", "'directory' is a directory, not a list of names");
  here.write("giant", "");
  std::filesystem::resize_file(here.path() / "giant", 65U << 20U);
  refused("@giant", "is a list of names of more than 64 MiB");
  refused("@/dev/zero", "not a regular file");
  EXPECT_EQ(here.json({"status"})["jobs_by_state"]["canceled"], 0);
}

}  // namespace
}  // namespace torc::itest
