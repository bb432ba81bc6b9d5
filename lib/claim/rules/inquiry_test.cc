#include "lib/claim/rules/inquiry.h"

#include <gtest/gtest.h>

namespace torc::claim {
namespace {

using namespace std::chrono_literals;

TEST(AskTurn, nobody_asks_within_ten_seconds_of_a_question_of_anybody) {
  AskTurn turn;
  BootTime now = 1000s;
  EXPECT_FALSE(turn.may_ask(now)) << "the record was not read yet";
  turn.saw(4, now);
  EXPECT_FALSE(turn.may_ask(now + 9s)) << "somebody may have asked just before";
  turn.saw(4, now + 9s);
  EXPECT_TRUE(turn.may_ask(now + 10s));
  turn.saw(5, now + 10s);
  EXPECT_FALSE(turn.may_ask(now + 19s));
  EXPECT_TRUE(turn.may_ask(now + 20s));
}

// Whoever made it anew began to count at 0.
TEST(AskTurn, a_record_that_was_lost_is_another_question) {
  AskTurn turn;
  turn.saw(4, 0s);
  turn.saw(0, 30s);
  EXPECT_FALSE(turn.may_ask(35s));
  EXPECT_TRUE(turn.may_ask(40s));
}

TEST(EndWish, an_end_that_was_told_is_asked_for_again_after_minutes) {
  EndWish wish;
  EXPECT_FALSE(wish.is_due(BootTime(1'000'000s))) << "it has no allocation";
  wish.told(100s, 0);
  EXPECT_FALSE(wish.is_due(219s));
  EXPECT_TRUE(wish.is_due(220s));
  wish.told(100s, 0.999);
  EXPECT_FALSE(wish.is_due(250s)) << "not all at once";
  EXPECT_TRUE(wish.is_due(280s));
}

TEST(EndWish, an_end_that_is_not_known_is_asked_for_soon_and_again_when_nothing_comes_of_it) {
  EndWish wish;
  wish.unknown(100s, 0);
  EXPECT_TRUE(wish.is_due(130s));
  wish.asked(130s, 0);
  EXPECT_FALSE(wish.is_due(189s));
  EXPECT_TRUE(wish.is_due(190s));
}

TEST(EndWish, a_question_of_another_one_makes_nobody_ask_sooner) {
  EndWish wish;
  wish.told(100s, 0);
  wish.asked(110s, 0);
  EXPECT_FALSE(wish.is_due(219s));
  wish.at_once(120s);
  EXPECT_TRUE(wish.is_due(120s));
}

WorkerInfo in_run(WallTime start) {
  WorkerInfo info;
  info.cluster = "alpha";
  info.allocation = "7";
  info.allocation_start = start;
  return info;
}

TEST(EndOf, a_worker_is_that_of_its_very_run) {
  Inquiry inquiry;
  inquiry.ends = {{"beta", "7", 10s, 100s}, {"alpha", "7", 20s, 200s}, {"alpha", "8", 10s, 300s}};
  ASSERT_TRUE(end_of(inquiry, in_run(20s)));
  EXPECT_EQ(end_of(inquiry, in_run(20s))->end, WallTime(200s));
  EXPECT_FALSE(end_of(inquiry, in_run(10s))) << "it was requeued";
  ASSERT_TRUE(end_of(inquiry, in_run(0s)));
  EXPECT_EQ(end_of(inquiry, in_run(0s))->start, WallTime(20s));
}

}  // namespace
}  // namespace torc::claim
