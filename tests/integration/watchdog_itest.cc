// The process above a worker: that nothing of a worker outlives it, that jobs of a worker which
// cannot renew its lease end before others take them over, and that signals do what they did to one
// process.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "lib/base/sanitizer.h"
#include "tests/integration/fuse.h"
#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

using nlohmann::json;

// Starts a process that has left the session, cleared its environment and is deaf to signals.
constexpr const char* kDaemon =
    R"(setsid env -i PATH="$PATH" sh -c 'trap "" TERM HUP INT; echo pid $$ > record; read x < never' &)";

class Watchdog : public testing::Test {
 protected:
  [[nodiscard]] json job(const std::string& name) const {
    return here_.json({"job", store_, name});
  }

  // Waits for `count` lines "pid N" and takes hold of those processes.
  void see(Process& process, std::size_t count) {
    const auto pids = [&] {
      std::vector<pid_t> found;
      for (const std::string& line : record_.lines()) {
        if (line.starts_with("pid ")) found.push_back(std::stoi(line.substr(4)));
      }
      return found;
    };
    ASSERT_TRUE(wait_until({&process, &record_},
                           [&] { return pids().size() >= count || !process.running(); }));
    ASSERT_EQ(pids().size(), count) << process.out() << process.err();
    pids_ = pids();
    for (const pid_t pid : pids_) seen_.push_back(std::make_unique<Witness>(pid));
  }
  [[nodiscard]] bool wait_until_gone() {
    std::vector<Source*> sources;
    for (const auto& one : seen_) sources.push_back(one.get());
    return wait_until(sources, [&] { return all_gone(); });
  }
  // The letter of each process's state in /proc; '-': it has gone.
  [[nodiscard]] std::string states() const {
    std::string found;
    for (const pid_t pid : pids_) {
      const std::string stat = read_text("/proc/" + std::to_string(pid) + "/stat");
      const auto at = stat.rfind(')');
      found += at == std::string::npos ? '-' : stat[at + 2];
    }
    return found;
  }
  // A signal to stop is sent at once and obeyed at each process's next turn.
  [[nodiscard]] bool all_stop() const { return settled_states().find_first_not_of('T') == kNone; }
  [[nodiscard]] bool all_rest() const { return settled_states().find_first_not_of("TZ-") == kNone; }

  // Once none of them runs any more, or after a while.
  [[nodiscard]] std::string settled_states() const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    std::string now = states();
    while (now.find_first_of("RD") != kNone && std::chrono::steady_clock::now() < end) {
      sched_yield();
      now = states();
    }
    return now;
  }
  static constexpr auto kNone = std::string::npos;
  [[nodiscard]] bool all_gone() const {
    for (const auto& one : seen_) {
      one->pump();
      if (!one->gone()) return false;
    }
    return true;
  }

  Workplace here_;
  std::string store_ = "wf.torc";
  Fifo record_{here_.path() / "record"};
  Fifo gate_{here_.path() / "gate"};
  Fifo never_{here_.path() / "never"};
  std::vector<std::unique_ptr<Witness>> seen_;
  std::vector<pid_t> pids_;
};

// --- nothing survives ---

class Survivors : public Watchdog {
 protected:
  std::unique_ptr<Process> start() {
    here_.write("wf.yaml", std::string("name: wf\njobs:\n  - name: b\n    command: |\n      ") +
                               kDaemon + "\n      echo pid $$ > record; read x < never\n");
    auto process = here_.start({"run", "wf.yaml"});
    see(*process, 2);
    return process;
  }
};

TEST_F(Survivors, nothing_is_left_of_a_killed_worker_when_its_watchdog_ends_of_the_same_signal) {
  const auto process = start();
  const pid_t worker = process->worker();
  ASSERT_GT(worker, 0);
  ::kill(worker, SIGKILL);
  const Ended ended = process->wait();
  EXPECT_EQ(ended.signal, SIGKILL) << ended;
  EXPECT_TRUE(ended.says("the worker was killed by signal 9")) << ended;
  EXPECT_TRUE(ended.says("go on with: torc run wf.yaml")) << ended;
  EXPECT_TRUE(all_gone()) << "it outlived its worker";
}

TEST_F(Survivors, a_worker_ends_its_jobs_and_itself_when_its_watchdog_is_killed) {
  const auto process = start();
  const pid_t worker = process->worker();
  ASSERT_GT(worker, 0);
  seen_.push_back(std::make_unique<Witness>(worker));
  ::kill(process->pid(), SIGKILL);
  EXPECT_EQ(process->wait().signal, SIGKILL);
  EXPECT_TRUE(wait_until_gone()) << "it outlived its worker";
}

TEST_F(Survivors, a_stopped_worker_ends_with_its_watchdog_too) {
  const auto process = start();
  const pid_t worker = process->worker();
  ASSERT_GT(worker, 0);
  seen_.push_back(std::make_unique<Witness>(worker));
  ::kill(worker, SIGSTOP);
  ::kill(process->pid(), SIGKILL);
  EXPECT_EQ(process->wait().signal, SIGKILL);
  EXPECT_TRUE(wait_until_gone()) << "it outlived its worker";
}

TEST_F(Survivors, a_worker_ends_its_jobs_when_the_whole_group_of_its_watchdog_is_killed) {
  const auto process = start();
  const pid_t worker = process->worker();
  ASSERT_GT(worker, 0);
  seen_.push_back(std::make_unique<Witness>(worker));
  ::kill(-process->pid(), SIGKILL);
  EXPECT_EQ(process->wait().signal, SIGKILL);
  EXPECT_TRUE(wait_until_gone()) << "it outlived its worker";
}

// As `pkill -9 torc` does. The shell ends with its worker, what it started does not.
TEST_F(Survivors, before_a_job_is_taken_over_on_the_same_node_what_is_left_of_it_is_ended) {
  here_.write("wf.yaml",
              "name: wf\njobs:\n  - name: b\n    command: |\n"
              "      sh -c 'echo pid $$ > record; read x < never' &\n"
              "      test $TORC_ATTEMPT_ID = 1 || exec echo second > record\n"
              "      echo pid $$ > record; read x < never\n");
  auto first = here_.start({"run", "wf.yaml"});
  see(*first, 2);
  const pid_t worker = first->worker();
  ASSERT_GT(worker, 0);
  ::kill(worker, SIGSTOP);  // so that neither can do anything about the other
  ::kill(first->pid(), SIGSTOP);
  ::kill(worker, SIGKILL);
  ::kill(first->pid(), SIGKILL);
  EXPECT_EQ(first->wait().signal, SIGKILL);
  auto second = here_.start({"run", store_});
  ASSERT_TRUE(wait_for_line(record_, "second", *second)) << second->err();
  EXPECT_TRUE(all_gone()) << "it ran beside the second attempt";
  EXPECT_EQ(second->wait().exit_code, 0);
}

TEST_F(Survivors, the_watchdog_is_small) {
  if (kSanitized) GTEST_SKIP() << "sanitizers need memory of their own";
  const auto process = start();
  std::istringstream lines(read_text("/proc/" + std::to_string(process->pid()) + "/smaps_rollup"));
  long private_kib = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("Private_")) private_kib += std::stol(line.substr(line.find(':') + 1));
  }
  EXPECT_GT(private_kib, 0);
  EXPECT_LT(private_kib, 1024);
}

// --- fencing ---

class Fencing : public Watchdog {
 protected:
  // Job `b`: its first attempt never ends by itself, its second does when the gate is open.
  void make_store(const std::string& store, const std::string& more_jobs = "") {
    here_.write("wf.yaml",
                std::string("name: wf\njobs:\n  - name: b\n    stdio: {mode: none}\n") +
                    "    command: |\n      echo start $TORC_ATTEMPT_ID > record\n" +
                    "      [ $TORC_ATTEMPT_ID = 2 ] && { read x < gate; exit 0; }\n      " +
                    kDaemon + "\n      echo pid $$ > record; read x < never\n" + more_jobs);
    const Ended made = here_.run({"init", "wf.yaml", "--engine", "journal", "--store", store});
    ASSERT_EQ(made.exit_code, 0) << made;
  }
  // On a node of its own, as far as copies of the store go.
  std::unique_ptr<Process> start(const std::string& store, const std::string& node) {
    Launch launch = here_.torc({"worker", store, "--lease-ttl", "10s", "--num-cpus", "2"});
    launch.env["TMPDIR"] = here_.new_tmpdir(node);
    return std::make_unique<Process>(launch);
  }
  // They have ended, or are stopped, where the machine stood still for so long that it may have
  // been suspended, when `other` starts the next attempt.
  void expect_that_none_runs_beside(Process& other) {
    std::vector<Source*> sources{&record_, &other};
    for (const auto& one : seen_) sources.push_back(one.get());
    (void)wait_until(sources, [&] { return all_gone() || record_.has("start 2"); });
    EXPECT_TRUE(all_rest()) << "the lease ended before the jobs did: " << states();
    EXPECT_TRUE(wait_for_line(record_, "start 2", other)) << other.out() << other.err();
  }
  // With `frozen` able to go on again: another worker has the job, and both end well.
  void expect_that_both_finish(Process& frozen, Process& other) {
    EXPECT_TRUE(frozen.wait_for_output("its lease was lost")) << frozen.out() << frozen.err();
    gate_.open_gate(1);
    for (Process* process : {&other, &frozen}) {
      const Ended ended = process->wait();
      EXPECT_EQ(ended.exit_code, 0) << ended;
    }
    EXPECT_EQ(job("b")["state"], "completed");
    EXPECT_EQ(job("b")["attempt"], 2);
    EXPECT_EQ(here_.run({"verify", store_}).exit_code, 0);
  }
};

TEST_F(Fencing, the_jobs_of_a_frozen_worker_end_before_others_may_have_them) {
  make_store("wf.torc");
  const auto frozen = start("wf.torc", "node1");
  see(*frozen, 2);
  ::kill(frozen->worker(), SIGSTOP);
  const auto other = start("wf.torc", "node2");
  expect_that_none_runs_beside(*other);
  ::kill(frozen->worker(), SIGCONT);
  expect_that_both_finish(*frozen, *other);
}

TEST_F(Fencing, a_frozen_worker_that_is_told_to_stop_is_given_up) {
  make_store("wf.torc");
  const auto frozen = start("wf.torc", "node1");
  see(*frozen, 2);
  ::kill(frozen->worker(), SIGSTOP);
  frozen->kill(SIGTERM);
  const Ended ended = frozen->wait();
  EXPECT_EQ(ended.exit_code, 4) << ended;
  EXPECT_TRUE(all_gone());
}

// The worker hangs with both its threads: the one in its commit, the other as it removes the output
// of job `q`. Without FUSE it is frozen instead.
TEST_F(Fencing, the_jobs_of_a_worker_whose_filesystem_hangs_end_before_others_may_have_them) {
  if (!own_mounts()) GTEST_SKIP() << "needs a mount namespace";
  const Fuse fuse(here_.path() / "disk", here_.path() / "mount");
  const bool mounted = fuse.is_mounted();
  if (!mounted) {
    std::printf("no FUSE here (%s), so the worker is stopped instead\n", fuse.complaint().c_str());
  }
  Fifo quick(here_.path() / "quick");
  store_ = "disk/wf.torc";
  make_store(store_,
             "  - name: q\n    command: echo q > record; read x < quick\n"
             "    stdio: {delete_on_success: true}\n");
  const auto hung = start(mounted ? "mount/wf.torc" : "disk/wf.torc", "node1");
  see(*hung, 2);
  ASSERT_TRUE(wait_for_line(record_, "q", *hung));
  mounted ? fuse.freeze() : (void)::kill(hung->worker(), SIGSTOP);
  quick.open_gate(2);
  const auto other = start("disk/wf.torc", "node2");
  expect_that_none_runs_beside(*other);
  mounted ? fuse.thaw() : (void)::kill(hung->worker(), SIGCONT);
  expect_that_both_finish(*hung, *other);
}

// As a job that executes a program and has a file open on a filesystem that does not answer: the
// kernel closes it in the middle, and what asks for its state waits for that.
TEST_F(Fencing, a_process_that_hangs_in_its_execution_keeps_nobody_from_ending_it) {
  if (!own_mounts()) GTEST_SKIP() << "needs a mount namespace";
  const Fuse fuse(here_.path() / "disk", here_.path() / "mount");
  if (!fuse.is_mounted()) GTEST_SKIP() << "no FUSE here: " << fuse.complaint();
  here_.write("job.py",
              "import os\n"
              "if os.environ['TORC_ATTEMPT_ID'] != '1':\n"
              "    open('record', 'w').write('second\\n')\n"
              "    raise SystemExit\n"
              "kept = open('mount/file', 'w')  # closed by the execution\n"
              "open('record', 'w').write('pid %d\\n' % os.getpid())\n"
              "open('never').readline()\n"
              "os.execv('/usr/bin/touch', ['touch', 'ran'])\n");
  here_.write("wf.yaml",
              "name: wf\njobs: [{name: b, command: python3 job.py, stdio: {mode: none}}]\n");
  const Ended made = here_.run({"init", "wf.yaml", "--engine", "journal", "--store", "wf.torc"});
  ASSERT_EQ(made.exit_code, 0) << made;
  const auto worker = start("wf.torc", "node1");
  see(*worker, 1);
  fuse.freeze();
  never_.open_gate(1);  // it executes, and hangs
  // It shows its old words until it has other memory, and hangs before it shows new ones.
  const Path words = "/proc/" + std::to_string(pids_[0]) + "/cmdline";
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (read_text(words).find("job.py") != kNone && std::chrono::steady_clock::now() < end)
    sched_yield();
  ::kill(worker->worker(), SIGSTOP);  // its lease runs out
  const auto other = start("wf.torc", "node2");
  ASSERT_TRUE(wait_for_line(record_, "second", *other)) << other->out() << other->err();
  fuse.thaw();
  EXPECT_TRUE(wait_until_gone());
  EXPECT_FALSE(std::filesystem::exists(here_.path() / "ran")) << "it went on when it could";
}

// --- signals ---

class Signals : public Watchdog {
 protected:
  // Its runtime is longer than the time that a worker has which is told to leave.
  std::unique_ptr<Process> start(const std::string& command) {
    here_.write("wf.yaml",
                "name: wf\nresource_requirements: [{name: long, runtime: P1D}]\njobs:\n"
                "  - name: b\n    resource_requirements: long\n    command: |\n      " +
                    command + "\n");
    auto process = here_.start({"run", "wf.yaml"});
    EXPECT_TRUE(wait_for_line(record_, "b", *process)) << process->out() << process->err();
    return process;
  }
};

// A second signal would stop the job with another lead, and say so.
TEST_F(Signals, a_signal_to_the_whole_group_counts_as_one) {
  const auto process = start(
      "trap 'echo told > record; read y < gate; echo tidied > record; exit 5' TERM\n"
      "      sh -c 'echo b > record; exec sleep 1000'");
  ::kill(-process->pid(), SIGTERM);
  ASSERT_TRUE(wait_for_line(record_, "told", *process));
  gate_.open_gate(1);
  EXPECT_EQ(process->wait().exit_code, 143);
  EXPECT_EQ(process->out().find("stopping"), std::string::npos) << process->out();
  record_.pump();
  EXPECT_TRUE(record_.has("tidied"));
}

TEST_F(Signals, the_watchdog_passes_on_what_is_sent_to_it) {
  const auto process = start("echo b > record; read x < gate");
  process->kill(SIGUSR2);  // ignored
  process->kill(SIGUSR1);
  EXPECT_TRUE(process->wait_for_output("'b', attempt 1, for")) << process->out();
  EXPECT_NE(process->out().find("running 1, waiting here 0"), std::string::npos) << process->out();
  EXPECT_NE(process->out().find("its lease, not renewed"), std::string::npos) << process->out();
  process->kill(SIGINT);
  EXPECT_TRUE(process->wait_for_output("finishing 1 running job")) << process->out();
  gate_.open_gate(1);
  EXPECT_EQ(process->wait().exit_code, 0);
}

TEST_F(Signals, a_torc_that_was_started_with_nohup_does_not_stop_when_the_terminal_goes) {
  here_.write("wf.yaml", "name: wf\njobs: [{name: b, command: echo b > record; read x < gate}]\n");
  Launch launch = here_.torc({"run", "wf.yaml"});
  launch.argv.insert(launch.argv.begin(), "/usr/bin/nohup");
  Process process(launch);
  ASSERT_TRUE(wait_for_line(record_, "b", process)) << process.err();
  ::kill(-process.pid(), SIGHUP);
  process.kill(SIGUSR1);  // it is handled after the other
  EXPECT_TRUE(process.wait_for_output("running 1")) << process.out();
  gate_.open_gate(1);
  EXPECT_EQ(process.wait().exit_code, 0);
}

class Suspended : public Signals, public testing::WithParamInterface<bool> {};

INSTANTIATE_TEST_SUITE_P(Group, Suspended, testing::Bool(), [](const auto& p) {
  return p.param ? "by_the_keyboard" : "by_its_number";
});

// The shell sees its child stop, and goes on with it by SIGCONT.
TEST_P(Suspended, a_run_stops_and_goes_on) {
  const auto process = start("echo b > record; read x < gate");
  const pid_t target = GetParam() ? -process->pid() : process->pid();
  ::kill(target, SIGTSTP);
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(process->pid()), &info, WSTOPPED | WNOWAIT), 0);
  EXPECT_EQ(info.si_status, SIGTSTP);
  ::kill(target, SIGCONT);
  gate_.open_gate(1);
  EXPECT_EQ(process->wait().exit_code, 0);
}

// Its jobs are in sessions of their own, where the keyboard's signal does not come.
TEST_F(Survivors, what_a_stopped_run_had_started_is_stopped_with_it_and_goes_on_with_it) {
  const auto process = start();
  process->kill(SIGTSTP);
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(process->pid()), &info, WSTOPPED | WNOWAIT), 0);
  EXPECT_TRUE(all_stop()) << states();
  ::kill(process->pid(), SIGCONT);
  never_.open_gate(2);  // they have gone on when they end
  EXPECT_EQ(process->wait().exit_code, 0);
}

// Stopped for longer than a whole lease: by the keyboard, with its jobs; or only torc itself, as a
// machine that was suspended looks to it when it wakes.
class Away : public Fencing, public testing::WithParamInterface<bool> {
 protected:
  void stop(Process& process) {
    process.kill(GetParam() ? SIGTSTP : SIGSTOP);
    siginfo_t info{};
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(process.pid()), &info, WSTOPPED | WNOWAIT), 0);
  }
  static void go_on(Process& process) {
    GetParam() ? (void)::kill(process.pid(), SIGCONT) : process.kill(SIGCONT);
  }
};

INSTANTIATE_TEST_SUITE_P(How, Away, testing::Bool(), [](const auto& p) {
  return p.param ? "by_the_keyboard" : "with_its_machine";
});

TEST_P(Away, its_jobs_go_on_when_nobody_has_taken_them_over) {
  make_store("wf.torc");
  const auto process = start("wf.torc", "node1");
  see(*process, 2);
  stop(*process);
  Timer lease(std::chrono::seconds(11));
  ASSERT_TRUE(wait_until({&lease}, [&] { return lease.passed(); }));
  go_on(*process);
  ASSERT_TRUE(process->wait_for_output("its lease is still good: 1 running job goes on"))
      << process->out() << process->err();
  never_.open_gate(2);
  const Ended ended = process->wait();
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_EQ(job("b")["state"], "completed");
  EXPECT_EQ(job("b")["attempt"], 1);
}

TEST_P(Away, its_jobs_end_before_they_go_on_when_another_one_has_them) {
  make_store("wf.torc");
  const auto away = start("wf.torc", "node1");
  see(*away, 2);
  stop(*away);
  const auto other = start("wf.torc", "node2");
  ASSERT_TRUE(wait_for_line(record_, "start 2", *other)) << other->out() << other->err();
  if (GetParam()) {
    EXPECT_TRUE(all_stop()) << "it runs beside the second attempt: " << states();
  }
  go_on(*away);
  ASSERT_TRUE(wait_until_gone());
  expect_that_both_finish(*away, *other);
}

// A shell without job control starts so what it starts in the background.
TEST_F(Signals, what_was_to_be_ignored_is_ignored) {
  here_.write("wf.yaml", "name: wf\njobs: [{name: b, command: echo b > record; read x < gate}]\n");
  Launch launch = here_.torc({"run", "wf.yaml"});
  std::string line = "trap '' INT CHLD; exec";
  for (const std::string& word : launch.argv) line += " '" + word + "'";
  launch.argv = {"/bin/sh", "-c", line};
  Process process(launch);
  ASSERT_TRUE(wait_for_line(record_, "b", process)) << process.err();
  ::kill(-process.pid(), SIGINT);
  process.kill(SIGUSR1);  // it is handled after the other
  EXPECT_TRUE(process.wait_for_output("running 1")) << process.out();
  gate_.open_gate(1);
  const Ended ended = process.wait();
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_FALSE(ended.says("nterrupt")) << ended;
}

}  // namespace
}  // namespace torc::itest
