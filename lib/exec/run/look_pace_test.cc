#include "lib/exec/run/look_pace.h"

#include <gtest/gtest.h>

namespace torc::exec {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr BootTime kStart = 1h;

// Of a tree that has run for `age`, looked at 100 ms ago when it used 100 MiB.
MemoryWatch watched(nanoseconds age, ByteCount limit) {
  MemoryWatch watch;
  watch.limit = limit;
  watch.before = mebibytes(100);
  watch.since = kStart;
  watch.last = kStart + age - 100ms;
  return watch;
}

nanoseconds next(nanoseconds age, ByteCount limit, ByteCount used,
                 std::optional<BootTime> sample = std::nullopt) {
  return time_to_next_look(watched(age, limit), used, kStart + age, sample);
}

TEST(LookPace, a_tree_is_looked_at_the_less_often_the_longer_it_runs) {
  EXPECT_EQ(next(100ms, {}, mebibytes(100)), 100ms);
  EXPECT_EQ(next(8s, {}, mebibytes(100)), 1s);
  EXPECT_EQ(next(24h, {}, mebibytes(100)), 10s);
}

TEST(LookPace, one_with_a_limit_is_looked_at_once_a_second) {
  EXPECT_EQ(next(24h, mebibytes(1000), mebibytes(100)), 1s);
}

TEST(LookPace, one_that_grows_is_looked_at_in_half_the_time_to_its_limit) {
  EXPECT_EQ(next(24h, mebibytes(900), mebibytes(300)), 150ms) << "200 MiB in 100 ms, 600 to go";
  EXPECT_EQ(next(24h, mebibytes(301), mebibytes(300)), 10ms) << "never sooner";
}

TEST(LookPace, a_sample_that_is_due_is_not_missed) {
  EXPECT_EQ(next(24h, {}, mebibytes(100), kStart + 24h + 3s), 3s);
}

TEST(LookPace, looks_use_a_250th_of_the_time) {
  LookBudget budget;
  budget.pay(kStart, 30ms);
  EXPECT_EQ(budget.earliest(), kStart - 5s + 7500ms);
  budget.pay(kStart + 3s, 1ms);
  EXPECT_EQ(budget.earliest(), kStart + 2750ms) << "half a second was not used";
}

TEST(LookPace, what_was_not_used_for_long_is_lost) {
  LookBudget budget;
  budget.pay(kStart, 0ms);
  budget.pay(kStart + 24h, 40ms);
  EXPECT_EQ(budget.earliest(), kStart + 24h + 5s);
}

}  // namespace
}  // namespace torc::exec
