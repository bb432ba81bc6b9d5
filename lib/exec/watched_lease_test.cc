#include "lib/exec/watched_lease.h"

#include <gtest/gtest.h>

#include <thread>

namespace torc::exec {
namespace {

using namespace std::chrono_literals;

constexpr BootTime kBegin = 1000s;
constexpr std::chrono::nanoseconds kLimit = 6s;

TEST(LeasePage, before_a_lease_begins_there_is_nothing_to_watch) {
  LeasePage page;
  EXPECT_FALSE(page.due());
  EXPECT_FALSE(page.fence_if_due(kBegin));
  EXPECT_FALSE(page.fenced());
  EXPECT_FALSE(page.begin_sweep());
}

TEST(LeasePage, a_lease_that_is_renewed_in_time_is_not_fenced) {
  LeasePage page;
  page.hold(kBegin, kLimit);
  EXPECT_EQ(page.due(), kBegin + kLimit);
  EXPECT_FALSE(page.fence_if_due(kBegin + kLimit - 1ns));
  page.renew(kBegin + 5s);
  EXPECT_FALSE(page.fence_if_due(kBegin + kLimit));
  EXPECT_EQ(page.due(), kBegin + 5s + kLimit);
  page.renew(kBegin + 1s);  // told late
  EXPECT_EQ(page.due(), kBegin + 5s + kLimit);
}

TEST(LeasePage, a_lease_that_is_not_renewed_is_fenced_once_and_no_renewal_undoes_it) {
  LeasePage page;
  page.hold(kBegin, kLimit);
  EXPECT_TRUE(page.fence_if_due(kBegin + kLimit));
  EXPECT_FALSE(page.fence_if_due(kBegin + kLimit));
  page.renew(kBegin + kLimit);
  EXPECT_TRUE(page.fenced());
  EXPECT_FALSE(page.due());
  EXPECT_TRUE(page.begin_sweep());
  page.end_sweep();
}

TEST(LeasePage, a_lease_that_the_worker_lost_is_fenced) {
  LeasePage page;
  page.lose();
  EXPECT_FALSE(page.fenced()) << "there was none";
  page.hold(kBegin, kLimit);
  page.lose();
  EXPECT_TRUE(page.fenced());
}

TEST(LeasePage, a_lease_that_was_let_go_is_not_watched) {
  LeasePage page;
  page.hold(kBegin, kLimit);
  page.let_go();
  EXPECT_FALSE(page.due());
  EXPECT_FALSE(page.fence_if_due(kBegin + 2 * kLimit));
}

TEST(LeasePage, the_next_lease_is_not_fenced_for_the_one_before) {
  LeasePage page;
  page.hold(kBegin, kLimit);
  ASSERT_TRUE(page.fence_if_due(kBegin + kLimit));
  page.hold(kBegin + 100s, kLimit);
  EXPECT_FALSE(page.fenced());
  EXPECT_FALSE(page.begin_sweep());
  EXPECT_FALSE(page.fence_if_due(kBegin + 101s));
  EXPECT_EQ(page.due(), kBegin + 100s + kLimit);
}

TEST(LeasePage, the_next_lease_does_not_begin_before_the_sweep_has_ended) {
  LeasePage page;
  page.hold(kBegin, kLimit);
  page.lose();
  ASSERT_TRUE(page.begin_sweep());
  std::atomic<bool> ended{false};
  std::atomic<bool> begun_after_end{false};
  std::thread worker([&] {
    page.hold(kBegin + 100s, kLimit);
    begun_after_end = ended.load();
  });
  while (page.fenced()) std::this_thread::yield();  // the thread is in hold()
  ended = true;
  page.end_sweep();
  worker.join();
  EXPECT_TRUE(begun_after_end);
}

TEST(WatchedLease, without_a_watchdog_a_worker_is_known_by_its_own_process) {
  const WatchedLease lease;
  EXPECT_EQ(lease.process().pid, this_process().pid);
  EXPECT_FALSE(lease.fenced());
}

}  // namespace
}  // namespace torc::exec
