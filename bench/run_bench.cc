// How much of the machine is left for the jobs: `torc run` on the shortest command there is,
// against a program that does nothing but posix_spawn it and wait for it, in two threads.
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/measure.h"

extern char** environ;

namespace torc::bench {
namespace {

constexpr int kAtOnce = 2;

enum class Output : std::uint8_t { none, packed, separate };

const char* name_of(Output output) {
  switch (output) {
    case Output::none:
      return "none";
    case Output::packed:
      return "packed";
    case Output::separate:
      return "separate";
  }
  return "";
}

std::string spec_of(int jobs, Output output) {
  return fmt::format(
      "name: many\n"
      "jobs:\n"
      "  - name: job_{{i}}\n"
      "    command: \"true\"\n"
      "    parameters:\n"
      "      i: \"1:{}\"\n"
      "execution_config:\n"
      "  stdio:\n"
      "    mode: {}\n",
      jobs, name_of(output));
}

// Starts `true` and waits for its end; with files of its own when a directory is given, as torc
// does for separate output.
Result<void> spawn_true(const Path& logs, int number) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (!logs.empty()) {
    constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC;
    const Path stem = logs / fmt::format("job_{}", number);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, (stem.string() + ".o").c_str(),
                                     kFlags, 0666);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, (stem.string() + ".e").c_str(),
                                     kFlags, 0666);
  }
  char name[] = "true";
  char* argv[] = {name, nullptr};
  pid_t pid = 0;
  const int rc = posix_spawnp(&pid, name, &actions, nullptr, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (rc != 0) return os_error(rc, "cannot start true");
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return os_error(errno, "cannot wait for true");
  }
  return {};
}

// A thread for each that runs at a time: a single one would wait in each posix_spawn until the new
// process has executed its program.
Result<void> spawn_all(int jobs, int at_once, const Path& logs) {
  std::atomic<int> next{0};
  std::vector<Result<void>> outcomes(static_cast<std::size_t>(at_once));
  std::vector<std::thread> threads;
  for (Result<void>& outcome : outcomes) {
    threads.emplace_back([&outcome, &next, &logs, jobs] {
      for (int i = next++; i < jobs && outcome; i = next++) outcome = spawn_true(logs, i);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (Result<void>& outcome : outcomes) TORC_TRY(std::move(outcome));
  return {};
}

// Every round has a store and a directory of its own, and nothing is deleted before the end: ext4
// avoids the inodes of files deleted in the last minutes, and searching for others is what would be
// measured.
class Race {
 public:
  Race(const Options& options, Output output, const char* engine = "lmdb")
      : directory_(options.scratch),
        spec_(directory_ / fmt::format("{}-{}.yaml", name_of(output), engine)),
        output_(output),
        engine_(engine),
        jobs_(options.quick ? 2000 : 20'000) {}

  [[nodiscard]] int jobs() const { return jobs_; }
  Result<void> write_spec() const { return write_text(spec_, spec_of(jobs_, output_)); }

  Result<Seconds> torc() {
    TORC_ASSIGN(const Path store, init());
    const std::vector<std::string> work{TORC_PROGRAM, "run", store, "--num-cpus", "2", "--quiet"};
    TORC_ASSIGN(const ProcessCost worked, run_process(work, directory_));
    whole_ += worked.wall;
    return worked.wall;
  }
  // One job at a time each.
  Result<Seconds> workers(int count) {
    TORC_ASSIGN(const Path store, init());
    const std::string line =
        fmt::format("for i in $(seq {}); do '{}' worker '{}' --num-cpus 1 --quiet & done; wait",
                    count, TORC_PROGRAM, store.string());
    TORC_ASSIGN(const ProcessCost worked, run_process({"/bin/sh", "-c", line}, directory_));
    return worked.wall;
  }
  Result<Seconds> spawn(Output output, int at_once = kAtOnce) {
    Path logs;
    if (output == Output::separate) {
      logs = fresh("logs");
      std::error_code error;
      std::filesystem::create_directory(logs, error);
      if (error) return os_error(error.value(), "cannot make " + logs.string());
    }
    return timed([&] { return spawn_all(jobs_, at_once, logs); });
  }
  // `line` gets a number for each job on its standard input.
  Result<Seconds> other(int jobs, const std::string& line) const {
    const std::string whole = fmt::format("seq {} | {}", jobs, line);
    TORC_ASSIGN(const ProcessCost cost, run_process({"/bin/sh", "-c", whole}, directory_));
    return cost.wall;
  }
  // Of the newest round: init and run together.
  [[nodiscard]] Seconds whole() const { return whole_; }

 private:
  Result<Path> init() {
    Path store = fresh("store");
    const std::vector<std::string> make{TORC_PROGRAM, "init",     spec_,  "--store",
                                        store,        "--engine", engine_};
    TORC_ASSIGN(const ProcessCost made, run_process(make, directory_));
    whole_ = made.wall;
    return store;
  }
  // Of other races, too.
  Path fresh(const char* what) {
    std::error_code ignored;
    for (;;) {
      Path path = directory_ / fmt::format("{}-{}-{}", spec_.stem().string(), what, ++made_);
      if (!std::filesystem::exists(path, ignored)) return path;
    }
  }

  Path directory_;
  Path spec_;
  Output output_;
  std::string engine_;
  int jobs_;
  int made_ = 0;
  Seconds whole_{};
};

void add(Table& table, std::string figure, const Comparison& c, Floor floor) {
  table.add(
      {std::move(figure), show(c.measured), show(c.baseline), 1 / c.ratio, std::move(floor), {}});
}

Result<void> measure_none(const Options& options, Table& table) {
  Race race(options, Output::none);
  TORC_TRY(race.write_spec());
  std::vector<double> whole;
  std::vector<double> whole_ratios;
  const Round spawn = [&]() -> Result<Seconds> {
    TORC_ASSIGN(const Seconds took, race.spawn(Output::none));
    whole.push_back(race.whole().count());
    whole_ratios.push_back(took / race.whole());
    return took;
  };
  TORC_ASSIGN(const Comparison c, compare(
                                      options.quick ? 2 : 3, [&] { return race.torc(); }, spawn));
  const std::string what = fmt::format("{} `true` jobs, 2 at a time", race.jobs());
  add(table, what + ": posix_spawn / torc run", c, at_least(0.95));
  table.add({what + ": posix_spawn / torc init + torc run",
             show(Seconds(median(whole))),
             show(c.baseline),
             median(whole_ratios),
             {},
             {}});
  return {};
}

Result<void> measure_kept(const Options& options, Table& table, Output output, Output baseline,
                          Floor floor) {
  Race race(options, output);
  TORC_TRY(race.write_spec());
  TORC_ASSIGN(const Comparison c, compare(
                                      options.quick ? 2 : 3, [&] { return race.torc(); },
                                      [&] { return race.spawn(baseline); }));
  add(table,
      fmt::format("{} `true` jobs, 2 at a time, output {}: posix_spawn {} / torc run", race.jobs(),
                  name_of(output),
                  baseline == Output::none ? "without files" : "with 2 files a job"),
      c, std::move(floor));
  return {};
}

// The jobs, by HyperQueue's server and one worker with two CPUs, from its submitting to its last
// end.
Result<Seconds> by_hyperqueue(const Options& options, int jobs) {
  const Path answer = options.scratch / "hyperqueue-seconds";
  const char* python = std::getenv("TORC_BENCH_PYTHON");
  TORC_TRY(run_process({python == nullptr ? "python3" : python, TORC_BENCH_HYPERQUEUE,
                        std::to_string(jobs), answer.string()},
                       options.scratch));
  double seconds = 0;
  if (!(std::ifstream(answer) >> seconds))
    return os_error(EIO, "cannot read how long HyperQueue took from " + answer.string());
  return Seconds(seconds);
}

Result<void> measure_hyperqueue(const Options& options, Table& table) {
  Race race(options, Output::packed);
  TORC_TRY(race.write_spec());
  const std::string figure =
      fmt::format("{} `true` jobs, output packed: HyperQueue / torc run", race.jobs());
  if (!by_hyperqueue(options, 1)) {
    table.add({figure, "not measured", "no HyperQueue here", {}, {}, {}});
    return {};
  }
  TORC_ASSIGN(const Comparison c, compare(
                                      options.quick ? 2 : 3, [&] { return race.torc(); },
                                      [&] { return by_hyperqueue(options, race.jobs()); }));
  add(table, figure, c, at_least(3));
  return {};
}

Result<void> measure_others(const Options& options, Table& table) {
  Race race(options, Output::packed);
  TORC_TRY(race.write_spec());
  TORC_ASSIGN(const Comparison c,
              compare(
                  options.quick ? 2 : 3, [&] { return race.torc(); },
                  [&] { return race.other(race.jobs(), "xargs -P2 -I{} true"); }));
  add(table, fmt::format("{} `true` jobs, output packed: xargs -P2 / torc run", race.jobs()), c,
      at_least(2));
  const char* figure = "`true` jobs, output packed, a job: GNU parallel -j2 / torc run";
  if (!race.other(1, "parallel --version")) {
    table.add({figure, "not measured", "no GNU parallel here", {}, {}, {}});
    return {};
  }
  const int few = race.jobs() / 10;  // it is that slow
  TORC_ASSIGN(const Comparison p, compare(
                                      1,
                                      [&]() -> Result<Seconds> {
                                        TORC_ASSIGN(const Seconds took, race.torc());
                                        return took / race.jobs();
                                      },
                                      [&]() -> Result<Seconds> {
                                        TORC_ASSIGN(const Seconds took,
                                                    race.other(few, "parallel -j2 true"));
                                        return took / few;
                                      }));
  add(table, figure, p, at_least(4));
  return {};
}

Result<void> measure_crew(const Options& options, Table& table) {
  constexpr int kWorkers = 4;
  Race race(options, Output::packed, "journal");
  TORC_TRY(race.write_spec());
  TORC_ASSIGN(const Comparison c, compare(
                                      options.quick ? 2 : 3, [&] { return race.workers(kWorkers); },
                                      [&] { return race.spawn(Output::none, kWorkers); }));
  add(table,
      fmt::format("{} `true` jobs, output packed: posix_spawn 4 at a time / 4 workers on one "
                  "journal store",
                  race.jobs()),
      c, at_least(0.85));
  return {};
}

}  // namespace
}  // namespace torc::bench

int main(int argc, char** argv) {
  using namespace torc::bench;
  return run_benchmark(argc, argv, [](const Options& options, Table& table) -> torc::Result<void> {
    TORC_TRY(measure_none(options, table));
    TORC_TRY(measure_kept(options, table, Output::packed, Output::none, at_least(0.95)));
    TORC_TRY(measure_kept(options, table, Output::separate, Output::none, at_least(0.85)));
    TORC_TRY(measure_kept(options, table, Output::separate, Output::separate, {}));
    TORC_TRY(measure_others(options, table));
    TORC_TRY(measure_hyperqueue(options, table));
    return measure_crew(options, table);
  });
}
