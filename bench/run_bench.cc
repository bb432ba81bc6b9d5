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

Result<void> measure(const Options& options, Table& table, Output output) {
  const int jobs = options.quick ? 500 : 5000;
  const int rounds = options.quick ? 2 : 7;
  const Path spec = options.scratch / "spec.yaml";
  TORC_TRY(write_text(spec, spec_of(jobs, output)));
  std::error_code error;
  std::vector<double> whole_ratios;
  std::vector<double> whole_times;
  Seconds init{};
  Seconds run{};
  const Path store = options.scratch / "many.torc";
  const Path logs = options.scratch / "logs";

  const Round torc = [&]() -> Result<Seconds> {
    std::filesystem::remove_all(store, error);
    const std::vector<std::string> make{TORC_PROGRAM, "init", spec, "--store", store};
    const std::vector<std::string> work{TORC_PROGRAM, "run", store, "--num-cpus", "2", "--quiet"};
    TORC_ASSIGN(const ProcessCost made, run_process(make, options.scratch));
    TORC_ASSIGN(const ProcessCost worked, run_process(work, options.scratch));
    init = made.wall;
    run = worked.wall;
    return run;
  };
  const auto spawn = [&](bool with_files) -> Result<Seconds> {
    std::filesystem::remove_all(logs, error);
    std::filesystem::create_directory(logs, error);
    return timed([&] { return spawn_all(jobs, with_files ? logs : Path()); });
  };
  const Round plain = [&]() -> Result<Seconds> {
    TORC_ASSIGN(const Seconds took, spawn(false));
    whole_ratios.push_back(took / (init + run));
    whole_times.push_back((init + run).count());
    return took;
  };
  TORC_ASSIGN(const Comparison c, compare(rounds, torc, plain));

  const std::string what = fmt::format("{} `true` jobs, 2 at a time, output {}", jobs,
                                       output == Output::none ? "none" : "separate");
  table.add({what + ": torc run / posix_spawn",
             show(c.measured),
             show(c.baseline),
             1 / c.ratio,
             output == Output::none ? at_least(0.80) : Floor{},
             {}});
  table.add({what + ": torc init + torc run",
             show(Seconds(median(whole_times))),
             show(c.baseline),
             median(whole_ratios),
             {},
             {}});
  if (output == Output::none) return {};
  TORC_ASSIGN(const Comparison d, compare(rounds, torc, [&] { return spawn(true); }));
  table.add({what + ": torc run / posix_spawn with 2 files",
             show(d.measured),
             show(d.baseline),
             1 / d.ratio,
             {},
             {}});
  return {};
}

}  // namespace
}  // namespace torc::bench

int main(int argc, char** argv) {
  using namespace torc::bench;
  return run_benchmark(argc, argv, [](const Options& options, Table& table) -> torc::Result<void> {
    TORC_TRY(measure(options, table, Output::none));
    return measure(options, table, Output::separate);
  });
}
