// What crowds of workers ask of a shared filesystem while nothing goes wrong.
#include "tests/simulation/crowd.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "lib/base/sanitizer.h"
#include "lib/store/engine/heartbeat.h"

namespace torc::simulation {
namespace {

using namespace std::chrono_literals;

CrowdFigures run(const CrowdScenario& scenario) {
  std::string name =
      access("/dev/shm", W_OK) == 0 ? "/dev/shm/torc-sim-XXXXXX" : "/tmp/torc-sim-XXXXXX";
  EXPECT_NE(mkdtemp(name.data()), nullptr);
  const auto figures = live_together(scenario, StoreCost{}, name);
  std::filesystem::remove_all(name);
  EXPECT_TRUE(figures.ok()) << figures.error().text();
  return figures.ok() ? *figures : CrowdFigures{};
}

TEST(Crowds, a_hundred_workers_keep_the_budget_of_commits_and_are_busy) {
  CrowdScenario s;
  s.workers = 100;
  s.measured_from = 120s;
  s.ends = 300s;
  const CrowdFigures f = run(s);
  EXPECT_LE(f.commits, 20.5);
  EXPECT_LE(f.most_commits, 21);  // while they come
  EXPECT_LE(f.heartbeats, 5);
  EXPECT_GE(f.busy, 0.95);
}

TEST(Crowds, a_thousand_workers_keep_the_budget_of_commits_while_they_come) {
  CrowdScenario s;
  s.workers = kSanitized ? 200 : 1000;
  s.slots = 1;
  s.measured_from = 300s;
  s.ends = 600s;
  const CrowdFigures f = run(s);
  EXPECT_LE(f.most_commits, 21);
  EXPECT_GE(f.busy, 0.95);
}

TEST(Crowds, idle_workers_write_heartbeats_within_the_budget) {
  CrowdScenario s;
  s.workers = kSanitized ? 200 : 1000;
  s.slots = 1;
  s.job_seconds = 100'000;  // nothing to report for a day
  s.measured_from = 1500s;
  s.ends = kSanitized ? 2000s : 3000s;
  const CrowdFigures f = run(s);
  EXPECT_GT(f.heartbeats, 0.3);
  EXPECT_LE(f.heartbeats, 5.05) << "5 on average; a part of a round of all is in the window, too";
  EXPECT_LE(f.heartbeat_files, store::kOwnHeartbeatFiles + 10);
}

// From the first of them on: none has found its pace yet.
TEST(Crowds, jobs_are_started_soon_and_within_the_budget_while_workers_come) {
  CrowdScenario s;
  s.workers = 100;
  s.slots = 1;
  s.job_seconds = 19;
  s.width = 95;
  s.ends = 120s;
  for (s.seed = 1; s.seed <= 3; ++s.seed) {
    const CrowdFigures f = run(s);
    EXPECT_LE(f.ready.late, 0.1) << "with seed " << s.seed;
    EXPECT_LE(f.most_commits, 21);
  }
}

}  // namespace
}  // namespace torc::simulation
