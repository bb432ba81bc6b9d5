// torc slurm beside a sacct that answers, hangs, fails, prints anything, or is not there.
#include <gtest/gtest.h>

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

class BesideSacct : public testing::Test {
 protected:
  // One job has run in allocation 77, which began 100 s before its worker came.
  BesideSacct() {
    here_.write("wf.yaml", "name: wf\njobs: [{name: a, command: \"true\"}]\n");
    const Ended made = torc({"init", "wf.yaml", "--engine", "journal", "--no-slurm"});
    EXPECT_EQ(made.exit_code, 0) << made;
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    began_ = std::chrono::duration_cast<std::chrono::seconds>(now).count() - 100;
    Launch launch = command({"worker", "wf.torc", "--num-cpus", "3"});
    launch.env["SLURM_JOB_ID"] = "77";
    launch.env["SLURM_CLUSTER_NAME"] = "alpha";
    launch.env["SLURM_JOB_START_TIME"] = std::to_string(began_);
    launch.env["SLURM_JOB_END_TIME"] = std::to_string(began_ + 10'000);
    const Ended worked = run(launch);
    EXPECT_EQ(worked.exit_code, 0) << worked;
  }
  void sacct(const std::string& script) {
    here_.write("bin/sacct",
                "#!/bin/sh\necho asked >> '" + (here_.path() / "log").string() + "'\n" + script);
    fs::permissions(here_.path() / "bin/sacct", fs::perms::owner_all);
  }
  // The rest of one that tells of the allocation and its step.
  [[nodiscard]] std::string telling(const std::string& cluster = "alpha") const {
    const std::string at = std::to_string(began_);
    const std::string end = std::to_string(began_ + 200);
    return "echo '77|77|" + cluster + "|COMPLETED|0:0|" + at + "|" + end +
           "|200|2|8|||n[1-2]|wf'\n" + "echo '77.0|77.0|" + cluster + "|FAILED|1:0|" + at + "|" +
           end + "|200|2|8|2048K|00:01:00|n[1-2]|torc-workers'\n";
  }
  // Without what this machine has of Slurm.
  [[nodiscard]] Launch command(const std::vector<std::string>& arguments) const {
    fs::create_directories(here_.path() / "bin");
    for (const char* name : {"env", "sh", "sleep", "true", "cat", "yes"}) {
      const fs::path link = here_.path() / "bin" / name;
      if (!fs::exists(link)) fs::create_symlink(std::string("/usr/bin/") + name, link);
    }
    Launch launch = here_.torc(arguments);
    launch.env["PATH"] = (here_.path() / "bin").string();
    return launch;
  }
  [[nodiscard]] Ended torc(const std::vector<std::string>& arguments) const {
    return run(command(arguments));
  }
  [[nodiscard]] json told(const char* what) const {
    const Ended ended = torc({"slurm", what, "--json"});
    EXPECT_EQ(ended.exit_code, 0) << ended;
    return json::parse(ended.out, nullptr, false);
  }
  // What torc itself knows: one node, three CPUs, since the start of the allocation.
  void expect_from_torc() const {
    const json usage = told("usage");
    EXPECT_EQ(usage["accounting"]["answered"], false) << usage;
    EXPECT_TRUE(usage["accounting"]["failure"].is_string()) << usage;
    ASSERT_EQ(usage["allocation_runs"].size(), 1U) << usage;
    expect_own_figures(usage);
  }
  static void expect_own_figures(const json& usage) {
    const json& use = usage["allocation_runs"][0];
    EXPECT_EQ(use["told_by"], "torc") << use;
    EXPECT_EQ(use["allocation"], "77") << use;
    EXPECT_EQ(use["nodes"], 1) << use;
    EXPECT_EQ(use["cpus"], 3) << use;
    EXPECT_GE(use["elapsed_seconds"], 100) << use;
    EXPECT_LT(use["elapsed_seconds"], 190) << use;
  }
  [[nodiscard]] std::size_t asked() const {
    return lines_of(read_text(here_.path() / "log")).size();
  }

  Workplace here_;
  std::int64_t began_ = 0;
};

TEST_F(BesideSacct, its_figures_are_told_as_its_own_and_a_worker_asks_it_nothing) {
  EXPECT_EQ(asked(), 0U);
  sacct(telling());
  const json usage = told("usage");
  EXPECT_EQ(usage["accounting"]["answered"], true) << usage;
  ASSERT_EQ(usage["allocation_runs"].size(), 1U) << usage;
  EXPECT_EQ(usage["allocation_runs"][0]["told_by"], "sacct");
  EXPECT_EQ(usage["node_seconds"], 400);
  EXPECT_EQ(usage["core_seconds"], 1600);
  const json stats = told("stats");
  ASSERT_EQ(stats["steps"].size(), 1U) << stats;
  EXPECT_EQ(stats["steps"][0]["step"], "77.0");
  EXPECT_EQ(stats["steps"][0]["exit_code"], 1);
  EXPECT_EQ(stats["steps"][0]["mean_cpu_seconds"], 60);
  EXPECT_EQ(stats["steps"][0]["peak_memory_bytes"], 2048 * 1024);
  ASSERT_EQ(stats["job_results"].size(), 1U) << stats;
  EXPECT_EQ(stats["job_results"][0]["job"], "a");
  EXPECT_EQ(stats["job_results"][0]["allocation"], "77");
  EXPECT_EQ(stats["job_results"][0]["told_by"], "torc");
  EXPECT_EQ(asked(), 2U) << "once by each command";
  const Ended shown = torc({"slurm", "usage"});
  EXPECT_TRUE(shown.says("0.111 h of nodes, 0.444 h of cores in 1 allocation")) << shown;
  EXPECT_TRUE(torc({"slurm", "stats"}).says("torc-workers"));
  // Both documents are what their schemas say.
  const json documents = {{{"schema", "slurm-usage"}, {"from", "usage"}, {"document", usage}},
                          {{"schema", "slurm-stats"}, {"from", "stats"}, {"document", stats}}};
  const Path list = here_.write("documents.json", documents.dump());
  const Path source = TORC_SOURCE_DIR;
  const Ended valid =
      run({{"/usr/bin/env", "python3", source / "tests/integration/validate_documents.py",
            source / "docs/schema", list},
           {},
           here_.path(),
           {},
           {}});
  EXPECT_TRUE(valid.exit_code == 0 || valid.exit_code == 77) << valid;
}

TEST_F(BesideSacct, where_it_tells_nothing_torc_tells_what_it_knows) {
  expect_from_torc();  // there is none
  for (const char* script :
       {"echo 'Slurm accounting storage is disabled' >&2; exit 1\n",
        "echo 'sacct: error: slurm_persist_conn_open: failed' >&2; exit 1\n",
        "echo 'Welcome to the cluster'\n", "kill -9 $$\n", "printf '77|77|alpha|COMPLE'\n"}) {
    sacct(script);
    expect_from_torc();
    const Ended shown = torc({"slurm", "usage"});
    EXPECT_EQ(shown.exit_code, 0) << shown;
    EXPECT_TRUE(shown.says("sacct does not tell all: ")) << shown;
  }
  for (const std::string& script : {std::string("exit 0\n"), telling("beta")}) {
    sacct(script);
    const json usage = told("usage");
    EXPECT_EQ(usage["accounting"]["answered"], true) << usage;
    expect_own_figures(usage);
  }
}

TEST_F(BesideSacct, one_that_hangs_or_never_ends_is_left_after_ten_seconds) {
  sacct("trap '' TERM\nsleep 1000\n");
  const auto start = std::chrono::steady_clock::now();
  expect_from_torc();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(25));
  EXPECT_EQ(asked(), 1U);
}

TEST_F(BesideSacct, a_flood_of_lines_is_cut) {
  sacct("yes '77|77|alpha|COMPLETED|0:0|1|2|1|1|1|||n1|wf'\n");
  const Ended shown = torc({"slurm", "stats"});
  EXPECT_EQ(shown.exit_code, 0) << shown;
  EXPECT_TRUE(shown.says("sacct does not tell all: it took too long")) << shown;
}

}  // namespace
}  // namespace torc::itest
