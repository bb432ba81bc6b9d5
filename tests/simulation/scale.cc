// scale --deep: the table of a deep graph, with and without bells.
// scale --packing: jobs of several nodes beside others in one allocation, see packing.h.
// scale [--most N] [--workers N] [--job SECONDS]: the other table of docs/scale.md, from 10 workers
// to N (100,000), with jobs of a second (of 10 among 10,000 workers, of 600 among 100,000), a
// minute (not among 100,000) and an hour; or only the rows of so many workers, of such jobs. What
// each row took goes to standard error.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/simulation/crowd.h"
#include "tests/simulation/packing.h"

namespace {

using namespace torc;
using namespace torc::simulation;

CrowdScenario scenario_of(std::uint64_t workers, double job_seconds) {
  CrowdScenario s;
  s.workers = workers;
  s.job_seconds = job_seconds;
  // As many events as a machine can take.
  s.slots = workers >= 10'000 ? 1 : workers >= 1000 ? 4 : 16;
  // Everybody has come, for which 3 * workers / 20 s are taken, and has found its pace; then for a
  // window and a minute, and as long as jobs need to show something.
  const auto window = std::chrono::seconds(workers / 20);
  s.measured_from = 10 * window + std::chrono::seconds(60);
  s.ends = s.measured_from + window + std::chrono::seconds(60);
  if (job_seconds > 1000) {
    s.measured_from += std::chrono::hours(2);
    s.ends += std::chrono::hours(4);
  }
  // As long as it becomes among so many (claim::lease_ttl): heartbeats are the same. But a worker's
  // loop turns at least five times in the lease that it asked for, which would be most of the work.
  s.lease = std::max<std::chrono::seconds>(s.lease, std::chrono::seconds(workers));
  return s;
}

// As many ends of jobs as a machine can take, again. Seconds.
std::vector<double> jobs_among(std::uint64_t workers) {
  if (workers >= 100'000) return {600, 3600};
  return {workers < 10'000 ? 1.0 : 10.0, 60, 3600};
}

struct Options {
  std::uint64_t most = 100'000;
  std::uint64_t workers = 0;  // 0: all rows
  double job_seconds = 0;     // the same
};

std::optional<Options> read(int argc, char** argv) {
  Options o;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view flag = argv[i];
    if (flag == "--most") {
      o.most = std::strtoull(argv[i + 1], nullptr, 10);
    } else if (flag == "--workers") {
      o.workers = std::strtoull(argv[i + 1], nullptr, 10);
    } else if (flag == "--job") {
      o.job_seconds = std::strtod(argv[i + 1], nullptr);
    } else {
      return std::nullopt;
    }
  }
  if (argc % 2 == 0) return std::nullopt;
  return o;
}

// As the table writes them.
std::string show_count(std::uint64_t n) {
  return n < 1000 ? fmt::format("{}", n) : fmt::format("{},{:03}", n / 1000, n % 1000);
}
std::string show_job(double seconds) {
  return seconds < 3600 ? fmt::format("{:.0f} s", seconds)
                        : fmt::format("{:.0f} h", seconds / 3600);
}

bool add_row(std::uint64_t workers, double job, const Path& scratch) {
  const auto begun = std::chrono::steady_clock::now();
  const CrowdScenario s = scenario_of(workers, job);
  const auto f = live_together(s, StoreCost{}, scratch);
  if (!f) {
    fmt::print(stderr, "{}\n", f.error().text());
    return false;
  }
  fmt::print("| {} | {} | {} | {:.1f} | {:.1f} | {:.0f} | {:.2f} | {} | {:.1f} | {} | {:.1f} % |\n",
             show_count(workers), s.slots, show_job(job), f->commits, f->most_commits, f->requests,
             f->heartbeats, f->heartbeat_files, f->starts,
             f->dependent > 0 ? fmt::format("{:.1f} s", f->dependent) : "-", 100 * f->busy);
  std::fflush(stdout);
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  fmt::print(stderr, "{:.0f} s, {} MiB at most so far\n",
             std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count(),
             used.ru_maxrss / 1024);
  return true;
}

// Workers of one slot and a graph of 10^5 jobs or more in which so many are beside each other; each
// waits for two of those before it. At most five of them end in a second.
bool add_deep_row(std::uint64_t workers, std::uint64_t width, int trouble, const Path& scratch) {
  CrowdScenario s;
  s.workers = workers;
  s.slots = 1;
  s.job_seconds = std::max(10.0, static_cast<double>(width) / 5);
  s.width = width;
  s.bells = trouble >= 0;
  s.bell_trouble = std::max(trouble, 0);
  s.measured_from = std::chrono::seconds(400);
  s.ends = s.measured_from + std::chrono::seconds(600);
  const auto f = live_together(s, StoreCost{}, scratch);
  if (!f) {
    fmt::print(stderr, "{}\n", f.error().text());
    return false;
  }
  fmt::print(
      "| {} | {} | {:.0f} s | {} | {:.3f} s | {:.2f} s | {:.2f} s | {:.2f} s | {:.1f} | {:.1f} | "
      "{:.0f} | {:.1f} |\n",
      workers, width, s.job_seconds,
      trouble < 0    ? "no"
      : trouble == 0 ? "yes"
                     : fmt::format("yes, trouble with {} %", trouble),
      f->ready.median, f->ready.mean, f->ready.late, f->dependent, f->commits, f->most_commits,
      f->requests, f->bells);
  std::fflush(stdout);
  return true;
}

bool show_deep(const Path& scratch) {
  fmt::print(
      "| workers | jobs beside each other | jobs of | bell | from ready to started: median | mean "
      "| "
      "95 % | from the end before | commits/s | worst minute | requests/s | datagrams/s |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  struct Shape {
    std::uint64_t workers, width;
  };
  for (const Shape shape : {Shape{4, 2}, {100, 50}, {1000, 50}, {1000, 500}, {1000, 950}}) {
    for (const int trouble : {-1, 0, 30})
      if (!add_deep_row(shape.workers, shape.width, trouble, scratch)) return false;
  }
  return true;
}

bool show_packing() {
  fmt::print(
      "| seed | jobs of several nodes | nodes in use | of the best list scheduler | the first that "
      "waits, at most |\n|---|---|---|---|---|\n");
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    PackingScenario s;
    s.seed = seed;
    const auto f = pack(s);
    if (!f) {
      fmt::print(stderr, "{}\n", f.error().text());
      return false;
    }
    fmt::print("| {} | {} | {:.1f} % | {:.1f} % | {:.0f} s |\n", seed, show_count(f->gangs),
               100 * f->utilisation, 100 * f->list_makespan / f->makespan, f->longest_at_head);
    std::fflush(stdout);
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--packing") return show_packing() ? 0 : 1;
  const bool deep = argc == 2 && std::string_view(argv[1]) == "--deep";
  const auto options = deep ? Options{} : read(argc, argv);
  if (!options) {
    fmt::print(stderr,
               "usage: scale --deep | --packing | [--most N] [--workers N] [--job SECONDS]\n");
    return 2;
  }
  std::string name =
      access("/dev/shm", W_OK) == 0 ? "/dev/shm/torc-scale-XXXXXX" : "/tmp/torc-scale-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) return 2;
  if (deep) {
    const bool shown = show_deep(name);
    std::filesystem::remove_all(name);
    return shown ? 0 : 1;
  }
  fmt::print(
      "| workers | slots | jobs of | commits/s | worst minute | requests/s | heartbeats/s | files "
      "of heartbeats | job starts/s | a dependent starts after | busy |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|\n");
  bool good = true;
  for (std::uint64_t workers = 10; good && workers <= options->most; workers *= 10) {
    if (options->workers != 0 && options->workers != workers) continue;
    for (const double job : jobs_among(workers)) {
      if (options->job_seconds == 0 || options->job_seconds == job)
        good = good && add_row(workers, job, name);
    }
  }
  std::error_code ignored;
  std::filesystem::remove_all(name, ignored);
  return good ? 0 : 1;
}
