// torc on a real Slurm: slurmctld, four nodes that share nothing but files, real sbatch and srun.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "lib/slurm/query.h"
#include "lib/slurm/script.h"

namespace torc {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using namespace std::chrono_literals;

constexpr int kNodes = 4;
constexpr int kCpusOfNode = 2;  // as the fixture's slurm.conf says
constexpr int kCannot = 77;     // cluster.sh: this machine cannot do it

struct Output {
  int exit_code = -1;
  std::string text;  // stdout
};

std::string read_file(const fs::path& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void write_file(const fs::path& path, const std::string& text) {
  std::ofstream(path) << text;
}

// A shell command line; stderr stays the test's.
Output shell(const std::string& command) {
  std::FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return {};
  Output output;
  std::array<char, 4096> buffer{};
  while (const auto n = std::fread(buffer.data(), 1, buffer.size(), pipe))
    output.text.append(buffer.data(), n);
  const int status = pclose(pipe);
  output.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return output;
}

// A named pipe whose both ends stay open here, so that whoever opens it never waits and never meets
// its end.
class NamedPipe {
 public:
  explicit NamedPipe(const fs::path& path) {
    mkfifo(path.c_str(), 0600);
    descriptor_ = open(path.c_str(), O_RDWR | O_CLOEXEC);
  }
  ~NamedPipe() { close(descriptor_); }
  NamedPipe(const NamedPipe&) = delete;
  NamedPipe& operator=(const NamedPipe&) = delete;

  [[nodiscard]] bool usable() const { return descriptor_ >= 0; }

  // The next line that somebody writes; nullopt when nobody does for so long.
  std::optional<std::string> line(std::chrono::milliseconds limit) {
    const auto end = std::chrono::steady_clock::now() + limit;
    for (;;) {
      if (const auto newline = buffer_.find('\n'); newline != std::string::npos) {
        auto line = buffer_.substr(0, newline);
        buffer_.erase(0, newline + 1);
        return line;
      }
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          end - std::chrono::steady_clock::now());
      pollfd ready{descriptor_, POLLIN, 0};
      if (left.count() <= 0 || poll(&ready, 1, static_cast<int>(left.count())) <= 0)
        return std::nullopt;
      std::array<char, 4096> bytes{};
      const auto n = read(descriptor_, bytes.data(), bytes.size());
      if (n > 0) buffer_.append(bytes.data(), static_cast<std::size_t>(n));
    }
  }

  void write_lines(int count) {
    const std::string text(static_cast<std::size_t>(count), '\n');
    ASSERT_EQ(write(descriptor_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }

 private:
  int descriptor_ = -1;
  std::string buffer_;
};

// A program that runs beside the test; its end comes over a pipe, so that waiting for it has a
// limit.
class Background {
 public:
  explicit Background(const std::string& command) : pipe_(popen(command.c_str(), "r")) {}
  ~Background() {
    if (pipe_ != nullptr) pclose(pipe_);
  }
  Background(Background&& other) noexcept : pipe_(std::exchange(other.pipe_, nullptr)) {}
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  // What it printed and its exit code; nullopt when it still runs after `limit`.
  std::optional<Output> finish(std::chrono::seconds limit) {
    const auto end = std::chrono::steady_clock::now() + limit;
    Output output;
    for (;;) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          end - std::chrono::steady_clock::now());
      pollfd ready{fileno(pipe_), POLLIN, 0};
      if (left.count() <= 0 || poll(&ready, 1, static_cast<int>(left.count())) <= 0)
        return std::nullopt;
      std::array<char, 4096> bytes{};
      const auto n = read(fileno(pipe_), bytes.data(), bytes.size());
      if (n > 0) output.text.append(bytes.data(), static_cast<std::size_t>(n));
      if (n == 0) break;
    }
    const int status = pclose(std::exchange(pipe_, nullptr));
    output.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return output;
  }

 private:
  std::FILE* pipe_;
};

class SlurmTest : public testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv("TORC_TEST_SKIP_SLURM") != nullptr)
      GTEST_SKIP() << "TORC_TEST_SKIP_SLURM is set";
    auto name = (fs::temp_directory_path() / "torc-slurm-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr) << std::strerror(errno);
    root_ = name;
    work_ = root_ / "shared files";  // also a test of quoting
    fs::create_directory(work_);
    cluster_ = std::string(TORC_SOURCE_DIR) + "/tests/integration/slurm/cluster.sh " +
               (root_ / "cluster").string();
    // Tests of several checkouts may run at once; the system's own ports for clients begin above.
    const int port = 20000 + getpid() % 1000 * 10;
    const auto start =
        shell(cluster_ + " start " + std::to_string(kNodes) + " " + std::to_string(port) + " 2>&1");
    ASSERT_NE(start.exit_code, kCannot)
        << start.text << "To go without the tests on a real Slurm, set TORC_TEST_SKIP_SLURM=1.";
    ASSERT_EQ(start.exit_code, 0) << start.text;
    environment_ = "cd '" + work_.string() +
                   "'; unset TMPDIR; export SLURM_CONF=" + (root_ / "cluster/slurm.conf").string() +
                   "; ";
  }

  void TearDown() override {
    if (root_.empty()) return;
    if (HasFailure()) print_logs();
    EXPECT_EQ(shell(cluster_ + " stop 2>&1").exit_code, 0);
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }

  // On the login side, in the directory of the workflow.
  [[nodiscard]] Output login(const std::string& command) const {
    return shell(environment_ + command);
  }
  [[nodiscard]] Background start(const std::string& command) const {
    return Background(environment_ + "exec " + command);
  }
  [[nodiscard]] Output torc(const std::string& arguments) const {
    return login(std::string(TORC_PROGRAM) + " " + arguments);
  }
  [[nodiscard]] Output torc_on(const std::string& node, const std::string& arguments) const {
    return login(cluster_ + " exec " + node + " " + TORC_PROGRAM + " " + arguments);
  }
  void crash(const std::string& node) const {
    ASSERT_EQ(shell(cluster_ + " crash " + node).exit_code, 0);
  }

  // The id of the new allocation.
  [[nodiscard]] std::string submit(const std::string& script) const {
    const auto submitted = login("TORC_WORKER_FLAGS='--lease-ttl 10s' sbatch --parsable " + script);
    EXPECT_EQ(submitted.exit_code, 0);
    return submitted.text.substr(0, submitted.text.find('\n'));
  }
  // Its nodes, the one that runs the batch script first.
  [[nodiscard]] std::vector<std::string> nodes_of(const std::string& id) const {
    const auto list = login("squeue -h -j " + id + " -o %N").text;
    const auto hosts = slurm::expand_hostlist(std::string_view(list).substr(0, list.find('\n')));
    EXPECT_TRUE(hosts.ok()) << list;
    return hosts.ok() ? *hosts : std::vector<std::string>{};
  }
  // Whether these allocations end by themselves. Slurm says when: it starts what depends on them.
  [[nodiscard]] bool all_end(const std::vector<std::string>& ids) const {
    std::string list;
    for (const auto& id : ids) list += ":" + id;
    return start("srun -Q -n1 --mem=10 --dependency=afterany" + list + " true")
        .finish(120s)
        .has_value();
  }

  fs::path root_, work_;

 private:
  // Everything that says why, before the directory goes.
  void print_logs() const {
    std::error_code ignored;
    for (const auto& entry : fs::recursive_directory_iterator(work_, ignored)) {
      const auto& path = entry.path();
      if (path.extension() != ".out" && path.filename() != "spec.yaml") continue;
      std::fprintf(stderr, "---- %s\n%s\n", path.c_str(), read_file(path).c_str());
    }
    for (const auto& entry : fs::directory_iterator(root_ / "cluster/log", ignored)) {
      const auto text = read_file(entry.path());
      std::fprintf(stderr, "---- %s\n%s\n", entry.path().c_str(),
                   text.substr(text.size() > 3000 ? text.size() - 3000 : 0).c_str());
    }
  }

  std::string cluster_;
  std::string environment_;
};

json parsed(const Output& output) {
  auto value = json::parse(output.text, nullptr, false);
  EXPECT_FALSE(value.is_discarded()) << output.text;
  return value;
}

// A job that says where it runs and goes on when it is let; a second stage that needs all of the
// first.
constexpr const char* kWorkflow = R"yaml(name: night
resource_requirements:
  - {name: one, num_cpus: 1, memory: 50m}
slurm_schedulers:
  - {name: pair, nodes: 2, walltime: "00:10:00", extra: --exclusive}
jobs:
  - name: hold_{i:02d}
    parameters: {i: "1:12"}
    scheduler: pair
    resource_requirements: one
    command: |
      echo "start $TORC_JOB_NAME $TORC_ATTEMPT_ID $(hostname)" > events
      read go < gate
      echo "$TORC_ATTEMPT_ID $(hostname)" > done_{i:02d}
  - name: join
    scheduler: pair
    resource_requirements: one
    depends_on_regexes: ["^hold_"]
    command: cat done_* > joined
)yaml";

struct Start {
  std::string job;
  int attempt = 0;
  std::string host;
};

std::optional<Start> next_start(NamedPipe& events, std::chrono::seconds limit) {
  const auto line = events.line(limit);
  if (!line) return std::nullopt;
  std::istringstream words(*line);
  std::string verb;
  Start start;
  words >> verb >> start.job >> start.attempt >> start.host;
  EXPECT_EQ(verb, "start") << *line;
  return start;
}

TEST_F(SlurmTest,
       jobs_of_a_node_that_dies_are_finished_by_another_and_all_workers_leave_by_themselves) {
  NamedPipe events(work_ / "events");
  NamedPipe gate(work_ / "gate");
  ASSERT_TRUE(events.usable() && gate.usable());
  write_file(work_ / "night.yaml", kWorkflow);
  // On one machine `auto` would choose the engine of one machine.
  ASSERT_EQ(torc("init night.yaml --engine journal").exit_code, 0);

  const std::vector<std::string> allocations = {submit("night.torc/slurm/pair.sbatch"),
                                                submit("night.torc/slurm/pair.sbatch")};

  // Every CPU of every node has a job: both allocations and all four workers are at work.
  std::map<std::string, std::vector<Start>> on_node;
  for (int i = 0; i < kNodes * kCpusOfNode; ++i) {
    const auto started = next_start(events, 60s);
    ASSERT_TRUE(started) << "only " << i << " jobs have started";
    EXPECT_EQ(started->attempt, 1);
    on_node[started->host].push_back(*started);
  }
  for (const auto& [node, starts] : on_node)
    EXPECT_EQ(starts.size(), std::size_t{kCpusOfNode}) << node;

  // The login side and a node see the same.
  const auto here = parsed(torc("status night.torc --json"));
  const auto there = parsed(torc_on("n2", "status night.torc --json"));
  for (const auto& status : {here, there}) {
    EXPECT_EQ(status.at("workflow"), "night");
    EXPECT_EQ(status.at("workers").size(), std::size_t{kNodes});
    EXPECT_EQ(status.at("counts").at("blocked"), 1);
    EXPECT_EQ(status.at("counts").at("completed"), 0);
  }

  // The power of a node goes. It is not the one that runs the batch script, so its allocation lives
  // on.
  const auto nodes = nodes_of(allocations.front());
  ASSERT_EQ(nodes.size(), 2U);
  const auto& lost = nodes[1];
  crash(lost);
  gate.write_lines(100);

  std::map<std::string, Start> last;  // start of each job
  std::set<std::string> lost_jobs;
  for (const auto& [node, starts] : on_node) {
    for (const auto& start : starts) {
      last[start.job] = start;
      if (node == lost) lost_jobs.insert(start.job);
    }
  }
  for (int i = 0; i < 12 - kNodes * kCpusOfNode + kCpusOfNode; ++i) {
    const auto started = next_start(events, 90s);
    ASSERT_TRUE(started) << i << " more jobs have started";
    EXPECT_NE(started->host, lost);
    last[started->job] = *started;
  }
  for (const auto& job : lost_jobs) EXPECT_EQ(last[job].attempt, 2) << job;

  EXPECT_TRUE(all_end(allocations)) << "an allocation has not ended by itself";

  const auto status = parsed(torc("status night.torc --json"));
  EXPECT_EQ(status.at("counts").at("completed"), 13);
  EXPECT_EQ(status.at("state"), "completed");
  std::set<std::string> names;
  for (const auto& job : parsed(torc("jobs night.torc --json"))) {
    const auto name = job.at("name").get<std::string>();
    EXPECT_TRUE(names.insert(name).second) << name << " is listed twice";
    EXPECT_EQ(job.at("state"), "completed") << name;
    EXPECT_EQ(job.at("exit_code"), 0) << name;
    if (name == "join") continue;
    EXPECT_EQ(job.at("attempt"), last[name].attempt) << name;
    EXPECT_EQ(job.at("host"), last[name].host) << name;
  }
  EXPECT_EQ(names.size(), 13U);
  const auto joined = read_file(work_ / "joined");
  EXPECT_EQ(std::count(joined.begin(), joined.end(), '\n'), 12);
  const auto verified = torc("verify night.torc");
  EXPECT_EQ(verified.exit_code, 0) << verified.text;
}

constexpr const char* kOneJob = R"yaml(name: again
resource_requirements:
  - {name: one, num_cpus: 1, memory: 50m}
slurm_schedulers:
  - {name: one, nodes: 1, walltime: "00:10:00"}
jobs:
  - name: only
    scheduler: one
    resource_requirements: one
    command: |
      echo "start $TORC_JOB_NAME $TORC_ATTEMPT_ID $(hostname)" > events
      read go < gate
)yaml";

TEST_F(SlurmTest, a_requeued_allocation_keeps_its_log_and_its_worker_comes_back) {
  NamedPipe events(work_ / "events");
  NamedPipe gate(work_ / "gate");
  ASSERT_TRUE(events.usable() && gate.usable());
  write_file(work_ / "again.yaml", kOneJob);
  ASSERT_EQ(torc("init again.yaml --engine journal").exit_code, 0);
  const auto id = submit("again.torc/slurm/one.sbatch");
  ASSERT_TRUE(next_start(events, 60s));

  ASSERT_EQ(login("scontrol requeue " + id).exit_code, 0);
  const auto started = next_start(events, 120s);
  ASSERT_TRUE(started) << "the job has not started again";
  EXPECT_EQ(started->attempt, 2);
  gate.write_lines(100);
  EXPECT_TRUE(all_end({id}));

  EXPECT_EQ(parsed(torc("status again.torc --json")).at("counts").at("completed"), 1);
  const auto log = read_file(work_ / ("again.torc/logs/slurm-" + id + ".out"));
  const auto restart = log.find("restarted allocation " + id);
  ASSERT_NE(restart, std::string::npos) << log;
  EXPECT_GT(restart, 0U) << "what the first run wrote is still there:\n" << log;
}

// A stand-in for torc that says what a worker would find.
class WorkerStepTest : public SlurmTest {
 protected:
  void submit_stand_in(const spec::SlurmScheduler& scheduler) {
    write_file(work_ / "fake torc",
               "#!/bin/sh\necho \"worker $(hostname) tasks=$SLURM_NTASKS cpus=$SLURM_CPUS_ON_NODE "
               "store=$TORC_STORE "
               "args=$*\" > '" +
                   (work_ / "seen").string() + "'\n");
    fs::permissions(work_ / "fake torc", fs::perms::owner_all);
    fs::create_directories(work_ / "100% run.torc/logs");
    const auto text =
        slurm::render_script({"it's a test", work_ / "100% run.torc", work_ / "fake torc", "a job"},
                             scheduler, {{"comment", "it's 100% \"quoted\" # here"}});
    ASSERT_TRUE(text.ok()) << text.error().text();
    write_file(work_ / "job.sbatch", *text);
    const auto submitted = login("TORC_WORKER_FLAGS='--one --two' sbatch job.sbatch 2>&1");
    EXPECT_EQ(submitted.exit_code, 0) << submitted.text;
  }
};

TEST_F(WorkerStepTest, each_node_gets_one_worker_that_sees_all_of_its_share_whatever_the_tasks) {
  NamedPipe seen(work_ / "seen");
  spec::SlurmScheduler scheduler;
  scheduler.name = "it's";
  scheduler.nodes = 2;
  scheduler.walltime = "5";
  for (const auto* extra : {"--ntasks-per-node=2", "-n 4", "--cpus-per-task=2", "--exclusive",
                            "--mem-per-cpu=100 --exclusive"}) {
    SCOPED_TRACE(extra);
    scheduler.extra = extra;
    submit_stand_in(scheduler);
    std::set<std::string> hosts;
    for (int i = 0; i < 2; ++i) {
      const auto line = seen.line(10s);
      ASSERT_TRUE(line);
      std::istringstream words(*line);
      std::string verb, host, tasks, cpus;
      words >> verb >> host >> tasks >> cpus;
      hosts.insert(host);
      EXPECT_EQ(tasks, "tasks=2");
      EXPECT_EQ(cpus, "cpus=2");
      const auto store = (work_ / "100% run.torc").string();
      EXPECT_TRUE(line->ends_with("store=" + store + " args=worker " + store +
                                  " --scheduler=it's --one --two"))
          << *line;
    }
    EXPECT_EQ(hosts.size(), 2U);
    EXPECT_FALSE(seen.line(0s)) << "more workers than nodes";
  }
  std::size_t logs = 0;
  for (const auto& entry : fs::directory_iterator(work_ / "100% run.torc/logs")) {
    EXPECT_TRUE(entry.path().filename().string().starts_with("slurm-")) << entry.path();
    ++logs;
  }
  EXPECT_EQ(logs, 5U);
}

}  // namespace
}  // namespace torc
