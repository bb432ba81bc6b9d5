#include "lib/report/workers_now.h"

#include <gtest/gtest.h>

namespace torc::report {
namespace {

using namespace std::chrono_literals;

constexpr WallTime kLookedAt = 1'800'000'000s;

// Committed at noon; its lease of 50 s has a heartbeat every 10 s.
claim::Worker worker() {
  claim::Worker w;
  w.last_seen = kLookedAt;
  w.ttl = 50s;
  w.info.lease_ttl = 50s;
  return w;
}

HeartbeatLook heartbeat(WallTime at, std::chrono::seconds ttl = 50s) {
  return {true, store::Heartbeat{7, ttl, 0, at}};
}

TEST(WorkersNow, a_worker_is_silent_after_more_than_three_heartbeats) {
  EXPECT_FALSE(judge(worker(), heartbeat(kLookedAt + 100s), 1, 0s, kLookedAt + 130s).silent);
  const WorkerNow late = judge(worker(), heartbeat(kLookedAt + 100s), 1, 0s, kLookedAt + 131s);
  EXPECT_EQ(late.silent, 31s);
  EXPECT_FALSE(late.is_at_work());
  EXPECT_EQ(late.heard_at, kLookedAt + 100s);
  EXPECT_EQ(late.lease_ends_at(), kLookedAt + 150s);
}

TEST(WorkersNow, its_newest_sign_of_life_counts_be_it_a_commit) {
  EXPECT_EQ(judge(worker(), heartbeat(kLookedAt - 5s), 1, 0s, kLookedAt + 8s).heard_at, kLookedAt);
  const WorkerNow longer = judge(worker(), heartbeat(kLookedAt + 5s, 70s), 1, 0s, kLookedAt + 8s);
  EXPECT_EQ(longer.lease, 70s);
}

TEST(WorkersNow, one_that_has_written_no_heartbeat_is_judged_by_its_commit) {
  EXPECT_EQ(judge(worker(), {true}, 1, 0s, kLookedAt + 40s).silent, 40s);
}

TEST(WorkersNow, of_one_whose_heartbeat_is_not_known_no_silence_is_told) {
  const WorkerNow found = judge(worker(), {false}, 1, 0s, kLookedAt + 1h);
  EXPECT_FALSE(found.silent);
  EXPECT_TRUE(found.is_at_work());
  // An older torc tells no time.
  EXPECT_FALSE(judge(worker(), {false, store::Heartbeat{7, 50s}}, 1, 0s, kLookedAt + 1h).silent);
}

TEST(WorkersNow, what_the_filesystem_may_hide_and_clocks_that_are_ahead_make_nobody_silent) {
  EXPECT_FALSE(judge(worker(), heartbeat(kLookedAt), 1, 60s, kLookedAt + 80s).silent);
  EXPECT_FALSE(judge(worker(), heartbeat(kLookedAt + 1h), 1, 0s, kLookedAt).silent);
}

TEST(WorkersNow, among_many_heartbeats_are_rarer) {
  claim::Worker w = worker();
  w.ttl = 1000s;
  EXPECT_FALSE(judge(w, heartbeat(kLookedAt, 1000s), 1000, 0s, kLookedAt + 500s).silent);
  EXPECT_TRUE(judge(w, heartbeat(kLookedAt, 1000s), 1000, 0s, kLookedAt + 601s).silent);
}

}  // namespace
}  // namespace torc::report
