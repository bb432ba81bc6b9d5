// What the slots of a lane and the thread of their host do at the same moment, held there by their
// clock.
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "lib/exec/machine/procfs.h"
#include "lib/exec/process/host_fixture.h"

namespace torc::exec {
namespace {

using namespace std::chrono_literals;

// Stands still. A slot asks it once its command was begun, before anybody knows of that.
class GateClock final : public Clock {
 public:
  [[nodiscard]] BootTime boot_now() const override {
    if (std::this_thread::get_id() != owner_) {
      pass_gate();
    } else if (owner_asks) {
      owner_asks();
    }
    return 1h;
  }
  [[nodiscard]] WallTime wall_now() const override { return system_.wall_now(); }
  void sleep_for(std::chrono::nanoseconds) override {}

  void close() {
    const std::lock_guard lock(mutex_);
    open_ = false;
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  // Until a slot waits at the closed gate.
  void await_slot() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_ != 0; });
    slot_ = waiting_;
  }
  // Opens it, and lets that slot go on until it sleeps again: for the end of what it began.
  void let_through() {
    open();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_ == 0; });
    lock.unlock();
    const std::string file = "/proc/self/task/" + std::to_string(slot_) + "/stat";
    while (read_small_file(file).value_or("").find(") S ") == std::string::npos) sched_yield();
  }

  std::function<void()> owner_asks;

 private:
  void pass_gate() const {
    std::unique_lock lock(mutex_);
    if (open_) return;
    waiting_ = static_cast<pid_t>(syscall(SYS_gettid));
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_; });
    waiting_ = 0;
    changed_.notify_all();
  }

  const std::thread::id owner_ = std::this_thread::get_id();
  SystemClock system_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable pid_t waiting_ = 0;
  pid_t slot_ = 0;
  bool open_ = true;
};

class LaneRace : public HostTest {
 protected:
  void SetUp() override {
    make_directory();
    open_host(clock_);
    host_->let_run(2);
  }
  void TearDown() override {
    clock_.owner_asks = nullptr;
    clock_.open();
    HostTest::TearDown();
  }
  RunId queue(const std::string& line) {
    auto id = host_->queue(command(line));
    EXPECT_TRUE(id.ok()) << id.error().text();
    return id.ok() ? *id : RunId{};
  }
  void wait_for_begin(RunId id) {
    for (bool begun = false; !begun;) {
      auto wakeup = host_->wait(std::nullopt);
      ASSERT_TRUE(wakeup.ok());
      remember(*wakeup);
      for (const auto& b : wakeup->begun) begun = begun || b.id == id;
    }
  }
  // Whether it ends soon.
  std::optional<Ended> soon_end_of(RunId id) {
    const BootTime until = system_clock_.boot_now() + 10s;
    while (system_clock_.boot_now() < until) {
      auto wakeup = host_->wait(clock_.boot_now());
      if (!wakeup.ok()) return std::nullopt;
      for (const Ended& e : wakeup->ended) {
        if (e.id == id) return e;
      }
      sched_yield();
    }
    return std::nullopt;
  }
  GateClock clock_;
};

TEST_F(LaneRace, what_begins_while_it_is_told_to_end_is_told) {
  const RunId first = queue("sleep 1000");
  wait_for_begin(first);
  clock_.close();
  const RunId second = queue("exec 9>fifo; echo up >&9; exec sleep 1000");
  wait_for("up");
  clock_.await_slot();
  // The host asks the time once before it looks which commands have begun, and again when it takes
  // the first for one: then the second is begun.
  int asked = 0;
  clock_.owner_asks = [&] {
    if (++asked == 2) clock_.let_through();
  };
  host_->stop(second, 0s);
  clock_.owner_asks = nullptr;
  clock_.open();
  const auto ended = soon_end_of(second);
  ASSERT_TRUE(ended) << "nobody told it";
  EXPECT_EQ(ended->how, Ending::stopped);
}

TEST_F(LaneRace, what_was_killed_before_its_process_was_known_has_no_time_to_end) {
  clock_.close();
  const RunId id = queue("trap '' TERM; exec 9>fifo; echo up >&9; read line <gate");
  ASSERT_EQ(mkfifo((directory_ / "gate").c_str(), 0600), 0);
  wait_for("up");
  clock_.await_slot();
  host_->kill(id);
  host_->stop(id, 60s);
  clock_.open();
  const auto ended = soon_end_of(id);
  ASSERT_TRUE(ended) << "it was only asked to end";
  EXPECT_EQ(ended->signal, SIGKILL);
}

TEST_F(LaneRace, an_orphan_of_one_of_which_nobody_knows_yet_is_left_alone) {
  clock_.close();
  const RunId holds = queue("exec 9>fifo; (setsid sleep 1000 &); echo up >&9; read line <gate");
  ASSERT_EQ(mkfifo((directory_ / "gate").c_str(), 0600), 0);
  wait_for("up");
  clock_.await_slot();
  const std::size_t before = descendants_of(getpid()).pids.size();
  for (int i = 0; i < 3; ++i) {
    const auto other = host_->start(command("true"));
    ASSERT_TRUE(other.ok());
    EXPECT_TRUE(soon_end_of(*other));
  }
  EXPECT_EQ(descendants_of(getpid()).pids.size(), before);
  clock_.open();
  wait_for_begin(holds);
  write_file("gate", "go\n");
  EXPECT_TRUE(soon_end_of(holds));
  EXPECT_TRUE(descendants_of(getpid()).pids.empty());
}

TEST_F(LaneRace, an_end_that_nobody_can_tell_of_is_no_success) {
  signal(SIGCHLD, SIG_IGN);  // as by a library: the kernel keeps nothing of children
  const RunId lost = queue("exit 7");
  const auto ended = soon_end_of(lost);
  signal(SIGCHLD, SIG_DFL);
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->how, Ending::signaled);
  EXPECT_EQ(ended->exit_code, -1);
}

}  // namespace
}  // namespace torc::exec
