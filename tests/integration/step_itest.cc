// Commands in steps, with a program in place of srun that starts what it is told to start, as
// slurmstepd does: in a session of its own, with variables of the step. What real Slurm does is in
// acceptance_itest.cc and slurm_step_itest.cc.
#include "lib/exec/step/step_host.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <string>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

using namespace std::chrono_literals;
using exec::Ended;
using exec::Ending;
using exec::ProcessHost;
using exec::RunId;

constexpr const char* kSrun = R"sh(#!/bin/bash
while [[ $1 == -* ]]; do echo "$1" >>srun.options; shift; done
if [ -e srun.fails ]; then rm srun.fails; echo "srun: error: Unable to create step" >&2; exit 1; fi
if [ -e srun.words ]; then cat srun.words >&2; fi
if [ -e keeper.descriptors ]; then ulimit -n "$(cat keeper.descriptors)"; rm keeper.descriptors; fi
export SLURM_STEP_ID=7
own=; if [ -e keeper.has_mounts ]; then own="unshare --mount --propagation private"; fi
setsid $own "$@" </dev/null &
echo $! >keeper.pid
wait $!
)sh";

constexpr const char* kTimeLimit =
    "slurmstepd: error: *** STEP 1.2 ON n1 CANCELLED AT X DUE TO TIME LIMIT ***";

class Steps : public testing::Test {
 protected:
  void SetUp() override {
    write_text(scratch_.path() / "srun", kSrun);
    ASSERT_EQ(chmod((scratch_.path() / "srun").c_str(), 0755), 0);
    auto inner = ProcessHost::create(clock_);
    ASSERT_TRUE(inner.ok()) << inner.error().text();
    auto host = exec::StepHost::create(*std::move(inner), clock_,
                                       {"torc-steps-test-" + std::to_string(getpid()), TORC_PROGRAM,
                                        (scratch_.path() / "srun").string()});
    ASSERT_TRUE(host.ok()) << host.error().text();
    host_ = *std::move(host);
  }

  [[nodiscard]] exec::Command command(const std::string& line) const {
    exec::Command c;
    c.line = line;
    c.step = {"--nodes=1", "--job-name=17.1"};
    c.env = {"PATH=/usr/bin:/bin", "GREETING=hello"};
    c.directory = scratch_.path().string();
    c.stdout_path = (scratch_.path() / "out").string();
    c.stderr_path = c.stdout_path;
    c.termination_lead = 10s;
    return c;
  }
  exec::Command command_into_open_file(const std::string& line) {
    exec::Command c = command(line);
    file_ =
        Descriptor(open(c.stdout_path.c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0644));
    c.stdout_path = c.stderr_path = {};
    c.stdout_fd = file_.get();
    return c;
  }
  [[nodiscard]] static std::string two_tries() {
    const std::string one = "--nodes=1\n--job-name=17.1\n";
    return one + one;
  }
  RunId start(const exec::Command& c) {
    const auto id = host_->start(c);
    EXPECT_TRUE(id.ok()) << id.error().text();
    return id.ok() ? *id : RunId{};
  }
  Ended end_of(RunId id) {
    const auto until = clock_.boot_now() + 30s;
    while (clock_.boot_now() < until) {
      const auto woken = host_->wait(until);
      EXPECT_TRUE(woken.ok());
      samples_ += woken->samples.size();
      for (const Ended& ended : woken->ended) {
        if (ended.id == id) return ended;
      }
    }
    ADD_FAILURE() << "it has not ended";
    return {};
  }
  // Until a command has written this.
  void await_output(const std::string& text) {
    const auto until = clock_.boot_now() + 20s;
    while (output().find(text) == std::string::npos && clock_.boot_now() < until)
      (void)host_->wait(clock_.boot_now() + 20ms);
    ASSERT_NE(output().find(text), std::string::npos) << output();
  }
  [[nodiscard]] std::string output() const {
    return std::filesystem::exists(scratch_.path() / "out") ? read_text(scratch_.path() / "out")
                                                            : std::string();
  }
  [[nodiscard]] pid_t keeper() const {
    return std::atoi(read_text(scratch_.path() / "keeper.pid").c_str());
  }

  SystemClock clock_;
  Scratch scratch_;
  std::unique_ptr<ProcessHost> host_;
  std::size_t samples_ = 0;
  Descriptor file_;
};

TEST_F(Steps, a_command_runs_in_its_step_and_tells_how_it_ended_as_any_other) {
  const Ended ended =
      end_of(start(command("echo $GREETING $SLURM_STEP_ID; echo two >&2; pwd; exit 42")));
  EXPECT_EQ(ended.how, Ending::exited);
  EXPECT_EQ(ended.exit_code, 42);
  EXPECT_EQ(output(), "hello 7\ntwo\n" + scratch_.path().string() + "\n");
  EXPECT_EQ(read_text(scratch_.path() / "srun.options"), "--nodes=1\n--job-name=17.1\n");
  EXPECT_GT(ended.ended_at, ended.started_at);
  EXPECT_EQ(host_->running(), 0U);
}

TEST_F(Steps, output_goes_to_files_that_are_open_already) {
  exec::Command c = command("echo there");
  c.stdout_path = c.stderr_path = {};
  FILE* const file = std::fopen((scratch_.path() / "packed").c_str(), "we");
  ASSERT_NE(file, nullptr);
  c.stdout_fd = fileno(file);
  const RunId id = start(c);
  std::fclose(file);  // its owner does not wait
  EXPECT_EQ(end_of(id).exit_code, 0);
  EXPECT_EQ(read_text(scratch_.path() / "packed"), "there\n");
}

TEST_F(Steps, a_signal_ends_it_as_it_ends_any_other) {
  const Ended ended = end_of(start(command("kill -SEGV $$")));
  EXPECT_EQ(ended.how, Ending::signaled);
  EXPECT_EQ(ended.signal, SIGSEGV);
}

TEST_F(Steps, a_program_that_is_not_there_is_not_started) {
  const Ended ended = end_of(start(command("no-such-program-anywhere")));
  EXPECT_EQ(ended.how, Ending::not_started);
  EXPECT_EQ(ended.failed_at, exec::StartStep::execute);
}

TEST_F(Steps, what_is_told_to_stop_has_its_lead) {
  const RunId id = start(command("trap 'echo saved; exit 3' TERM; echo runs; sleep 60 & wait"));
  await_output("runs");
  host_->stop(id, 10s);
  const Ended ended = end_of(id);
  EXPECT_EQ(ended.how, Ending::stopped);
  EXPECT_EQ(ended.exit_code, 3);
  EXPECT_NE(output().find("saved"), std::string::npos);
}

TEST_F(Steps, what_does_not_hear_is_killed_with_its_whole_tree) {
  const RunId id = start(command("trap '' TERM; (setsid sleep 61.5 &); echo runs; sleep 60"));
  await_output("runs");
  host_->kill(id);
  const Ended ended = end_of(id);
  EXPECT_EQ(ended.how, Ending::stopped);
  EXPECT_EQ(ended.signal, SIGKILL);
  EXPECT_NE(run({{"/usr/bin/pgrep", "-f", "^sleep 61.5"}, {}, scratch_.path(), {}, {}}).exit_code,
            0);
}

TEST_F(Steps, a_time_limit_counts_within_the_step) {
  exec::Command c = command("sleep 60");
  c.time_limit = 200ms;
  const Ended ended = end_of(start(c));
  EXPECT_EQ(ended.how, Ending::timed_out);
}

TEST_F(Steps, memory_is_held_and_measured_within_the_step) {
  exec::Command c = command("python3 -c \"import time; x = b'a' * (90 << 20); time.sleep(60)\"");
  c.memory_limit = {40 << 20};
  c.sample_every = 100ms;
  const Ended ended = end_of(start(c));
  EXPECT_EQ(ended.how, Ending::out_of_memory);
  EXPECT_GT(ended.max_rss, ByteCount{40 << 20});
  EXPECT_GE(samples_, 1U);
}

TEST_F(Steps, one_that_could_not_be_made_is_tried_again) {
  write_text(scratch_.path() / "srun.fails", "");
  const Ended ended = end_of(start(command("echo there")));
  EXPECT_EQ(ended.how, Ending::exited);
  EXPECT_EQ(ended.exit_code, 0);
  EXPECT_EQ(output(), "there\n");
}

TEST_F(Steps, one_whose_keeper_could_not_begin_is_tried_again) {
  write_text(scratch_.path() / "keeper.descriptors", "4\n");  // its socket, and no file beside it
  const Ended ended = end_of(start(command_into_open_file("echo there")));
  EXPECT_EQ(ended.how, Ending::exited);
  EXPECT_EQ(ended.exit_code, 0);
  EXPECT_EQ(output(), "there\n");
  EXPECT_EQ(read_text(scratch_.path() / "srun.options"), two_tries());
}

// The job's program is there; it is the node that lacks one.
TEST_F(Steps, one_whose_srun_is_not_there_is_tried_again) {
  const Path srun = scratch_.path() / "srun";
  const Path away = scratch_.path() / "srun.away";
  std::filesystem::rename(srun, away);
  const RunId id = start(command("echo there"));
  EXPECT_FALSE(host_->not_started(id));
  std::filesystem::rename(away, srun);
  EXPECT_EQ(end_of(id).exit_code, 0);
  EXPECT_EQ(output(), "there\n");
}

TEST_F(Steps, a_command_that_is_too_long_for_a_step_is_not_started) {
  const RunId id = start(command("echo " + std::string(200 << 10, 'x')));
  const auto none = host_->not_started(id);
  ASSERT_TRUE(none);
  EXPECT_EQ(none->failed_at, exec::StartStep::execute);
  EXPECT_EQ(none->os_errno, E2BIG);
  EXPECT_EQ(end_of(id).how, Ending::not_started);
  EXPECT_EQ(end_of(start(command("echo there"))).exit_code, 0) << "others are";
}

TEST_F(Steps, none_that_waits_to_be_tried_again_is_when_all_are_killed) {
  std::filesystem::remove(scratch_.path() / "srun");
  const RunId id = start(command("echo there"));
  host_->kill_all();
  EXPECT_EQ(end_of(id).how, Ending::stopped);
  EXPECT_EQ(host_->running(), 0U);
}

TEST_F(Steps, one_that_waits_to_be_tried_again_can_be_stopped) {
  write_text(scratch_.path() / "srun.fails", "");
  const RunId id = start(command("echo there"));
  const auto until = clock_.boot_now() + 20s;
  while (std::filesystem::exists(scratch_.path() / "srun.fails") && clock_.boot_now() < until)
    (void)host_->wait(clock_.boot_now() + 20ms);
  host_->stop(id, 1s);
  EXPECT_EQ(end_of(id).how, Ending::stopped);
  EXPECT_EQ(output(), "");
}

// What Slurm killed is judged by what srun says.
TEST_F(Steps, one_of_which_nobody_tells_is_judged_by_the_words_of_srun) {
  for (const auto& [words, how] :
       {std::pair(kTimeLimit,
                  Ending::stopped),  // of the allocation: this one has no limit
        std::pair("slurmstepd: error: Detected 1 oom_kill event in StepId=1.2.",
                  Ending::out_of_memory),
        std::pair("srun: error: Node failure on n1", Ending::stopped),
        std::pair("srun: error: n1: task 0: Killed", Ending::signaled)}) {
    write_text(scratch_.path() / "srun.words", words);
    std::filesystem::remove(scratch_.path() / "out");
    const RunId id = start(command("echo runs; sleep 60"));
    await_output("runs");
    EXPECT_EQ(::kill(keeper(), SIGKILL), 0);
    const Ended ended = end_of(id);
    EXPECT_EQ(ended.how, how) << words;
    EXPECT_EQ(ended.signal == SIGKILL, words != std::string_view(kTimeLimit)) << words;
  }
}

// Its keeper finds another file in place of what /proc says of srun, and nothing in it.
TEST_F(Steps, a_command_stands_still_with_its_srun_also_when_that_cannot_be_looked_at_any_more) {
  if (geteuid() != 0) GTEST_SKIP() << "to hide a process from the keeper needs root";
  const Path hidden = scratch_.path() / "hidden";
  std::filesystem::create_directory(hidden);
  write_text(hidden / "status", "Name:\tnobody\n");
  write_text(scratch_.path() / "keeper.has_mounts", "");
  const RunId id = start(command("echo \"runs $$.\"; exec sleep 60"));
  await_output(".");
  const pid_t sleeper = std::atoi(output().substr(5).c_str());
  const auto is_stopped = [&] {
    return read_text("/proc/" + std::to_string(sleeper) + "/status").find("State:\tT") !=
           std::string::npos;
  };
  const pid_t srun = host_->leader(id);
  ASSERT_EQ(::kill(srun, SIGSTOP), 0);
  const auto until = clock_.boot_now() + 20s;
  while (!is_stopped() && clock_.boot_now() < until) (void)host_->wait(clock_.boot_now() + 20ms);
  ASSERT_TRUE(is_stopped());

  const auto hides = run({{"/usr/bin/nsenter", "-t", std::to_string(keeper()), "-m", "mount",
                           "--bind", hidden.string(), "/proc/" + std::to_string(srun)},
                          {},
                          scratch_.path(),
                          {},
                          {}});
  ASSERT_EQ(hides.exit_code, 0) << hides;
  const Descriptor looks(inotify_init1(IN_CLOEXEC));
  ASSERT_GE(inotify_add_watch(looks.get(), (hidden / "status").c_str(), IN_OPEN), 0);
  for (int times = 0; times < 2;
       ++times) {  // what the first one brought about is done by the second
    pollfd one{looks.get(), POLLIN, 0};
    ASSERT_EQ(poll(&one, 1, 20'000), 1) << "the keeper looks at its srun no more";
    inotify_event event{};
    ASSERT_GT(read(looks.get(), &event, sizeof event), 0);
  }
  EXPECT_TRUE(is_stopped());
  ::kill(srun, SIGCONT);
  host_->kill(id);
  EXPECT_EQ(end_of(id).how, Ending::stopped);
}

TEST_F(Steps, commands_without_a_step_are_run_by_this_process) {
  exec::Command c = command("echo direct $SLURM_STEP_ID");
  c.step.clear();
  EXPECT_EQ(end_of(start(c)).exit_code, 0);
  EXPECT_EQ(output(), "direct\n");
  EXPECT_FALSE(std::filesystem::exists(scratch_.path() / "srun.options"));
}

TEST_F(Steps, nothing_is_left_of_them_when_all_are_killed) {
  const RunId one = start(command("echo runs; sleep 62.5"));
  await_output("runs");
  host_->kill_all();
  EXPECT_EQ(end_of(one).how, Ending::stopped);
  EXPECT_NE(run({{"/usr/bin/pgrep", "-f", "^sleep 62.5"}, {}, scratch_.path(), {}, {}}).exit_code,
            0);
}

}  // namespace
}  // namespace torc::itest
