#include "lib/exec/run/strays.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace torc::exec {
namespace {

std::vector<pid_t> sorted(std::vector<pid_t> pids) {
  std::sort(pids.begin(), pids.end());
  return pids;
}

TEST(StraysTest, are_found_by_their_owner_until_they_are_reaped) {
  Strays strays;
  strays.add(100, {1, 2});
  strays.add(101, {2, 2});
  strays.add(102, {1, 2});
  EXPECT_EQ(sorted(strays.of(1)), (std::vector<pid_t>{100, 102}));
  strays.remove(100);
  EXPECT_TRUE(strays.any_of(1));
  strays.remove(102);
  EXPECT_FALSE(strays.any_of(1));
  EXPECT_TRUE(strays.of(1).empty());
  EXPECT_EQ(strays.all(), std::vector<pid_t>{101});
}

TEST(StraysTest, one_that_is_found_twice_counts_once) {
  Strays strays;
  strays.add(100, {1, 2});
  strays.add(100, {1, 2});
  strays.remove(100);
  strays.remove(100);
  EXPECT_FALSE(strays.any_of(1));
  EXPECT_TRUE(strays.empty());
}

TEST(StraysTest, one_that_hides_is_the_oldest_runs_when_no_other_was_there) {
  Strays strays;
  strays.add(100, {std::nullopt, 3});
  strays.claim_hidden(3, 4);
  EXPECT_EQ(strays.of(3), std::vector<pid_t>{100});
  strays.claim_hidden(3, std::nullopt);
  strays.remove(100);
  EXPECT_FALSE(strays.any_of(3)) << "it counted once";
}

TEST(StraysTest, one_that_hides_waits_while_it_can_be_anothers) {
  Strays strays;
  strays.add(100, {std::nullopt, 3});
  strays.claim_hidden(2, 3);
  EXPECT_FALSE(strays.any_of(2)) << "3 had begun when it was found";
  strays.claim_hidden(3, std::nullopt);
  EXPECT_TRUE(strays.any_of(3));
}

TEST(StraysTest, one_that_hides_is_of_no_run_that_began_after_it_was_found) {
  Strays strays;
  strays.add(100, {std::nullopt, 3});
  strays.claim_hidden(4, std::nullopt);
  EXPECT_FALSE(strays.any_of(4));
  EXPECT_FALSE(strays.find(100)->owner);
}

}  // namespace
}  // namespace torc::exec
