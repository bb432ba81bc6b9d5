#include "lib/claim/tables/allocation_record.h"

#include <gtest/gtest.h>

#include <limits>

namespace torc::claim {
namespace {

using namespace std::chrono_literals;

Allocation some_allocation() {
  Allocation a;
  a.stage = AllocationStage::ended;
  a.scheduler = 3;
  a.by = AskedBy::action;
  a.action = 2;
  a.who = "me@login";
  a.why = "action 2";
  a.nodes = 4;
  a.walltime = 90min;
  a.max_parallel_jobs = 5;
  a.wanted_at = WallTime{1};
  a.submitted_at = WallTime{2};
  a.started_at = WallTime{3};
  a.ends_at = WallTime{4};
  a.ended_at = WallTime{5};
  a.tries = 6;
  a.submitter = "me";
  a.mark = "ab";
  a.absent = 7;
  a.absent_since = WallTime{8};
  a.cluster = "c";
  a.id = "99_1";
  a.state = "CANCELLED by 7";
  a.reason = "(Priority)";
  a.expected_start = WallTime{9};
  a.is_surplus = true;
  a.end = AllocationEnd::lost;
  a.said = "nothing";
  a.core_seconds = std::uint64_t{1} << 60U;
  a.cpus = 144;
  return a;
}

Scheduler some_scheduler() {
  Scheduler s;
  s.name = "small";
  s.script = "small.sh";
  s.job_name = "wf-small";
  s.serialize = true;
  s.nodes = 2;
  s.walltime = 4h;
  s.node.cpus = 36;
  s.node.memory = mebibytes(1024);
  s.terms = {1, 2, 3, 4, 999, 45s, 1000.5, 0.25};
  s.from_login = true;
  s.is_managed = true;
  s.stopped = "no account";
  s.failures = 5;
  s.not_before = WallTime{77};
  s.said = "busy";
  s.not_from_here = true;
  return s;
}

TEST(AllocationRecord, reads_what_was_written) {
  EXPECT_EQ(decode_allocation(encode(some_allocation())), some_allocation());
  Allocation used = some_allocation();
  used.used_core_ms = std::uint64_t{1} << 50U;
  EXPECT_EQ(decode_allocation(encode(used)), used);
  EXPECT_TRUE(encode(used).starts_with(encode(some_allocation()))) << "older ones are read";
  Allocation plain;
  plain.scheduler = 1;
  EXPECT_EQ(decode_allocation(encode(plain)), plain);
  EXPECT_EQ(decode_scheduler(encode(some_scheduler())), some_scheduler());
  EXPECT_EQ(decode_scheduler(encode(Scheduler{})), Scheduler{});
  for (const std::uint32_t flag : {1U, 2U, 4U, 8U, 16U}) {
    Scheduler s;
    s.serialize = flag == 1;
    s.from_login = flag == 2;
    s.is_managed = flag == 4;
    s.not_from_here = flag == 8;
    s.is_told_off = flag == 16;
    EXPECT_EQ(decode_scheduler(encode(s)), s);
  }
  const AllocationBook book{9, 8, 7, 6, WallTime{5}};
  EXPECT_EQ(decode_book(encode(book)), book);
  const AllocationBook looked{9, 8, 7, 6, WallTime{5}, WallTime{4}, WallTime{0}, WallTime{3}};
  EXPECT_EQ(decode_book(encode(looked)), looked);
  EXPECT_TRUE(
      encode(looked).starts_with(encode(AllocationBook{9, 8, 7, 6, WallTime{5}, WallTime{4}})))
      << "older programs' books are read";
}

TEST(AllocationRecord, is_none_where_it_is_cut_off_or_goes_on) {
  const auto is_exact = [](const std::string& whole, auto decode) {
    for (std::size_t n = 0; n < whole.size(); ++n)
      EXPECT_FALSE(decode(std::string_view(whole).substr(0, n)).has_value()) << n;
    EXPECT_FALSE(decode(whole + std::string(1, '\0')).has_value());
  };
  is_exact(encode(some_allocation()), decode_allocation);
  is_exact(encode(AllocationBook{9, 8, 7, 6, WallTime{5}, WallTime{4}}), decode_book);
  const std::string scheduler = encode(some_scheduler());
  for (std::size_t n = 0; n + 1 < scheduler.size(); ++n)
    (void)decode_scheduler(std::string_view(scheduler).substr(0, n));  // does not crash
  EXPECT_FALSE(decode_scheduler(std::string_view(scheduler).substr(0, 20)));
}

TEST(AllocationRecord, of_what_can_not_be_is_none) {
  const auto change = [](auto how) {
    Allocation a = some_allocation();
    how(a);
    return decode_allocation(encode(a));
  };
  EXPECT_FALSE(change([](Allocation& a) { a.scheduler = 0; }));
  EXPECT_FALSE(change([](Allocation& a) { a.scheduler = kMostSchedulers + 1; }));
  EXPECT_FALSE(change([](Allocation& a) { a.nodes = 0; }));
  EXPECT_FALSE(change([](Allocation& a) { a.walltime = -1s; }));
  EXPECT_FALSE(change([](Allocation& a) { a.stage = static_cast<AllocationStage>(5); }));
  EXPECT_FALSE(change([](Allocation& a) { a.by = static_cast<AskedBy>(3); }));
  EXPECT_FALSE(change([](Allocation& a) { a.end = static_cast<AllocationEnd>(7); }));
  Scheduler s;
  s.walltime = -1s;
  EXPECT_FALSE(decode_scheduler(encode(s)));
  s = some_scheduler();
  s.nodes = 0;
  EXPECT_FALSE(decode_scheduler(encode(s)));
  s = {};
  s.terms.min_utilization = 1001;
  EXPECT_FALSE(decode_scheduler(encode(s)));
  EXPECT_FALSE(decode_book(encode(AllocationBook{kMostAllocations + 1, 0, 0, 0, {}, {}})));
}

TEST(AllocationRecord, any_changed_byte_is_read_or_refused_and_never_more) {
  for (const std::string& whole : {encode(some_allocation()), encode(some_scheduler())}) {
    for (std::size_t n = 0; n < whole.size(); ++n) {
      for (unsigned byte = 0; byte < 256; ++byte) {
        std::string changed = whole;
        changed[n] = static_cast<char>(byte);
        if (const auto a = decode_allocation(changed)) {
          EXPECT_EQ(decode_allocation(encode(*a)), a);
        }
        if (const auto s = decode_scheduler(changed)) {
          EXPECT_EQ(decode_scheduler(encode(*s)), s);
        }
      }
    }
  }
}

TEST(AllocationRecord, keeps_times_and_hours_that_are_far_off_as_far_as_it_reads_them) {
  Allocation a = some_allocation();
  a.wanted_at = WallTime::max();
  a.walltime = std::chrono::seconds::max();
  EXPECT_TRUE(decode_allocation(encode(a)).has_value());
  Scheduler s = some_scheduler();
  s.terms.budget_core_hours = std::numeric_limits<double>::infinity();
  s.terms.budget_node_hours = -1;
  const auto read = decode_scheduler(encode(s));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->terms.budget_core_hours, 1e12);
  EXPECT_EQ(read->terms.budget_node_hours, 0);
}

TEST(AllocationKeys, are_of_one_number_and_stand_in_its_order) {
  EXPECT_EQ(allocation_in(allocation_key(7)), 7U);
  EXPECT_EQ(live_allocation_in(live_allocation_key(7)), 7U);
  EXPECT_EQ(scheduler_in(scheduler_key(7)), 7U);
  EXPECT_LT(std::string_view(allocation_key(255)), std::string_view(allocation_key(256)));
  EXPECT_FALSE(allocation_in(allocation_key(0)));
  EXPECT_FALSE(allocation_in(allocation_key(kMostAllocations + 1)));
  EXPECT_FALSE(scheduler_in(scheduler_key(kMostSchedulers + 1)));
  EXPECT_FALSE(allocation_in(live_allocation_key(7)));
  EXPECT_FALSE(allocation_in(Key(Table::allocation)));
  EXPECT_FALSE(allocation_in(Key(Table::allocation, 7)));
}

}  // namespace
}  // namespace torc::claim
