// scale [--most N]: the table of docs/scale.md, from 10 workers to N (100,000), with jobs of a
// second, a minute and an hour.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "tests/simulation/crowd.h"

namespace {

using namespace torc;
using namespace torc::simulation;

CrowdScenario scenario_of(std::uint64_t workers, double job_seconds) {
  CrowdScenario s;
  s.workers = workers;
  s.job_seconds = job_seconds;
  // As many events as a machine can take: of a crowd, four slots each, and then one.
  s.slots = workers >= 100'000 ? 1 : workers >= 1000 ? 4 : 16;
  // Everybody has come and has found its pace; then for a window and a minute, and as long as jobs
  // need to show something.
  const auto window = std::chrono::seconds(workers / 20);
  s.measured_from = 2 * window + std::chrono::seconds(60);
  s.ends = s.measured_from + window / 2 + std::chrono::seconds(60);
  if (job_seconds > 1000) {
    s.measured_from += std::chrono::hours(2);
    s.ends += std::chrono::hours(4);
  }
  return s;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t most = argc == 3 && std::strcmp(argv[1], "--most") == 0
                                 ? std::strtoull(argv[2], nullptr, 10)
                                 : 100'000;
  std::string name =
      access("/dev/shm", W_OK) == 0 ? "/dev/shm/torc-scale-XXXXXX" : "/tmp/torc-scale-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) return 2;
  fmt::print(
      "| workers | slots | jobs of | commits/s | worst minute | requests/s | heartbeats/s | files "
      "of "
      "heartbeats | job starts/s | a dependent starts after | busy |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (std::uint64_t workers = 10; workers <= most; workers *= 10) {
    for (const double job : {1.0, 60.0, 3600.0}) {
      const CrowdScenario s = scenario_of(workers, job);
      const auto f = live_together(s, StoreCost{}, name);
      if (!f) {
        fmt::print(stderr, "{}\n", f.error().text());
        return 1;
      }
      fmt::print(
          "| {} | {} | {:.0f} s | {:.1f} | {:.1f} | {:.0f} | {:.2f} | {} | {:.1f} | {:.1f} s | "
          "{:.1f} % |\n",
          workers, s.slots, job, f->commits, f->most_commits, f->requests, f->heartbeats,
          f->heartbeat_files, f->starts, f->dependent, 100 * f->busy);
      std::fflush(stdout);
    }
  }
  std::error_code ignored;
  std::filesystem::remove_all(name, ignored);
  return 0;
}
