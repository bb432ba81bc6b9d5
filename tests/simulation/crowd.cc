#include "tests/simulation/crowd.h"

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "lib/base/limits.h"
#include "tests/simulation/cluster.h"

namespace torc::simulation {
namespace {

constexpr std::uint64_t kChains = 50;  // of jobs, each of which waits for the one before it

constexpr std::uint64_t kGraph = 100'000;  // jobs of a deep graph, at least

CrowdFigures::Spread spread_of(std::vector<double>& values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  const std::size_t n = values.size();
  return {values[n / 2], sum / static_cast<double>(n), values[n - 1 - n / 20]};
}

}  // namespace

Result<CrowdFigures> live_together(const CrowdScenario& load, const StoreCost& cost,
                                   const Path& scratch) {
  const double seconds = std::chrono::duration<double>(load.ends).count();
  Scenario s;
  s.seed = load.seed;
  s.starters = static_cast<int>(load.workers);
  s.nodes = static_cast<int>(load.workers);
  s.workers_per_node = 1;
  s.cpus = load.slots;
  s.job_seconds = load.job_seconds;
  s.chains = kChains;
  s.chain_length = static_cast<std::uint64_t>(std::clamp(seconds / load.job_seconds, 2.0, 200.0));
  // More than can be done.
  const double slots = static_cast<double>(load.workers) * load.slots;
  s.jobs = std::min(kMaxJobs,
                    s.chains * s.chain_length +
                        static_cast<std::uint64_t>(1.5 * slots * (1 + seconds / load.job_seconds)));
  if (load.width > 0) {
    s.crossed = true;
    s.chains = load.width;
    s.chain_length = std::max(kGraph / load.width,
                              static_cast<std::uint64_t>(2 * seconds / load.job_seconds) + 2);
    s.jobs = s.chains * s.chain_length;
  }
  s.bells = load.bells;
  s.bell_trouble = load.bell_trouble;
  s.lease = load.lease;
  s.is_checked = false;
  s.measured_from = load.measured_from;
  s.calm = s.ends = load.ends;
  s.calm += std::chrono::hours(1);  // nobody comes to help

  const Path directory = scratch / "crowd";
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory);
  CrowdFigures figures;
  std::string violation;
  {
    World world(s.seed, false);
    world.cost = cost;
    Cluster cluster(s, world, directory);
    violation = cluster.run();
    const double measured = std::chrono::duration<double>(load.ends - load.measured_from).count();
    Measured& m = world.measured;
    figures.commits = m.commits / measured;
    figures.requests = m.requests / measured;
    figures.heartbeats = m.heartbeats / measured;
    figures.starts = m.starts / measured;
    figures.most_commits = m.most_commits;
    figures.busy = m.busy / (measured * slots);
    figures.bells = static_cast<double>(m.bells) / measured;
    figures.dependent = spread_of(m.waits).mean;
    figures.ready = spread_of(m.ready_waits);
    figures.conflicts = m.conflicts;
    figures.heartbeat_files = world.heartbeat_files();
  }
  std::filesystem::remove_all(directory);
  if (!violation.empty()) return Error{ErrorKind::corrupt, violation, ""};
  return figures;
}

}  // namespace torc::simulation
