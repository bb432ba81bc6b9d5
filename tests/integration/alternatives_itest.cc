// one_of: jobs that have one of several alternatives of what they need, as docs/user/resources.md
// says of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

using nlohmann::json;

// Each says when it starts, by what, and with how much, waits, and says when it ends.
constexpr const char* kWorkflow = R"(name: wf
jobs:
  - name: "fit_{i}"
    command: "echo start {i} cpu $TORC_ALTERNATIVE $TORC_NUM_CPUS $TORC_NUM_GPUS > record; read x < gate; echo end {i} > record"
    one_of:
      - {gpus: 1, cpus: 1, command: "echo start {i} gpu $TORC_ALTERNATIVE $TORC_NUM_CPUS $TORC_NUM_GPUS > record; read x < gate; echo end {i} > record"}
      - {cpus: 2}
    parameters: {i: "1:JOBS"}
)";

class OneOf : public ::testing::Test {
 protected:
  void make(int jobs) {
    std::string text = kWorkflow;
    text.replace(text.find("JOBS"), 4, std::to_string(jobs));
    here_.write("wf.yaml", text);
    ASSERT_EQ(here_.run({"init", "wf.yaml"}).exit_code, 0);
  }
  // A worker that finds so many GPUs.
  [[nodiscard]] std::unique_ptr<Process> work(const std::vector<std::string>& flags,
                                              const std::string& gpus,
                                              const Path& tmpdir = {}) const {
    std::vector<std::string> arguments = {"worker", "wf.torc", "--memory", "1g"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    Launch launch = here_.torc(arguments);
    launch.env["CUDA_VISIBLE_DEVICES"] = gpus;
    if (!tmpdir.empty()) launch.env["TMPDIR"] = tmpdir.string();
    return std::make_unique<Process>(launch);
  }
  // Which started so far: how often each, by the words that follow its number.
  struct Start {
    std::string by;
    int alternative = 0;
    int cpus = 0;
    int gpus = 0;
  };
  struct Seen {
    std::multimap<int, Start> starts;
    int most_cpus = 0;
    int most_gpus = 0;
    int ended = 0;
  };
  [[nodiscard]] Seen seen() const {
    Seen all;
    std::map<int, Start> running;
    for (const std::string& line : record_.lines()) {
      std::istringstream words(line);
      std::string what;
      int job = 0;
      words >> what >> job;
      if (what == "end") {
        running.erase(job);
        ++all.ended;
        continue;
      }
      Start start;
      words >> start.by >> start.alternative >> start.cpus >> start.gpus;
      all.starts.emplace(job, start);
      running[job] = start;
      int cpus = 0;
      int gpus = 0;
      for (const auto& [number, one] : running) {
        cpus += one.cpus;
        gpus += one.gpus;
      }
      all.most_cpus = std::max(all.most_cpus, cpus);
      all.most_gpus = std::max(all.most_gpus, gpus);
    }
    return all;
  }

  Workplace here_;
  Fifo record_{here_.path() / "record"};
  Fifo gate_{here_.path() / "gate"};
};

TEST_F(OneOf, half_of_the_jobs_run_on_the_gpus_and_the_others_on_cpus_alone) {
  make(4);
  const auto worker = work({"--num-cpus", "6", "--num-gpus", "2"}, "0,1");
  ASSERT_TRUE(wait_until({&record_, worker.get()}, [&] { return record_.lines().size() == 4; }));
  const Seen first = seen();
  std::multiset<std::string> by;
  for (const auto& [job, start] : first.starts) {
    by.insert(start.by);
    EXPECT_EQ(start.alternative, start.by == "gpu" ? 1 : 2) << job;
    EXPECT_EQ(start.cpus, start.by == "gpu" ? 1 : 2) << job;
    EXPECT_EQ(start.gpus, start.by == "gpu" ? 1 : 0) << job;
  }
  EXPECT_EQ(by, (std::multiset<std::string>{"cpu", "cpu", "gpu", "gpu"}));
  gate_.open_gate(4);
  EXPECT_EQ(worker->wait().exit_code, 0);

  const json results = here_.json({"results", "wf.torc"});
  std::multiset<int> had;
  for (const json& row : results) had.insert(row["alternative"].get<int>());
  EXPECT_EQ(had, (std::multiset<int>{1, 1, 2, 2})) << results;
  EXPECT_TRUE(here_.run({"results", "wf.torc"}).says("alternative"));
  const int last = results.back()["alternative"];
  const json job = here_.json({"job", "wf.torc", "fit_4"});
  EXPECT_EQ(job["alternative"], last);
  ASSERT_EQ(job["one_of"].size(), 2U) << job;
  EXPECT_EQ(job["one_of"][0]["gpus"], 1);
  EXPECT_EQ(job["one_of"][1]["cpus"], 2);
  EXPECT_EQ(job["cpus"], last == 1 ? 1 : 2);
  EXPECT_NE(std::string(job["command"]).find(last == 1 ? "4 gpu" : "4 cpu"), std::string::npos);
  const json used = here_.json({"resources", "wf.torc"});
  ASSERT_EQ(used.size(), 2U) << used;
  EXPECT_EQ(used[0]["alternative"], 1);
  EXPECT_EQ(used[0]["ended_jobs"], 2);
  EXPECT_EQ(used[1]["alternative"], 2);
  EXPECT_EQ(here_.run({"verify", "wf.torc"}).exit_code, 0);
}

TEST_F(OneOf, two_workers_run_each_job_once_and_never_more_than_each_of_them_has) {
  constexpr int kJobs = 24;
  make(kJobs);
  std::vector<std::unique_ptr<Process>> workers;
  for (int i = 0; i < 2; ++i) {
    // Each as on a node of its own.
    workers.push_back(work({"--num-cpus", "3", "--num-gpus", "1"}, "0",
                           here_.new_tmpdir("node" + std::to_string(i))));
  }
  gate_.open_gate(kJobs);
  for (auto& worker : workers) EXPECT_EQ(worker->wait().exit_code, 0);
  record_.pump();
  const Seen all = seen();
  EXPECT_EQ(all.starts.size(), static_cast<std::size_t>(kJobs));
  for (int job = 1; job <= kJobs; ++job) EXPECT_EQ(all.starts.count(job), 1U) << job;
  EXPECT_EQ(all.ended, kJobs);
  EXPECT_LE(all.most_cpus, 6);
  EXPECT_LE(all.most_gpus, 2);
  EXPECT_EQ(here_.json({"status", "wf.torc"})["jobs_by_state"]["completed"], kJobs);
  EXPECT_EQ(here_.run({"verify", "wf.torc"}).exit_code, 0);
}

TEST_F(OneOf, why_tells_of_each_alternative_what_keeps_it_from_every_worker) {
  here_.write("wf.yaml", R"(name: wf
jobs:
  - {name: busy, command: "echo busy > record; read x < gate", priority: 9}
  - {name: big, command: "true", one_of: [{gpus: 7}, {cpus: 50, command: "true"}]}
)");
  ASSERT_EQ(here_.run({"init", "wf.yaml"}).exit_code, 0);
  const auto worker = work({"--num-cpus", "2", "--num-gpus", "0", "--grace", "0s"}, "");
  ASSERT_TRUE(wait_until({&record_, worker.get()}, [&] { return record_.has("busy"); }));
  const json big = here_.json({"why", "wf.torc", "big"});
  ASSERT_EQ(big["reasons"].size(), 2U) << big;
  const auto message = [&](int i) { return std::string(big["reasons"][i]["message"]); };
  EXPECT_EQ(message(0),
            "The only worker could never run it by alternative 1: it needs 7 GPUs, and that worker "
            "has at most 0.");
  EXPECT_EQ(message(1),
            "The only worker could never run it by alternative 2: it needs 50 CPUs, and that "
            "worker has at most 2.");
  EXPECT_NE(std::string(big["reasons"][1]["remedy"]).find("let each alternative need less"),
            std::string::npos)
      << big;
  EXPECT_TRUE(here_.run({"status", "wf.torc"}).says("or 50 CPUs"));
  ASSERT_EQ(here_.run({"set", "wf.torc", "big", "cpus=2", "gpus=0"}).exit_code, 0);
  gate_.open_gate(1);
  EXPECT_EQ(worker->wait().exit_code, 0);
  EXPECT_EQ(here_.json({"status", "wf.torc"})["jobs_by_state"]["completed"], 2);
}

}  // namespace
}  // namespace torc::itest
