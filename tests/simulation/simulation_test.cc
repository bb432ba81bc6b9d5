#include "tests/simulation/simulation.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "lib/base/sanitizer.h"

namespace torc::simulation {
namespace {

class Lives : public testing::Test {
 protected:
  Lives() {
    std::string name = "/dev/shm/torc-sim-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) {
      name = "/tmp/torc-sim-XXXXXX";
      EXPECT_NE(mkdtemp(name.data()), nullptr);
    }
    scratch_ = name;
  }
  ~Lives() override { std::filesystem::remove_all(scratch_); }
  Path scratch_;
};

TEST_F(Lives, keep_every_promise_whatever_goes_wrong) {
  const std::uint64_t lives = kSanitized ? 20 : 200;
  Figures sum;
  for (std::uint64_t seed = 1; seed <= lives; ++seed) {
    const Lived lived = live(scenario_of(seed), scratch_, false);
    ASSERT_EQ(lived.violation, "") << "again: simulate --seed " << seed << " --lives 1\n"
                                   << show(scenario_of(seed));
    sum.lost += lived.figures.lost;
    sum.refused += lived.figures.refused;
    sum.runs += lived.figures.runs;
  }
  // They are no lives in which nothing happens.
  EXPECT_GT(sum.lost, lives / 10);
  EXPECT_GT(sum.runs, lives * 150);
}

TEST_F(Lives, are_the_same_from_the_same_seed) {
  const Lived once = live(scenario_of(7), scratch_, true);
  const Lived again = live(scenario_of(7), scratch_, true);
  EXPECT_EQ(once.history, again.history);
  EXPECT_FALSE(once.history.empty());
}

}  // namespace
}  // namespace torc::simulation
