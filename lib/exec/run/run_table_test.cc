#include "lib/exec/run/run_table.h"

#include <gtest/gtest.h>

namespace torc::exec {
namespace {

using namespace std::chrono_literals;

RunKey add(RunTable& runs, pid_t leader, std::chrono::nanoseconds time_limit = 0s,
           BootTime now = 1h) {
  RunTerms terms;
  terms.time_limit = time_limit;
  const RunKey key = runs.take_key();
  runs.add(key, run_of({key, leader, WallTime(0), now}, terms, nullptr, now));
  return key;
}

TEST(RunTableTest, tells_what_is_due_first) {
  RunTable runs;
  add(runs, 100, 60s);
  const RunKey sooner = add(runs, 101, 30s);
  add(runs, 102);
  EXPECT_EQ(runs.next_deadline(), 1h + 30s);
  EXPECT_FALSE(runs.due(1h + 29s));
  EXPECT_EQ(runs.due(1h + 30s), sooner);
  runs.remove(sooner);
  EXPECT_EQ(runs.next_deadline(), 1h + 60s);
}

TEST(RunTableTest, a_limit_of_centuries_is_none) {
  RunTable runs;
  add(runs, 100, std::chrono::nanoseconds::max());
  EXPECT_FALSE(runs.next_deadline());
}

TEST(RunTableTest, time_that_does_not_count_shifts_all_deadlines_but_one_at_the_end_of_time) {
  RunTable runs;
  add(runs, 100, 30s);
  const RunKey last = add(runs, 101, 60s);
  runs.set_deadline(last, BootTime::max());
  runs.shift_deadlines(10s);
  EXPECT_EQ(runs.next_deadline(), 1h + 40s);
  EXPECT_EQ(runs.find(last)->deadline, BootTime::max());
}

TEST(RunTableTest, a_group_number_that_the_kernel_gave_again_is_the_new_runs) {
  RunTable runs;
  const RunKey old = add(runs, 100);
  runs.lose_leader(old, 0);
  const RunKey again = add(runs, 100);
  EXPECT_TRUE(runs.find(old)->group_gone);
  EXPECT_FALSE(runs.find(again)->group_gone);
  EXPECT_EQ(runs.by_session(100), again);
  runs.remove(old);
  EXPECT_EQ(runs.by_session(100), again);
  runs.remove(again);
  EXPECT_FALSE(runs.by_session(100));
}

TEST(RunTableTest, has_the_leaderless_in_the_order_in_which_they_became_so) {
  RunTable runs;
  const RunKey first = add(runs, 100);
  const RunKey second = add(runs, 101);
  runs.lose_leader(second, 9);
  runs.lose_leader(first, 0);
  EXPECT_EQ(runs.leaderless(), (std::vector<RunKey>{second, first}));
  EXPECT_EQ(runs.find(second)->status, 9);
  runs.remove(second);
  EXPECT_EQ(runs.leaderless(), std::vector<RunKey>{first});
}

TEST(RunTableTest, keys_are_in_the_order_of_the_starts) {
  RunTable runs;
  EXPECT_FALSE(runs.oldest());
  const RunKey first = add(runs, 100);
  const RunKey second = add(runs, 101);
  EXPECT_EQ(runs.oldest(), first);
  EXPECT_EQ(runs.after(first), second);
  EXPECT_FALSE(runs.after(second));
  EXPECT_EQ(runs.last_key(), second);
}

TEST(RunTableTest, the_earliest_look_that_anybody_wants_is_next) {
  RunTable runs;
  EXPECT_FALSE(runs.next_look());
  add(runs, 100, 0s, 1h);
  add(runs, 101, 0s, 1h + 1s);
  EXPECT_EQ(runs.next_look(), 1h + kFirstLook);
  runs.set_next_look(1h + 5s);
  runs.want_look(1h + 7s);
  EXPECT_EQ(runs.next_look(), 1h + 5s);
}

}  // namespace
}  // namespace torc::exec
