#include "bin/commands/exec/halt.h"

#include <gtest/gtest.h>

namespace torc::cli {
namespace {

using claim::JobState;
using worker::Halt;

// After so many ends, of which the first `failed` ones failed.
HaltCounter after(std::string_view text, std::uint64_t jobs, int failed, int completed) {
  const auto halt = parse_halt(text);
  EXPECT_TRUE(halt.ok()) << text;
  HaltCounter counter(*halt, jobs);
  for (int i = 0; i < failed; ++i) counter.ended(JobState::failed);
  for (int i = 0; i < completed; ++i) counter.ended(JobState::completed);
  return counter;
}

TEST(Halt, comes_after_so_many_of_the_kind) {
  EXPECT_EQ(after("now,fail=2", 9, 1, 7).due(), Halt::no);
  EXPECT_EQ(after("now,fail=2", 9, 2, 0).due(), Halt::now);
  EXPECT_EQ(after("soon,success=1", 9, 5, 0).due(), Halt::no);
  EXPECT_EQ(after("soon,success=1", 9, 0, 1).due(), Halt::soon);
  EXPECT_EQ(after("soon,done=3", 9, 1, 1).due(), Halt::no);
  EXPECT_EQ(after("soon,done=3", 9, 1, 2).due(), Halt::soon);
  EXPECT_EQ(after("never", 9, 9, 0).due(), Halt::no);
}

TEST(Halt, a_percentage_is_of_all_jobs_and_at_least_one) {
  EXPECT_EQ(after("soon,fail=10%", 41, 4, 0).due(), Halt::no);
  EXPECT_EQ(after("soon,fail=10%", 41, 5, 0).due(), Halt::soon);
  EXPECT_EQ(after("soon,fail=1%", 3, 0, 2).due(), Halt::no);
  EXPECT_EQ(after("soon,fail=1%", 3, 1, 0).due(), Halt::soon);
}

TEST(Halt, takes_the_numbers_of_old) {
  EXPECT_EQ(after("0", 9, 9, 0).due(), Halt::no);
  EXPECT_EQ(after("1", 9, 1, 0).due(), Halt::soon);
  EXPECT_EQ(after("2", 9, 1, 0).due(), Halt::now);
}

TEST(Halt, is_good_when_what_was_waited_for_has_come) {
  EXPECT_TRUE(after("now,success=1", 9, 3, 1).is_good());
  EXPECT_TRUE(after("now,done=2", 9, 0, 2).is_good());
  EXPECT_FALSE(after("now,done=2", 9, 1, 1).is_good());
  EXPECT_FALSE(after("now,fail=1", 9, 1, 8).is_good());
  EXPECT_FALSE(after("now,success=2", 9, 0, 1).is_good());
}

TEST(Halt, says_what_it_came_to) {
  EXPECT_EQ(after("now,fail=1", 9, 1, 0).reason(), "1 job failed");
  EXPECT_EQ(after("soon,done=2", 9, 1, 1).reason(), "2 jobs ended");
  EXPECT_EQ(after("soon,done=3", 9, 1, 1).reason(), "");
}

TEST(Halt, what_is_none_is_refused) {
  for (const char* text :
       {"", "3", "-1", "now", "fail=1", "now,fail", "now,fail=", "now,fail=0", "now,fail=x",
        "later,fail=1", "now,lost=1", "now,fail=101%", "now=fail,1"})
    EXPECT_FALSE(parse_halt(text).ok()) << text;
}

}  // namespace
}  // namespace torc::cli
