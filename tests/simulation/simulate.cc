// simulate [--seed S] [--lives N] [--minutes M] [--processes P] [--edited] [--tell]: explores lives
// of a workflow, from a fresh seed on if none is told. The first that breaks a promise is shrunk
// and told as text; exit code 1. A single seed: `--seed S --lives 1`. `--edited`: of these lives
// only those whose workflow file is edited.
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tests/simulation/simulation.h"

namespace {

using namespace torc;

struct Options {
  std::uint64_t seed = 0;
  std::uint64_t lives = UINT64_MAX;
  double minutes = 0;
  std::uint64_t processes = std::max(1U, std::thread::hardware_concurrency());
  bool tells = false;
  bool edited = false;
};

std::optional<Options> read(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag == "--tell") {
      o.tells = true;
      continue;
    }
    if (flag == "--edited") {
      o.edited = true;
      continue;
    }
    if (i + 1 >= argc) return std::nullopt;
    const char* value = argv[++i];
    if (flag == "--seed") {
      o.seed = std::strtoull(value, nullptr, 10);
    } else if (flag == "--lives") {
      o.lives = std::strtoull(value, nullptr, 10);
    } else if (flag == "--processes") {
      o.processes = std::max<std::uint64_t>(1, std::strtoull(value, nullptr, 10));
    } else if (flag == "--minutes") {
      o.minutes = std::strtod(value, nullptr);
    } else {
      return std::nullopt;
    }
  }
  if (o.lives == UINT64_MAX && o.minutes == 0) o.lives = 1000;
  if (o.seed == 0) o.seed = std::random_device()() % 1'000'000'000 + 1;
  return o;
}

void tell_failure(std::uint64_t seed, const Path& scratch) {
  using namespace torc::simulation;
  fmt::print("seed {} breaks a promise; looking for a shorter history\n", seed);
  const Scenario shortest = shrink(scenario_of(seed), scratch);
  const Lived lived = live(shortest, scratch, true);
  fmt::print("{}", show(shortest));
  for (const std::string& line : lived.history) fmt::print("{}\n", line);
  fmt::print("{}\nagain: simulate --seed {} --lives 1\n", lived.violation, seed);
}

// What one process explored.
struct Explored {
  std::uint64_t lives = 0;
  torc::simulation::Figures sum;
  bool failed = false;
};

class Deadline {
 public:
  explicit Deadline(double minutes) : minutes_(minutes) {}
  [[nodiscard]] double passed() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count() / 60;
  }
  [[nodiscard]] bool is_over() const { return minutes_ > 0 && passed() >= minutes_; }

 private:
  double minutes_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

// Every `of`th seed from `first` on.
Explored explore(const Options& options, std::uint64_t nth, std::uint64_t of,
                 const Deadline& deadline, std::uint64_t& at) {
  using namespace torc::simulation;
  Explored explored;
  std::string name =
      access("/dev/shm", W_OK) == 0 ? "/dev/shm/torc-sim-XXXXXX" : "/tmp/torc-sim-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) return {0, {}, true};
  const Path scratch = name;
  for (std::uint64_t n = nth; n < options.lives && !deadline.is_over(); n += of) {
    const std::uint64_t seed = options.seed + n;
    if (options.edited && !scenario_of(seed).edited) continue;
    at = seed;  // for who asks when this process has died of it
    const Lived lived = live(scenario_of(seed), scratch, options.tells);
    for (const std::string& line : lived.history) fmt::print("{}\n", line);
    ++explored.lives;
    Figures& sum = explored.sum;
    sum.commits += lived.figures.commits;
    sum.runs += lived.figures.runs;
    sum.scripts += lived.figures.scripts;
    sum.actions += lived.figures.actions;
    sum.gangs += lived.figures.gangs;
    sum.edits += lived.figures.edits;
    sum.lives += lived.figures.lives;
    sum.lost += lived.figures.lost;
    sum.refused += lived.figures.refused;
    sum.events += lived.figures.events;
    if (lived.violation.empty()) continue;
    explored.failed = true;
    tell_failure(seed, scratch);
    break;
  }
  std::error_code ignored;
  std::filesystem::remove_all(scratch, ignored);
  return explored;
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = read(argc, argv);
  if (!options) {
    fmt::print(stderr,
               "usage: simulate [--seed S] [--lives N] [--minutes M] [--processes P] [--edited] "
               "[--tell]\n");
    return 2;
  }
  const Deadline deadline(options->minutes);
  const std::uint64_t processes = std::min(options->processes, options->lives);
  fmt::print("lives from seed {} on\n", options->seed);
  std::fflush(stdout);
  void* const memory = mmap(nullptr, processes * sizeof(std::uint64_t), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 2;
  auto* const seeds = static_cast<std::uint64_t*>(memory);
  std::vector<std::pair<pid_t, int>> children;
  for (std::uint64_t n = 0; n < processes; ++n) {
    int ends[2];
    if (pipe(ends) != 0) return 2;
    const pid_t child = fork();
    if (child == 0) {
      close(ends[0]);
      const Explored explored = explore(*options, n, processes, deadline, seeds[n]);
      std::fflush(stdout);
      (void)!write(ends[1], &explored, sizeof explored);
      _exit(0);
    }
    close(ends[1]);
    children.emplace_back(child, ends[0]);
  }
  Explored all;
  for (std::size_t n = 0; n < children.size(); ++n) {
    const auto [child, from] = children[n];
    Explored one;
    one.failed = true;  // unless it says otherwise
    const bool told = ::read(from, &one, sizeof one) == sizeof one;
    int status = 0;
    waitpid(child, &status, 0);
    if (!told)
      fmt::print("seed {} has ended its process ({})\n", seeds[n],
                 WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "it ran out of something");
    all.lives += one.lives;
    all.failed = all.failed || one.failed;
    all.sum.commits += one.sum.commits;
    all.sum.runs += one.sum.runs;
    all.sum.scripts += one.sum.scripts;
    all.sum.actions += one.sum.actions;
    all.sum.gangs += one.sum.gangs;
    all.sum.edits += one.sum.edits;
    all.sum.lives += one.sum.lives;
    all.sum.lost += one.sum.lost;
    all.sum.refused += one.sum.refused;
    all.sum.events += one.sum.events;
  }
  fmt::print(
      "{} lives from seed {} in {:.1f} minutes ({:.0f} a minute): {} workers, {} runs of jobs, {} "
      "of them of several nodes, {} of recovery scripts, {} of commands of actions, {} "
      "edits, {} commits, {} leases lost, {} results refused, {} events\n",
      all.lives, options->seed, deadline.passed(),
      static_cast<double>(all.lives) / deadline.passed(), all.sum.lives, all.sum.runs,
      all.sum.gangs, all.sum.scripts, all.sum.actions, all.sum.edits, all.sum.commits, all.sum.lost,
      all.sum.refused, all.sum.events);
  return all.failed ? 1 : 0;
}
