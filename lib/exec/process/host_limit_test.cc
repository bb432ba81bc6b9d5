#include <sys/wait.h>

#include <csignal>

#include "lib/exec/process/host_fixture.h"

namespace torc::exec {
namespace {

using namespace std::chrono_literals;

// Time is moved by hand: limits pass when the test says so.
class Limit : public HostTest {
 protected:
  void SetUp() override {
    make_directory();
    open_host(clock_);
  }

  // Lets the host see that time has passed.
  void pass(std::chrono::nanoseconds time) {
    clock_.advance(time);
    auto wakeup = host_->wait(clock_.boot_now());
    ASSERT_TRUE(wakeup.ok());
    remember(*wakeup);
  }

  [[nodiscard]] Command limited(const std::string& line, std::chrono::nanoseconds limit) const {
    Command made = command("exec 9>fifo; " + line);
    made.time_limit = limit;
    made.termination_lead = 30s;
    return made;
  }

  ManualClock clock_;
};

TEST_F(Limit, a_command_over_its_time_gets_the_termination_signal) {
  const RunId id = start(limited("echo ready >&9; exec sleep 1000", 60s));
  wait_for("ready");
  pass(59s);
  EXPECT_NE(host_->leader(id), 0);
  pass(1s);
  const Ended ended = end_of(id);
  EXPECT_EQ(ended.how, Ending::timed_out);
  EXPECT_EQ(ended.signal, SIGTERM);
}

TEST_F(Limit, the_exit_code_of_a_command_that_ends_itself_in_time_is_kept) {
  const RunId id =
      start(limited("trap 'kill -9 $!; exit 9' TERM; sleep 1000 & echo ready >&9; wait", 60s));
  wait_for("ready");
  pass(60s);
  const Ended ended = end_of(id);
  EXPECT_EQ(ended.how, Ending::timed_out);
  EXPECT_EQ(ended.exit_code, 9);
}

TEST_F(Limit, another_termination_signal_can_be_asked_for) {
  Command polite =
      limited("trap 'kill -9 $!; exit 10' USR1; sleep 1000 & echo ready >&9; wait", 60s);
  polite.termination_signal = SIGUSR1;
  const RunId id = start(polite);
  wait_for("ready");
  pass(60s);
  EXPECT_EQ(end_of(id).exit_code, 10);
}

TEST_F(Limit, a_command_that_ignores_the_signal_is_killed_after_the_lead) {
  const RunId id = start(limited("trap '' TERM; echo ready >&9; exec sleep 1000", 60s));
  wait_for("ready");
  pass(60s);
  pass(29s);
  EXPECT_NE(host_->leader(id), 0);
  pass(1s);
  const Ended ended = end_of(id);
  EXPECT_EQ(ended.how, Ending::timed_out);
  EXPECT_EQ(ended.signal, SIGKILL);
}

TEST_F(Limit, the_tree_has_its_lead_though_the_leader_ended_at_once) {
  const RunId id =
      start(limited("(trap 'kill -9 $!; read line <gate; echo saved >saved; exit 0' TERM; "
                    "sleep 1000 & echo ready >&9; wait) & wait",
                    60s));
  ASSERT_EQ(mkfifo((directory_ / "gate").c_str(), 0600), 0);
  wait_for("ready");
  const pid_t leader = host_->leader(id);
  pass(60s);
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(leader), &info, WEXITED | WNOWAIT), 0);
  pass(0s);
  EXPECT_EQ(host_->leader(id), 0);
  EXPECT_EQ(host_->running(), 1u) << "its child saves its work and needs a while";
  write_file("gate", "go\n");
  const Ended ended = end_of(id);
  EXPECT_EQ(ended.how, Ending::timed_out);
  EXPECT_EQ(ended.signal, SIGTERM);
  EXPECT_EQ(text_of("saved"), "saved\n");
}

TEST_F(Limit, what_outlives_the_leader_and_the_lead_is_killed) {
  const RunId id = start(limited("(trap '' TERM; echo ready >&9; exec sleep 1000) & wait", 60s));
  wait_for("ready");
  pass(60s);
  pass(30s);
  EXPECT_EQ(end_of(id).signal, SIGTERM) << "of the leader";
  EXPECT_FALSE(anybody_left());
}

TEST_F(Limit, a_stopped_process_is_continued_to_hear_the_signal) {
  const RunId id = start(limited("trap 'exit 5' TERM; echo ready >&9; kill -STOP $$; exit 1", 60s));
  wait_for("ready");
  siginfo_t info{};
  const auto leader = static_cast<id_t>(host_->leader(id));
  ASSERT_EQ(waitid(P_PID, leader, &info, WSTOPPED | WNOWAIT), 0);
  pass(60s);
  EXPECT_EQ(end_of(id).exit_code, 5);
}

TEST_F(Limit, a_command_that_ended_before_it_was_looked_at_has_not_timed_out) {
  const RunId id = start(limited("exit 0", 60s));
  siginfo_t info{};
  const auto leader = static_cast<id_t>(host_->leader(id));
  ASSERT_EQ(waitid(P_PID, leader, &info, WEXITED | WNOWAIT), 0);
  clock_.advance(61s);
  EXPECT_EQ(end_of(id).how, Ending::exited);
}

TEST_F(Limit, what_ended_before_it_was_to_be_stopped_ended_by_itself) {
  for (const bool at_once : {false, true}) {
    const RunId id = start(limited("exit 4", 0s));
    siginfo_t info{};
    const auto leader = static_cast<id_t>(host_->leader(id));
    ASSERT_EQ(waitid(P_PID, leader, &info, WEXITED | WNOWAIT), 0);
    if (at_once) {
      host_->kill(id);
    } else {
      host_->stop(id, 30s);
    }
    const Ended ended = end_of(id);
    EXPECT_EQ(ended.how, Ending::exited);
    EXPECT_EQ(ended.exit_code, 4);
  }
}

TEST_F(Limit, a_stopped_command_is_reported_as_stopped) {
  const RunId id =
      start(limited("trap 'kill -9 $!; exit 3' TERM; sleep 1000 & echo ready >&9; wait", 0s));
  wait_for("ready");
  host_->stop(id, 30s);
  const Ended ended = end_of(id);
  EXPECT_EQ(ended.how, Ending::stopped);
  EXPECT_EQ(ended.exit_code, 3);
}

TEST_F(Limit, a_second_stop_can_shorten_the_lead) {
  const RunId id = start(limited("trap '' TERM; echo ready >&9; exec sleep 1000", 0s));
  wait_for("ready");
  host_->stop(id, 30s);
  host_->stop(id, 5s);
  pass(5s);
  EXPECT_EQ(end_of(id).signal, SIGKILL);
}

TEST_F(Limit, a_second_stop_cannot_lengthen_the_lead) {
  const RunId id = start(limited("trap '' TERM; echo ready >&9; exec sleep 1000", 0s));
  wait_for("ready");
  host_->stop(id, 30s);
  host_->stop(id, 90s);
  pass(30s);
  EXPECT_EQ(end_of(id).signal, SIGKILL);
}

TEST_F(Limit, stopping_without_a_lead_kills) {
  const RunId id = start(limited("trap '' TERM; echo ready >&9; exec sleep 1000", 0s));
  wait_for("ready");
  host_->stop(id, 0s);
  const Ended ended = end_of(id);
  EXPECT_EQ(ended.how, Ending::stopped);
  EXPECT_EQ(ended.signal, SIGKILL);
}

TEST_F(Limit, stopping_what_has_ended_or_never_was_is_nothing) {
  const RunId id = start("true");
  end_of(id);
  host_->stop(id, 1s);
  host_->kill(RunId{4711});
  EXPECT_EQ(host_->running(), 0u);
}

TEST_F(Limit, a_limit_of_centuries_is_none) {
  const RunId id = start(limited("exit 0", std::chrono::nanoseconds::max()));
  EXPECT_EQ(end_of(id).how, Ending::exited);
}

TEST_F(Limit, limits_pass_by_the_real_clock_too) {
  open_host(system_clock_);
  Command brief = limited("trap '' TERM; echo ready >&9; exec sleep 1000", 20ms);
  brief.termination_lead = 20ms;
  const BootTime before = system_clock_.boot_now();
  const Ended ended = end_of(start(brief));
  EXPECT_EQ(ended.how, Ending::timed_out);
  EXPECT_GE(system_clock_.boot_now() - before, 20ms);
  EXPECT_FALSE(anybody_left());
}

}  // namespace
}  // namespace torc::exec
