#include "lib/exec/process/host_fixture.h"

namespace torc::exec {
namespace {

using namespace std::chrono_literals;

// `tail` keeps what it reads until its input ends, here never.
std::string holds(const std::string& mebibytes) {
  return "(head -c " + mebibytes +
         "M /dev/zero; echo filled >&9; exec sleep 1000) | tail >/dev/null";
}

// Time is moved by hand: the memory of the trees is looked at when the test says so.
class Memory : public HostTest {
 protected:
  void SetUp() override {
    make_directory();
    open_host(clock_);
  }
  RunId start_limited(const std::string& line, std::uint64_t mebi) {
    Command made = command("exec 9>fifo; " + line);
    made.memory_limit = mebibytes(mebi);
    made.time_limit = 1h;  // so that what is not killed for its memory ends all the same
    made.termination_lead = 0s;
    return start(made);
  }
  void look() {
    clock_.advance(10s);
    auto wakeup = host_->wait(clock_.boot_now());
    ASSERT_TRUE(wakeup.ok());
    remember(*wakeup);
  }
  Ended end_after_look(RunId id) {
    look();
    clock_.advance(2h);
    auto wakeup = host_->wait(clock_.boot_now());
    EXPECT_TRUE(wakeup.ok());
    if (wakeup.ok()) remember(*wakeup);
    return end_of(id);
  }
  ManualClock clock_;
};

TEST_F(Memory, a_command_beyond_its_memory_is_killed_with_its_tree) {
  const RunId id = start_limited(holds("40") + " & wait", 32);
  wait_for("filled");
  const Ended ended = end_after_look(id);
  EXPECT_EQ(ended.how, Ending::out_of_memory);
  EXPECT_GE(ended.max_rss, mebibytes(39));
  EXPECT_FALSE(anybody_left());
}

TEST_F(Memory, children_that_exceed_it_only_together_are_killed) {
  const RunId id = start_limited(holds("40") + " & " + holds("40") + " & wait", 64);
  wait_for("filled");
  wait_for("filled");
  const Ended ended = end_after_look(id);
  EXPECT_EQ(ended.how, Ending::out_of_memory);
  EXPECT_GE(ended.max_rss, mebibytes(78)) << "of the tree, not of its largest process";
  EXPECT_FALSE(anybody_left());
}

TEST_F(Memory, what_left_the_session_counts) {
  write_file("away", holds("40"));
  const RunId id = start_limited("(setsid sh away &); exec sleep 1000", 32);
  wait_for("filled");
  EXPECT_EQ(end_after_look(id).how, Ending::out_of_memory);
  EXPECT_FALSE(anybody_left());
}

TEST_F(Memory, a_command_just_below_its_memory_goes_on) {
  const RunId id = start_limited(holds("40") + " & wait", 48);
  wait_for("filled");
  for (int i = 0; i < 5; ++i) look();
  EXPECT_NE(host_->leader(id), 0);
  host_->kill(id);
  const Ended ended = end_of(id);
  EXPECT_EQ(ended.how, Ending::stopped);
  EXPECT_GE(ended.max_rss, mebibytes(39));
  EXPECT_LT(ended.max_rss, mebibytes(48));
}

TEST_F(Memory, pages_that_processes_share_count_once) {
  const RunId id = start_limited(
      "x=$(head -c 20000000 /dev/zero | tr '\\0' a); for i in 1 2 3 4 5 6 7 8; do "
      "(echo forked >&9; sleep 1000; :) & done; wait",
      150);
  for (int i = 0; i < 8; ++i) wait_for("forked");
  look();
  EXPECT_NE(host_->leader(id), 0);
  host_->kill(id);
  const Ended ended = end_of(id);
  EXPECT_GE(ended.max_rss, mebibytes(19));
  EXPECT_LT(ended.max_rss, mebibytes(150));
}

TEST_F(Memory, without_a_limit_it_is_only_measured) {
  const RunId id = start_limited(holds("40") + " & wait", 0);
  wait_for("filled");
  look();
  EXPECT_NE(host_->leader(id), 0);
  host_->kill(id);
  EXPECT_GE(end_of(id).max_rss, mebibytes(39));
}

}  // namespace
}  // namespace torc::exec
