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
    sum.idle += lived.figures.idle;
    sum.edits += lived.figures.edits;
  }
  // They are no lives in which nothing happens.
  EXPECT_GT(sum.lost, lives / 10);
  EXPECT_GT(sum.runs, lives * 150);
  EXPECT_GT(sum.edits, lives / 2);
  EXPECT_GT(sum.idle, lives / 10);
}

// Seeds that found something once: a worker that went round in circles over memory of its node.
TEST_F(Lives, that_broke_a_promise_once_keep_them_all) {
  for (const std::uint64_t seed : {3011370, 30013842, 30027805, 40022031, 51002888, 60002245}) {
    const Lived lived = live(scenario_of(seed, Edits::no), scratch_, false);
    EXPECT_EQ(lived.violation, "") << "again: simulate --seed " << seed << " --lives 1";
  }
}

TEST_F(Lives, are_the_same_from_the_same_seed) {
  const Lived once = live(scenario_of(7), scratch_, true);
  const Lived again = live(scenario_of(7), scratch_, true);
  EXPECT_EQ(once.history, again.history);
  EXPECT_FALSE(once.history.empty());
}

// Half an hour of work for eight workers, if nothing went wrong.
Scenario calm_scenario() {
  Scenario s;
  s.seed = 3;
  s.nodes = 8;
  s.workers_per_node = 1;
  s.cpus = 4;
  s.jobs = 960;
  s.job_seconds = 10;
  s.lease = std::chrono::seconds(60);
  s.calm = std::chrono::hours(1);
  s.ends = std::chrono::hours(3);
  return s;
}

// Whatever the answers that do not come: one in four.
TEST_F(Lives, notice_within_minutes_that_the_end_of_their_allocation_has_moved) {
  using namespace std::chrono_literals;
  Scenario s = calm_scenario();
  s.in_slurm = true;
  s.jobs = 4000;
  s.faults.push_back({Fault::What::end_moved, 0, 200s, 1000s});
  EXPECT_EQ(live(s, scratch_, false).violation, "");
}

// Of the same life, but for what Slurm says of the node: the jobs of the dead run again while the
// lease still stands.
TEST_F(Lives, find_a_node_that_slurm_has_dropped_long_before_its_lease_runs_out) {
  using namespace std::chrono_literals;
  Scenario s = calm_scenario();
  s.lease = 600s;
  s.jobs = 160;
  s.job_seconds = 20;
  s.faults.push_back({Fault::What::node_death, 0, 60s, 60s});
  const Lived silent = live(s, scratch_, false);
  EXPECT_EQ(silent.violation, "");
  EXPECT_GT(silent.figures.ended, 600s);
  s.in_slurm = true;
  s.slurmd_timeout = 15s;
  const Lived told = live(s, scratch_, false);
  EXPECT_EQ(told.violation, "");
  EXPECT_LT(told.figures.ended, 240s);
}

TEST_F(Lives, a_stall_of_twenty_minutes_expires_nobody_and_a_short_one_costs_no_job) {
  using namespace std::chrono_literals;
  Scenario s = calm_scenario();
  s.faults.push_back({Fault::What::stall, 0, 60s, 60s + 20min});
  Lived lived = live(s, scratch_, false);
  EXPECT_EQ(lived.violation, "");
  EXPECT_EQ(lived.figures.lost, 8U) << "each stopped its jobs in time, and came again";
  EXPECT_EQ(lived.figures.refused, 0U);
  s.faults = {{Fault::What::stall, 0, 60s, 60s + 20s}};
  lived = live(s, scratch_, false);
  EXPECT_EQ(lived.violation, "");
  EXPECT_EQ(lived.figures.lost, 0U);
  EXPECT_EQ(lived.figures.runs, s.jobs);
}

TEST_F(Lives, a_node_that_stands_still_alone_loses_its_jobs_to_others) {
  using namespace std::chrono_literals;
  for (const auto what : {Fault::What::freeze, Fault::What::suspend, Fault::What::node_death}) {
    Scenario s = calm_scenario();
    s.faults.push_back({what, 3, 60s, 60s + 10min});
    const Lived lived = live(s, scratch_, false);
    EXPECT_EQ(lived.violation, "");
    EXPECT_GT(lived.figures.runs, s.jobs) << "what it held ran again";
  }
}

TEST_F(Lives, wall_clocks_that_jump_change_nothing) {
  using namespace std::chrono_literals;
  Scenario s = calm_scenario();
  const Lived steady = live(s, scratch_, false);
  for (int i = 0; i < 8; ++i) s.faults.push_back({Fault::What::clock_jump, i, 30s * (i + 1), {}});
  const Lived jumping = live(s, scratch_, false);
  EXPECT_EQ(jumping.violation, "");
  EXPECT_EQ(jumping.figures.lost, 0U);
  EXPECT_EQ(jumping.figures.runs, steady.figures.runs);
}

// What a worker had of its node is others' when it stands still and nothing of it runs any more.
TEST_F(Lives, a_worker_that_stood_still_uses_nothing_that_others_of_its_node_have_by_now) {
  using namespace std::chrono_literals;
  for (const double seconds : {0.05, 5.0}) {  // in the lane, one by one
    Scenario s = calm_scenario();
    s.nodes = 4;
    s.workers_per_node = 2;
    s.cpus = s.node_cpus = 2;
    s.jobs = seconds < 1 ? 4000 : 400;
    s.job_seconds = seconds;
    s.recovered = 300;
    s.script_seconds = 10;
    for (int i = 0; i < 40; ++i)
      s.faults.push_back({Fault::What::worker_stop, i % 8, 1s * i, 1s * i + 9s});
    const Lived lived = live(s, scratch_, false);
    EXPECT_EQ(lived.violation, "");
    EXPECT_GT(lived.figures.scripts, 0U);
  }
}

// The last jobs must not wait in the queue of one worker while others are idle.
TEST_F(Lives, the_end_of_a_workflow_takes_little_longer_than_its_work) {
  const Scenario s = calm_scenario();
  const Lived lived = live(s, scratch_, false);
  EXPECT_EQ(lived.figures.runs, s.jobs);
  EXPECT_LE(std::chrono::duration<double>(lived.figures.ended).count(), 300 * 1.15);
}

// A history that breaks a promise is told by fewer faults. No rule is broken here: a job that is
// found to be over too late stands for one.
TEST_F(Lives, a_scenario_that_fails_is_shrunk_to_what_it_takes) {
  using namespace std::chrono_literals;
  Scenario s = calm_scenario();
  s.jobs = 64;
  s.ends = 130s;
  s.calm = 5h;
  s.faults = {{Fault::What::clock_jump, 1, 5s, {}},
              {Fault::What::stall, 0, 10s, 125s},
              {Fault::What::lost_replies, 2, 5s, 6s}};
  ASSERT_NE(live(s, scratch_, false).violation, "");
  const Scenario smaller = shrink(s, scratch_);
  EXPECT_LE(smaller.faults.size(), 1U);
  EXPECT_LT(smaller.jobs, s.jobs);
  EXPECT_NE(live(smaller, scratch_, false).violation, "");
}

}  // namespace
}  // namespace torc::simulation
