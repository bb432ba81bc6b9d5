// torc status beside a squeue that hangs, fails, prints anything, or is not there.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class BesideSqueue : public testing::Test {
 protected:
  BesideSqueue() {
    here_.write("wf.yaml",
                "name: wf\n"
                "slurm_schedulers: [{name: one, nodes: 1}]\n"
                "jobs: [{name: a, command: \"true\"}]\n");
    const Ended made = torc({"init", "wf.yaml", "--engine", "journal", "--no-slurm"});
    EXPECT_EQ(made.exit_code, 0) << made;
    program("sbatch", "#!/bin/sh\n");
  }
  // Every question leaves a line in `log`.
  void squeue(const std::string& script) {
    program("squeue",
            "#!/bin/sh\necho asked >> '" + (here_.path() / "log").string() + "'\n" + script);
  }
  // The rest of one that prints one allocation, as it pads its columns.
  static std::string pending(const std::string& reason) {
    return "printf 'JOBID\\n%-24s%-48s%-64s%-16384s%-12s%-24s%-32s%-32s%-32s%-12s%-256s%-4096s"
           "%-512s\\n' 7 7 alpha '' 1 PENDING N/A N/A 1800000000 " +
           std::to_string(geteuid()) + " wf-one '(null)' " + reason + "\n";
  }
  void program(const std::string& name, const std::string& script) {
    here_.write("bin/" + name, script);
    fs::permissions(here_.path() / "bin" / name, fs::perms::owner_all);
  }
  // Without the squeue of this machine.
  [[nodiscard]] Ended torc(const std::vector<std::string>& arguments) const {
    fs::create_directories(here_.path() / "bin");
    for (const char* name : {"env", "sh", "sleep", "true"}) {
      const fs::path link = here_.path() / "bin" / name;
      if (!fs::exists(link)) fs::create_symlink(std::string("/bin/") + name, link);
    }
    Launch launch = here_.torc(arguments);
    launch.env["PATH"] = (here_.path() / "bin").string();
    return run(launch);
  }
  [[nodiscard]] json status() const {
    const Ended ended = torc({"status", "--json"});
    EXPECT_EQ(ended.exit_code, 0) << ended;
    return json::parse(ended.out, nullptr, false);
  }
  [[nodiscard]] std::size_t asked() const {
    return lines_of(read_text(here_.path() / "log")).size();
  }
  // Nothing is concluded of what it has.
  void expect_unanswered(const json& status) const {
    EXPECT_TRUE(status["slurm_answered_at"].is_null()) << status;
    EXPECT_TRUE(status["slurm_error"].is_string()) << status;
    EXPECT_TRUE(status["allocations"].empty()) << status;
  }

  Workplace here_;
};

TEST_F(BesideSqueue, where_there_is_none_nothing_is_asked_and_nothing_is_said_of_slurm) {
  const json found = status();
  EXPECT_TRUE(found["slurm_answered_at"].is_null()) << found;
  EXPECT_TRUE(found["slurm_error"].is_null()) << found;
  const Ended shown = torc({"status"});
  EXPECT_FALSE(shown.says("Slurm")) << shown;
  EXPECT_TRUE(shown.says("no worker is at work; start one: sbatch wf.torc/slurm/one.sbatch"));
  EXPECT_FALSE(torc({"why", "a"}).says("Slurm"));
}

TEST_F(BesideSqueue, one_that_hangs_is_left_after_two_seconds_and_asked_no_more_for_ten) {
  squeue("trap '' TERM\nsleep 1000\n");
  const auto start = std::chrono::steady_clock::now();
  expect_unanswered(status());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(8));
  for (const char* command : {"status", "history"}) {
    const Ended shown = torc({command});
    EXPECT_TRUE(shown.says("Slurm did not answer (it took too long)")) << shown;
    EXPECT_TRUE(shown.says("no worker is at work; start one: sbatch ")) << shown;
  }
  EXPECT_TRUE(torc({"why", "a"}).says("Slurm did not answer")) << "as well";
  EXPECT_EQ(asked(), 1U);
}

TEST_F(BesideSqueue, an_answer_is_kept_for_those_who_look_next) {
  squeue(pending("Priority"));
  EXPECT_TRUE(status()["slurm_answered_at"].is_number());
  EXPECT_TRUE(torc({"status"}).says("PENDING (Priority)"));
  EXPECT_TRUE(torc({"why", "a"}).says("PENDING (Priority)"));
  EXPECT_EQ(asked(), 1U);
}

TEST_F(BesideSqueue, of_one_that_shows_none_that_is_told) {
  squeue("echo JOBID\n");
  EXPECT_TRUE(torc({"status"}).says("Slurm shows no allocation"));
}

TEST_F(BesideSqueue, what_waits_for_ever_is_told_and_what_to_do_about_it) {
  squeue(pending("DependencyNeverSatisfied"));
  const Ended shown = torc({"status"});
  EXPECT_TRUE(
      shown.says("allocation 7 will not start as it is, what it depends on can no longer "
                 "come true: scancel 7"))
      << shown;
  EXPECT_FALSE(shown.says("the workflow waits for an allocation")) << shown;
  EXPECT_EQ(status()["remedy"],
            "scancel 7 (it will not start as it is: what it depends on can no longer come true)");
  const Ended why = torc({"why", "a"});
  EXPECT_TRUE(why.says("what helps: scancel 7 (it will not start as it is")) << why;
}

TEST_F(BesideSqueue, what_fails_or_is_no_answer_ends_nothing) {
  for (const char* script : {"echo JOBID; echo 'squeue: error: no controller' >&2; exit 1\n",
                             "exit 0\n", "echo 'Welcome to the cluster'\n", "kill -9 $$\n"}) {
    fs::remove(here_.path() / "wf.torc" / (".slurm-answer." + std::to_string(geteuid())));
    squeue(script);
    expect_unanswered(status());
  }
  EXPECT_EQ(asked(), 4U);
}

}  // namespace
}  // namespace torc::itest
