// How soon a job of several nodes starts: from the end of the last job that had one of its nodes to
// the start of its command, among workers on one host, each of which counts as a node, has a copy
// of the store of its own, and hears of the others by its bell.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "bench/measure.h"

extern char** environ;

namespace torc::bench {
namespace {

using nlohmann::json;

// A worker in the background, ended with its jobs at the end.
class Node {
 public:
  static Result<std::unique_ptr<Node>> start(const Options& options, const Path& store, int number,
                                             int nodes) {
    const Path own = options.scratch / fmt::format("gang{}-{}", nodes, number);
    std::filesystem::create_directories(own);
    std::vector<std::string> argv{"env",
                                  "TMPDIR=" + own.string(),
                                  TORC_PROGRAM,
                                  "worker",
                                  store,
                                  "--num-cpus",
                                  "1",
                                  "--group",
                                  "bench",
                                  "--node-name",
                                  fmt::format("n{}", number),
                                  "--bell-interface",
                                  "127.0.0.1"};
    std::vector<char*> words;
    for (std::string& word : argv) words.push_back(word.data());
    words.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t pid = 0;
    const int rc = posix_spawnp(&pid, words[0], &actions, nullptr, words.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (rc != 0) return os_error(rc, "cannot start a worker");
    return std::unique_ptr<Node>(new Node(pid));
  }
  ~Node() {
    if (pid_ != 0) ::kill(pid_, SIGKILL);
    wait();
  }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  void wait() {
    if (pid_ == 0) return;
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    pid_ = 0;
  }

 private:
  explicit Node(pid_t pid) : pid_(pid) {}
  pid_t pid_;
};

// In turn a job that has one node for a while, so that all others are free by then, and one that
// needs all of them.
std::string spec_of(int nodes, int rounds) {
  std::string spec = fmt::format(
      "name: gangs\nresource_requirements:\n  - {{name: all, num_cpus: 1, num_nodes: {}, runtime: "
      "PT1M}}\n  - {{name: one, num_cpus: 1, runtime: PT1M}}\njobs:\n",
      nodes);
  for (int i = 0; i < rounds; ++i) {
    spec += fmt::format("  - {{name: block{}, command: sleep 1, resource_requirements: one{}}}\n",
                        i, i == 0 ? "" : fmt::format(", depends_on: [gang{}]", i - 1));
    // It waits from the start of the one before it on, and needs its node, too.
    spec += fmt::format(
        "  - {{name: gang{}, command: \"true\", resource_requirements: all, depends_on: "
        "[\"block{}\"]}}\n",
        i, i);
  }
  return spec;
}

Result<Seconds> median_wait(const Options& options, const Path& store) {
  const Path list = options.scratch / "gangs.json";
  const std::string line =
      fmt::format("'{}' jobs '{}' --json > '{}'", TORC_PROGRAM, store.string(), list.string());
  TORC_ASSIGN(const ProcessCost listed, run_process({"/bin/sh", "-c", line}, options.scratch));
  (void)listed;
  std::ifstream in(list);
  const json jobs = json::parse(in, nullptr, false);
  std::map<std::string, std::pair<double, double>> times;
  for (const json& job : jobs) {
    if (!job["started_at"].is_number() || !job["ended_at"].is_number())
      return Error{ErrorKind::io, "a job has not run", ""};
    times[job.value("job", "")] = {job["started_at"], job["ended_at"]};
  }
  std::vector<double> waits;
  for (const auto& [name, time] : times) {
    if (!name.starts_with("gang")) continue;
    waits.push_back(time.first - times.at("block" + name.substr(4)).second);
  }
  if (waits.empty()) return Error{ErrorKind::io, "no job of several nodes has run", ""};
  return Seconds(median(waits));
}

Result<void> measure(const Options& options, Table& table, int nodes) {
  const int rounds = options.quick ? 3 : 10;
  const Path file = options.scratch / fmt::format("gang{}.yaml", nodes);
  const Path store = options.scratch / fmt::format("gang{}.torc", nodes);
  TORC_TRY(write_text(file, spec_of(nodes, rounds)));
  TORC_ASSIGN(const ProcessCost made,
              run_process({TORC_PROGRAM, "init", file, "--store", store, "--engine", "journal"},
                          options.scratch));
  (void)made;
  std::vector<std::unique_ptr<Node>> workers;
  for (int n = 0; n < nodes; ++n) {
    TORC_ASSIGN(auto worker, Node::start(options, store, n, nodes));
    workers.push_back(std::move(worker));
  }
  for (const auto& worker : workers) worker->wait();
  TORC_ASSIGN(const Seconds wait, median_wait(options, store));
  // Nodes have CPUs of their own; many workers of one host wait for each other's turns.
  const bool share_cpus = nodes > 4 * static_cast<int>(std::thread::hardware_concurrency());
  table.add({fmt::format("start of a job of {} nodes after the last of them is free, journal, with "
                         "the bell",
                         nodes),
             show(wait),
             "-",
             {},
             share_cpus ? Floor{} : Floor{Floor::Kind::at_most, 50e-3, "<= 50 ms"},
             wait.count()});
  return {};
}

}  // namespace
}  // namespace torc::bench

int main(int argc, char** argv) {
  using namespace torc::bench;
  return run_benchmark(argc, argv, [](const Options& options, Table& table) -> torc::Result<void> {
    for (const int nodes : {2, 4, 16}) {
      TORC_TRY(measure(options, table, nodes));
    }
    return {};
  });
}
