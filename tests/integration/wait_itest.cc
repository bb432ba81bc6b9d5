// torc wait: it returns when the workflow is over, whoever works for it, with how that ended.
#include <gtest/gtest.h>

#include <csignal>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

class Wait : public testing::TestWithParam<std::string> {
 protected:
  // `a` waits at the gate and exits with what it reads there; `b` is built on it.
  void make_store() const {
    here.write("wf.yaml", R"(name: wf
jobs:
  - {name: a, command: "echo a > record; read x < gate; exit $CODE"}
  - {name: b, command: "true", depends_on: a}
)");
    const Ended made = here.run({"init", "wf.yaml", "--engine", GetParam()});
    ASSERT_EQ(made.exit_code, 0) << made;
  }
  // A worker in whose jobs `a` ends with `code`; `a` runs when this returns.
  [[nodiscard]] std::unique_ptr<Process> start_worker(const std::string& code) {
    Launch launch = here.torc({"run", "wf.torc"});
    launch.env["CODE"] = code;
    auto worker = std::make_unique<Process>(launch);
    EXPECT_TRUE(wait_for_line(record, "a", *worker)) << worker->err();
    return worker;
  }
  // That somebody waits, and has found the workflow not over.
  static void expect_waiting(Process& waiting) {
    EXPECT_TRUE(wait_until({&waiting}, [&] {
      return waiting.err().find("waiting until wf is over") != std::string::npos;
    })) << waiting.err();
  }

  Workplace here;
  Fifo record{here.path() / "record"};
  Fifo gate{here.path() / "gate"};
};
INSTANTIATE_TEST_SUITE_P(Engines, Wait, testing::Values("journal", "lmdb"));

TEST_P(Wait, returns_0_when_all_have_completed) {
  make_store();
  const auto worker = start_worker("0");
  const auto waiting = here.start({"wait", "wf.torc"});
  expect_waiting(*waiting);
  gate.open_gate(1);
  const Ended ended = waiting->wait();
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_TRUE(ended.says("wf: 2 of 2 jobs completed")) << ended;
  EXPECT_EQ(worker->wait().exit_code, 0);
  EXPECT_EQ(here.run({"wait", "-q"}).out, "");
}

TEST_P(Wait, returns_1_and_names_what_failed) {
  make_store();
  const auto worker = start_worker("3");
  const auto waiting = here.start({"wait"});
  expect_waiting(*waiting);
  gate.open_gate(1);
  const Ended ended = waiting->wait();
  EXPECT_EQ(ended.exit_code, 1) << ended;
  EXPECT_TRUE(ended.says("1 failed")) << ended;
  EXPECT_TRUE(ended.says("never reached")) << ended;
  EXPECT_TRUE(ended.says("exit code 3")) << ended;
  (void)worker->wait();
  const Ended quiet = here.run({"wait", "-q"});
  EXPECT_EQ(quiet.exit_code, 1) << quiet;
  EXPECT_EQ(quiet.out, "");
  EXPECT_NE(quiet.err.find("exit code 3"), std::string::npos) << quiet;
}

TEST_P(Wait, says_that_it_is_not_finished_when_its_time_is_up) {
  make_store();
  for (const bool quiet : {false, true}) {
    std::vector<std::string> words{"wait", "--timeout", "0"};
    if (quiet) words.emplace_back("-q");
    const Ended ended = here.run(words);
    EXPECT_EQ(ended.exit_code, 3) << ended;
    EXPECT_TRUE(ended.says("wf is not finished after 0 s: 1 blocked, 1 ready")) << ended;
  }
}

// Others may go on: the workflow is not over when these are.
TEST_P(Wait, returns_when_the_jobs_that_were_named_are_over) {
  here.write("more.yaml", R"(name: more
jobs:
  - {name: a, command: "true", priority: 2}
  - {name: b, command: "exit 3", priority: 1}
  - {name: gated, command: "echo gated > record; read x < gate"}
)");
  ASSERT_EQ(here.run({"init", "more.yaml", "--engine", GetParam()}).exit_code, 0);
  const auto worker = here.start({"run", "more.torc", "-j", "1"});
  ASSERT_TRUE(wait_for_line(record, "gated", *worker)) << worker->err();
  const Ended good = here.run({"wait", "a"});
  EXPECT_EQ(good.exit_code, 0) << good;
  EXPECT_TRUE(good.says("1 of 1 job that was asked for completed")) << good;
  EXPECT_FALSE(good.says("failed")) << good;
  const Ended bad = here.run({"wait", "more.torc", "[ab]"});
  EXPECT_EQ(bad.exit_code, 1) << bad;
  EXPECT_TRUE(bad.says("1 of 2 jobs that were asked for completed, 1 failed")) << bad;
  EXPECT_TRUE(bad.says("failed: b: exit code 3")) << bad;
  const Ended late = here.run({"wait", "gated", "--timeout", "0"});
  EXPECT_EQ(late.exit_code, 3) << late;
  EXPECT_TRUE(late.says("1 job of more is not finished after 0 s: 1 running")) << late;
  const auto waiting = here.start({"wait", "gated"});
  EXPECT_TRUE(wait_until({waiting.get()}, [&] {
    return waiting->err().find("waiting until 1 job of more is over") != std::string::npos;
  })) << waiting->err();
  gate.open_gate(1);
  EXPECT_EQ(waiting->wait().exit_code, 0);
  EXPECT_EQ(worker->wait().exit_code, 1);
  EXPECT_EQ(here.run({"wait", "nobody"}).exit_code, 2);
}

// What it waits for has failed: it is never reached, and the workflow is over.
TEST_P(Wait, does_not_wait_for_a_job_that_can_no_longer_run) {
  make_store();
  const auto worker = start_worker("3");
  gate.open_gate(1);
  EXPECT_EQ(worker->wait().exit_code, 1);
  const Ended ended = here.run({"wait", "b"});
  EXPECT_EQ(ended.exit_code, 1) << ended;
  EXPECT_TRUE(ended.says("1 waiting")) << ended;
}

TEST_P(Wait, does_not_wait_for_what_is_held) {
  make_store();
  ASSERT_EQ(here.run({"hold", "a"}).exit_code, 0);
  const Ended ended = here.run({"wait"});
  EXPECT_EQ(ended.exit_code, 3) << ended;
  EXPECT_TRUE(ended.says("torc release wf.torc --all")) << ended;
}

// As a run of that job would end.
TEST_P(Wait, says_that_what_is_left_behind_a_held_job_is_not_finished) {
  make_store();
  ASSERT_EQ(here.run({"hold", "a"}).exit_code, 0);
  const Ended ended = here.run({"wait", "b"});
  EXPECT_EQ(ended.exit_code, 3) << ended;
  EXPECT_TRUE(ended.says("torc release wf.torc --all")) << ended;
  ASSERT_EQ(here.run({"cancel", "a"}).exit_code, 0);
  EXPECT_EQ(here.run({"wait", "b"}).exit_code, 1);
}

TEST_P(Wait, gives_no_command_that_would_run_nothing) {
  here.write("big.yaml", R"(name: big
jobs: [{name: a, command: "true", resource_requirements: r}]
resource_requirements: [{name: r, num_cpus: 1000}]
)");
  ASSERT_EQ(here.run({"init", "big.yaml", "--engine", GetParam()}).exit_code, 0);
  const auto waiting = here.start({"wait", "big.torc"});
  ASSERT_TRUE(wait_until({waiting.get()}, [&] {
    return waiting->err().find("this machine could not take what is ready: it needs 1000 CPUs") !=
           std::string::npos;
  })) << waiting->err();
  EXPECT_EQ(waiting->err().find("torc run"), std::string::npos) << waiting->err();
  const Ended status = here.run({"status", "big.torc"});
  EXPECT_TRUE(status.says("see: torc why big.torc '#1'")) << status;
  EXPECT_FALSE(status.says("torc run")) << status;
}

TEST_P(Wait, tells_that_nobody_is_at_work_and_ends_by_a_signal) {
  make_store();
  const auto waiting = here.start({"wait"});
  ASSERT_TRUE(wait_until({waiting.get()}, [&] {
    return waiting->err().find("no worker is at work; start one: torc run wf.torc") !=
           std::string::npos;
  })) << waiting->err();
  waiting->kill(SIGINT);
  EXPECT_EQ(waiting->wait().signal, SIGINT);
}

TEST(WaitWithoutAStore, cannot_wait) {
  const Workplace here;
  EXPECT_EQ(here.run({"wait", "gone.torc"}).exit_code, 4);
  EXPECT_EQ(here.run({"wait", "--timeout", "30"}).exit_code, 2);
}

}  // namespace
}  // namespace torc::itest
