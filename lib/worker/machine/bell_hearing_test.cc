#include "lib/worker/machine/bell_hearing.h"

#include <gtest/gtest.h>

namespace torc::worker {
namespace {

using namespace std::chrono_literals;

class Bells : public ::testing::Test {
 protected:
  // As the machine does: when it is due, a look, which sees the state as of `newest`.
  bool look(std::uint64_t newest, bool jobs) {
    if (!hearing_.due() || *hearing_.due() > now_) return false;
    hearing_.looks(now_);
    hearing_.saw(newest);
    hearing_.found(jobs, now_);
    return true;
  }

  BootTime now_{1h};
  BellHearing hearing_;
};

TEST_F(Bells, the_first_that_is_rung_looks_at_once_and_others_after_it) {
  hearing_.heard(10, 0, now_);
  EXPECT_EQ(hearing_.due(), now_);
  BellHearing third;
  third.heard(10, 2, now_);
  EXPECT_EQ(third.due(), now_ + 2 * BellHearing::kBetweenPlaces);
}

TEST_F(Bells, a_commit_that_was_seen_is_dropped_and_so_is_one_that_is_repeated) {
  hearing_.saw(10);
  hearing_.heard(10, 0, now_);
  hearing_.heard(9, 0, now_);
  EXPECT_FALSE(hearing_.due().has_value());
  hearing_.heard(11, 4, now_);
  const auto due = hearing_.due();
  hearing_.heard(11, 0, now_);
  EXPECT_EQ(hearing_.due(), due) << "a replay changes nothing";
  hearing_.saw(11);
  EXPECT_FALSE(hearing_.due().has_value()) << "it looked for another reason";
}

TEST_F(Bells, at_most_one_look_a_second_follows_bells_that_prove_false) {
  int looks = 0;
  const BootTime end = now_ + 60s;
  for (std::uint64_t commit = 1; now_ < end; now_ += 1ms, ++commit) {
    hearing_.heard(commit, 0, now_);
    if (look(commit, false)) ++looks;
  }
  EXPECT_GE(looks, 59);
  EXPECT_LE(looks, 60);
  EXPECT_EQ(hearing_.account().heard, 60'000U);
  EXPECT_EQ(hearing_.account().looks, static_cast<std::uint64_t>(looks));
  EXPECT_EQ(hearing_.account().found, 0U);
}

TEST_F(Bells, bells_that_prove_true_are_followed_at_once) {
  for (std::uint64_t commit = 1; commit <= 100; ++commit) {
    hearing_.heard(commit, 0, now_);
    EXPECT_TRUE(look(commit, true)) << commit;
    now_ += 1ms;
  }
}

TEST_F(Bells, after_a_false_one_a_true_one_is_late_by_a_second_and_no_more) {
  hearing_.heard(1, 0, now_);
  ASSERT_TRUE(look(1, false));
  hearing_.heard(2, 0, now_);
  EXPECT_EQ(hearing_.due(), now_ + BellHearing::kRefill);
  now_ += BellHearing::kRefill;
  EXPECT_TRUE(look(2, true));
  hearing_.heard(3, 0, now_);
  EXPECT_EQ(hearing_.due(), now_);
}

TEST_F(Bells, a_commit_that_nobody_ever_sees_is_looked_for_three_times) {
  hearing_.heard(UINT64_MAX, 0, now_);
  int looks = 0;
  for (int i = 0; i < 100; ++i, now_ += 1s) looks += look(5, false) ? 1 : 0;
  EXPECT_EQ(looks, BellHearing::kMostLooks);
  hearing_.heard(6, 0, now_);
  EXPECT_TRUE(hearing_.due().has_value()) << "and hides none that come later";
}

TEST_F(Bells, a_place_beyond_all_others_waits_for_minutes_not_for_ever) {
  hearing_.heard(1, UINT32_MAX, now_);
  EXPECT_LE(*hearing_.due(), now_ + 300s);
}

}  // namespace
}  // namespace torc::worker
