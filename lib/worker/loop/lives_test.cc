#include "lib/worker/loop/lives.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <cerrno>

#include <deque>

namespace torc::worker {
namespace {

using namespace std::chrono_literals;

class Lives : public testing::Test {
 protected:
  Lives() {
    events_.notice = [this](const std::string& line) { notices_.push_back(line); };
  }
  // Lives through `ends`, one after the other; the last one again and again.
  Result<WorkerSummary> live_through(std::deque<Result<WorkerSummary>> ends) {
    return live(
        clock_, events_,
        [&](int) {
          ++lives_;
          clock_.advance(life_takes_);
          auto end = ends.front();
          if (ends.size() > 1) ends.pop_front();
          return end;
        },
        [&](std::chrono::nanoseconds time) {
          clock_.advance(time);
          return clock_.boot_now() >= told_to_stop_at_ ? SIGTERM : 0;
        });
  }
  static WorkerSummary ended(WorkerEnd end) {
    WorkerSummary summary;
    summary.end = end;
    return summary;
  }
  static Error dead_mount() { return os_error(ENOTCONN, "cannot open /mnt/wf.torc/META"); }
  [[nodiscard]] std::chrono::nanoseconds took() const { return clock_.boot_now() - begun_; }

  ManualClock clock_;
  BootTime begun_ = clock_.boot_now();
  BootTime told_to_stop_at_ = BootTime::max();
  WorkerEvents events_;
  std::vector<std::string> notices_;
  int lives_ = 0;
  std::chrono::nanoseconds life_takes_{};
};

TEST_F(Lives, a_worker_that_lost_its_lease_comes_back_when_its_mount_does) {
  const auto end =
      live_through({ended(WorkerEnd::lease_lost), dead_mount(), dead_mount(),
                    os_error(ENOENT, "cannot open /mnt/wf.torc/META"),
                    os_error(EIO, "cannot write"), ended(WorkerEnd::workflow_finished)});
  ASSERT_TRUE(end.ok()) << end.error().text();
  EXPECT_EQ(end->end, WorkerEnd::workflow_finished);
  EXPECT_EQ(lives_, 6);
  ASSERT_EQ(notices_.size(), 1U) << "it says so once";
  EXPECT_NE(notices_.front().find("the store cannot be used now"), std::string::npos);
}

TEST_F(Lives, one_whose_mount_does_not_come_back_gives_up_after_some_minutes) {
  const auto end = live_through({ended(WorkerEnd::lease_lost), dead_mount()});
  ASSERT_FALSE(end.ok());
  EXPECT_GE(took(), kComeBack);
  EXPECT_LT(took(), kComeBack + 1min);
}

// As after the failover of a server: it hung, then said that the file is stale.
TEST_F(Lives, the_time_in_which_a_call_hung_does_not_count) {
  life_takes_ = kComeBack + 5min;
  const auto end = live_through({ended(WorkerEnd::lease_lost), dead_mount(), dead_mount(),
                                 ended(WorkerEnd::workflow_finished)});
  ASSERT_TRUE(end.ok());
  EXPECT_EQ(end->end, WorkerEnd::workflow_finished);
}

TEST_F(Lives, one_that_was_told_to_stop_waits_no_longer) {
  told_to_stop_at_ = begun_ + 5s;
  const auto end = live_through({ended(WorkerEnd::lease_lost), dead_mount()});
  ASSERT_TRUE(end.ok());
  EXPECT_EQ(end->interrupted_by, SIGTERM);
  EXPECT_LT(took(), 10s);
}

// The store could not even be told of its release.
TEST_F(Lives, one_that_was_told_to_stop_does_not_come_back_whatever_else_fails) {
  WorkerSummary told = ended(WorkerEnd::interrupted);
  told.interrupted_by = SIGTERM;
  told.failure = os_error(EIO, "cannot write");
  const auto end = live_through({ended(WorkerEnd::lease_lost), told});
  ASSERT_FALSE(end.ok());
  EXPECT_EQ(end.error().kind, ErrorKind::io);
  EXPECT_EQ(lives_, 2);
  EXPECT_EQ(took(), 0s);
}

TEST_F(Lives, an_error_of_the_first_life_ends_it_at_once) {
  EXPECT_FALSE(live_through({dead_mount()}).ok());
  EXPECT_EQ(lives_, 1);
}

TEST_F(Lives, a_store_that_was_read_and_is_damaged_is_not_waited_for) {
  const auto end =
      live_through({ended(WorkerEnd::lease_lost), Error{ErrorKind::corrupt, "damaged", ""}});
  EXPECT_FALSE(end.ok());
  EXPECT_EQ(took(), 0s);
}

// Another directory in its place does not become the store by waiting.
TEST_F(Lives, a_store_that_was_exchanged_is_not_waited_for) {
  const Error exchanged{ErrorKind::fenced, "was replaced by another directory", "", EXDEV};
  EXPECT_FALSE(live_through({ended(WorkerEnd::lease_lost), exchanged}).ok());
  EXPECT_EQ(took(), 0s);
  EXPECT_EQ(lives_, 2);
}

TEST_F(Lives, a_store_that_was_seen_to_be_deleted_is_not_waited_for) {
  WorkerSummary gone = ended(WorkerEnd::lease_lost);
  gone.failure = Error{ErrorKind::fenced, "it was deleted or moved", ""};
  const auto end = live_through({gone});
  ASSERT_FALSE(end.ok());
  EXPECT_EQ(end.error().what, "it was deleted or moved");
  EXPECT_EQ(lives_, 1);
}

// As when half of it was deleted as the lease was lost, and all of it is soon after.
TEST_F(Lives, a_store_that_is_seen_to_be_deleted_while_it_is_waited_for_is_waited_for_no_longer) {
  const Error half = os_error(ENOENT, "cannot list wf.torc/state/snapshot");
  const Error deleted{ErrorKind::fenced, "it was deleted or moved", "", EIDRM};
  const auto end = live_through({ended(WorkerEnd::lease_lost), half, deleted});
  ASSERT_FALSE(end.ok());
  EXPECT_EQ(end.error().what, "it was deleted or moved");
  EXPECT_EQ(lives_, 3);
}

// Once a day, as a laptop is closed.
TEST_F(Lives, losses_that_are_long_ago_do_not_count) {
  life_takes_ = 40min;  // two within an hour
  std::deque<Result<WorkerSummary>> days(30, ended(WorkerEnd::lease_lost));
  days.push_back(ended(WorkerEnd::workflow_finished));
  const auto end = live_through(days);
  ASSERT_TRUE(end.ok());
  EXPECT_EQ(end->end, WorkerEnd::workflow_finished);
  EXPECT_EQ(lives_, 31);
}

TEST_F(Lives, a_worker_that_loses_lease_after_lease_is_left_alone) {
  const auto end = live_through({ended(WorkerEnd::lease_lost)});
  ASSERT_TRUE(end.ok());
  EXPECT_EQ(end->end, WorkerEnd::lease_lost);
  EXPECT_EQ(lives_, 3);
}

}  // namespace
}  // namespace torc::worker
