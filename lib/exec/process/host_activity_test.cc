// What is told of how much commands read and wrote and how often they waited. Time is moved by
// hand: commands are looked at when the test says so.
#include "lib/exec/process/host_fixture.h"

namespace torc::exec {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kMillion = 1'000'000;

class HostActivity : public HostTest {
 protected:
  void SetUp() override {
    make_directory();
    ASSERT_EQ(mkfifo((directory_ / "gate").c_str(), 0600), 0);
    gate_ = open((directory_ / "gate").c_str(), O_RDWR | O_CLOEXEC);
    open_host(clock_);
  }
  void TearDown() override {
    close(gate_);
    HostTest::TearDown();
  }
  // Runs up to `echo here >&9; read x <gate`, where it is looked at, and on.
  RunId started(const std::string& line) { return start("exec 9>fifo; " + line); }
  std::vector<Sample> look() {
    clock_.advance(10s);
    auto wakeup = host_->wait(clock_.boot_now());
    EXPECT_TRUE(wakeup.ok());
    if (!wakeup.ok()) return {};
    remember(*wakeup);
    return wakeup->samples;
  }
  Ended go_on(RunId id) {
    look();
    EXPECT_EQ(write(gate_, "\n", 1), 1);
    return end_of(id);
  }
  ManualClock clock_;
  int gate_ = -1;
};

constexpr const char* kStop = "echo here >&9; read x <gate; ";

TEST_F(HostActivity, what_is_written_after_the_last_look_is_counted) {
  const RunId id = started(std::string(kStop) + "head -c 3000000 /dev/zero >big; :");
  wait_for("here");
  const Ended ended = go_on(id);
  ASSERT_TRUE(ended.activity.io);
  EXPECT_GE(ended.activity.io->written.value, 3 * kMillion);
  EXPECT_LT(ended.activity.io->written.value, 4 * kMillion);
  EXPECT_GE(ended.activity.io->read.value, 3 * kMillion);
  EXPECT_GT(ended.activity.voluntary_switches, 0U);
}

TEST_F(HostActivity, what_a_process_wrote_that_left_the_tree_of_its_leader_is_counted) {
  write_file("away", "head -c 3000000 /dev/zero >far; echo here >&9; sleep 1000; :");
  const RunId id = started("(setsid sh away &); read x <gate; exit 3");
  wait_for("here");
  const Ended ended = go_on(id);
  EXPECT_EQ(ended.exit_code, 3);
  ASSERT_TRUE(ended.activity.io);
  EXPECT_GE(ended.activity.io->written.value, 3 * kMillion);
}

TEST_F(HostActivity, what_a_killed_tree_did_until_the_last_look_is_counted) {
  const RunId id = started("(head -c 3000000 /dev/zero >big; echo here >&9; sleep 1000; :) & wait");
  wait_for("here");
  look();
  host_->kill(id);
  const Ended ended = end_of(id);
  EXPECT_EQ(ended.how, Ending::stopped);
  ASSERT_TRUE(ended.activity.io);
  EXPECT_GE(ended.activity.io->written.value, 3 * kMillion);
  EXPECT_LT(ended.activity.io->written.value, 6 * kMillion) << "nothing is counted twice";
}

TEST_F(HostActivity, of_a_command_too_short_to_be_looked_at_nothing_is_made_up) {
  const Ended ended = run("true");
  EXPECT_FALSE(ended.activity.io);
  EXPECT_EQ(ended.max_rss.value, 0U)
      << "the kernel counts what this process had before it was true";
}

TEST_F(HostActivity, the_peak_of_a_short_command_is_known_when_it_is_above_its_host_s) {
  EXPECT_GE(run("head -c 200000000 /dev/zero | tail -n 1 >/dev/null").max_rss, mebibytes(180));
}

// --- samples ---

TEST_F(HostActivity, a_command_that_asks_for_it_is_sampled) {
  Command made =
      command("exec 9>fifo; head -c 3000000 /dev/zero >big; echo here >&9; read x <gate");
  made.sample_every = 5s;
  const RunId id = start(made);
  wait_for("here");
  const RunId other = started("echo beside >&9; exec sleep 1000");
  wait_for("beside");
  const auto samples = look();
  ASSERT_EQ(samples.size(), 1U);
  EXPECT_EQ(samples[0].id, id);
  EXPECT_EQ(samples[0].processes, 1U);
  EXPECT_GT(samples[0].memory.value, 0U);
  ASSERT_TRUE(samples[0].io);
  EXPECT_GE(samples[0].io->written.value, 3 * kMillion);
  EXPECT_EQ(look().size(), 1U);
  host_->kill(other);
  EXPECT_EQ(go_on(id).exit_code, 0);
}

TEST_F(HostActivity, samples_are_no_closer_than_asked_for) {
  Command made = command("exec 9>fifo; echo here >&9; read x <gate");
  made.sample_every = 1h;
  const RunId id = start(made);
  wait_for("here");
  std::size_t taken = 0;
  for (int i = 0; i < 5; ++i) taken += look().size();
  EXPECT_EQ(taken, 1U) << "the first at the first look, the next an hour later";
  clock_.advance(1h);
  EXPECT_EQ(look().size(), 1U);
  EXPECT_EQ(go_on(id).exit_code, 0);
}

}  // namespace
}  // namespace torc::exec
