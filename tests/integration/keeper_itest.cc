// The keeper of a step by itself: the test is its worker, and another process stands for its srun.
#include "lib/exec/step/step_keeper.h"

#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <string>

#include "lib/exec/machine/procfs.h"
#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

using namespace std::chrono_literals;

constexpr exec::StepKey kKey = 7;

class Keeper : public testing::Test {
 protected:
  void SetUp() override {
    const std::string name = "torc-keeper-test-" + std::to_string(getpid());
    auto listener = exec::listen_for_steps(name);
    ASSERT_TRUE(listener.ok()) << listener.error().text();
    keeper_.emplace(here_.torc({"--keep-step", name, std::to_string(kKey)}));
    srun_.emplace(Launch{{"/usr/bin/sleep", "1000"}, {}, here_.path(), {}, {}});
    ASSERT_TRUE(can_be_read(listener->get()));
    socket_ = exec::accept_step(listener->get());
    ASSERT_TRUE(can_be_read(socket_.get()));
    const auto hello = exec::decode_hello(exec::receive_message(socket_.get()).bytes);
    ASSERT_TRUE(hello && hello->key == kKey);
  }
  void TearDown() override {
    if (srun_) srun_->kill(SIGKILL);
  }

  static bool can_be_read(int fd) {
    pollfd one{fd, POLLIN, 0};
    constexpr int kMilliseconds = std::chrono::milliseconds(kLongEnough).count();
    return poll(&one, 1, kMilliseconds) == 1;
  }
  // A command of two processes that say who they are and wait.
  void begin(std::chrono::nanoseconds sample_every = 0ns) {
    exec::StepBegin begin;
    begin.command.line =
        "sh -c 'echo child $$ > record; exec sleep 1000' & "
        "sh -c 'echo other $$ > record; read x < gate'";
    begin.command.directory = here_.path().string();
    begin.command.stdout_path = begin.command.stderr_path = (here_.path() / "out").string();
    begin.command.termination_lead = 10s;
    begin.command.sample_every = sample_every;
    begin.launcher = srun_->pid();
    ASSERT_EQ(exec::send_message(socket_.get(), exec::encode(begin)), exec::Sent::yes);
    ASSERT_TRUE(wait_until({&record_, &*keeper_}, [&] { return record_.lines().size() == 2; }))
        << keeper_->err();
    for (const std::string& line : record_.lines()) {
      const pid_t pid = std::stoi(line.substr(line.find(' ') + 1));
      pids_.push_back(pid);
      witnesses_.push_back(std::make_unique<Witness>(pid));
    }
  }
  bool all_have_gone() {
    for (const auto& one : witnesses_) {
      if (!wait_until({&*one}, [&] { return one->gone(); })) return false;
    }
    return true;
  }
  bool nobody_has_gone() {
    for (const auto& one : witnesses_) {
      one->pump();
      if (one->gone()) return false;
    }
    return true;
  }
  bool wait_for_stop(bool stopped) {
    Timer limit(kLongEnough);
    while (!limit.passed()) {
      const auto status = exec::read_status(pids_.front());
      if (status && (status->state == 'T') == stopped) return true;
      Timer look(10ms);
      (void)wait_until({&look}, [&] { return look.passed(); });
      limit.pump();
    }
    return false;
  }
  // As of a worker that is stopped: nobody reads, and there is no room for more.
  bool wait_for_full_socket() {
    int before = -1;
    Timer limit(kLongEnough);
    for (int same = 0; same < 20 && !limit.passed(); limit.pump()) {
      int bytes = 0;
      if (ioctl(socket_.get(), SIOCINQ, &bytes) != 0) return false;
      same = bytes > 1000 && bytes == before ? same + 1 : 0;
      before = bytes;
      Timer look(50ms);
      (void)wait_until({&look}, [&] { return look.passed(); });
    }
    return !limit.passed();
  }
  std::optional<exec::StepEnded> told_end() {
    while (can_be_read(socket_.get())) {
      const exec::Received next = exec::receive_message(socket_.get());
      if (next.what == exec::Received::What::end) return std::nullopt;
      if (auto ended = exec::decode_ended(next.bytes)) return ended;
    }
    return std::nullopt;
  }

  Workplace here_;
  Fifo record_{here_.path() / "record"};
  Fifo gate_{here_.path() / "gate"};
  std::optional<Process> keeper_;
  std::optional<Process> srun_;
  Descriptor socket_;
  std::vector<pid_t> pids_;
  std::vector<std::unique_ptr<Witness>> witnesses_;
};

TEST_F(Keeper, ends_the_whole_tree_when_its_worker_has_gone) {
  begin();
  socket_.reset();
  EXPECT_TRUE(all_have_gone());
  EXPECT_EQ(keeper_->wait().exit_code, 137);
}

TEST_F(Keeper, ends_the_whole_tree_when_its_srun_has_gone) {
  begin();
  srun_->kill(SIGKILL);
  EXPECT_TRUE(all_have_gone());
  EXPECT_EQ(keeper_->wait().exit_code, 137);
}

TEST_F(Keeper, kills_the_whole_tree_when_it_is_told_to) {
  begin();
  ASSERT_EQ(exec::send_message(socket_.get(), exec::encode(exec::StepKill{})), exec::Sent::yes);
  EXPECT_TRUE(all_have_gone());
  const auto ended = told_end();
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->how.how, exec::Ending::stopped);
  EXPECT_EQ(ended->how.signal, SIGKILL);
}

TEST_F(Keeper, stops_its_command_while_its_srun_is_stopped) {
  begin();
  ::kill(srun_->pid(), SIGSTOP);
  EXPECT_TRUE(wait_for_stop(true));
  ::kill(srun_->pid(), SIGCONT);
  EXPECT_TRUE(wait_for_stop(false));
  EXPECT_TRUE(nobody_has_gone());
}

TEST_F(Keeper, is_held_up_by_no_worker_that_is_stopped) {
  begin(10ms);
  ASSERT_TRUE(wait_for_full_socket());
  ::kill(srun_->pid(), SIGSTOP);
  EXPECT_TRUE(wait_for_stop(true)) << "the lease is in doubt";
  ::kill(srun_->pid(), SIGCONT);
  EXPECT_TRUE(wait_for_stop(false));
  srun_->kill(SIGKILL);
  EXPECT_TRUE(all_have_gone()) << "the watchdog ends it";
  EXPECT_EQ(keeper_->wait().exit_code, 137);
}

TEST_F(Keeper, tells_the_end_when_its_worker_goes_on) {
  begin(10ms);
  ASSERT_TRUE(wait_for_full_socket());
  gate_.open_gate(1);
  EXPECT_TRUE(all_have_gone());
  const auto ended = told_end();
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->how.how, exec::Ending::exited);
  EXPECT_EQ(keeper_->wait().exit_code, 0);
}

// They are the command's, which Slurm sends them to as well.
TEST_F(Keeper, minds_no_signal_of_the_step) {
  begin();
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGCONT})
    ::kill(keeper_->pid(), number);
  gate_.open_gate(1);
  const auto ended = told_end();
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->how.how, exec::Ending::exited);
  EXPECT_EQ(keeper_->wait().exit_code, 0);
}

}  // namespace
}  // namespace torc::itest
