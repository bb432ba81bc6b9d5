#include "lib/exec/end/watched_lease.h"

#include <gtest/gtest.h>

#include <thread>

namespace torc::exec {
namespace {

using namespace std::chrono_literals;

constexpr BootTime kBegin = 1000s;
constexpr std::chrono::nanoseconds kLimit = 6s;

using Phase = LeasePage::Phase;

TEST(LeasePage, before_a_lease_begins_there_is_nothing_to_watch) {
  LeasePage page;
  EXPECT_FALSE(page.due());
  EXPECT_EQ(page.look(kBegin), Phase::none);
  EXPECT_FALSE(page.begin_pause(kBegin));
  EXPECT_FALSE(page.begin_sweep(Phase::fenced));
}

TEST(LeasePage, a_lease_that_is_renewed_in_time_is_held) {
  LeasePage page;
  page.hold(kBegin, kLimit);
  EXPECT_EQ(page.due(), kBegin + kLimit);
  EXPECT_EQ(page.look(kBegin + kLimit - 1ns), Phase::held);
  page.renew(kBegin + 5s);
  EXPECT_EQ(page.look(kBegin + kLimit), Phase::held);
  EXPECT_EQ(page.due(), kBegin + 5s + kLimit);
  page.renew(kBegin + 1s);  // told late
  EXPECT_EQ(page.due(), kBegin + 5s + kLimit);
}

TEST(LeasePage, permits_nothing_after_its_time_whether_or_not_anybody_has_looked) {
  LeasePage page;
  const LeasePage::Terms terms = page.terms();
  const auto permits = [&](BootTime now) {
    return LeasePage::permits(*terms.word, *terms.renewed, *terms.pause_after, now.count());
  };
  EXPECT_TRUE(permits(kBegin)) << "there is no lease";
  page.hold(kBegin, kLimit);
  EXPECT_TRUE(permits(kBegin + kLimit - 1ns));
  EXPECT_FALSE(permits(kBegin + kLimit));
  page.renew(kBegin + 5s);
  EXPECT_TRUE(permits(kBegin + kLimit));
  page.pause_early(2s);
  EXPECT_FALSE(permits(kBegin + 9s));
  EXPECT_TRUE(page.begin_pause(kBegin + 6s));
  EXPECT_FALSE(permits(kBegin + 6s));
  page.lose();
  EXPECT_FALSE(permits(kBegin + 6s));
}

TEST(LeasePage, a_lease_that_is_not_renewed_is_paused_and_then_fenced_before_others_may_have_it) {
  LeasePage page;
  page.hold(kBegin, kLimit);
  EXPECT_EQ(page.look(kBegin + kLimit), Phase::paused);
  EXPECT_EQ(page.paused_since(), kBegin + kLimit);
  const BootTime whole = kBegin + 10s;  // of which the limit is 0.6
  ASSERT_TRUE(page.due());
  EXPECT_EQ(*page.due(), whole - 1s);
  EXPECT_EQ(page.look(whole - 1s - 1ns), Phase::paused);
  EXPECT_EQ(page.look(whole - 1s), Phase::fenced);
  EXPECT_FALSE(page.due());
}

// So that no job is ended for what costs it nothing today.
TEST(LeasePage, an_early_pause_brings_the_end_of_the_jobs_no_nearer) {
  LeasePage page;
  page.hold(BootTime(100s), 60s);
  EXPECT_TRUE(page.pause_early(40s));
  EXPECT_FALSE(page.pause_early(40s));
  EXPECT_EQ(page.due(), BootTime(120s));
  EXPECT_EQ(page.look(BootTime(119s)), LeasePage::Phase::held);
  EXPECT_EQ(page.look(BootTime(120s)), LeasePage::Phase::paused);
  EXPECT_EQ(page.due(), BootTime(160s) + patience_in_time(60s));
  EXPECT_EQ(page.look(BootTime(189s)), LeasePage::Phase::paused);
  EXPECT_EQ(page.look(BootTime(190s)), LeasePage::Phase::fenced);
}

// The machine was suspended: others may have had it for long, or there are none.
TEST(LeasePage, a_lease_that_is_found_unrenewed_late_has_a_whole_lease_of_time_to_be_asked_about) {
  LeasePage page;
  page.hold(kBegin, kLimit);
  const BootTime woken = kBegin + 8h;
  EXPECT_EQ(page.look(woken), Phase::paused);
  EXPECT_EQ(page.look(woken + 10s - 1ns), Phase::paused);
  EXPECT_EQ(page.look(woken + 10s), Phase::fenced);
}

TEST(LeasePage, a_paused_lease_goes_on_when_the_store_says_so) {
  LeasePage page;
  page.hold(kBegin, kLimit);
  EXPECT_FALSE(page.pause());
  page.look(kBegin + kLimit);
  const auto asked = page.pause();
  ASSERT_TRUE(asked);
  page.renew(kBegin + 7s);
  EXPECT_TRUE(page.paused()) << "a renewal alone may have been begun before";
  EXPECT_TRUE(page.confirm(*asked));
  EXPECT_EQ(page.look(kBegin + 8s), Phase::held);
  EXPECT_FALSE(page.confirm(*asked));
}

TEST(LeasePage, an_answer_from_before_a_stop_says_nothing_after_it) {
  LeasePage page;
  page.hold(kBegin, kLimit);
  page.look(kBegin + kLimit);
  const auto before = page.pause();
  ASSERT_TRUE(page.begin_pause(kBegin + 7s));
  EXPECT_EQ(page.look(kBegin + 24h), Phase::paused) << "the worker may be the first to go on";
  const auto stopped = page.pause();
  page.go_on(kBegin + 24h);
  EXPECT_FALSE(page.confirm(*before));
  EXPECT_FALSE(page.confirm(*stopped));
  EXPECT_EQ(page.paused_since(), kBegin + kLimit);
  EXPECT_EQ(page.look(kBegin + 24h + 10s - 1ns), Phase::paused);
  EXPECT_TRUE(page.confirm(*page.pause()));
}

// Somebody continues both at once, and the worker asks before the watchdog has said that it goes
// on.
TEST(LeasePage, a_worker_that_asks_before_its_watchdog_goes_on_leaves_no_endless_pause) {
  LeasePage page;
  page.hold(kBegin, kLimit);
  ASSERT_TRUE(page.begin_pause(kBegin + 1s));
  page.renew(kBegin + 2s);
  ASSERT_TRUE(page.confirm(*page.pause()));
  page.go_on(kBegin + 2s);
  ASSERT_EQ(page.look(kBegin + 2s + kLimit), Phase::paused);
  EXPECT_EQ(page.look(kBegin + 24h), Phase::fenced);
}

TEST(LeasePage, no_answer_undoes_a_fence) {
  LeasePage page;
  page.hold(kBegin, kLimit);
  page.look(kBegin + kLimit);
  const auto asked = page.pause();
  page.lose();
  EXPECT_FALSE(page.confirm(*asked));
  page.renew(kBegin + kLimit);
  EXPECT_EQ(page.look(kBegin + kLimit), Phase::fenced);
  EXPECT_FALSE(page.begin_sweep(Phase::paused)) << "nothing is stopped any more";
  EXPECT_TRUE(page.begin_sweep(Phase::fenced));
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
  EXPECT_EQ(page.look(kBegin + 2 * kLimit), Phase::none);
}

TEST(LeasePage, the_next_lease_is_not_fenced_for_the_one_before) {
  LeasePage page;
  page.hold(kBegin, kLimit);
  page.look(kBegin + kLimit);
  ASSERT_EQ(page.look(kBegin + 10s), Phase::fenced);
  page.hold(kBegin + 100s, kLimit);
  EXPECT_FALSE(page.begin_sweep(Phase::fenced));
  EXPECT_EQ(page.look(kBegin + 101s), Phase::held);
  EXPECT_EQ(page.due(), kBegin + 100s + kLimit);
}

TEST(LeasePage, the_next_lease_does_not_begin_before_the_sweep_has_ended) {
  LeasePage page;
  page.hold(kBegin, kLimit);
  page.lose();
  ASSERT_TRUE(page.begin_sweep(Phase::fenced));
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
