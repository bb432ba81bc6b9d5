#include "lib/exec/watchdog/replacements.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace torc::exec {
namespace {

using namespace std::chrono_literals;

TEST(Replacements, there_are_three_within_ten_minutes) {
  Replacements replacements;
  EXPECT_TRUE(replacements.allow(100min));
  EXPECT_TRUE(replacements.allow(101min));
  EXPECT_TRUE(replacements.allow(102min));
  EXPECT_FALSE(replacements.allow(109min));
  EXPECT_EQ(replacements.recent(109min), kMostReplacements);
}

TEST(Replacements, what_was_ten_minutes_ago_counts_no_more) {
  Replacements replacements;
  for (const auto at : {100min, 101min, 102min}) EXPECT_TRUE(replacements.allow(at));
  EXPECT_FALSE(replacements.allow(110min - 1ns));
  EXPECT_TRUE(replacements.allow(110min));
  EXPECT_FALSE(replacements.allow(110min));
  EXPECT_TRUE(replacements.allow(111min));
}

TEST(Replacements, what_was_refused_is_not_counted) {
  Replacements replacements;
  for (const auto at : {100min, 101min, 102min}) EXPECT_TRUE(replacements.allow(at));
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(replacements.allow(109min));
  EXPECT_TRUE(replacements.allow(110min));
}

TEST(Replacements, are_for_who_was_killed) {
  EXPECT_TRUE(was_killed({-1, SIGKILL}, false));
  EXPECT_FALSE(was_killed({-1, SIGKILL}, true)) << "it was told to stop before";
  for (const int own : {SIGSEGV, SIGBUS, SIGABRT, SIGTERM, SIGINT})
    EXPECT_FALSE(was_killed({-1, own}, false)) << own;
  for (const int code : {0, 1, 3, 137}) EXPECT_FALSE(was_killed({code, 0}, false)) << code;
}

TEST(Replacements, are_for_a_step_that_was_killed_or_lost_a_worker_so) {
  EXPECT_TRUE(step_was_killed({-1, SIGKILL}, false, Start::first));
  EXPECT_TRUE(step_was_killed({137, 0}, false, Start::first));
  EXPECT_FALSE(step_was_killed({137, 0}, true, Start::first));
  EXPECT_FALSE(step_was_killed({-1, SIGKILL}, true, Start::replacement));
  for (const int code : {0, 2, 3, 127, 128}) {
    EXPECT_FALSE(step_was_killed({code, 0}, false, Start::first)) << code;
    EXPECT_FALSE(step_was_killed({code, 0}, false, Start::replacement)) << code;
  }
  EXPECT_FALSE(step_was_killed({1, 0}, false, Start::first)) << "it never worked";
  EXPECT_TRUE(step_was_killed({1, 0}, false, Start::replacement));
}

}  // namespace
}  // namespace torc::exec
