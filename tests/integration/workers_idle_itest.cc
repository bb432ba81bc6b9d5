// Workers of allocations of which nothing is used any more: who leaves, and who stays.
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

class WorkersIdle : public testing::TestWithParam<const char*> {
 protected:
  // `a` waits at the gate, `b` for `a`.
  WorkersIdle() {
    here_.write("wf.yaml", R"(name: wf
jobs:
  - {name: a, command: echo a > record; read x < gate}
  - {name: b, command: echo b > record, depends_on: [a]}
)");
    const Ended made = here_.run({"init", "wf.yaml", "--engine", GetParam()});
    EXPECT_EQ(made.exit_code, 0) << made;
  }
  [[nodiscard]] std::unique_ptr<Process> start(const std::string& allocation,
                                               const std::vector<std::string>& flags = {}) const {
    std::vector<std::string> words{"worker", "wf.torc",      "--num-cpus",  "1",   "--memory",
                                   "100m",   "--overcommit", "--lease-ttl", "10s", "--workers-idle",
                                   "1s"};
    words.insert(words.end(), flags.begin(), flags.end());
    Launch launch = here_.torc(words);
    launch.env["SLURM_JOB_ID"] = allocation;
    launch.env["SLURM_CLUSTER_NAME"] = "alpha";
    launch.env["SLURM_JOB_START_TIME"] = "1000";
    launch.env["SLURM_JOB_END_TIME"] = "9000000000";  // in the year 2255
    return std::make_unique<Process>(launch);
  }
  [[nodiscard]] std::size_t workers() const {
    return here_.json({"status", "wf.torc"}).at("workers").size();
  }

  static constexpr const char* kUnused = "no worker of this allocation has had anything to do";
  Workplace here_;
  Fifo record_{here_.path() / "record"};
  Fifo gate_{here_.path() / "gate"};
};

TEST_P(WorkersIdle, leave_an_allocation_that_is_not_used_and_stay_in_one_in_which_one_works) {
  const auto busy = start("77");
  ASSERT_TRUE(wait_for_line(record_, "a", *busy)) << busy->out() << busy->err();
  const auto beside = start("77");
  ASSERT_TRUE(beside->wait_for_output("worker on")) << beside->err();
  // Both begin later, and are gone before it.
  const auto one = start("78");
  const auto other = start("78");
  for (Process* unused : {one.get(), other.get()}) {
    const Ended ended = unused->wait();
    EXPECT_EQ(ended.exit_code, 0) << ended;
    EXPECT_TRUE(ended.says(kUnused)) << ended;
    EXPECT_TRUE(ended.says("idle for too long")) << ended;
  }
  beside->pump();
  EXPECT_TRUE(beside->running()) << beside->out();
  EXPECT_EQ(workers(), 2U);
  gate_.open_gate(1);
  for (Process* used : {busy.get(), beside.get()}) {
    const Ended ended = used->wait();
    EXPECT_EQ(ended.exit_code, 0) << ended;
    EXPECT_FALSE(ended.says(kUnused)) << ended;
  }
  EXPECT_EQ(here_.json({"status", "wf.torc"}).at("state"), "completed");
  EXPECT_EQ(here_.run({"verify", "wf.torc"}).exit_code, 0);
}

TEST_P(WorkersIdle, leave_alone_where_others_may_have_the_rest_of_the_node) {
  const auto busy = start("77");
  ASSERT_TRUE(wait_for_line(record_, "a", *busy)) << busy->out() << busy->err();
  const Ended ended = start("77", {"--node-is-shared"})->wait();
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_TRUE(ended.says("there was nothing for this worker to do for")) << ended;
  gate_.open_gate(1);
  EXPECT_EQ(busy->wait().exit_code, 0);
}

// It is silent, and holds a job: nobody else is there to see its lease run out.
TEST_P(WorkersIdle, stay_for_what_a_dead_worker_has) {
  const auto busy = start("77");
  ASSERT_TRUE(wait_for_line(record_, "a", *busy)) << busy->out() << busy->err();
  const auto heir = start("78", {"--idle-timeout", "1h"});
  ASSERT_TRUE(heir->wait_for_output("worker on")) << heir->err();
  busy->kill(SIGSTOP);
  const std::vector<Source*> sources{&record_, heir.get()};
  const auto begins_again = [&] { return record_.lines().size() == 2 || !heir->running(); };
  ASSERT_TRUE(wait_until(sources, begins_again)) << heir->out() << heir->err();
  EXPECT_TRUE(heir->running()) << heir->out();
  EXPECT_FALSE(heir->out().find(kUnused) != std::string::npos) << heir->out();
  busy->kill(SIGKILL);
  // The first command is told to end, but may not have, and may take a line of it.
  gate_.open_gate(2);
  EXPECT_EQ(heir->wait().exit_code, 0);
  EXPECT_EQ(here_.json({"status", "wf.torc"}).at("state"), "completed");
}

INSTANTIATE_TEST_SUITE_P(Engines, WorkersIdle, ::testing::Values("lmdb", "journal"));

}  // namespace
}  // namespace torc::itest
