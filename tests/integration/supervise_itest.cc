// What stands above a worker in an allocation: who is killed is replaced, on its node by its keeper
// and as a whole by `torc supervise`; who leaves last ends the allocation. Slurm is a few scripts
// here; slurm_itest has the real one.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

namespace fs = std::filesystem;

// Below `above`, of the program that `of` is; 0: none.
pid_t torc_below(pid_t above, pid_t of) {
  const auto program_of = [](pid_t pid) {
    std::error_code error;
    return fs::read_symlink("/proc/" + std::to_string(pid) + "/exe", error);
  };
  const std::string name = std::to_string(above);
  std::istringstream children(read_text("/proc/" + name + "/task/" + name + "/children"));
  for (pid_t child = 0; children >> child;) {
    if (program_of(child) == program_of(of)) return child;
  }
  return 0;
}

class Supervised : public testing::Test {
 protected:
  // Its first three attempts never end, the later ones when the gate is open.
  void make_store() {
    here_.write("wf.yaml",
                "name: wf\njobs:\n  - name: b\n    command: |\n"
                "      echo start $TORC_ATTEMPT_ID > record; read x < gate\n");
    const Ended made = here_.run({"init", "wf.yaml"});
    ASSERT_EQ(made.exit_code, 0) << made;
  }
  std::unique_ptr<Process> supervise(const std::vector<std::string>& words) const {
    std::vector<std::string> all = {"supervise", "--"};
    all.insert(all.end(), words.begin(), words.end());
    return here_.start(all);
  }
  [[nodiscard]] std::vector<std::string> worker_words() const {
    return {TORC_PROGRAM, "worker", "wf.torc"};
  }
  struct Family {
    pid_t keeper = 0;
    pid_t watchdog = 0;
    pid_t worker = 0;
  };
  static Family family_of(const Process& supervisor) {
    Family f;
    f.keeper = torc_below(supervisor.pid(), supervisor.pid());
    f.watchdog = torc_below(f.keeper, supervisor.pid());
    f.worker = torc_below(f.watchdog, supervisor.pid());
    return f;
  }
  void expect_done(Process& supervisor, int attempt) {
    gate_.open_gate(1);
    const Ended ended = supervisor.wait();
    EXPECT_EQ(ended.exit_code, 0) << ended;
    const auto job = here_.json({"job", "wf.torc", "b"});
    EXPECT_EQ(job.at("state"), "completed");
    EXPECT_EQ(job.at("attempt"), attempt);
  }

  Workplace here_;
  Fifo record_{here_.path() / "record"};
  Fifo gate_{here_.path() / "gate"};
};

TEST_F(Supervised, a_worker_that_is_killed_gets_another_one_in_its_place) {
  make_store();
  auto process = supervise(worker_words());
  ASSERT_TRUE(wait_for_line(record_, "start 1", *process)) << process->err();
  const Family first = family_of(*process);
  ASSERT_GT(first.worker, 0);
  ::kill(first.worker, SIGKILL);
  ASSERT_TRUE(wait_for_line(record_, "start 2", *process)) << process->err();
  EXPECT_EQ(family_of(*process).keeper, first.keeper);
  EXPECT_NE(process->err().find("a new one takes its place (1 of at most 3"), std::string::npos)
      << process->err();
  expect_done(*process, 2);
}

TEST_F(Supervised, a_watchdog_that_is_killed_gets_another_one_with_its_worker) {
  make_store();
  auto process = supervise(worker_words());
  ASSERT_TRUE(wait_for_line(record_, "start 1", *process)) << process->err();
  const Family first = family_of(*process);
  ASSERT_GT(first.worker, 0);
  ::kill(first.watchdog, SIGKILL);
  ASSERT_TRUE(wait_for_line(record_, "start 2", *process)) << process->err();
  EXPECT_EQ(::kill(first.worker, 0), -1) << "the old worker is beside the new one";
  expect_done(*process, 2);
}

TEST_F(Supervised, both_are_replaced_when_both_are_killed) {
  make_store();
  auto process = supervise(worker_words());
  ASSERT_TRUE(wait_for_line(record_, "start 1", *process)) << process->err();
  const Family first = family_of(*process);
  ASSERT_GT(first.worker, 0);
  ::kill(first.watchdog, SIGSTOP);  // so that neither can do anything about the other
  ::kill(first.worker, SIGSTOP);
  ::kill(first.worker, SIGKILL);
  ::kill(first.watchdog, SIGKILL);
  ASSERT_TRUE(wait_for_line(record_, "start 2", *process)) << process->err();
  expect_done(*process, 2);
}

TEST_F(Supervised, a_node_on_which_workers_are_killed_again_and_again_is_left) {
  make_store();
  auto process = supervise(worker_words());
  for (const char* start : {"start 1", "start 2", "start 3", "start 4"}) {
    ASSERT_TRUE(wait_for_line(record_, start, *process)) << process->err();
    const pid_t worker = family_of(*process).worker;
    ASSERT_GT(worker, 0);
    ::kill(worker, SIGKILL);
  }
  const Ended ended = process->wait();
  EXPECT_EQ(ended.exit_code, 4) << ended;
  EXPECT_TRUE(ended.says("the node is left to others")) << ended;
}

TEST_F(Supervised, a_worker_that_was_told_to_stop_is_not_replaced) {
  make_store();
  auto process = supervise({TORC_PROGRAM, "worker", "wf.torc", "--grace", "1s"});
  ASSERT_TRUE(wait_for_line(record_, "start 1", *process)) << process->err();
  ::kill(family_of(*process).watchdog, SIGTERM);
  const Ended ended = process->wait();
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_FALSE(ended.says("takes its place")) << ended;
}

TEST_F(Supervised, a_worker_without_a_supervisor_is_not_replaced) {
  make_store();
  auto process = here_.start({"worker", "wf.torc"});
  ASSERT_TRUE(wait_for_line(record_, "start 1", *process)) << process->err();
  ::kill(process->worker(), SIGKILL);
  EXPECT_EQ(process->wait().signal, SIGKILL);
}

// --- torc supervise alone ---

TEST_F(Supervised, a_command_that_was_killed_is_started_again_at_most_three_times) {
  auto process = supervise({"sh", "-c", "echo pid $$ > record; read x < gate"});
  for (std::size_t n = 1; n <= 4; ++n) {
    ASSERT_TRUE(wait_until({&record_, process.get()}, [&] { return record_.lines().size() >= n; }))
        << process->err();
    ::kill(std::stoi(record_.lines().back().substr(4)), SIGKILL);
  }
  const Ended ended = process->wait();
  EXPECT_EQ(ended.exit_code, 128 + SIGKILL) << ended;
  EXPECT_TRUE(ended.says("this allocation is given up")) << ended;
}

TEST_F(Supervised, a_command_that_ends_by_itself_gives_its_exit_code) {
  for (const int code : {0, 1, 3}) {
    const Ended ended = supervise({"sh", "-c", "exit " + std::to_string(code)})->wait();
    EXPECT_EQ(ended.exit_code, code) << ended;
    EXPECT_FALSE(ended.says("again")) << ended;
  }
}

// Programs of Slurm that tell what they were called with. squeue answers with what files hold.
class FakeSlurm : public Supervised {
 protected:
  FakeSlurm() {
    program("squeue",
            "case \"$*\" in\n*' -s '*) cat steps;;\n*%D*) cat nodes;;\n*) exit 1;;\nesac\n");
    program("scancel", "echo scancel $* > record\n[ ! -e answer ] || sh answer \"$@\"\n");
    program("srun", "trap '' USR2\necho srun $1 $2 pid $$ > record; read x < gate\n");
    here_.write("steps", "");
    here_.write("nodes", "4\n");
  }
  void program(const std::string& name, const std::string& text) const {
    fs::create_directories(here_.path() / "bin");
    const Path file = here_.write("bin/" + name, "#!/bin/sh\n" + text);
    fs::permissions(file, fs::perms::owner_all);
  }
  [[nodiscard]] Launch in_allocation(const std::vector<std::string>& words) const {
    Launch launch = here_.torc(words);
    launch.env["PATH"] = (here_.path() / "bin").string() + ":/usr/bin:/bin";
    launch.env["SLURM_JOB_ID"] = "12";
    return launch;
  }
};

// With proctrack/cgroup slurmstepd signals its own children and nobody else. Here this test is the
// parent.
TEST_F(FakeSlurm, what_the_first_process_of_a_node_alone_is_told_by_its_parent_reaches_the_worker) {
  make_store();
  Launch launch = in_allocation({"worker", "wf.torc", "--grace", "1s"});
  launch.env["TORC_SUPERVISED"] = "1";
  Process process(launch);
  ASSERT_TRUE(wait_for_line(record_, "start 1", process)) << process.err();
  ::kill(process.pid(), SIGTERM);
  const Ended ended = process.wait();
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_FALSE(ended.says("takes its place")) << ended;
}

// Who takes the place of a killed one has the variables of before the allocation was made longer.
TEST_F(FakeSlurm, a_worker_that_comes_late_goes_by_the_end_that_slurm_tells_now) {
  here_.write("wf.yaml", "name: wf\njobs:\n  - {name: b, command: \"true\"}\n");
  ASSERT_EQ(here_.run({"init", "wf.yaml"}).exit_code, 0);
  program("squeue", "echo 12 alpha 1000 9000000000\n");
  Launch launch = in_allocation({"worker", "wf.torc"});
  launch.env["SLURM_CLUSTER_NAME"] = "alpha";
  launch.env["SLURM_NTASKS"] = "1000";
  launch.env["SLURM_JOB_START_TIME"] = "1000";
  launch.env["SLURM_JOB_END_TIME"] = "2000";
  const Ended ended = itest::run(launch);
  EXPECT_EQ(here_.json({"job", "wf.torc", "b"}).at("state"), "completed") << ended;
}

// The variables tell of the first part.
TEST_F(FakeSlurm, a_worker_of_a_later_part_goes_by_the_end_that_slurm_tells_of_that) {
  here_.write("wf.yaml", "name: wf\njobs:\n  - {name: b, command: \"true\"}\n");
  ASSERT_EQ(here_.run({"init", "wf.yaml"}).exit_code, 0);
  Launch launch = in_allocation({"worker", "wf.torc"});
  launch.env["SLURM_CLUSTER_NAME"] = "alpha";
  launch.env["SLURM_HET_SIZE"] = "2";
  launch.env["SLURM_JOB_ID_HET_GROUP_0"] = "12";
  launch.env["SLURM_JOB_ID_HET_GROUP_1"] = "13";
  launch.env["SLURM_JOB_NODELIST_HET_GROUP_0"] = "n1";
  launch.env["SLURM_JOB_NODELIST_HET_GROUP_1"] = "n2";
  launch.env["SLURM_JOB_START_TIME"] = "1000";
  launch.env["SLURM_JOB_END_TIME"] = "9000000000";  // in the year 2255
  program("squeue", "case \"$*\" in *' 13 '*) echo 13 alpha 1001 8000000000;; *) exit 1;; esac\n");
  const auto until = [&](const std::string& node) {
    launch.env["SLURMD_NODENAME"] = node;
    const Ended ended = itest::run(launch);
    EXPECT_EQ(ended.exit_code, 0) << ended;
    const auto at = ended.out.find(", until ");
    return at == std::string::npos ? ended.out : ended.out.substr(at + 8, 4);
  };
  EXPECT_EQ(until("n1"), "2255");
  EXPECT_EQ(until("n2"), "2223");
  program("squeue", "exit 1\n");
  EXPECT_EQ(until("n2"), "2255") << "better than no end";
}

TEST_F(FakeSlurm, a_killed_srun_is_started_again_on_the_nodes_that_are_left) {
  here_.write("steps", "12.0 torc-workers\n12.1 bash\n12.batch batch\n");
  here_.write("nodes", "3\n");
  here_.write("answer", "printf '12.1 bash\\n12.batch batch\\n' > steps\n");
  Process process(in_allocation({"supervise", "--", "srun", "--nodes=4", "--ntasks=4", "x"}));
  ASSERT_TRUE(wait_until({&record_, &process}, [&] { return !record_.lines().empty(); }));
  const std::string first = record_.lines().front();
  ASSERT_TRUE(first.starts_with("srun --nodes=4 --ntasks=4 pid ")) << first;
  ::kill(std::stoi(first.substr(first.rfind(' ') + 1)), SIGKILL);
  ASSERT_TRUE(wait_until({&record_, &process}, [&] { return record_.lines().size() >= 3; }))
      << process.err();
  EXPECT_EQ(record_.lines()[1], "scancel --signal=TERM 12.0");
  EXPECT_TRUE(record_.lines()[2].starts_with("srun --nodes=3 --ntasks=3 pid "))
      << record_.lines()[2];
  gate_.open_gate(1);
  EXPECT_EQ(process.wait().exit_code, 0);
}

// By its second process; here the fake one that is left tells.
TEST_F(FakeSlurm, who_waits_for_the_step_of_a_killed_srun_hears_that_all_have_left) {
  here_.write("steps", "12.0 torc-workers\n");
  here_.write("answer",
              "case \"$*\" in *TERM*) kill -URG $(cat torc);; *USR2*) : > steps;; esac\n");
  Process process(in_allocation({"supervise", "--", "srun", "--nodes=4", "--ntasks=4", "x"}));
  here_.write("torc", std::to_string(process.pid()));
  ASSERT_TRUE(wait_until({&record_, &process}, [&] { return !record_.lines().empty(); }));
  const std::string first = record_.lines().front();
  ::kill(std::stoi(first.substr(first.rfind(' ') + 1)), SIGKILL);
  EXPECT_EQ(process.wait().exit_code, 0) << process.err();
  record_.pump();
  EXPECT_EQ(record_.lines(), (std::vector<std::string>{first, "scancel --signal=TERM 12.0",
                                                       "scancel --signal=USR2 12.0"}));
}

// Here this test is the parent. A lower signal is heard first, so the first line tells.
// The shell waits by `wait`: a signal just before it opens a fifo would be heard after that.
TEST_F(FakeSlurm, srun_is_told_what_a_person_sends_and_not_what_Slurm_tells_everybody) {
  program("srun",
          "trap 'echo INT > record' INT; trap 'echo USR1 > record' USR1\n"
          "trap 'kill $!; echo HUP > record; exit 0' HUP\n"
          "sleep 1000 & echo start > record; while :; do wait; done\n");
  Process process(in_allocation({"supervise", "--", "srun"}));
  ASSERT_TRUE(wait_for_line(record_, "start", process));
  ::kill(process.pid(), SIGINT);
  ::kill(process.pid(), SIGUSR1);
  ASSERT_TRUE(wait_for_line(record_, "USR1", process)) << process.err();
  const std::string kill = "kill -HUP " + std::to_string(process.pid());
  ASSERT_EQ(std::system(kill.c_str()), 0);
  ASSERT_TRUE(wait_for_line(record_, "HUP", process)) << process.err();
  EXPECT_EQ(record_.lines(), (std::vector<std::string>{"start", "USR1", "HUP"}));
}

TEST_F(FakeSlurm, an_srun_that_does_not_return_is_ended_once_all_workers_have_left) {
  Process process(in_allocation({"supervise", "--", "srun", "--nodes=4", "--ntasks=4", "x"}));
  ASSERT_TRUE(wait_until({&record_, &process}, [&] { return !record_.lines().empty(); }));
  ::kill(process.pid(), SIGURG);
  const Ended ended = process.wait();
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_EQ(record_.lines().size(), 1U) << "it was started again";
}

TEST_F(FakeSlurm, a_worker_does_not_wait_long_for_a_squeue_that_hangs_before_its_first_job) {
  make_store();
  program("squeue", "exec sleep 1000\n");
  Launch launch = in_allocation({"worker", "wf.torc", "--grace", "1s"});
  launch.env["SLURM_MEM_PER_NODE"] = "1000";
  const auto begin = std::chrono::steady_clock::now();
  Process process(launch);
  ASSERT_TRUE(wait_for_line(record_, "start 1", process)) << process.err();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15));
  gate_.open_gate(1);
  EXPECT_EQ(process.wait().exit_code, 0) << process.err();
}

// A worker that finds its workflow finished.
class Last : public FakeSlurm {
 protected:
  void SetUp() override {
    here_.write("wf.yaml", "name: wf\njobs:\n  - {name: b, command: \"true\"}\n");
    const Ended made = here_.run({"init", "wf.yaml"});
    ASSERT_EQ(made.exit_code, 0) << made;
  }
  [[nodiscard]] Launch worker() const {
    Launch launch = in_allocation({"worker", "wf.torc"});
    launch.env["TORC_SUPERVISED"] = "1";
    return launch;
  }
  [[nodiscard]] Ended work() const { return itest::run(worker()); }
};

// That one was started while Slurm answered.
TEST_F(Last, has_the_memory_that_the_batch_script_was_told_of_also_while_Slurm_does_not_answer) {
  program("scontrol", "exit 1\n");
  Launch launch = in_allocation({"worker", "wf.torc"});
  launch.env["SLURMD_NODENAME"] = "n1";
  launch.env["TORC_JOB_DETAILS"] = "JobId=12 Nodes=n1 CPU_IDs=0 Mem=70 GRES=";
  const Ended ended = itest::run(launch);
  EXPECT_TRUE(ended.says("70 MiB (what Slurm granted)")) << ended;
}

TEST_F(Last, tells_the_batch_script_and_leaves_when_that_answers) {
  here_.write("steps", "12.0 torc-workers\n12.batch batch\n12.extern extern\n");
  // Above scancel: env, the worker.
  here_.write("answer", "kill -USR2 $(cut -d' ' -f4 /proc/$PPID/stat)\n");
  const Ended ended = work();
  EXPECT_EQ(ended.exit_code, 0) << ended;
  record_.pump();
  EXPECT_EQ(record_.lines(), (std::vector<std::string>{"scancel --batch --signal=URG 12"}));
}

// sbatch passes on to a job that is of no array what an element was told that has submitted it.
TEST_F(Last, ends_its_own_allocation_and_not_the_one_in_which_that_was_submitted) {
  here_.write("steps", "12.0 torc-workers\n12.batch batch\n");
  here_.write("answer", "kill -USR2 $(cut -d' ' -f4 /proc/$PPID/stat)\n");
  Launch launch = worker();
  launch.env["SLURM_ARRAY_JOB_ID"] = "7";
  launch.env["SLURM_ARRAY_TASK_ID"] = "3";
  const Ended ended = itest::run(launch);
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_TRUE(ended.says("allocation 12")) << ended;
  record_.pump();
  EXPECT_EQ(record_.lines(), (std::vector<std::string>{"scancel --batch --signal=URG 12"}));
}

// What would be ended with it is not torc's.
TEST_F(Last, tells_nothing_to_a_batch_script_that_is_not_torc_supervise) {
  here_.write("steps", "12.0 torc-workers\n12.batch batch\n");
  here_.write("answer", "kill -USR2 $(cut -d' ' -f4 /proc/$PPID/stat)\n");
  const std::string torc = TORC_PROGRAM;
  const std::string line = torc + " supervise -- " + torc + " worker wf.torc";
  Launch launch = in_allocation({});
  launch.argv = {"/bin/sh", "-c", "export SLURM_TASK_PID=$$; " + line + "; exit $?"};
  EXPECT_EQ(itest::run(launch).exit_code, 0);
  record_.pump();
  EXPECT_TRUE(record_.lines().empty()) << record_.lines().front();
  launch.argv.back() = "export SLURM_TASK_PID=$$; exec " + line;
  EXPECT_EQ(itest::run(launch).exit_code, 0);
  record_.pump();
  EXPECT_EQ(record_.lines(), (std::vector<std::string>{"scancel --batch --signal=URG 12"}));
}

TEST_F(Last, ends_the_allocation_when_the_batch_script_does_not_answer) {
  here_.write("steps", "12.0 torc-workers\n");
  const Ended ended = work();
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_TRUE(ended.says("whose batch script does not answer: ending it")) << ended;
  record_.pump();
  EXPECT_EQ(record_.lines(),
            (std::vector<std::string>{"scancel --batch --signal=URG 12", "scancel 12"}));
}

// On the nodes of the allocation scancel belongs to what it ends.
TEST_F(Last, does_not_call_an_scancel_failed_that_ended_with_the_allocation) {
  here_.write("steps", "12.0 torc-workers\n");
  const std::string answers = read_text(here_.path() / "bin/scancel");
  program("scancel", answers + "case \"$*\" in 12) kill -TERM $PPID; exit 1;; esac\n");
  const Ended ended = work();
  EXPECT_TRUE(ended.says("whose batch script does not answer: ending it")) << ended;
  EXPECT_FALSE(ended.says("scancel has failed")) << ended;
}

TEST_F(Last, ends_nothing_where_something_else_runs_or_no_step_is_seen) {
  for (const char* steps : {"12.0 torc-workers\n12.3 bash\n", ""}) {
    here_.write("steps", steps);
    EXPECT_EQ(work().exit_code, 0);
  }
  record_.pump();
  EXPECT_TRUE(record_.lines().empty()) << record_.lines().front();
}

TEST_F(Last, ends_nothing_where_Slurm_does_not_say_what_runs) {
  fs::remove(here_.path() / "steps");
  Process process(worker());
  ASSERT_TRUE(process.wait_for_output("Slurm does not say what runs in it: asking again"))
      << process.out();
  process.kill(SIGTERM);
  EXPECT_EQ(process.wait().exit_code, 0);
  record_.pump();
  EXPECT_TRUE(record_.lines().empty()) << record_.lines().front();
}

TEST_F(Last, looks_again_at_what_runs_when_Slurm_did_not_answer) {
  here_.write("steps", "12.0 torc-workers\n");
  const std::string answers = read_text(here_.path() / "bin/scancel");
  program("scancel",
          "[ -e failed ] || { : > failed; echo '12.3 bash' >> steps; exit 1; }\n" + answers);
  const Ended ended = work();
  EXPECT_TRUE(ended.says("scancel has failed: asking again")) << ended;
  record_.pump();
  EXPECT_TRUE(record_.lines().empty()) << record_.lines().front();
}

TEST_F(Last, looks_again_at_what_runs_when_the_batch_script_did_not_answer) {
  here_.write("steps", "12.0 torc-workers\n");
  here_.write("answer", "echo '12.3 bash' >> steps\n");
  EXPECT_EQ(work().exit_code, 0);
  record_.pump();
  EXPECT_EQ(record_.lines(), (std::vector<std::string>{"scancel --batch --signal=URG 12"}));
}

TEST_F(Last, asks_again_what_Slurm_did_not_answer) {
  here_.write("steps", "12.0 torc-workers\n");
  for (const char* name : {"squeue", "scancel"}) {
    const Path file = here_.path() / "bin" / name;
    const std::string answers = read_text(file);
    program(name, "[ -e " + std::string(name) + ".failed ] || { : > " + name +
                      ".failed; exit 1; }\n" + answers);
  }
  const Ended ended = work();
  EXPECT_TRUE(ended.says("scancel has failed: asking again")) << ended;
  EXPECT_TRUE(ended.says("whose batch script does not answer: ending it")) << ended;
  record_.pump();
  EXPECT_EQ(record_.lines(),
            (std::vector<std::string>{"scancel --batch --signal=URG 12", "scancel 12"}));
}

}  // namespace
}  // namespace torc::itest
