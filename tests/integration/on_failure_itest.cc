// `on_failure: recover`: real jobs that fail, and run again without anybody.
#include <gtest/gtest.h>
#include <signal.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

using nlohmann::json;

// Keeps 90 MB in memory until it is ended for that, unless it was given more.
constexpr const char* kHungry =
    "test $TORC_MEMORY_BYTES -gt 100000000 || "
    "python3 -c 'x = bytearray(90000000); import time; time.sleep(300)'";

class OnFailure : public ::testing::TestWithParam<const char*> {
 protected:
  void init(const std::string& spec) {
    here.write("wf.yaml", spec);
    const Ended made = here.run({"init", "wf.yaml", "--engine", GetParam()});
    ASSERT_EQ(made.exit_code, 0) << made;
  }
  Ended run() { return here.run({"run", "wf.torc", "--num-cpus", "4", "--memory", "1g"}); }
  std::unique_ptr<Process> worker() {
    return here.start({"worker", "wf.torc", "--num-cpus", "2", "--memory", "1g"});
  }
  json job(const std::string& name) { return here.json({"job", name}); }
  void expect_sound() {
    const Ended verified = here.run({"verify"});
    EXPECT_EQ(verified.exit_code, 0) << verified;
  }

  const Workplace here;
};

TEST_P(OnFailure, what_ran_out_of_memory_runs_again_with_more_and_what_depends_on_it_too) {
  init(std::string("name: wf\non_failure: recover\njobs:\n  - {name: hungry, command: \"") +
       kHungry +
       "\", memory: 60m}\n"
       "  - {name: after, command: \"true\", depends_on: [hungry]}\n"
       "  - {name: rescue, command: \"true\", depends: {afternotok: hungry}}\n");
  const Ended ended = run();
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_TRUE(ended.says("runs again with more memory: recovery 1 of 3")) << ended;
  EXPECT_EQ(job("hungry")["attempt"], 2);
  EXPECT_GT(job("hungry")["memory_bytes"], 100'000'000) << "by its peak, which was looked at";
  EXPECT_EQ(job("after")["state"], "completed");
  EXPECT_EQ(job("rescue")["state"], "canceled") << "what it waits for never failed";
  EXPECT_TRUE(here.run({"job", "hungry"}).says("recovered 1 of 3 times"));
  expect_sound();
}

TEST_P(OnFailure, what_took_too_long_gets_more_time_and_a_program_s_own_error_stays) {
  init(R"(name: wf
on_failure: recover
jobs:
  - {name: late, command: "test $TORC_ATTEMPT_ID = 2 || while :; do :; done", time_limit: 1s}
  - {name: own, command: "echo Connection closed by foreign host is no reason >&2; exit 3"}
  - {name: full, command: "echo No space left on device >&2; exit 1"}
)");
  const Ended ended = run();
  EXPECT_EQ(ended.exit_code, 1) << ended;
  EXPECT_EQ(job("late")["state"], "completed") << ended;
  EXPECT_EQ(job("own")["attempt"], 1) << ended;
  EXPECT_EQ(job("full")["attempt"], 1) << ended;
  const Ended status = here.run({"status"});
  EXPECT_TRUE(status.says("each job at most 3 times")) << status;
  EXPECT_EQ(here.json({"status"})["max_recoveries"], 3);
  const Ended plan = here.run({"recover", "--dry-run"});
  EXPECT_TRUE(plan.says("on_failure: recover has left these")) << plan;
  expect_sound();
}

TEST_P(OnFailure, ends_after_as_many_times_as_the_file_says_and_tells_it) {
  init(R"(name: wf
on_failure: recover
max_recoveries: 2
jobs: [{name: a, command: "kill -9 $$", memory: 10m}]
)");
  const Ended ended = run();
  EXPECT_EQ(ended.exit_code, 1) << ended;
  EXPECT_EQ(job("a")["attempt"], 3);
  EXPECT_TRUE(ended.says("has been recovered 2 times, and is not recovered again")) << ended;
  EXPECT_TRUE(here.run({"status"}).says("recovered 2 of 2 times"));
  EXPECT_EQ(here.json({"status"})["failures"][0]["recoveries"], 2);
  const json plan = here.json({"recover", "--dry-run"});
  EXPECT_EQ(plan["failure_groups"][0]["recoveries"], 2) << plan;
  EXPECT_EQ(plan["failure_groups"][0]["max_recoveries"], 2) << plan;
  EXPECT_TRUE(here.run({"why", "a"}).says("It was recovered 2 of 2 times (on_failure)."));
  EXPECT_EQ(here.run({"recover", "--yes"}).exit_code, 0);
  EXPECT_EQ(run().exit_code, 1);
  EXPECT_EQ(job("a")["attempt"], 6) << "a person's word counts anew";
  expect_sound();
}

// Two workers, of which one dies with jobs that it has not reported the end of.
TEST_P(OnFailure, two_workers_recover_each_job_once_though_one_of_them_is_killed) {
  Fifo record(here.path() / "record");
  init(std::string("name: wf\non_failure: recover\njobs:\n  - name: \"hungry_{i}\"\n    command: "
                   "\"echo up > record; ") +
       kHungry + "\"\n    parameters: {i: \"1:8\"}\n    memory: 60m\n");
  std::vector<std::unique_ptr<Process>> workers;
  workers.push_back(worker());
  ASSERT_TRUE(wait_for_line(record, "up", *workers.front())) << workers.front()->err();
  workers.push_back(worker());
  workers.front()->kill(SIGKILL);
  const Ended last = workers.back()->wait();
  EXPECT_EQ(last.exit_code, 0) << last;
  for (const auto& [name, record_of] : here.jobs("wf.torc")) {
    EXPECT_EQ(record_of["state"], "completed") << name;
    EXPECT_TRUE(here.run({"job", name}).says("recovered 1 of 3 times")) << name;
  }
  expect_sound();
}

TEST(OnFailureInAJournal, what_failed_for_a_network_waits_a_while_and_says_so) {
  const Workplace here;
  here.write("wf.yaml", R"(name: wf
on_failure: recover
jobs: [{name: fetch, command: "test -e net || { echo Connection refused >&2; exit 1; }"}]
)");
  ASSERT_EQ(here.run({"init", "wf.yaml", "--engine", "journal"}).exit_code, 0);
  const auto at_work = here.start({"worker", "wf.torc", "--num-cpus", "2"});
  ASSERT_TRUE(here.wait_for_state("wf.torc", "fetch", "delayed"));
  const Ended why = here.run({"why", "fetch"});
  EXPECT_TRUE(why.says("on_failure runs it again in")) << why;
  here.write("net", "");
  EXPECT_EQ(here.run({"retry", "fetch"}).exit_code, 0);
  const Ended ended = at_work->wait();
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_TRUE(ended.says("runs again in 30 s: recovery 1 of 3")) << ended;
}

INSTANTIATE_TEST_SUITE_P(Engines, OnFailure, ::testing::Values("journal", "lmdb"));

}  // namespace
}  // namespace torc::itest
