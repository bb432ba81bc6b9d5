// What a worker costs beside its jobs: how soon a dependent starts, memory, sleep, and how long the
// small commands take.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "bench/measure.h"

extern char** environ;

namespace torc::bench {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

void pause_for(std::chrono::nanoseconds time) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
  timespec left{seconds.count(), (time - seconds).count()};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

std::string text_of(const Path& file) {
  std::ifstream in(file);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

// A torc in the background, ended with its jobs at the end.
class Background {
 public:
  static Result<std::unique_ptr<Background>> start(const std::vector<std::string>& argv,
                                                   const Path& directory) {
    std::vector<char*> words;
    for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addchdir_np(&actions, directory.c_str());
    pid_t pid = 0;
    const int rc = posix_spawnp(&pid, words[0], &actions, nullptr, words.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (rc != 0) return os_error(rc, "cannot start " + argv[0]);
    return std::unique_ptr<Background>(new Background(pid));
  }
  ~Background() { end(); }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  void end() {
    if (pid_ == 0) return;
    ::kill(pid_, SIGKILL);  // the worker and its jobs go with the watchdog
    wait();
  }
  void wait() {
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    pid_ = 0;
  }
  [[nodiscard]] pid_t watchdog() const { return pid_; }
  // The process below the watchdog; 0: not yet.
  [[nodiscard]] pid_t worker() const { return first_of(children(pid_)); }
  [[nodiscard]] std::size_t jobs() const {
    const pid_t pid = worker();
    std::istringstream in(pid == 0 ? std::string() : children(pid));
    std::size_t count = 0;
    for (std::string word; in >> word;) ++count;
    return count;
  }

 private:
  explicit Background(pid_t pid) : pid_(pid) {}
  static std::string children(pid_t pid) {
    return text_of(fmt::format("/proc/{0}/task/{0}/children", pid));
  }
  static pid_t first_of(const std::string& list) { return std::atoi(list.c_str()); }
  pid_t pid_;
};

Result<Path> make_store(const Options& options, const std::string& name, const std::string& spec,
                        const char* engine) {
  const Path file = options.scratch / (name + ".yaml");
  Path store = options.scratch / (name + ".torc");
  TORC_TRY(write_text(file, spec));
  const std::vector<std::string> make{TORC_PROGRAM, "init",     file,  "--store",
                                      store,        "--engine", engine};
  TORC_ASSIGN(const ProcessCost made, run_process(make, options.scratch));
  (void)made;
  return store;
}

// --- dependents ---

// A chain of jobs that run in turn on the worker `a` and, if there are two, on `b`.
std::string chain(int length, bool two) {
  std::string spec = "name: chain\njobs:\n";
  for (int i = 0; i < length; ++i) {
    spec += fmt::format("  - {{name: j{}, command: \"true\"", i);
    if (i > 0) spec += fmt::format(", depends_on: [j{}]", i - 1);
    if (two) spec += fmt::format(", label: {}", i % 2 == 0 ? "a" : "b");
    spec += "}\n";
  }
  return spec;
}

// Between the end of each job of the chain and the start of the next.
Result<Seconds> median_gap(const Options& options, const Path& store) {
  const Path list = options.scratch / "list.json";
  const std::string line =
      fmt::format("'{}' jobs '{}' --json > '{}'", TORC_PROGRAM, store.string(), list.string());
  TORC_ASSIGN(const ProcessCost listed, run_process({"/bin/sh", "-c", line}, options.scratch));
  (void)listed;
  const json jobs = json::parse(text_of(list), nullptr, false);
  if (!jobs.is_array() || jobs.size() < 2)
    return Error{ErrorKind::io, "cannot read the jobs of the chain", ""};
  std::map<std::uint64_t, std::pair<double, double>> times;
  for (const json& job : jobs) {
    if (!job["started_at"].is_number() || !job["ended_at"].is_number())
      return Error{ErrorKind::io, "a job of the chain has not run", ""};
    times[job["job_id"]] = {job["started_at"], job["ended_at"]};
  }
  std::vector<double> gaps;
  for (auto it = std::next(times.begin()); it != times.end(); ++it)
    gaps.push_back(it->second.first - std::prev(it)->second.second);
  return Seconds(median(gaps));
}

Result<void> measure_dependents(const Options& options, Table& table, const char* engine) {
  const int length = options.quick ? 20 : 200;
  TORC_ASSIGN(const Path alone,
              make_store(options, fmt::format("alone-{}", engine), chain(length, false), engine));
  TORC_ASSIGN(const ProcessCost ran,
              run_process({TORC_PROGRAM, "worker", alone, "--num-cpus", "1"}, options.scratch));
  (void)ran;
  TORC_ASSIGN(const Seconds same, median_gap(options, alone));
  table.add({fmt::format("start of a dependent after its last dependency, same worker, {}", engine),
             show(same),
             "-",
             {},
             {Floor::Kind::at_most, 3e-3, "<= 3 ms"},
             same.count()});

  TORC_ASSIGN(const Path both,
              make_store(options, fmt::format("both-{}", engine), chain(length, true), engine));
  std::vector<std::unique_ptr<Background>> workers;
  for (const char* label : {"a", "b"}) {
    TORC_ASSIGN(auto worker, Background::start({TORC_PROGRAM, "worker", both, "--num-cpus", "1",
                                                "--label", label},
                                               options.scratch));
    workers.push_back(std::move(worker));
  }
  for (const auto& worker : workers) worker->wait();
  TORC_ASSIGN(const Seconds other, median_gap(options, both));
  table.add({fmt::format("the same, another worker of the same node, {}", engine),
             show(other),
             "-",
             {},
             {Floor::Kind::at_most, 20e-3, "<= 20 ms"},
             other.count()});
  return {};
}

// Two workers that share nothing but the store, as on two nodes: each has a copy of its own, and so
// hears nothing of the other's commits but by looking, or by the bell.
Result<void> measure_hops(const Options& options, Table& table, bool bell) {
  const int length = options.quick ? (bell ? 20 : 6) : (bell ? 200 : 20);
  TORC_ASSIGN(const Path store,
              make_store(options, bell ? "rung" : "polled", chain(length, true), "journal"));
  std::vector<std::unique_ptr<Background>> workers;
  for (const char* label : {"a", "b"}) {
    const Path own = options.scratch / fmt::format("{}-{}", store.stem().string(), label);
    std::filesystem::create_directories(own);
    std::vector<std::string> argv{
        "env", "TMPDIR=" + own.string(), TORC_PROGRAM, "worker", store, "--num-cpus",
        "1",   "--overcommit",           "--label",    label};
    if (bell) {
      argv.insert(argv.end(), {"--bell-interface", "127.0.0.1"});
    } else {
      argv.emplace_back("--no-bell");
    }
    TORC_ASSIGN(auto worker, Background::start(argv, options.scratch));
    workers.push_back(std::move(worker));
  }
  for (const auto& worker : workers) worker->wait();
  TORC_ASSIGN(const Seconds hop, median_gap(options, store));
  if (bell) {
    table.add({"the same, a worker of another node, journal, with the bell",
               show(hop),
               "-",
               {},
               {Floor::Kind::at_most, 20e-3, "<= 20 ms"},
               hop.count()});
  } else {
    table.add({"the same, a worker of another node, journal, --no-bell",
               show(hop),
               "-",
               {},
               {},  // as often as it polls
               hop.count()});
  }
  return {};
}

// --- memory ---

// Resident, without what is mapped from the replica or the store, which the page cache has anyway.
ByteCount memory_beside_replica(pid_t pid) {
  std::ifstream in(fmt::format("/proc/{}/smaps", pid));
  bool counts = true;
  std::uint64_t kib = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("Rss:")) {
      if (counts) kib += std::strtoull(line.c_str() + 4, nullptr, 10);
    } else if (line.find('-') < line.find(' ')) {
      counts = line.find(".mdb") == std::string::npos;
    }
  }
  return {kib << 10};
}

Result<void> measure_memory(const Options& options, Table& table) {
  constexpr std::size_t kRunning = 64;
  const std::string spec = fmt::format(
      "name: big\njobs:\n  - {{name: \"j_{{i}}\", command: sleep 1000, parameters: {{i: "
      "\"1:{}\"}}}}\n",
      options.quick ? 10'000 : 1'000'000);
  TORC_ASSIGN(const Path store, make_store(options, "big", spec, "journal"));
  TORC_ASSIGN(const auto worker,
              Background::start(
                  {TORC_PROGRAM, "worker", store, "--max-parallel-jobs", std::to_string(kRunning)},
                  options.scratch));
  for (int i = 0; i < 600 && worker->jobs() < kRunning; ++i) pause_for(milliseconds(50));
  if (worker->jobs() < kRunning) return Error{ErrorKind::io, "64 jobs did not start", ""};
  pause_for(milliseconds(500));
  const ByteCount memory = memory_beside_replica(worker->worker());
  table.add({fmt::format("memory of a worker with {} running jobs beside the replica", kRunning),
             show(memory),
             "-",
             {},
             {Floor::Kind::at_most, 40.0 * (1 << 20), "<= 40 MiB"},
             static_cast<double>(memory.value)});
  return {};
}

// --- sleep ---

struct Activity {
  double cpu = 0;  // seconds
  std::uint64_t wakeups = 0;
};

Activity activity_of(pid_t pid) {
  Activity out;
  std::error_code error;
  const Path tasks = fmt::format("/proc/{}/task", pid);
  for (std::filesystem::directory_iterator it(tasks, error), end; !error && it != end;
       it.increment(error)) {
    // Nanoseconds on a CPU come first.
    out.cpu += std::strtod(text_of(it->path() / "schedstat").c_str(), nullptr) / 1e9;
    const std::string status = text_of(it->path() / "status");
    const auto at = status.find("\nvoluntary_ctxt_switches:");
    if (at != std::string::npos)
      out.wakeups += std::strtoull(status.c_str() + at + 26, nullptr, 10);
  }
  return out;
}

Result<void> measure_idle(const Options& options, Table& table, const char* engine) {
  const std::chrono::seconds time(options.quick ? 5 : 30);
  TORC_ASSIGN(const Path store,
              make_store(options, fmt::format("idle-{}", engine),
                         "name: idle\njobs:\n  - {name: long, command: sleep 1000}\n"
                         "  - {name: after, command: \"true\", depends_on: [long]}\n",
                         engine));
  std::vector<std::unique_ptr<Background>> workers;
  for (int i = 0; i < 2; ++i) {
    TORC_ASSIGN(auto worker, Background::start({TORC_PROGRAM, "worker", store, "--num-cpus", "1"},
                                               options.scratch));
    for (int n = 0; n < 200 && worker->worker() == 0; ++n) pause_for(milliseconds(50));
    workers.push_back(std::move(worker));
    pause_for(milliseconds(1500));
  }
  // Whoever has no job is idle; the watchdog counts too.
  const auto idle = std::find_if(workers.begin(), workers.end(),
                                 [](const auto& worker) { return worker->jobs() == 0; });
  if (idle == workers.end()) return Error{ErrorKind::io, "no worker is idle", ""};
  const auto now = [&] {
    const Activity a = activity_of((*idle)->worker());
    const Activity b = activity_of((*idle)->watchdog());
    return Activity{a.cpu + b.cpu, a.wakeups + b.wakeups};
  };
  const Activity before = now();
  pause_for(time);
  const Activity after = now();
  const double seconds = static_cast<double>(time.count());
  const double share = (after.cpu - before.cpu) / seconds;
  const double wakeups = static_cast<double>(after.wakeups - before.wakeups) / seconds;
  table.add({fmt::format("idle worker and watchdog, CPU, {}", engine),
             fmt::format("{:.3f} %", share * 100),
             "-",
             {},
             {Floor::Kind::at_most, 0.001, "<= 0.1 %"},
             share});
  table.add({fmt::format("idle worker and watchdog, wake-ups a second, {}", engine),
             fmt::format("{:.2f}", wakeups),
             "-",
             {},
             {Floor::Kind::at_most, 1, "<= 1"},
             wakeups});
  return {};
}

// --- small commands ---

Result<void> measure_commands(const Options& options, Table& table) {
  TORC_ASSIGN(const Path store,
              make_store(options, "small", "name: small\njobs:\n  - {name: a, command: \"true\"}\n",
                         "lmdb"));
  const auto wall = [&](std::vector<std::string> argv) {
    return [&options, argv = std::move(argv)]() -> Result<Seconds> {
      TORC_ASSIGN(const ProcessCost cost, run_process(argv, options.scratch));
      return cost.wall;
    };
  };
  const int rounds = options.quick ? 5 : 25;
  TORC_ASSIGN(const Comparison version,
              compare(rounds, wall({TORC_PROGRAM, "--version"}), wall({"true"})));
  table.add({"torc --version / true",
             show(version.measured),
             show(version.baseline),
             version.ratio,
             {Floor::Kind::at_most, 5e-3, "<= 5 ms"},
             version.measured.count()});
  TORC_ASSIGN(const Comparison status,
              compare(rounds, wall({TORC_PROGRAM, "status", store}), wall({"true"})));
  table.add({"torc status of a small store / true",
             show(status.measured),
             show(status.baseline),
             status.ratio,
             {Floor::Kind::at_most, 15e-3, "<= 15 ms"},
             status.measured.count()});
  return {};
}

}  // namespace
}  // namespace torc::bench

int main(int argc, char** argv) {
  using namespace torc::bench;
  return run_benchmark(argc, argv, [](const Options& options, Table& table) -> torc::Result<void> {
    TORC_TRY(measure_commands(options, table));
    for (const char* engine : {"lmdb", "journal"}) {
      TORC_TRY(measure_dependents(options, table, engine));
      TORC_TRY(measure_idle(options, table, engine));
    }
    for (const bool bell : {false, true}) TORC_TRY(measure_hops(options, table, bell));
    return measure_memory(options, table);
  });
}
