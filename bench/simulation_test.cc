#include "bench/simulation.h"

#include <gtest/gtest.h>

#include "lib/store/engine/beat.h"

namespace torc::bench {
namespace {

using namespace std::chrono_literals;
using What = Trouble::What;

// As measured on the journal engine; close enough for whatever is asserted here.
JournalCost cost() {
  JournalCost c;
  c.commit = 8;
  c.look = 1;
  c.behind = {{0, 1}, {1, 6}, {8, 28}, {64, 45}, {512, 65}, {1024, 89}, {4096, 140}};
  return c;
}

Figures run(const Scenario& scenario) {
  const auto figures = simulate(scenario, cost(), "/dev/shm");
  EXPECT_TRUE(figures.ok()) << figures.error().text();
  return figures.ok() ? *figures : Figures{};
}

// Half an hour of work for twenty workers, if nothing went wrong.
Scenario twenty() {
  Scenario s;
  s.workers = 20;
  s.jobs = 20 * 16 * 60;
  s.job_seconds = 10;
  s.ends = 7200s;
  return s;
}

TEST(Simulation, a_hundred_workers_keep_the_budgets_and_are_busy) {
  Scenario s;
  s.workers = 100;
  s.measured_from = 120s;
  s.ends = 300s;
  const Figures f = run(s);
  EXPECT_LE(f.commits, 20.5);
  EXPECT_LE(f.most_commits, 24);  // while they come
  EXPECT_LE(f.most_beats, 5);
  EXPECT_LE(f.idle, 0.05);
  EXPECT_EQ(f.expired + f.fenced + f.refused, 0U);
}

TEST(Simulation, a_thousand_workers_with_jobs_of_a_second_make_ten_thousand_transitions_a_second) {
  Scenario s;
  s.workers = 1000;
  s.slots = 8;
  s.job_seconds = 1;
  s.measured_from = 300s;
  s.ends = 360s;
  const Figures f = run(s);
  EXPECT_GE(f.transitions, 10'000);
  EXPECT_LE(f.requests, 3'000);  // most of them read what others committed
  EXPECT_LE(f.commits, 20.5);
  EXPECT_LE(f.most_commits, 24);
  EXPECT_LE(f.most_beats, 5);
  EXPECT_LE(f.idle, 0.05);
}

TEST(Simulation, idle_workers_of_a_crowd_beat_within_the_budget) {
  Scenario s;
  s.workers = 1000;
  s.slots = 1;
  s.job_seconds = 100'000;  // nothing to report for a day
  s.measured_from = 1500s;
  s.ends = 4000s;
  const Figures f = run(s);
  EXPECT_GT(f.beats, 1);
  EXPECT_LE(f.beats, 5);
  EXPECT_LE(f.most_beats, 8);  // those who came first beat as in the small crowd of then, once
  EXPECT_EQ(f.expired + f.fenced, 0U);
  EXPECT_LE(f.beat_files, store::kOwnBeatFiles + 10);
}

TEST(Simulation, a_filesystem_that_stalls_for_twenty_minutes_expires_nobody) {
  Scenario s = twenty();
  s.troubles.push_back({What::filesystem, 0, UINT64_MAX, 100s, 1300s});
  const Figures f = run(s);
  EXPECT_EQ(f.expired, 0U);
  EXPECT_EQ(f.fenced, 20U);  // each stopped its jobs in time, and came again
  EXPECT_EQ(f.refused, 0U);
  EXPECT_TRUE(f.workflow.all_completed());
}

TEST(Simulation, a_short_stall_costs_no_job) {
  Scenario s = twenty();
  s.troubles.push_back({What::filesystem, 0, UINT64_MAX, 100s, 220s});
  const Figures f = run(s);
  EXPECT_EQ(f.expired + f.fenced, 0U);
  EXPECT_EQ(f.runs, s.jobs);
  EXPECT_TRUE(f.workflow.all_completed());
}

TEST(Simulation, a_worker_that_stands_still_alone_is_expired_and_its_results_do_not_count) {
  for (const What what : {What::pause, What::lost_time}) {
    Scenario s = twenty();
    s.jobs = 20 * 16 * 100;
    s.troubles.push_back({what, 7, 7, 100s, 900s});
    const Figures f = run(s);
    EXPECT_EQ(f.expired + f.fenced, 1U);
    if (what == What::lost_time) {
      EXPECT_EQ(f.expired, 1U);  // by its own clock it was in time
    }
    EXPECT_GT(f.runs, s.jobs);  // what it held ran again
    EXPECT_TRUE(f.workflow.all_completed());
  }
}

TEST(Simulation, the_jobs_of_dead_workers_are_done_by_the_others) {
  Scenario s = twenty();
  s.troubles.push_back({What::dead, 0, 14, 100s, 101s});
  const Figures f = run(s);
  EXPECT_EQ(f.expired + f.fenced, 0U);
  EXPECT_GT(f.runs, s.jobs);
  EXPECT_TRUE(f.workflow.all_completed());
}

TEST(Simulation, wall_clocks_that_jump_change_nothing) {
  Scenario s = twenty();
  const Figures calm = run(s);
  s.wall_clocks_jump = true;
  const Figures jumping = run(s);
  EXPECT_EQ(jumping.ended_at, calm.ended_at);
  EXPECT_EQ(jumping.requests, calm.requests);
  EXPECT_EQ(jumping.runs, s.jobs);
  EXPECT_EQ(jumping.expired + jumping.fenced, 0U);
}

// The last jobs must not wait in the queue of one worker while others are idle.
TEST(Simulation, the_end_of_a_workflow_takes_little_longer_than_its_work) {
  const Figures f = run(twenty());
  EXPECT_EQ(f.runs, 20 * 16 * 60U);
  EXPECT_LE(f.ended_at, 600 * 1.08);
}

}  // namespace
}  // namespace torc::bench
