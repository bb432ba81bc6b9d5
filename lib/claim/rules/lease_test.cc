#include "lib/claim/rules/lease.h"

#include <gtest/gtest.h>

namespace torc::claim {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr auto kTtl = minutes(5);
constexpr auto kGap = minutes(3);

TEST(Lease, heartbeats_come_every_ten_seconds_until_there_are_many_workers) {
  EXPECT_EQ(heartbeat_interval(minutes(5), 10), seconds(10));
  EXPECT_EQ(heartbeat_interval(minutes(5), 50), seconds(10));
  EXPECT_EQ(heartbeat_interval(minutes(5), 300), seconds(60));
  EXPECT_EQ(heartbeat_interval(minutes(5), 1000), seconds(200));
  EXPECT_EQ(heartbeat_interval(seconds(10), 1), seconds(2));
}

TEST(Lease, heartbeats_are_never_fewer_than_go_with_what_was_said) {
  EXPECT_EQ(heartbeat_of(minutes(5), minutes(5), seconds(0), 10), seconds(10));
  EXPECT_EQ(heartbeat_of(minutes(5), minutes(5), seconds(0), 1000), seconds(60))
      << "that they are a thousand it has not said yet";
  EXPECT_EQ(heartbeat_of(seconds(1000), minutes(5), seconds(0), 1000), seconds(200));
}

TEST(Lease, whoever_lives_and_writes_is_never_silent_for_as_long_as_a_missed_heartbeat) {
  const auto heartbeat = seconds(10);
  EXPECT_LE(counts_as_heartbeat(heartbeat) + heartbeat * 12 / 10, missed_heartbeat(heartbeat));
}

TEST(Lease, all_workers_together_look_no_more_often_than_five_times_a_second_or_they_write) {
  EXPECT_EQ(look_interval(seconds(10), 4), seconds(5));
  EXPECT_EQ(look_interval(seconds(10), 40), seconds(8));
  EXPECT_EQ(look_interval(seconds(10), 50), seconds(10));
  EXPECT_EQ(look_interval(seconds(200), 1000), seconds(200));
}

TEST(Lease, silence_of_a_whole_ttl_in_spaced_looks_expires) {
  BootTime now = minutes(7);
  Observation o = first_look(1, 1, now);
  for (int i = 0; i < 4; ++i) {
    o = observe(o, 1, 1, now += minutes(1), kGap);
    EXPECT_FALSE(is_expired(o, kTtl));
  }
  EXPECT_TRUE(is_expired(observe(o, 1, 1, now + minutes(1), kGap), kTtl));
}

TEST(Lease, either_counter_that_changes_starts_the_silence_again) {
  for (auto [renewals, heartbeats] : {std::pair{2, 1}, {1, 2}, {0, 1}}) {
    Observation o = first_look(1, 1, minutes(1));
    o = observe(o, 1, 1, minutes(3), kGap);
    o = observe(o, static_cast<std::uint64_t>(renewals), static_cast<std::uint64_t>(heartbeats),
                minutes(5), kGap);
    EXPECT_EQ(o.silent, minutes(0));
    EXPECT_EQ(o.looks, 0U);
  }
}

TEST(Lease, fewer_than_three_looks_never_expire) {
  Observation o = first_look(1, 1, minutes(0));
  o = observe(o, 1, 1, minutes(3), kGap);
  o = observe(o, 1, 1, minutes(6), kGap);
  EXPECT_GE(o.silent, kTtl);
  EXPECT_FALSE(is_expired(o, kTtl));
}

TEST(Lease, looks_in_quick_succession_are_one_look) {
  Observation o = first_look(1, 1, minutes(0));
  BootTime now = minutes(3);
  o = observe(o, 1, 1, now, kGap);
  for (int i = 0; i < 10; ++i) o = observe(o, 1, 1, now += seconds(1), kGap);
  EXPECT_EQ(o.looks, 1U);
  o = observe(o, 1, 1, now += minutes(1), kGap);
  EXPECT_EQ(o.silent, minutes(4) + seconds(10));  // and no time is lost
}

TEST(Lease, an_observer_that_was_stalled_itself_starts_over) {
  Observation o = first_look(1, 1, minutes(0));
  for (int i = 1; i <= 4; ++i) o = observe(o, 1, 1, minutes(i), kGap);
  o = observe(o, 1, 1, minutes(24), kGap);  // the filesystem hung for everybody
  EXPECT_FALSE(is_expired(o, kTtl));
  EXPECT_EQ(o.silent, minutes(0));
  EXPECT_EQ(o.looks, 0U);
}

TEST(Lease, many_workers_have_longer_leases) {
  EXPECT_EQ(lease_ttl(seconds(300), 1), seconds(300));
  EXPECT_EQ(lease_ttl(seconds(300), 4000), seconds(4000));
  EXPECT_EQ(lease_ttl(seconds(10), 1), seconds(10));
}

// What it runs in the name of the longer lease goes on until that has run out.
TEST(Lease, a_lease_that_was_longer_gets_shorter_only_as_fast_as_time_goes) {
  const BootTime fenced = minutes(10) + fencing_limit(seconds(4000));
  EXPECT_EQ(promised_ttl(seconds(300), fenced, minutes(10)), seconds(4000));
  EXPECT_EQ(promised_ttl(seconds(300), fenced, minutes(10) + seconds(1200)), seconds(2000));
  EXPECT_EQ(promised_ttl(seconds(300), fenced, fenced), seconds(300));
  EXPECT_EQ(promised_ttl(seconds(5000), fenced, minutes(10)), seconds(5000));
}

TEST(Lease, a_worker_fences_itself_well_before_others_may_expire_it) {
  EXPECT_EQ(fencing_limit(kTtl), kTtl * 6 / 10);
}

TEST(Lease, jobs_are_stopped_early_only_where_the_batch_system_gives_nodes_up_early) {
  EXPECT_EQ(pause_limit(minutes(5), seconds(10), seconds(0)), fencing_limit(minutes(5)));
  EXPECT_EQ(pause_limit(minutes(5), seconds(10), seconds(300)), fencing_limit(minutes(5)));
  EXPECT_EQ(pause_limit(minutes(5), seconds(10), seconds(60)), seconds(60));
  EXPECT_EQ(pause_limit(minutes(5), seconds(10), seconds(6)), seconds(25));
}

TEST(Lease, heartbeats_come_as_asked_and_among_many_workers_the_lease_grows_with_them) {
  using std::chrono::seconds;
  EXPECT_EQ(heartbeat_interval(seconds(300), 10, seconds(20)), seconds(20));
  EXPECT_EQ(lease_ttl(seconds(300), 10, seconds(20)), seconds(300));
  EXPECT_EQ(heartbeat_interval(seconds(300), 200, seconds(20)), seconds(40));
  EXPECT_EQ(lease_ttl(seconds(300), 200, seconds(20)), seconds(600));
  // What no flag gives, and a forged record may.
  const seconds most(std::int64_t{1} << 33);
  EXPECT_EQ(heartbeat_of(most, seconds(1), most, 1), seconds(8'000'000'000));
  EXPECT_EQ(lease_ttl(most, UINT32_MAX, seconds(1)), seconds(8'000'000'000));
  EXPECT_EQ(heartbeat_of(seconds(600), seconds(300), seconds(20), 200), seconds(40));
}

}  // namespace
}  // namespace torc::claim
