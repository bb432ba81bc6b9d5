#include "lib/claim/rules/learned_time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "lib/base/codec.h"
#include "lib/base/limits.h"

namespace torc::claim {
namespace {

using namespace std::chrono_literals;

TEST(LearnedTime, says_nothing_before_twenty_jobs_have_completed) {
  LearnedTime time;
  for (int i = 0; i < 19; ++i) time.add(5s);
  EXPECT_EQ(time.expectation(), std::nullopt);
  time.add(5s);
  EXPECT_EQ(time.expectation(), 5s);
}

TEST(LearnedTime, is_what_19_of_20_jobs_keep_to) {
  LearnedTime time;
  for (int i = 0; i < 95; ++i) time.add(10s);
  for (int i = 0; i < 5; ++i) time.add(1h);
  EXPECT_EQ(time.expectation(), 10s);
  time.add(1h);
  EXPECT_GE(*time.expectation(), 1h);
}

TEST(LearnedTime, is_never_too_short_and_at_most_a_sixteenth_too_long) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    LearnedTime time;
    std::vector<std::int64_t> all;
    std::lognormal_distribution<double> spread(round % 12, 1.0);
    for (int i = 0; i < 20 + round; ++i) {
      all.push_back(static_cast<std::int64_t>(spread(random)) + 1);
      time.add(std::chrono::seconds(all.back()));
    }
    std::sort(all.begin(), all.end());
    const auto exact = static_cast<double>(all[all.size() - all.size() / 20 - 1]);
    const auto said = static_cast<double>(time.expectation()->count());
    ASSERT_GE(said, exact);
    ASSERT_LE(said, exact * (1 + 1.0 / 16));
  }
}

TEST(LearnedTime, is_read_back_as_it_was_written_and_begins_with_what_it_says) {
  LearnedTime time;
  for (int i = 1; i < 40; ++i) time.add(std::chrono::seconds(i * i * i));
  const std::string bytes = time.encode();
  const auto read = LearnedTime::decode(bytes);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->encode(), bytes);
  EXPECT_EQ(read->count(), 39U);
  EXPECT_EQ(expectation_in(bytes), time.expectation());
  EXPECT_FALSE(LearnedTime::decode(bytes + '\x01'));
  std::string other = bytes;
  ++other[0];
  EXPECT_FALSE(LearnedTime::decode(other)) << "an expectation that the counts do not give";
}

// Jobs may run again and again: more of them complete than there can be.
TEST(LearnedTime, that_counts_as_many_as_there_can_be_can_still_be_read_after_the_next_one) {
  const std::string full = Encoder().varint(5).varint(5).varint(kMaxJobs).bytes();
  auto time = LearnedTime::decode(full);
  ASSERT_TRUE(time);
  time->add(5s);
  EXPECT_TRUE(LearnedTime::decode(time->encode()));
  time->add(6s);
  EXPECT_EQ(LearnedTime::decode(time->encode())->count(), kMaxJobs + 1);
}

TEST(LearnedTime, has_a_bucket_for_any_time) {
  LearnedTime time;
  for (int i = 0; i < 20; ++i) time.add(std::chrono::hours(24 * 365 * 100'000));
  EXPECT_GT(*time.expectation(), 24h * 3650);
  EXPECT_TRUE(LearnedTime::decode(time.encode()));
}

}  // namespace
}  // namespace torc::claim
