// A script in place of a workflow file: #TORC, #SBATCH, and what runs again when it was edited.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

#define EXPECT_SAYS(ended, text) \
  EXPECT_TRUE((ended).says(text)) << "missing: " << (text) << '\n' << (ended)

namespace fs = std::filesystem;

constexpr std::string_view kArray = R"(#!/bin/bash
#TORC --name fit --array 1-3 --cpus 1 --memory 50m --runtime 1m
#TORC --output-file out/{task}.txt
set -eu
mkdir -p out
echo "$0 $SLURM_ARRAY_TASK_ID $TORC_ARRAY_TASK_ID of $SLURM_ARRAY_TASK_COUNT" > "out/$TORC_ARRAY_TASK_ID.txt"
)";

class ScriptFile : public testing::Test {
 protected:
  // By the number of its newest attempt.
  [[nodiscard]] std::map<std::string, int> attempts() const {
    std::map<std::string, int> all;
    for (const auto& [name, job] : here_.jobs("fit.torc"))
      all[name] = job["attempt"].is_null() ? 0 : job["attempt"].get<int>();
    return all;
  }
  [[nodiscard]] std::string text(const std::string& file) const {
    return read_text(here_.path() / file);
  }

  const Workplace here_;
};

TEST_F(ScriptFile, runs_as_an_array_without_being_executable) {
  here_.write("job.sh", kArray);
  ASSERT_EQ(fs::status(here_.path() / "job.sh").permissions() & fs::perms::owner_exec,
            fs::perms::none);
  const Ended ended = here_.run({"run", "job.sh"});
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_EQ(text("out/2.txt"), "./job.sh 2 2 of 3\n");
  const Ended again = here_.run({"run", "job.sh"});
  EXPECT_SAYS(again, "nothing to do");
  EXPECT_EQ(again.exit_code, 0) << again;
}

TEST_F(ScriptFile, runs_again_what_is_missing_and_all_of_it_when_it_was_edited) {
  here_.write("job.sh", kArray);
  ASSERT_EQ(here_.run({"run", "job.sh", "-q"}).exit_code, 0);
  fs::remove(here_.path() / "out/2.txt");
  ASSERT_EQ(here_.run({"run", "job.sh", "-q", "--yes"}).exit_code, 0);
  EXPECT_EQ(attempts(), (std::map<std::string, int>{{"fit_1", 1}, {"fit_2", 2}, {"fit_3", 1}}));
  here_.write("job.sh", std::string(kArray) + "echo more >> \"out/$TORC_ARRAY_TASK_ID.txt\"\n");
  ASSERT_EQ(here_.run({"run", "job.sh", "-q", "--yes"}).exit_code, 0);
  EXPECT_EQ(attempts(), (std::map<std::string, int>{{"fit_1", 2}, {"fit_2", 3}, {"fit_3", 2}}));
  EXPECT_EQ(text("out/3.txt"), "./job.sh 3 3 of 3\nmore\n");
}

TEST_F(ScriptFile, is_found_where_it_lies_from_another_directory) {
  fs::create_directory(here_.path() / "a b");
  here_.write("a b/job.py", "#!/usr/bin/env -S python3 -u\nimport os\nprint(os.getcwd())\n");
  const Ended ended = here_.run({"run", "a b/job.py"});
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_EQ(here_.run({"logs", "job"}).out, here_.path().string() + "\n");
}

TEST_F(ScriptFile, of_sbatch_runs_here_and_asks_slurm_for_what_it_says) {
  here_.write("job.sh", R"(#!/bin/bash
#SBATCH -J fit -c 1 --mem=100M -t 10 -A lab -p long -a 1-2 --output=logs/%x.out
#SBATCH --chdir=below --export=ALL,WHO=me
echo "$PWD $SLURM_ARRAY_TASK_ID $SLURM_CPUS_PER_TASK $WHO $SLURM_SUBMIT_DIR"
)");
  fs::create_directory(here_.path() / "below");
  const Ended ended = here_.run({"run", "job.sh"});
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_SAYS(ended, "job.sh:2:60: note: --output has no effect here");
  const std::string root = here_.path().string();
  EXPECT_EQ(here_.run({"logs", "fit_2"}).out, root + "/below 2 1 me " + root + "\n");
  const std::string script = text("fit.torc/slurm/slurm.sbatch");
  EXPECT_NE(script.find("--account='lab'"), std::string::npos);
  EXPECT_NE(script.find("--partition='long'"), std::string::npos);
  EXPECT_NE(script.find("--time='12'"), std::string::npos);
}

TEST_F(ScriptFile, every_command_that_takes_a_workflow_file_takes_it) {
  here_.write("job.sh", kArray);
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"check", "job.sh"},
                                             {"plan", "job.sh"},
                                             {"graph", "job.sh"},
                                             {"init", "job.sh"},
                                             {"apply", "job.sh"},
                                             {"status", "job.sh"}}) {
    const Ended ended = here_.run(words);
    EXPECT_EQ(ended.exit_code, 0) << words.front() << ": " << ended;
  }
  EXPECT_SAYS(here_.run({"submit", "job.sh", "--store", "other.torc"}), "has no slurm_schedulers");
  const Ended added = here_.run({"add", "fit.torc", "job.sh"});
  EXPECT_EQ(added.exit_code, 2) << added;
  EXPECT_SAYS(added, "job.sh:1:1: error: a script is a workflow of its own");
}

TEST_F(ScriptFile, is_shown_as_the_workflow_file_that_it_stands_for) {
  here_.write("job.sh", kArray);
  const Ended yaml = here_.run({"check", "job.sh", "--yaml"});
  EXPECT_EQ(yaml.exit_code, 0) << yaml;
  EXPECT_EQ(here_.json({"check", "job.sh"})["yaml"], yaml.out);
  ASSERT_EQ(here_.run({"init", "job.sh"}).exit_code, 0);
  EXPECT_EQ(text("fit.torc/spec.yaml"), yaml.out);
  here_.write("fit.yaml", yaml.out);
  const Ended same = here_.run({"apply", "fit.yaml", "--dry-run", "--store", "fit.torc"});
  EXPECT_SAYS(same, "nothing differs: the store is what fit.yaml says");
  EXPECT_TRUE(here_.json({"check", "fit.yaml"})["yaml"].is_null());
  const Ended none = here_.run({"check", "fit.yaml", "--yaml"});
  EXPECT_EQ(none.exit_code, 2) << none;
  EXPECT_SAYS(none, "fit.yaml is not a script");
}

TEST_F(ScriptFile, of_any_bytes_ends_no_command_badly) {
  const std::string binary("\0\xff\r\n#TORC --cpus 1\n", 19);
  const std::map<std::string, int> scripts{
      {"#!", 2},
      {"#!\n", 2},
      {"#! \t\r\n#TORC --cpus 1\n", 2},
      {"#!/bin/sh\n#TORC --name \"a\n", 2},
      {"#!/bin/sh\n#TORC --name a\x01z\n", 2},
      {"#!/bin/sh\r\n#TORC --name crlf --cpus 1\r\ntrue\r\n", 0},
      {"#!/bin/sh\n:\n" + binary, 0},
      {"#!/bin/sh\n#TORC --name x" + std::string(1 << 20, 'y') + "\n", 2},
      {"#!/bin/sh\n#" + std::string(8 << 20, '#') + "\n#TORC --cpus 1\n", 0},
      {"#!/bin/sh\n#TORC" + std::string(1 << 22, ' ') + "--cpus 1\n", 0}};
  int number = 0;
  for (const auto& [bytes, exit_code] : scripts) {
    const std::string file = "s" + std::to_string(++number);
    here_.write(file, bytes);
    const Ended ended = here_.run({"check", file});
    EXPECT_EQ(ended.exit_code, exit_code) << ended.err.substr(0, 2000);
    EXPECT_LT(ended.err.size(), 10'000U);
  }
  std::string many = "#!/bin/sh\n";
  for (int i = 0; i < 100'000; ++i) many += "#TORC --env A" + std::to_string(i) + "=1\n";
  here_.write("many", many);
  const Ended ended = here_.run({"check", "many"});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_SAYS(ended, "more than 2000 options");
}

TEST_F(ScriptFile, without_its_interpreter_says_so) {
  here_.write("job.sh", "#!/no/such/shell\ntrue\n");
  const Ended ended = here_.run({"run", "job.sh"});
  EXPECT_EQ(ended.exit_code, 1) << ended;
  EXPECT_SAYS(ended, "/no/such/shell");
}

}  // namespace
}  // namespace torc::itest
