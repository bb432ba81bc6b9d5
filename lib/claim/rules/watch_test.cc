#include "lib/claim/rules/watch.h"

#include <gtest/gtest.h>

namespace torc::claim {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using Verdict = Watch::Verdict;

constexpr auto kInterval = minutes(1);
constexpr auto kWatchTtl = minutes(5);
constexpr WorkerEpoch kA{1};
constexpr WorkerEpoch kB{2};

Watch::Look at(WorkerEpoch worker, std::uint64_t heartbeats, seconds ttl = kWatchTtl) {
  return {worker, 1, heartbeats, ttl, {}, kInterval};
}

// Looks once a minute until `n` looks were made; the last verdict.
Verdict watch_silence(Watch& watch, BootTime& now, int n, seconds ttl = kWatchTtl) {
  Verdict last = Verdict::lives;
  for (int i = 0; i < n; ++i) last = watch.look(at(kA, 7, ttl), now += kInterval, kInterval);
  return last;
}

TEST(Watch, a_worker_that_misses_a_heartbeat_is_suspected_and_expires_after_a_lease) {
  Watch watch;
  BootTime now{};
  EXPECT_EQ(watch_silence(watch, now, 1), Verdict::lives);
  EXPECT_EQ(watch_silence(watch, now, 1), Verdict::late);
  EXPECT_EQ(watch_silence(watch, now, 3), Verdict::silent);
  EXPECT_EQ(watch_silence(watch, now, 1), Verdict::expired);
}

TEST(Watch, a_heartbeat_that_cannot_be_read_is_no_heartbeat_and_no_silence_is_forgiven_for_it) {
  Watch watch;
  BootTime now{};
  watch_silence(watch, now, 5);
  const Watch::Look torn{kA, 1, std::nullopt, kWatchTtl, {}, kInterval};
  EXPECT_EQ(watch.look(torn, now += kInterval, kInterval), Verdict::expired);
  EXPECT_EQ(watch.heartbeats_of(kA), 7U);
}

TEST(Watch, what_a_missed_heartbeat_is_goes_by_how_often_that_worker_writes) {
  Watch watch;
  BootTime now{};
  const auto look = [&](seconds heartbeat) {
    return watch.look({kA, 1, 7, kWatchTtl, {}, heartbeat}, now += seconds(10), seconds(10));
  };
  look(seconds(10));
  EXPECT_EQ(look(seconds(10)), Verdict::late);
  EXPECT_EQ(look(seconds(10)), Verdict::silent);
  EXPECT_EQ(look(seconds(20)), Verdict::silent);
  EXPECT_EQ(look(seconds(40)), Verdict::late);
  EXPECT_EQ(look(seconds(200)), Verdict::lives);
}

TEST(Watch, silence_counts_against_what_the_worker_asked_for_last) {
  Watch watch;
  BootTime now{};
  watch_silence(watch, now, 5);
  // Its last words were of many workers, among which it writes one every four minutes.
  EXPECT_EQ(watch_silence(watch, now, 10, minutes(20)), Verdict::silent);
  EXPECT_EQ(watch_silence(watch, now, 6, minutes(20)), Verdict::expired);
}

TEST(Watch, a_heartbeat_that_cannot_be_read_takes_back_nothing_of_what_the_last_one_allowed) {
  Watch watch;
  BootTime now{};
  const auto look = [&](std::optional<std::uint64_t> heartbeats) {
    const seconds said = heartbeats ? seconds(minutes(20)) : kWatchTtl;
    return watch.look({kA, 1, heartbeats, said, {}, kInterval}, now += kInterval, kInterval);
  };
  look(7);
  for (int torn = 0; torn < 19; ++torn) EXPECT_NE(look(std::nullopt), Verdict::expired) << torn;
  EXPECT_EQ(look(std::nullopt), Verdict::expired);
}

TEST(Watch, a_silence_counts_only_beyond_the_age_of_what_the_mount_shows) {
  Watch watch;
  BootTime now{};
  const auto look = [&] {
    return watch.look({kA, 1, 7, kWatchTtl, minutes(3), kInterval}, now += kInterval, kInterval);
  };
  EXPECT_EQ(look(), Verdict::lives);
  for (int i = 1; i < 5; ++i) EXPECT_EQ(look(), Verdict::late) << i;
  for (int i = 5; i < 8; ++i) EXPECT_EQ(look(), Verdict::silent) << i;
  EXPECT_EQ(look(), Verdict::expired);
}

// Everybody stands still together: nobody's silence during that time proves anything.
TEST(Watch, a_filesystem_that_stalls_for_twenty_minutes_expires_nobody) {
  Watch watch;
  BootTime now{};
  watch_silence(watch, now, 5);  // four minutes of silence, one more would do
  now += minutes(20);            // the next look hangs for so long
  EXPECT_EQ(watch.look(at(kA, 7), now, kInterval), Verdict::lives);
  EXPECT_EQ(watch_silence(watch, now, 4), Verdict::silent);
  EXPECT_EQ(watch.look(at(kA, 8), now += kInterval, kInterval), Verdict::lives);
}

TEST(Watch, a_look_that_hangs_counts_only_until_it_was_asked_for) {
  Watch watch;
  BootTime now{};
  watch_silence(watch, now, 5);
  const BootTime asked = now + kInterval / 2;
  // The answer came two minutes later; the next round begins then.
  EXPECT_EQ(watch.look(at(kA, 7), asked, kInterval), Verdict::silent);
  now = asked + minutes(2) + kInterval;
  EXPECT_EQ(watch.look(at(kA, 8), now, kInterval), Verdict::lives);
}

TEST(Watch, an_observer_that_was_paused_begins_anew) {
  Watch watch;
  BootTime now{};
  watch_silence(watch, now, 5);
  now += 3 * kInterval + seconds(1);  // the clock of time since boot counts a suspended machine
  EXPECT_EQ(watch.look(at(kA, 7), now, kInterval), Verdict::lives);
  EXPECT_EQ(watch_silence(watch, now, 4), Verdict::silent);
  EXPECT_EQ(watch_silence(watch, now, 1), Verdict::expired);
}

TEST(Watch, the_more_successors_are_silent_the_further_it_looks) {
  Watch watch;
  EXPECT_EQ(watch.wanted(kInterval), 3U);
  BootTime now{};
  for (int i = 0; i < 3; ++i) {
    now += kInterval;
    watch.look(at(kA, 7), now, kInterval);
    watch.look(at(kB, static_cast<std::uint64_t>(i)), now, kInterval);
  }
  EXPECT_EQ(watch.wanted(kInterval), 5U);
  watch.keep_only({kB});
  EXPECT_EQ(watch.wanted(kInterval), 3U);
}

}  // namespace
}  // namespace torc::claim
