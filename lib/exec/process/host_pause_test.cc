// Commands stop and go on with the lease of their worker. Time is moved by hand.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <thread>

#include "lib/exec/end/watched_lease.h"
#include "lib/exec/machine/procfs.h"
#include "lib/exec/process/host_fixture.h"

namespace torc::exec {
namespace {

using namespace std::chrono_literals;

// Another thread may move it, too.
class SharedClock final : public Clock {
 public:
  [[nodiscard]] BootTime boot_now() const override { return BootTime(now_.load()); }
  [[nodiscard]] WallTime wall_now() const override {
    return std::chrono::duration_cast<WallTime>(boot_now());
  }
  void sleep_for(std::chrono::nanoseconds duration) override { now_ += duration.count(); }
  void advance(std::chrono::nanoseconds duration) { now_ += duration.count(); }

 private:
  std::atomic<std::int64_t> now_{std::chrono::nanoseconds(1h).count()};
};

class HostPause : public HostTest {
 protected:
  void SetUp() override {
    make_directory();
    open_host(clock_, &lease_);
    lease_.hold(clock_.boot_now(), 24h);
  }
  void pass(std::chrono::nanoseconds time) {
    clock_.advance(time);
    auto wakeup = host_->wait(clock_.boot_now());
    ASSERT_TRUE(wakeup.ok());
    remember(*wakeup);
  }
  void pause() {
    ASSERT_TRUE(page_.begin_pause(clock_.boot_now()));
    page_.go_on(clock_.boot_now());
    pass(0s);
  }
  void confirm() {
    ASSERT_TRUE(lease_.confirm(*lease_.pause()));
    pass(0s);
  }
  RunId started(const std::string& line) {
    Command limited = command("exec 9>fifo; " + line);
    limited.time_limit = 60s;
    limited.termination_lead = 30s;
    const RunId id = start(limited);
    wait_for("ready");
    return id;
  }
  [[nodiscard]] char state_of(pid_t pid) const {
    const auto stat = read_stat(pid);
    return stat ? stat->state : '-';
  }
  // A signal to stop is sent at once and obeyed at the next turn, or after a wait for the disk.
  [[nodiscard]] bool stops(pid_t pid) const {
    char state = state_of(pid);
    for (; state == 'R' || state == 'D'; state = state_of(pid)) std::this_thread::yield();
    return state == 'T';
  }
  static bool is_in_epoll(pid_t thread) {
    const auto call = read_small_file("/proc/self/task/" + std::to_string(thread) + "/syscall");
    const auto is = [&](long number) {
      return call && call->starts_with(std::to_string(number) + " ");
    };
#ifdef SYS_epoll_wait
    if (is(SYS_epoll_wait)) return true;
#endif
    return is(SYS_epoll_pwait);
  }
  [[nodiscard]] pid_t other() const {
    return std::stoi(text_of("pid"));
  }

  SharedClock clock_;
  LeasePage page_;
  WatchedLease lease_{page_, -1, -1, this_process()};
};

TEST_F(HostPause, a_paused_lease_stops_every_process_and_a_confirmed_one_continues_them) {
  const RunId id =
      started("sh -c 'echo $$ >pid; echo ready >&9; exec sleep 1000' & wait; sleep 1000");
  pause();
  EXPECT_TRUE(stops(host_->leader(id)));
  EXPECT_TRUE(stops(other()));
  confirm();
  EXPECT_NE(state_of(host_->leader(id)), 'T');
  EXPECT_NE(state_of(other()), 'T');
}

TEST_F(HostPause, what_a_command_had_stopped_itself_stays_stopped) {
  started("sh -c 'echo $$ >pid; echo ready >&9; kill -STOP $$' & wait; sleep 1000");
  while (state_of(other()) != 'T') std::this_thread::yield();
  pause();
  confirm();
  EXPECT_EQ(state_of(other()), 'T');
}

// Another worker may have the job by then.
TEST_F(HostPause,
       what_was_stopped_does_not_go_on_when_the_lease_is_fenced_though_its_limit_passed) {
  const RunId id = started("trap 'exit 0' TERM; echo ready >&9; sleep 1000 & wait");
  const pid_t leader = host_->leader(id);
  pause();
  ASSERT_TRUE(stops(leader));
  clock_.advance(1h);
  page_.lose();
  pass(0s);
  host_->kill(id);
  const Ended ended = end_of(id);
  EXPECT_EQ(ended.signal, SIGKILL) << "exit code " << ended.exit_code;
}

TEST_F(HostPause, the_time_of_a_pause_does_not_count) {
  const RunId id = started("echo ready >&9; exec sleep 1000");
  pass(50s);
  pause();
  pass(1h);
  EXPECT_NE(host_->leader(id), 0) << "its limit passed while it was stopped";
  confirm();
  pass(9s);
  EXPECT_NE(host_->leader(id), 0);
  pass(1s);
  EXPECT_EQ(end_of(id).how, Ending::timed_out);
}

TEST_F(HostPause, a_command_that_is_told_to_end_in_a_pause_does_not_run_before_it_is_over) {
  const RunId id = started("trap 'exit 7' TERM; echo ready >&9; while :; do :; done");
  pause();
  host_->stop(id, 30s);
  pass(1h);
  EXPECT_TRUE(stops(host_->leader(id)));
  confirm();
  const Ended ended = end_of(id);
  EXPECT_EQ(ended.how, Ending::stopped);
  EXPECT_EQ(ended.exit_code, 7);
}

TEST_F(HostPause, a_stopped_command_can_be_killed) {
  const RunId id = started("echo ready >&9; exec sleep 1000");
  pause();
  page_.lose();
  host_->kill_all();
  EXPECT_EQ(end_of(id).signal, SIGKILL);
}

// The machine was suspended while this process slept.
TEST_F(HostPause, time_in_which_the_machine_did_not_run_does_not_count) {
  const RunId id = started("echo ready >&9; exec sleep 1000");
  int news[2];
  ASSERT_EQ(pipe2(news, O_CLOEXEC | O_NONBLOCK), 0);
  ASSERT_TRUE(host_->watch(news[0]).ok());
  const pid_t sleeper = getpid();
  std::thread suspends([&] {
    while (!is_in_epoll(sleeper)) std::this_thread::yield();
    clock_.advance(8h);
    (void)!write(news[1], "x", 1);
  });
  auto wakeup = host_->wait(clock_.boot_now() + 30s);
  suspends.join();
  ASSERT_TRUE(wakeup.ok());
  remember(*wakeup);
  host_->unwatch(news[0]);
  close(news[0]);
  close(news[1]);
  pass(50s);  // it had wanted to wake soon, to look at the memory
  EXPECT_NE(host_->leader(id), 0);
  pass(10s);
  EXPECT_EQ(end_of(id).how, Ending::timed_out);
}

// As by `scontrol suspend`: this process and its commands stood still for long, well before any
// limit.
TEST_F(HostPause, time_in_which_it_was_stopped_is_told_and_does_not_count) {
  const RunId id = started("echo ready >&9; exec sleep 1000");
  int news[2];
  ASSERT_EQ(pipe2(news, O_CLOEXEC | O_NONBLOCK), 0);
  ASSERT_TRUE(host_->watch(news[0]).ok());
  const pid_t sleeper = getpid();
  std::thread suspends([&] {
    while (!is_in_epoll(sleeper)) std::this_thread::yield();
    clock_.advance(8h);
    (void)!write(news[1], "x", 1);
  });
  auto wakeup = host_->wait(clock_.boot_now() + 1000h);
  suspends.join();
  ASSERT_TRUE(wakeup.ok());
  remember(*wakeup);
  host_->unwatch(news[0]);
  close(news[0]);
  close(news[1]);
  EXPECT_GE(wakeup->stood_still, 8h - 2s);
  EXPECT_LE(wakeup->stood_still, 8h);
  pass(50s);
  EXPECT_NE(host_->leader(id), 0);
  pass(12s);
  EXPECT_EQ(end_of(id).how, Ending::timed_out);
}

// The child hangs as it opens its output, as on a filesystem that does not answer. Others may have
// the job by the time at which it goes on.
TEST_F(HostPause, what_hung_as_it_started_is_not_executed_when_the_lease_is_in_doubt_by_then) {
  for (const bool lost : {false, true}) {
    const std::string output = (directory_ / "output").string();
    ASSERT_EQ(mkfifo(output.c_str(), 0600), 0);
    std::thread meanwhile([&] {
      lost ? page_.lose() : (void)page_.begin_pause(clock_.boot_now());
      const int reader = open(output.c_str(), O_RDONLY);  // until then the child waits
      EXPECT_GE(reader, 0);
      close(reader);
    });
    Command hung = command("echo ran > ran");
    hung.stdout_path = output;
    const auto id = host_->start(hung);
    meanwhile.join();
    ASSERT_FALSE(id.ok()) << lost;
    EXPECT_EQ(id.error().kind, ErrorKind::busy);
    EXPECT_NE(id.error().what.find("lease"), std::string::npos) << id.error().what;
    EXPECT_FALSE(std::filesystem::exists(directory_ / "ran"));
    std::filesystem::remove(output);
  }
}

}  // namespace
}  // namespace torc::exec
