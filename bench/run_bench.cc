// How much of the machine is left for the jobs: `torc run` on the shortest command there is,
// against a program that does nothing but posix_spawn it, two at a time.
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "bench/measure.h"

extern char** environ;

namespace torc::bench {
namespace {

constexpr int kAtOnce = 2;

enum class Output : std::uint8_t { none, separate };

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
      jobs, output == Output::none ? "none" : "separate");
}

// Starts `true`; with files of its own when a directory is given, as torc does for separate output.
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
  return {};
}

Result<void> wait_for_any() {
  int status = 0;
  while (waitpid(-1, &status, 0) < 0) {
    if (errno != EINTR) return os_error(errno, "cannot wait for true");
  }
  return {};
}

Result<void> spawn_all(int jobs, const Path& logs) {
  int running = 0;
  for (int i = 0; i < jobs; ++i) {
    if (running == kAtOnce) {
      TORC_TRY(wait_for_any());
      --running;
    }
    TORC_TRY(spawn_true(logs, i));
    ++running;
  }
  for (; running > 0; --running) TORC_TRY(wait_for_any());
  return {};
}

// Every round has a store and a directory of its own, and nothing is deleted before the end: ext4
// avoids the inodes of files deleted in the last minutes, and searching for others is what would be
// measured.
class Race {
 public:
  Race(const Options& options, Output output)
      : directory_(options.scratch),
        spec_(directory_ / (output == Output::none ? "none.yaml" : "separate.yaml")),
        output_(output),
        jobs_(options.quick ? 500 : 5000) {}

  [[nodiscard]] int jobs() const { return jobs_; }
  Result<void> write_spec() const { return write_text(spec_, spec_of(jobs_, output_)); }

  Result<Seconds> torc() {
    const Path store = fresh("store");
    const std::vector<std::string> make{TORC_PROGRAM, "init", spec_, "--store", store};
    const std::vector<std::string> work{TORC_PROGRAM, "run", store, "--num-cpus", "2", "--quiet"};
    TORC_ASSIGN(const ProcessCost made, run_process(make, directory_));
    TORC_ASSIGN(const ProcessCost worked, run_process(work, directory_));
    whole_ = made.wall + worked.wall;
    return worked.wall;
  }
  Result<Seconds> spawn(Output output) {
    Path logs;
    if (output == Output::separate) {
      logs = fresh("logs");
      std::error_code error;
      std::filesystem::create_directory(logs, error);
      if (error) return os_error(error.value(), "cannot make " + logs.string());
    }
    return timed([&] { return spawn_all(jobs_, logs); });
  }
  // Of the newest round: init and run together.
  [[nodiscard]] Seconds whole() const { return whole_; }

 private:
  Path fresh(const char* what) {
    return directory_ / fmt::format("{}-{}-{}", spec_.stem().string(), what, ++made_);
  }

  Path directory_;
  Path spec_;
  Output output_;
  int jobs_;
  int made_ = 0;
  Seconds whole_{};
};

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
                                      options.quick ? 2 : 7, [&] { return race.torc(); }, spawn));
  const std::string what = fmt::format("{} `true` jobs, 2 at a time", race.jobs());
  table.add({what + ": posix_spawn / torc run",
             show(c.measured),
             show(c.baseline),
             1 / c.ratio,
             at_least(0.80),
             {}});
  table.add({what + ": posix_spawn / torc init + torc run",
             show(Seconds(median(whole))),
             show(c.baseline),
             median(whole_ratios),
             {},
             {}});
  return {};
}

Result<void> measure_separate(const Options& options, Table& table) {
  Race race(options, Output::separate);
  TORC_TRY(race.write_spec());
  for (const Output baseline : {Output::none, Output::separate}) {
    TORC_ASSIGN(const Comparison c, compare(
                                        options.quick ? 2 : 3, [&] { return race.torc(); },
                                        [&] { return race.spawn(baseline); }));
    table.add(
        {fmt::format("{} `true` jobs, 2 at a time, 2 output files each: posix_spawn {} / torc run",
                     race.jobs(), baseline == Output::none ? "without files" : "with files"),
         show(c.measured),
         show(c.baseline),
         1 / c.ratio,
         {},
         {}});
  }
  return {};
}

}  // namespace
}  // namespace torc::bench

int main(int argc, char** argv) {
  using namespace torc::bench;
  return run_benchmark(argc, argv, [](const Options& options, Table& table) -> torc::Result<void> {
    TORC_TRY(measure_none(options, table));
    return measure_separate(options, table);
  });
}
