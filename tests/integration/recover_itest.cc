// `torc recover`: what failed runs again, with more where that was the cause.
#include <gtest/gtest.h>
#include <signal.h>

#include <nlohmann/json.hpp>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

using nlohmann::json;

class Recover : public testing::Test {
 protected:
  void run(const std::string& file, int exit_code) const {
    here_.write("wf.yaml", file);
    const Ended ended = here_.run({"run", "wf.yaml", "--num-cpus", "2", "--memory", "1g"});
    EXPECT_EQ(ended.exit_code, exit_code) << ended;
  }
  [[nodiscard]] int run_again() const {
    return here_.run({"run", "wf.torc", "--num-cpus", "2", "--memory", "1g"}).exit_code;
  }
  [[nodiscard]] json plan(std::vector<std::string> more = {}) const {
    std::vector<std::string> words{"recover", "wf.torc", "--dry-run"};
    words.insert(words.end(), more.begin(), more.end());
    return here_.json(words);
  }
  [[nodiscard]] std::string state(const std::string& job) const {
    return here_.jobs("wf.torc").at(job)["state"];
  }

  Workplace here_;
};

constexpr const char* kMemory = R"(name: wf
jobs:
  - {name: "hungry_{i}", command: "python3 -c 'x = bytearray(90000000); import time; time.sleep(1)'", parameters: {i: "1:2"}, memory: 60m}
  - {name: after, command: "true", depends_on: [hungry_1, hungry_2]}
  - {name: dark, command: exit 7}
)";

TEST_F(Recover, gives_more_memory_to_what_ran_out_of_it_and_leaves_what_is_not_known) {
  run(kMemory, 1);
  const json before = plan();
  ASSERT_EQ(before["failure_groups"].size(), 2U) << before;
  EXPECT_EQ(before["failure_groups"][0]["jobs"], 2) << before;
  EXPECT_EQ(before["failure_groups"][0]["proposal"], "raise_memory") << before;
  EXPECT_EQ(before["failure_groups"][1]["proposal"], "skip") << before;
  EXPECT_EQ(state("hungry_1"), "failed") << "nothing was changed";
  const Ended done = here_.run({"recover", "wf.torc", "--yes"});
  EXPECT_EQ(done.exit_code, 1) << done;
  EXPECT_TRUE(done.says("2 jobs run again, 1 left as before")) << done;
  EXPECT_TRUE(done.says("no worker is at work; start one: torc run wf.torc")) << done;
  EXPECT_EQ(state("hungry_1"), "ready");
  EXPECT_EQ(state("dark"), "failed");
  for (int round = 0; round < 3 && state("after") != "completed"; ++round) {
    EXPECT_EQ(run_again(), 1);
    (void)here_.run({"recover", "wf.torc", "--yes"});
  }
  EXPECT_EQ(state("after"), "completed");
  const Ended all = here_.run({"recover", "wf.torc", "--yes", "--retry-unknown"});
  EXPECT_EQ(all.exit_code, 0) << all;
  EXPECT_EQ(state("dark"), "ready");
  EXPECT_TRUE(here_.run({"recover", "wf.torc", "--yes"}).says("no job has failed"));
}

TEST_F(Recover, gives_more_time_but_nothing_beyond_what_there_is_and_says_what_to_mend) {
  run(R"(name: wf
jobs:
  - {name: late, command: "while :; do :; done", runtime: 1s}
  - {name: most, command: "kill -9 $$", memory: 1g}
  - {name: full, command: "echo No space left on device; exit 1"}
)",
      1);
  std::map<std::string, json> by_entry;
  const json told = plan();
  for (const json& group : told["failure_groups"]) by_entry[group["entry"]] = group;
  EXPECT_EQ(by_entry["late"]["proposal"], "raise_runtime") << told;
  EXPECT_EQ(by_entry["late"]["new_needs"]["runtime_seconds"], 60) << told;
  EXPECT_EQ(by_entry["most"]["proposal"], "skip") << told;
  EXPECT_TRUE(std::string(by_entry["most"]["reason_to_skip"]).find("1 GiB") != std::string::npos)
      << told;
  EXPECT_EQ(by_entry["full"]["trouble"], "mend") << told;
}

TEST_F(Recover, says_where_output_cannot_be_read) {
  run(R"(name: wf
jobs:
  - name: linked
    command: "f=$(readlink /proc/$$/fd/2); rm $f; ln -s /etc/hostname $f; exit 3"
  - {name: silent, command: exit 3}
)",
      1);
  const Ended shown = here_.run({"recover", "wf.torc", "--dry-run"});
  EXPECT_TRUE(shown.says("some output of 1 of these jobs cannot be read")) << shown;
  const Ended told = here_.run({"logs", "wf.torc", "--diagnose"});
  EXPECT_TRUE(told.says("output that cannot be read here: linked\n")) << told;
}

TEST_F(Recover, works_while_workers_do) {
  Fifo gate(here_.path() / "gate");
  Fifo record(here_.path() / "record");
  here_.write("wf.yaml", R"(name: wf
jobs:
  - {name: bad, command: "test -e mended || { echo Stale file handle; exit 1; }"}
  - {name: waiting, command: "echo up > record; read x < gate"}
)");
  const auto worker = here_.start({"run", "wf.yaml", "--num-cpus", "2", "--engine", "journal"});
  ASSERT_TRUE(wait_for_line(record, "up", *worker)) << worker->err();
  ASSERT_TRUE(here_.wait_for_state("wf.torc", "bad", "failed"));
  here_.write("mended", "");
  const Ended done = here_.run({"recover", "wf.torc", "--yes"});
  EXPECT_EQ(done.exit_code, 0) << done;
  EXPECT_TRUE(done.says("1 job runs again")) << done;
  EXPECT_TRUE(done.says("workers are running")) << done;
  gate.open_gate(1);
  const Ended ended = worker->wait();
  EXPECT_EQ(ended.exit_code, 0) << ended;
}

TEST_F(Recover, asks_only_on_a_terminal_and_else_does_nothing_unasked) {
  run("name: wf\njobs: [{name: bad, command: 'echo Stale file handle; exit 1'}]\n", 1);
  const Ended ended = here_.run({"recover"});
  EXPECT_EQ(ended.exit_code, 1) << ended;
  EXPECT_TRUE(ended.says("retry as it is")) << ended;
  EXPECT_TRUE(ended.says("--yes does what is proposed")) << ended;
  EXPECT_EQ(state("bad"), "failed");
  EXPECT_EQ(here_.run({"recover", "--json"}).exit_code, 2);
  EXPECT_EQ(here_.run({"recover", "--yes", "--memory-multiplier", "0.5"}).exit_code, 2);
}

TEST_F(Recover, is_not_needed_where_a_handler_learns_from_the_first_failure) {
  run(R"(name: wf
failure_handlers:
  - {name: more, rules: [{on: oom, memory_multiplier: 4, learn: true}]}
jobs:
  - name: hungry_{i}
    command: "python3 -c 'x = bytearray(90000000); import time; time.sleep({i} < 3)'"
    parameters: {i: "1:40"}
    memory: 60m
    failure_handler: more
)",
      0);
  const auto jobs = here_.jobs("wf.torc");
  EXPECT_EQ(jobs.at("hungry_1")["attempt"], 2);
  EXPECT_EQ(jobs.at("hungry_40")["attempt"], 1) << "it never had too little";
  EXPECT_EQ(here_.json({"job", "wf.torc", "hungry_40"})["memory_bytes"], 4 * (60 << 20));
}

}  // namespace
}  // namespace torc::itest
