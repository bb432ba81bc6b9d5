// Every example of the documentation, run as its README says.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const Path kExamples = Path(TORC_SOURCE_DIR) / "examples";

// Runs examples/NAME in a directory of its own and expects that all its jobs complete.
class Example : public testing::Test {
 protected:
  void run_example(const std::string& name, int jobs) {
    const Path before = kExamples / name;
    const auto source = contents(before);
    const Ended ended = here_.run({"run", (before / "workflow.yaml").string(), "--num-cpus", "2"});
    ASSERT_EQ(ended.exit_code, 0) << ended;
    const json status = here_.json({"status"});
    EXPECT_EQ(status["state"], "completed");
    EXPECT_EQ(status["jobs"], jobs);
    EXPECT_EQ(here_.run({"verify"}).exit_code, 0);
    EXPECT_EQ(contents(before), source) << "an example writes only where it is run";
    // What the README says one gets: its own directory and the store, nothing else.
    std::set<std::string> made;
    for (const auto& entry : fs::directory_iterator(here_.path()))
      made.insert(entry.path().filename());
    EXPECT_EQ(made, (std::set<std::string>{name + "-out", name + ".torc"}));
  }
  [[nodiscard]] std::vector<std::string> log(const std::string& job) const {
    return lines_of(here_.run({"logs", job}).out);
  }

  Workplace here_;
};

TEST_F(Example, licences_draws_the_most_frequent_words) {
  run_example("licences", 16);
  const auto chart = log("chart");
  ASSERT_EQ(chart.size(), 20U);
  EXPECT_TRUE(chart.front().starts_with("license ")) << chart.front();
  EXPECT_TRUE(chart.front().ends_with(std::string(50, '#'))) << chart.front();
  EXPECT_EQ(chart, lines_of(read_text(here_.path() / "licences-out/chart.txt")));
  // Against a count of one's own: every word of the first text, in the same way, by other means.
  const std::string text = read_text("/usr/share/common-licenses/Apache-2.0");
  std::string word;
  int licenses = 0;
  for (const char c : text + " ") {
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
    if (lower >= 'a' && lower <= 'z') {
      word.push_back(lower);
      continue;
    }
    licenses += word == "license" ? 1 : 0;
    word.clear();
  }
  const auto counts = lines_of(read_text(here_.path() / "licences-out/texts/Apache-2.0.counts"));
  EXPECT_NE(std::find(counts.begin(), counts.end(), std::to_string(licenses) + " license"),
            counts.end());
}

TEST_F(Example, sweep_comes_closer_to_pi_with_more_samples) {
  run_example("sweep", 61);
  const auto mean = log("mean");
  ASSERT_EQ(mean.size(), 3U);
  EXPECT_NE(mean.back().find("100000 samples  pi = 3.14"), std::string::npos) << mean.back();
  EXPECT_EQ(std::distance(fs::directory_iterator(here_.path() / "sweep-out/throws"), {}), 60);
}

TEST_F(Example, diamond_follows_its_files) {
  run_example("diamond", 4);
  const auto table = log("join");
  ASSERT_EQ(table.size(), 10U);
  EXPECT_EQ(table[2], "3 9\t27");
}

TEST_F(Example, limits_lets_two_solvers_run_at_a_time) {
  run_example("limits", 14);
  const auto most = log("compare");
  ASSERT_EQ(most.size(), 1U);
  EXPECT_TRUE(most[0] == "most at a time - 2" || most[0] == "most at a time - 1") << most[0];
  EXPECT_EQ(log("pack"), std::vector<std::string>{"packed"});
}

TEST_F(Example, limits_goes_by_the_labels_of_workers) {
  const std::string file = (kExamples / "limits/workflow.yaml").string();
  ASSERT_EQ(here_.run({"init", file}).exit_code, 0);
  EXPECT_EQ(here_.run({"worker", "limits.torc", "--idle-timeout", "1s"}).exit_code, 0);
  const std::string status = here_.run({"status"}).out;
  EXPECT_NE(status.find("no worker serves labels 'big', 'fast', which one ready job waits for: "
                        "torc worker limits.torc --label big,fast"),
            std::string::npos)
      << status;
  const json unserved = here_.json({"status"})["unserved_labels"];
  EXPECT_EQ(unserved, json::array({{{"labels", {"big", "fast"}}, {"jobs", 1}}}));
  EXPECT_EQ(here_.run({"worker", "limits.torc", "--label", "fast", "--label", "big"}).exit_code, 0);
  EXPECT_EQ(here_.json({"status"})["state"], "completed");
}

TEST_F(Example, two_schedulers_makes_a_script_for_each_and_runs_here_too) {
  run_example("two-schedulers", 13);
  EXPECT_EQ(log("report").size(), 11U);
  for (const std::string scheduler : {"small", "large"}) {
    const std::string script =
        read_text(here_.path() / "two-schedulers.torc/slurm" / (scheduler + ".sbatch"));
    EXPECT_NE(script.find("#SBATCH --comment='torc example'"), std::string::npos) << script;
    EXPECT_NE(script.find("--scheduler"), std::string::npos) << script;
  }
}

TEST_F(Example, gang_runs_on_two_workers_at_once) {
  const std::string file = (kExamples / "gang/workflow.yaml").string();
  ASSERT_EQ(here_.run({"init", file, "--engine", "journal"}).exit_code, 0);
  std::vector<std::unique_ptr<Process>> workers;
  for (const char* node : {"127.0.0.1", "127.0.0.2"}) {
    Launch launch = here_.torc({"worker", "gang.torc", "--group", "here", "--node-name", node,
                                "--num-cpus", "1", "--idle-timeout", "5m"});
    launch.env["TMPDIR"] = here_.new_tmpdir(node).string();
    workers.push_back(std::make_unique<Process>(launch));
  }
  for (const auto& worker : workers) {
    const Ended ended = worker->wait();
    EXPECT_EQ(ended.exit_code, 0) << ended;
  }
  EXPECT_EQ(log("sum"), std::vector<std::string>{"500000500000 from 2 parts"});
}

TEST_F(Example, array_script_is_run_as_it_is) {
  const std::string file = (kExamples / "array-script/job.sh").string();
  const Ended check = here_.run({"check", "--no-slurm", file});
  EXPECT_EQ(check.exit_code, 0) << check;
  EXPECT_EQ(check.err, "");
  const Ended ended = here_.run({"run", file, "--num-cpus", "2"});
  ASSERT_EQ(ended.exit_code, 0) << ended;
  EXPECT_EQ(here_.json({"status"})["jobs"], 12);
  EXPECT_EQ(read_text(here_.path() / "array-script-out/12.txt"), "12 650\n");
  EXPECT_EQ(log("array-script_7"), std::vector<std::string>{"7 of 12 on 1 CPU(s)"});
}

TEST(Examples, all_are_explained_and_all_are_tested) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(kExamples)) {
    if (!entry.is_directory()) continue;
    names.insert(entry.path().filename());
    EXPECT_FALSE(read_text(entry.path() / "README.md").empty()) << entry.path();
  }
  EXPECT_EQ(names, (std::set<std::string>{"array-script", "diamond", "gang", "licences", "limits",
                                          "sweep", "two-schedulers"}))
      << "give every example a test here";
}

}  // namespace
}  // namespace torc::itest
