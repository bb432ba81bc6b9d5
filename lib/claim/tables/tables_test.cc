#include "lib/claim/tables/tables.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "lib/claim/testing/test_workflow.h"

namespace torc::claim {
namespace {

Activity any_activity() {
  const auto any = [] { return *rc::gen::arbitrary<std::uint64_t>(); };
  Activity a;
  if (*rc::gen::arbitrary<bool>()) a.io = Traffic{{any()}, {any()}};
  if (*rc::gen::arbitrary<bool>()) a.storage = {{any()}, {any()}};
  if (*rc::gen::arbitrary<bool>()) a.voluntary_switches = any();
  if (*rc::gen::arbitrary<bool>()) a.involuntary_switches = any();
  return a;
}

constexpr std::int64_t kMostCpuTime = std::int64_t{1} << 60;

WallTime any_time() {
  constexpr std::int64_t kLatest = std::int64_t{1} << 53;
  return WallTime(*rc::gen::inRange(-kLatest, kLatest + 1));
}

Job any_job() {
  Job job;
  job.state = static_cast<JobState>(*rc::gen::inRange(0, static_cast<int>(kJobStates)));
  job.attempt = *rc::gen::arbitrary<std::uint32_t>();
  job.lost = *rc::gen::arbitrary<std::uint32_t>();
  job.stopped = *rc::gen::arbitrary<std::uint32_t>();
  if (*rc::gen::arbitrary<bool>()) job.forgiven = *rc::gen::arbitrary<std::uint32_t>();
  job.revoked = static_cast<Revoked>(*rc::gen::inRange(0, 3));
  job.claim = *rc::gen::arbitrary<std::uint64_t>();
  if (job.claim != 0) job.worker = WorkerEpoch{*rc::gen::arbitrary<std::uint64_t>()};
  job.claimed_at = any_time();
  Outcome& o = job.outcome;
  o.cause = static_cast<EndCause>(*rc::gen::inRange(0, static_cast<int>(kLastEndCause) + 1));
  if (o.cause == EndCause::output_missing) o.missing_output = *rc::gen::arbitrary<std::uint32_t>();
  o.exit_code = *rc::gen::arbitrary<int>();
  o.signal = *rc::gen::arbitrary<int>();
  o.os_errno = *rc::gen::arbitrary<int>();
  const int last_fault = static_cast<int>(kLastStartFault);
  if (o.os_errno != 0) o.fault = static_cast<StartFault>(*rc::gen::inRange(0, last_fault + 1));
  o.started_at = any_time();
  o.ended_at = any_time();
  o.max_rss.value = *rc::gen::arbitrary<std::uint64_t>();
  o.cpu_time = std::chrono::microseconds(*rc::gen::inRange(-kMostCpuTime, kMostCpuTime));
  o.activity = any_activity();
  o.rank = *rc::gen::inRange<std::uint32_t>(0, 3);
  if (o.rank != 0) o.member = WorkerEpoch{*rc::gen::arbitrary<std::uint64_t>()};
  return job;
}

RC_GTEST_PROP(Tables, a_job_is_read_back_as_it_was_written, ()) {
  const Job job = any_job();
  RC_ASSERT(decode_job(encode(job)) == job);
}

RC_GTEST_PROP(Tables, a_lease_is_read_back_as_it_was_written, ()) {
  Lease lease;
  lease.renewals = *rc::gen::arbitrary<std::uint64_t>();
  for (std::uint64_t id = 0; std::uint64_t gap : *rc::gen::container<std::vector<std::uint64_t>>(
                                 rc::gen::inRange<std::uint64_t>(1, 4))) {
    (gap == 1 ? lease.held : lease.ending).push_back(id += gap);
  }
  lease.barred = *rc::gen::arbitrary<bool>();
  lease.has_bell = *rc::gen::arbitrary<bool>();
  lease.idle = lease.has_bell && *rc::gen::arbitrary<bool>();
  if (*rc::gen::arbitrary<bool>()) lease.used_core_ms = *rc::gen::arbitrary<std::uint64_t>();
  const auto back = decode_lease(encode(lease));
  RC_ASSERT(back.has_value());
  RC_ASSERT(back->used_core_ms == lease.used_core_ms);
  RC_ASSERT(back->held == lease.held);
  RC_ASSERT(back->ending == lease.ending);
  RC_ASSERT(back->barred == lease.barred);
  RC_ASSERT(back->has_bell == lease.has_bell);
  RC_ASSERT(back->idle == lease.idle);
  RC_ASSERT(back->renewals == lease.renewals);
}

RC_GTEST_PROP(Tables, bytes_that_nobody_wrote_are_refused_or_read_but_never_crash,
              (std::string bytes)) {
  (void)decode_job(bytes);
  (void)decode_lease(bytes);
  (void)decode_worker(bytes);
  (void)decode_barrier(bytes);
  (void)decode_upstream(Key(Table::upstream, 1), bytes);
  (void)decode_class(bytes);
  (void)decode_tally(bytes);
}

// Otherwise two records of different bytes would say the same, and one read would be written as
// another.
TEST(Tables, a_job_that_announces_what_is_not_there_is_refused) {
  Job job;
  job.state = JobState::failed;
  job.attempt = 1;
  job.outcome.exit_code = 1;
  job.outcome.os_errno = ENOENT;
  job.outcome.fault = kLastStartFault;
  const std::string good{std::string_view(encode(job))};
  ASSERT_EQ(decode_job(good), job);
  std::string none = good;
  const std::size_t at = none.find(static_cast<char>(ENOENT << 1));  // zigzag
  ASSERT_NE(at, std::string::npos);
  none[at] = '\0';
  EXPECT_FALSE(decode_job(none).has_value()) << "a fault without an errno";
}

TEST(Tables, an_end_on_the_head_is_written_as_before_ranks_were_told) {
  Job job;
  job.state = JobState::failed;
  job.attempt = 1;
  job.outcome.cause = EndCause::exited;
  job.outcome.exit_code = 3;
  const std::string head{std::string_view(encode(job))};
  EXPECT_EQ(head.size(), 6U);
  job.outcome.rank = 2;
  job.outcome.member = WorkerEpoch{9};
  EXPECT_EQ(std::string(std::string_view(encode(job))), head + "\x10\x02\x09");
}

TEST(Tables, a_class_with_one_share_of_one_limit_is_written_as_ever) {
  JobClass one;
  const std::string none = encode(one);
  one.limits = {{7, 1}};
  EXPECT_EQ(encode(one), none + '\x07');
  EXPECT_EQ(decode_class(encode(one)), one);
  using Shares = std::vector<LimitShare>;
  for (const Shares& shares : {Shares{}, Shares{{7, 2}}, Shares{{1, 1}, {2, 3}}}) {
    for (const std::uint64_t learns_from : {0, 5}) {
      for (const Alone alone : {Alone::no, Alone::entirely}) {
        one.limits = shares;
        one.learns_from = learns_from;
        one.alone = alone;
        one.need.time_limit = std::chrono::seconds(learns_from);
        EXPECT_EQ(decode_class(encode(one)), one);
      }
    }
  }
  one.limits = {{2, 1}, {1, 1}};
  EXPECT_FALSE(decode_class(encode(one))) << "not in order";
  one.limits = {{2, 0}};
  EXPECT_FALSE(decode_class(encode(one))) << "nothing of it";
}

TEST(Tables, a_class_has_its_alternatives_whatever_else_it_says) {
  JobClass c;
  c.weight = 1;
  c.others.emplace_back().need.cpus = 32;
  for (const bool later : {false, true}) {
    for (const bool named : {false, true}) {
      c.need.time_limit = std::chrono::seconds(later ? 60 : 0);
      c.need.named = named ? Amounts{{"fpga", 1000}} : Amounts{};
      Alternative other{c.need, 7};
      other.need.gpus = 2;
      c.others.resize(1);
      c.others.push_back(other);
      EXPECT_EQ(decode_class(encode(c)), c);
    }
  }
  JobClass plain = c;
  plain.others.clear();
  plain.weight = 0;
  EXPECT_TRUE(encode(c).starts_with(encode(plain)));
  for (std::size_t size = encode(plain).size() + 1; size < encode(c).size(); ++size)
    EXPECT_FALSE(decode_class(encode(c).substr(0, size))) << "cut off at " << size;
  c.others.resize(kMostAlternatives);
  EXPECT_FALSE(decode_class(encode(c))) << "more than there can be";
}

TEST(Tables, a_job_that_has_the_first_alternative_is_written_as_ever) {
  Job job;
  job.state = JobState::claimed;
  job.attempt = 3;
  job.claim = 9;
  job.worker = WorkerEpoch{4};
  const std::string first{std::string_view(encode(job))};
  EXPECT_EQ(first.size(), 4U);
  job.alternative = 2;
  EXPECT_EQ(decode_job(encode(job)), job);
  job.forgiven = 2;
  EXPECT_EQ(decode_job(encode(job)), job);
  job.alternative = kMostAlternatives;
  EXPECT_FALSE(decode_job(encode(job))) << "more than there can be";
}

TEST(Tables, a_limit_of_an_entry_is_written_as_ever) {
  const std::string entry = encode(Limit{"a", 3, LimitKind::entry});
  EXPECT_EQ(entry.back(), 'a');
  for (const LimitKind kind : {LimitKind::entry, LimitKind::named, LimitKind::workflow}) {
    const auto read = decode_limit(encode(Limit{"a", 3, kind}));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->kind, kind);
  }
  EXPECT_FALSE(decode_limit(entry + '\x03'));
  const Limit set{"a", 0, LimitKind::entry, 3};
  EXPECT_EQ(decode_limit(encode(set)), set);
  EXPECT_EQ(set.of_file(), 3U);
}

TEST(Tables, a_time_further_off_than_any_clock_is_written_as_far_as_it_is_read) {
  constexpr WallTime kLatest{std::int64_t{1} << 53};
  Job job;
  job.state = JobState::delayed;
  job.claim = 1;
  job.claimed_at = WallTime::max();
  job.not_before = WallTime::min();
  job.delay = std::chrono::seconds::max();
  job.outcome.started_at = WallTime::max();
  job.outcome.ended_at = WallTime::min();
  const auto read = decode_job(encode(job));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->claimed_at, kLatest);
  EXPECT_EQ(read->not_before, -kLatest);
  EXPECT_EQ(read->delay.count(), std::int64_t{1} << 33);
  EXPECT_EQ(read->outcome.started_at, kLatest);
  EXPECT_EQ(read->outcome.ended_at, -kLatest);
  WorkerInfo info;
  info.ends_at = info.claims_from = WallTime::max();
  info.lease_ttl = info.lease_heartbeat = info.node_timeout = std::chrono::seconds::max();
  EXPECT_TRUE(decode_worker(encode_worker(info, WorkerStatus::registered, {}, WallTime::max())));
  Lease lease;
  lease.ttl = std::chrono::seconds::max();
  EXPECT_TRUE(decode_lease(encode(lease)));
  JobClass one;
  one.need.runtime = std::chrono::seconds::max();
  EXPECT_TRUE(decode_class(encode(one)));
}

TEST(Tables, a_worker_with_a_bell_is_read_back_and_one_without_is_written_as_before) {
  WorkerInfo info;
  info.host = "node1";
  info.above = {7};
  info.claims_from = WallTime(5);
  const std::string without = encode_worker(info, WorkerStatus::registered, {}, {});
  ASSERT_TRUE(decode_worker(without).has_value());
  EXPECT_FALSE(decode_worker(without)->info.bell.has_value());
  info.bell =
      BellPlace{{{std::string("\x0a\0\0\x01", 4), 40000}, {std::string(16, '\x20'), 1}}, {}};
  info.bell->key[15] = 9;
  const std::string with = encode_worker(info, WorkerStatus::registered, {}, {});
  ASSERT_TRUE(decode_worker(with).has_value());
  EXPECT_EQ(decode_worker(with)->info.bell, info.bell);
  EXPECT_EQ(with.size(), without.size() + 16 + 1 + (1 + 4 + 3) + (1 + 16 + 1));
  EXPECT_FALSE(decode_worker(with.substr(0, with.size() - 1)).has_value());
  // As every store before had it: nothing but a bit and what follows is new.
  const std::string stripped = with.substr(0, without.size());
  for (std::size_t i = 0; i < stripped.size(); ++i) {
    if (stripped[i] == without[i]) continue;
    EXPECT_EQ(stripped[i], without[i] | 8) << i;
  }
}

TEST(Tables, when_slurm_gives_up_the_node_of_a_worker_is_read_back_and_may_be_missing) {
  WorkerInfo info;
  info.node = "n1";
  const std::string without = encode_worker(info, WorkerStatus::registered, {}, {});
  EXPECT_EQ(decode_worker(without)->info.node_timeout.count(), 0);
  info.node_timeout = std::chrono::seconds(60);
  const std::string with = encode_worker(info, WorkerStatus::registered, {}, {});
  EXPECT_EQ(decode_worker(with)->info.node_timeout, info.node_timeout);
  EXPECT_EQ(decode_worker(with)->info.node, "n1");
  EXPECT_EQ(with.size(), without.size() + 1);
}

TEST(Tables, a_bell_without_an_address_or_with_one_of_no_family_is_refused) {
  WorkerInfo info;
  const auto is_read = [&](std::vector<BellAddress> addresses) {
    info.bell = BellPlace{std::move(addresses), {}};
    return decode_worker(encode_worker(info, WorkerStatus::registered, {}, {})).has_value();
  };
  EXPECT_TRUE(is_read({{"1234", 1}}));
  EXPECT_TRUE(is_read(std::vector<BellAddress>(kMostBellAddresses, {"1234", 1})));
  EXPECT_FALSE(is_read({}));
  EXPECT_FALSE(is_read({{"12345", 1}}));
  EXPECT_FALSE(is_read(std::vector<BellAddress>(kMostBellAddresses + 1, {"1234", 1})));
}

TEST(Tables, key_order_of_ready_ranges_is_the_order_of_claiming) {
  const std::vector<ReadyRange> order = {
      {0, 5, 9, 9, 1},  {0, 0, 0, 3, 1},         {0, 0, 0, 4, 1},        {0, 0, 2, 1, 1},
      {0, -1, 0, 1, 1}, {0, INT32_MIN, 0, 1, 1}, {1, INT32_MAX, 0, 1, 1}};
  for (std::size_t i = 1; i < order.size(); ++i) {
    EXPECT_LT(std::string_view(ready_key(order[i - 1])), std::string_view(ready_key(order[i])));
  }
  for (const ReadyRange& r : order)
    EXPECT_EQ(decode_ready(ready_key(r), Value().varint(r.count)), r);
}

TEST(Tables, a_typical_job_record_is_at_most_forty_bytes) {
  Job job;
  job.state = JobState::completed;
  job.attempt = 1;
  job.claim = 100'000;
  job.worker = WorkerEpoch{90'000};
  job.claimed_at = kNoon;
  job.outcome = {EndCause::exited,
                 0,
                 0,
                 0,
                 kNoon + std::chrono::seconds(30),
                 kNoon + std::chrono::hours(2),
                 mebibytes(300),
                 std::chrono::hours(2),
                 {},
                 {}};
  EXPECT_LE(std::string_view(encode(job)).size(), 40U);
  job.outcome.activity = {Traffic{mebibytes(900), mebibytes(20)}, {{}, mebibytes(20)}, 4000, 900};
  EXPECT_LE(std::string_view(encode(job)).size(), 60U);
}

TEST(Tables, the_hash_of_names_is_what_stores_already_hold) {
  EXPECT_EQ(name_hash(""), 0xefd01f60ba992926U);
  EXPECT_EQ(name_hash("prepare"), 0x23636f1396723a8U);
  EXPECT_NE(name_hash("prepare_1"), name_hash("prepare_2"));
}

}  // namespace
}  // namespace torc::claim
