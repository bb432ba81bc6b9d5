// Workers that are told to stop, whose time is up or who die, and what becomes of their jobs: of
// each job's whole process tree.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

using nlohmann::json;

// `b` waits at the gate; `c` is there to be left over.
constexpr const char* kChain = R"(name: wf
jobs:
  - {name: a, command: echo a > record}
  - {name: b, command: echo b > record; read x < gate, depends_on: [a]}
  - {name: c, command: echo c > record, depends_on: [b]}
)";

class Stop : public testing::Test {
 protected:
  // Starts a worker by `torc run` and waits until job b runs.
  std::unique_ptr<Process> start(const std::string& spec = kChain,
                                 const std::string& grace = "1h") {
    here_.write("wf.yaml", spec);
    auto process = here_.start({"run", "wf.yaml", "--num-cpus", "4", "--grace", grace});
    EXPECT_TRUE(wait_for_line(record_, "b", *process)) << process->out() << process->err();
    return process;
  }
  [[nodiscard]] std::string state_of(const std::string& job) const {
    return here_.json({"job", "wf.torc", job}).value("state", "");
  }
  void expect_that_a_later_run_completes() {
    gate_.open_gate(10);
    const Ended ended = here_.run({"run", "wf.torc"});
    EXPECT_EQ(ended.exit_code, 0) << ended;
    EXPECT_EQ(here_.run({"verify"}).exit_code, 0);
  }

  Workplace here_;
  Fifo record_{here_.path() / "record"};
  Fifo gate_{here_.path() / "gate"};
};

TEST_F(Stop, ctrl_c_lets_running_jobs_end_and_starts_no_others) {
  const auto process = start();
  process->kill(SIGINT);
  ASSERT_TRUE(process->wait_for_output("finishing 1 running job"));
  gate_.open_gate(1);
  const Ended ended = process->wait();
  EXPECT_EQ(ended.exit_code, 130) << ended;
  EXPECT_TRUE(ended.says("interrupted by SIGINT\ngo on with: torc run wf.yaml")) << ended;
  EXPECT_EQ(state_of("b"), "completed");
  EXPECT_EQ(state_of("c"), "ready");
  EXPECT_TRUE(here_.json({"status"})["workers"].empty());
  expect_that_a_later_run_completes();
  EXPECT_EQ(here_.json({"job", "b"})["attempt"], 1);
}

TEST_F(Stop, a_second_ctrl_c_ends_the_running_jobs_too) {
  const auto process = start();
  process->kill(SIGINT);
  ASSERT_TRUE(process->wait_for_output("finishing 1 running job"));
  Timer later(std::chrono::milliseconds(250));  // an earlier one is taken for an echo of the first
  ASSERT_TRUE(wait_until({&later}, [&] { return later.passed(); }));
  process->kill(SIGINT);
  const Ended ended = process->wait();
  EXPECT_EQ(ended.exit_code, 130) << ended;
  EXPECT_EQ(state_of("b"), "ready");
  expect_that_a_later_run_completes();
  EXPECT_EQ(here_.json({"job", "b"})["attempt"], 2);
}

TEST_F(Stop, after_a_termination_signal_running_jobs_may_end_in_time) {
  const auto process = start();
  process->kill(SIGTERM);
  ASSERT_TRUE(process->wait_for_output("told to leave: 1 job may go on for"));
  gate_.open_gate(1);
  const Ended ended = process->wait();
  EXPECT_EQ(ended.exit_code, 143) << ended;
  EXPECT_EQ(state_of("b"), "completed");
  EXPECT_EQ(state_of("c"), "ready");
  expect_that_a_later_run_completes();
  EXPECT_EQ(here_.json({"job", "b"})["attempt"], 1);
}

TEST_F(Stop, a_termination_signal_ends_the_jobs_that_do_not_which_run_again_later) {
  const auto process = start(kChain, "1s");
  process->kill(SIGTERM);
  const Ended ended = process->wait();
  EXPECT_EQ(ended.exit_code, 143) << ended;
  EXPECT_EQ(state_of("b"), "ready");
  EXPECT_EQ(here_.json({"job", "b"})["cause"], "stopped");
  EXPECT_TRUE(here_.json({"status"})["workers"].empty());
  expect_that_a_later_run_completes();
  EXPECT_EQ(here_.json({"job", "b"})["attempt"], 2);
}

TEST_F(Stop, a_run_tells_programs_by_which_signal_it_was_told_to_leave) {
  here_.write("wf.yaml", kChain);
  const auto process = here_.start({"run", "wf.yaml", "--num-cpus", "4", "--json"});
  ASSERT_TRUE(wait_for_line(record_, "b", *process)) << process->err();
  process->kill(SIGHUP);
  gate_.open_gate(1);
  const Ended ended = process->wait();
  EXPECT_EQ(ended.exit_code, 129) << ended;
  const json summary = json::parse(ended.out);
  EXPECT_EQ(summary["end"], "interrupted");
  EXPECT_EQ(summary["interrupted_by"], "SIGHUP");
  gate_.open_gate(10);
  EXPECT_EQ(json::parse(here_.run({"run", "wf.torc", "--json"}).out)["interrupted_by"], nullptr);
}

// Who is told when nothing is left to do has done all of it.
TEST_F(Stop, a_run_that_has_done_everything_was_not_interrupted) {
  here_.write("wf.yaml", "name: wf\njobs: [{name: b, command: echo b > record; read x < gate}]\n");
  const auto process = here_.start({"run", "wf.yaml"});
  ASSERT_TRUE(wait_for_line(record_, "b", *process)) << process->err();
  process->kill(SIGINT);
  ASSERT_TRUE(process->wait_for_output("finishing 1 running job"));
  gate_.open_gate(1);
  const Ended ended = process->wait();
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_FALSE(ended.says("interrupted by")) << ended;
}

// A batch system tells each worker to leave in the end: its allocation has not failed for that.
TEST_F(Stop, a_worker_ends_as_its_signal_says_but_in_an_allocation) {
  for (const auto& [variable, exit_code] :
       {std::pair("TORC_OF_NOTHING", 143), {"TORC_ALLOCATION_ID", 0}, {"TORC_SUPERVISED", 0}}) {
    SCOPED_TRACE(variable);
    const std::string name = variable;
    here_.write("wf.yaml", "name: wf\njobs:\n  - {name: b, command: echo " + name +
                               " > record; read x < gate}\n");
    ASSERT_EQ(here_.run({"init", "wf.yaml", "--force"}).exit_code, 0);
    Launch launch = here_.torc({"worker", "wf.torc", "--grace", "1s"});
    launch.env[variable] = "7";
    Process process(launch);
    ASSERT_TRUE(wait_for_line(record_, name, process)) << process.err();
    process.kill(SIGTERM);
    const Ended ended = process.wait();
    EXPECT_EQ(ended.exit_code, exit_code) << ended;
    EXPECT_TRUE(ended.says("leaves: told to stop")) << ended;
  }
}

TEST_F(Stop, a_second_termination_signal_ends_them_at_once) {
  const auto process = start();
  process->kill(SIGTERM);
  ASSERT_TRUE(process->wait_for_output("told to leave: 1 job may go on for"));
  Timer later(std::chrono::milliseconds(250));  // an earlier one is taken for an echo of the first
  ASSERT_TRUE(wait_until({&later}, [&] { return later.passed(); }));
  process->kill(SIGTERM);
  EXPECT_EQ(process->wait().exit_code, 143);
  EXPECT_TRUE(process->out().find("stopping 1 running job") != std::string::npos);
  EXPECT_EQ(state_of("b"), "ready");
}

// One that may run for longer than there is time is told at once.
TEST_F(Stop, a_job_may_use_the_termination_signal_to_tidy_up) {
  const auto process = start(R"(name: wf
resource_requirements: [{name: long, runtime: P1D}]
jobs:
  - name: b
    command: "trap 'echo tidied > record; exit 5' TERM; sh -c 'echo b > record; exec sleep 1000'"
    resource_requirements: long
)");
  process->kill(SIGTERM);
  EXPECT_EQ(process->wait().exit_code, 143);
  EXPECT_TRUE(wait_until({&record_}, [&] { return record_.has("tidied"); }));
  EXPECT_EQ(state_of("b"), "ready");
}

// As `kill %1` in a shell does after Ctrl-Z.
TEST_F(Stop, a_stopped_run_can_be_told_to_leave) {
  const auto process = start(R"(name: wf
resource_requirements: [{name: long, runtime: P1D}]
jobs:
  - name: b
    command: "trap 'echo tidied > record; exit 5' TERM; sh -c 'echo b > record; exec sleep 1000'"
    resource_requirements: long
)");
  process->kill(SIGTSTP);
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(process->pid()), &info, WSTOPPED | WNOWAIT), 0);
  process->kill(SIGTERM);
  ::kill(process->pid(), SIGCONT);
  EXPECT_EQ(process->wait().exit_code, 143);
  EXPECT_TRUE(wait_until({&record_}, [&] { return record_.has("tidied"); }));
  EXPECT_EQ(state_of("b"), "ready");
  EXPECT_EQ(here_.json({"job", "b"})["cause"], "stopped");
}

// --- time ---

TEST_F(Stop, at_its_time_limit_a_worker_ends_its_jobs_and_leaves_the_rest) {
  here_.write("wf.yaml", R"(name: wf
execution_config: {sigterm_lead_seconds: 1}
resource_requirements: [{name: hour, runtime: PT1H}]
jobs:
  - {name: short, command: "true"}
  - {name: too_long, command: echo too_long > record, resource_requirements: hour}
  - {name: endless, command: echo b > record; read x < gate}
)");
  const Ended ended = here_.run({"run", "wf.yaml", "--num-cpus", "4", "--time-limit", "8s"});
  EXPECT_EQ(ended.exit_code, 3) << ended;
  EXPECT_EQ(state_of("short"), "completed");
  EXPECT_EQ(state_of("endless"), "ready");
  EXPECT_EQ(state_of("too_long"), "ready");
  EXPECT_EQ(here_.json({"job", "endless"})["attempt"], 1);
  EXPECT_EQ(here_.json({"job", "endless"})["cause"], "allocation_ended");
  EXPECT_TRUE(here_.run({"job", "endless"}).says("end of the allocation"));
  EXPECT_EQ(here_.json({"job", "too_long"})["attempt"], nullptr);
  record_.pump();
  EXPECT_FALSE(record_.has("too_long"));
  expect_that_a_later_run_completes();
}

TEST_F(Stop, a_worker_without_a_job_leaves_after_its_idle_timeout) {
  const auto busy = start();
  const Ended idle = here_.run({"worker", "wf.torc", "--idle-timeout", "1s"});
  EXPECT_EQ(idle.exit_code, 0) << idle;
  EXPECT_TRUE(idle.says("idle for too long")) << idle;
  gate_.open_gate(1);
  EXPECT_EQ(busy->wait().exit_code, 0);
}

// --- trees ---

// A job whose session leader starts a child and another process in a session of its own, both deaf
// to signals.
std::string tree(const std::string& leader) {
  return R"(name: wf
execution_config: {sigterm_lead_seconds: 1}
resource_requirements: [{name: short, runtime: PT3S}]
jobs:
  - name: b
    command: |
      sh -c 'trap "" TERM; echo pid $$ > record; echo b > record; while :; do read x < gate; done' &
      setsid sh -c 'trap "" TERM; echo pid $$ > record; echo b > record; while :; do read x < gate; done' &
      )" +
         leader + "\n";
}

class Tree : public Stop {
 protected:
  // Waits for the two processes, to be able to see them go.
  void see_both(Process& process) {
    const auto both = [&] {
      return std::count(record_.lines().begin(), record_.lines().end(), "b") == 2;
    };
    ASSERT_TRUE(wait_until({&process, &record_}, [&] { return both() || !process.running(); }));
    ASSERT_TRUE(both()) << process.out() << process.err();
    for (const std::string& line : record_.lines()) {
      if (line.starts_with("pid "))
        seen_.push_back(std::make_unique<Witness>(std::stoi(line.substr(4))));
    }
    ASSERT_EQ(seen_.size(), 2U);
  }
  void expect_both_gone() {
    for (const auto& one : seen_) EXPECT_TRUE(wait_until({one.get()}, [&] { return one->gone(); }));
  }
  std::vector<std::unique_ptr<Witness>> seen_;
};

TEST_F(Tree, what_a_job_leaves_behind_ends_with_it) {
  // The leader lives until the test has seen both children.
  Fifo leader(here_.path() / "leader");
  const auto process = start(tree("read x < leader"));
  see_both(*process);
  leader.open_gate(1);
  EXPECT_EQ(process->wait().exit_code, 0) << process->out() << process->err();
  for (const auto& one : seen_) {
    one->pump();
    EXPECT_TRUE(one->gone()) << "it outlived its job";
  }
}

TEST_F(Tree, at_its_time_limit_a_job_ends_with_all_its_processes) {
  const auto process = start(tree("wait; read x < gate") + "    resource_requirements: short\n");
  see_both(*process);
  EXPECT_EQ(process->wait().exit_code, 1);
  EXPECT_EQ(state_of("b"), "terminated");
  for (const auto& one : seen_) {
    one->pump();
    EXPECT_TRUE(one->gone()) << "it outlived its job";
  }
}

TEST_F(Tree, when_a_worker_is_told_to_stop_its_jobs_end_with_all_their_processes) {
  const auto process = start(tree("wait; read x < gate"), "2s");
  see_both(*process);
  process->kill(SIGTERM);
  EXPECT_EQ(process->wait().exit_code, 143);
  for (const auto& one : seen_) {
    one->pump();
    EXPECT_TRUE(one->gone()) << "it outlived its job";
  }
}

TEST_F(Stop, a_job_ends_with_its_killed_worker) {
  const auto process = start(R"(name: wf
jobs:
  - {name: b, command: echo $$ > record; echo b > record; read x < gate}
)");
  ASSERT_GE(record_.lines().size(), 2U);
  Witness job(std::stoi(record_.lines().front()));
  process->kill(SIGKILL);
  (void)process->wait();
  EXPECT_TRUE(wait_until({&job}, [&] { return job.gone(); }));
}

}  // namespace
}  // namespace torc::itest
