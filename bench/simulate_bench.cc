// Whether any number of workers keeps the budgets of a shared filesystem and is busy nevertheless:
// simulated time, see simulation.h. The whole table goes to standard error, what has a floor into
// the table of all benchmarks.
#include <fmt/format.h>

#include <algorithm>

#include "bench/journal_cost.h"
#include "bench/measure.h"
#include "tests/simulation/crowd.h"

namespace torc::bench {
namespace {

using simulation::CrowdFigures;
using simulation::CrowdScenario;

CrowdScenario scenario_of(std::uint64_t workers, double job, bool quick) {
  CrowdScenario s;
  s.workers = workers;
  s.job_seconds = job;
  // 64,000 jobs of a second at once are no workload but a load: of four slots that one is.
  s.slots = workers == 4000 && job < 2 ? 4 : 16;
  // Everybody has come and has found its pace; then for a window and a minute.
  const auto window = std::chrono::seconds(workers / 20);
  s.measured_from = 5 * window + std::chrono::seconds(60);
  s.ends = s.measured_from + (quick ? std::chrono::seconds(60) : window + std::chrono::seconds(60));
  return s;
}

void show_row(const CrowdScenario& s, const CrowdFigures& f, std::uint64_t files) {
  fmt::print(stderr,
             "{:>7} {:>5} {:>5.0f} {:>9.1f} {:>9.1f} {:>7.2f} {:>10.0f} {:>6} {:>7} {:>12.0f} "
             "{:>6.1f}\n",
             s.workers, s.slots, s.job_seconds, f.commits, f.most_commits, f.heartbeats, f.requests,
             files, f.conflicts, f.starts, 100 * f.busy);
}

Row row(std::string figure, std::string measured, Floor floor, double judged) {
  return {std::move(figure), std::move(measured), "-", {}, std::move(floor), judged};
}

Floor most(double limit, const char* text) {
  return {Floor::Kind::at_most, limit, text};
}
Floor least(double limit, const char* text) {
  return {Floor::Kind::at_least, limit, text};
}

Result<void> add_requests(Table& table, const Path& scratch) {
  TORC_ASSIGN(const RequestsPerCommit alone, measure_requests(scratch, 1, 6400));
  TORC_ASSIGN(const RequestsPerCommit turns, measure_requests(scratch, 2, 6400));
  const auto add = [&](const char* figure, double value, Floor floor) {
    table.add(row(fmt::format("simulated NFS: {}", figure), fmt::format("{:.2f}", value),
                  std::move(floor), value));
  };
  const auto least = static_cast<double>(alone.least_modifying);
  add("requests per commit, one host, maintenance included", alone.all, most(9, "<= 9"));
  add("modifying requests of the commit itself", least, most(5, "<= 5"));
  add("modifying requests per commit, maintenance included", alone.modifying, Floor{});
  add("requests per commit, two hosts by turns, maintenance included", turns.all, Floor{});
  return {};
}

Result<void> measure(const Options& options, Table& table) {
  TORC_ASSIGN(const ScratchDirectory scratch, ScratchDirectory::make("/dev/shm"));
  TORC_TRY(add_requests(table, scratch.path()));
  TORC_ASSIGN(const JournalCost cost, measure_journal(scratch.path()));
  fmt::print(stderr, "{:>7} {:>5} {:>5} {:>9} {:>9} {:>7} {:>10} {:>6} {:>7} {:>12} {:>6}\n",
             "workers", "slots", "job s", "commits/s", "worst min", "beats/s", "requests/s",
             "files", "races", "starts/s", "busy %");
  for (const std::uint64_t workers : {10, 100, 1000, 4000}) {
    if (options.quick && workers > 100) continue;
    CrowdFigures worst;
    std::uint64_t files = 0;
    for (const double job : {1.0, 10.0, 60.0}) {
      const CrowdScenario s = scenario_of(workers, job, options.quick);
      TORC_ASSIGN(const CrowdFigures f, simulation::live_together(s, cost, scratch.path()));
      files = std::max(files, cost.most_files + f.heartbeat_files);
      show_row(s, f, cost.most_files + f.heartbeat_files);
      worst.commits = std::max(worst.commits, f.commits);
      worst.most_commits = std::max(worst.most_commits, f.most_commits);
      worst.heartbeats = std::max(worst.heartbeats, f.heartbeats);
      // A start and an end each.
      if (workers == 1000 && job == 1) {
        table.add(row("simulated: 1,000 workers, jobs of 1 s: transitions", show_rate(2 * f.starts),
                      least(10'000, ">= 10,000/s"), 2 * f.starts));
      }
      if (job == 10) {
        table.add(row(fmt::format("simulated: {} workers, jobs of 10 s: busy", workers),
                      fmt::format("{:.1f} %", 100 * f.busy), least(0.95, ">= 95 %"), f.busy));
      }
    }
    table.add(row(fmt::format("simulated: {} workers: commits, once all have come", workers),
                  fmt::format("{:.1f}/s", worst.commits), most(20.5, "<= 20/s"), worst.commits));
    table.add(row(fmt::format("simulated: {} workers: commits, worst minute", workers),
                  fmt::format("{:.1f}/s", worst.most_commits), most(21, "<= 20/s +5 %"),
                  worst.most_commits));
    table.add(row(fmt::format("simulated: {} workers: heartbeats", workers),
                  fmt::format("{:.1f}/s", worst.heartbeats), most(5, "<= 5/s"), worst.heartbeats));
    table.add(row(fmt::format("simulated: {} workers: files outside logs/", workers),
                  fmt::format("{}", files), most(1000, "<= 1,000"), static_cast<double>(files)));
  }
  return {};
}

}  // namespace
}  // namespace torc::bench

int main(int argc, char** argv) {
  return torc::bench::run_benchmark(argc, argv, torc::bench::measure);
}
