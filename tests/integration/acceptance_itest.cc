// What a user of Slurm expects of a workflow coordinator, one workflow for each expectation, side
// by side on one real cluster: without accounting and with it, in each mode that is built.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/integration/slurm/slurm_test.h"

namespace torc::itest {
namespace {

using nlohmann::json;

// All modes of execution_config. The workflows below are for each of them; of one that is not built
// the test at the end says that, and fails as soon as it is.
constexpr const char* kModes[] = {"direct", "slurm"};

// How long things take: as in `make test`, or as in `make test-slurm` (TORC_TEST_FULL_SIZES).
struct Sizes {
  int step_s;      // a job of a chain
  int measured_s;  // a job that is watched
  int sample_s;
  int short_s;  // one of forty
  int large_s;  // one of those that need memory
};
Sizes sizes() {
  if (std::getenv("TORC_TEST_FULL_SIZES") != nullptr) return {2, 30, 2, 3, 10};
  return {1, 4, 1, 1, 3};
}

constexpr std::uint64_t kMegabyte = 1 << 20;

// A second from the signal to SIGKILL.
std::string lead_of(std::string_view mode) {
  return mode == "slurm" ? "srun_termination_signal: TERM@1" : "sigterm_lead_seconds: 1";
}

std::string replaced(std::string text, const std::map<std::string, std::string>& values) {
  for (const auto& [name, value] : values) {
    for (auto at = text.find(name); at != std::string::npos; at = text.find(name, at))
      text.replace(at, name.size(), value);
  }
  return text;
}

// MODE, SIZE and so on stand for what replaced() is told. Each is bound to a share of a node, so
// that several fit side by side.
constexpr const char* kHead = R"yaml(name: NAME
execution_config: {mode: MODE, LEAD}
slurm_schedulers: [{name: lab, nodes: NODES, walltime: "00:10:00", mem: MEMORYM, extra: -c CPUS}]
)yaml";

constexpr const char* kChain = R"yaml(
jobs:
  - {name: a, scheduler: lab, command: sleep STEP; echo end of a}
  - {name: b, scheduler: lab, depends_on: [a], command: sleep STEP; echo end of b}
  - {name: c, scheduler: lab, depends_on: [b], command: sleep STEP; echo end of c}
)yaml";
constexpr const char* kMeasured = R"yaml(
resource_monitor: {granularity: time_series, sample_interval_seconds: SAMPLE}
resource_requirements: [{name: some, num_cpus: 1, memory: 300m}]
jobs:
  - {name: cpu, resource_requirements: some, command: "timeout MEASURED sh -c 'while :; do :; done'; true"}
  - name: memory
    resource_requirements: some
    command: python3 -c "import time; x = b'a' * (200 << 20); time.sleep(MEASURED)"
)yaml";
constexpr const char* kCanceled = R"yaml(
jobs:
  - {name: "sleeper_{i}", parameters: {i: "1:3"}, scheduler: lab, command: 'echo "$TORC_JOB_NAME 1 x" > canceled_starts; sleep 1800.PID'}
)yaml";
constexpr const char* kForty = R"yaml(
jobs:
  - {name: "work_{i:02d}", parameters: {i: "1:COUNT"}, scheduler: lab, command: sleep SHORT; hostname}
)yaml";
constexpr const char* kLarge = R"yaml(
jobs:
  - name: large_{i}
    parameters: {i: "1:4"}
    command: python3 -c "import time; x = b'a' * (200 << 20); time.sleep(LARGE)"
)yaml";
constexpr const char* kOutOfMemory = R"yaml(
resource_requirements: [{name: small, num_cpus: 1, memory: 100m}]
jobs:
  - {name: good, scheduler: lab, resource_requirements: small, command: sleep STEP}
  - name: bad
    scheduler: lab
    resource_requirements: small
    command: python3 -c "import time; x = b'a' * (300 << 20); time.sleep(60)"
)yaml";
constexpr const char* kRecovered = R"yaml(
failure_handlers: [{name: more, rules: [{on: oom, memory_multiplier: 2, max_retries: 2}]}]
resource_requirements: [{name: small, num_cpus: 1, memory: 100m}]
jobs:
  - {name: modest, scheduler: lab, resource_requirements: small, command: sleep STEP}
  - name: grows
    scheduler: lab
    resource_requirements: small
    failure_handler: more
    command: python3 -c "import time; x = b'a' * (150 << 20); time.sleep(STEP)"
)yaml";
constexpr const char* kRetried = R"yaml(
failure_handlers: [{name: again, rules: [{exit_codes: [42], max_retries: 2}]}]
jobs:
  - {name: pre, scheduler: lab, command: "true"}
  - {name: "work_{i}", parameters: {i: "1:5"}, scheduler: lab, depends_on: [pre], failure_handler: again, command: 'if [ {i} = 3 ] && [ $TORC_ATTEMPT_ID = 1 ]; then exit 42; fi'}
  - {name: post, scheduler: lab, depends_on_regexes: ["^work_"], command: "true"}
)yaml";
constexpr const char* kTimedOut = R"yaml(
resource_requirements: [{name: brief, num_cpus: 1, memory: 10m, runtime: PTMEASUREDS}]
jobs:
  - {name: fast, scheduler: lab, resource_requirements: brief, command: sleep STEP}
  - {name: slow, scheduler: lab, resource_requirements: brief, command: sleep 1200}
)yaml";
// Of steps alone. The name of the variable is written so that it is not taken for STEP.
constexpr const char* kWide = R"yaml(
resource_requirements: [{name: two, num_nodes: 2, num_cpus: 1}]
jobs:
  - {name: wide, scheduler: lab, resource_requirements: two, command: 'echo "$(printenv SLURM_ST""EP_NODELIST) $(hostname)"'}
)yaml";
constexpr const char* kWarned = R"yaml(
resource_requirements: [{name: brief, num_cpus: 1, memory: 10m, runtime: PTMEASUREDS}]
jobs:
  - {name: saves, scheduler: lab, resource_requirements: brief, command: "trap 'echo saved; exit 0' TERM; sleep 1200 & wait"}
)yaml";
constexpr const char* kCutOff = R"yaml(
jobs:
  - {name: only, scheduler: lab, command: 'echo "$TORC_JOB_NAME $TORC_ATTEMPT_ID x" > cut_starts; if [ $TORC_ATTEMPT_ID = 1 ]; then sleep 1700.PID; fi'}
)yaml";

class Acceptance : public SlurmTest,
                   public testing::WithParamInterface<std::tuple<const char*, bool>> {
 protected:
  [[nodiscard]] static bool has_accounting() { return std::get<bool>(GetParam()); }
  [[nodiscard]] std::map<std::string, std::string> with() const override {
    if (!has_accounting()) return {};
    return {{"SLURM_ACCOUNTING", "1"}};
  }

  [[nodiscard]] static bool makes_steps() {
    return std::get<const char*>(GetParam()) == std::string("slurm");
  }

  struct Share {
    int nodes = 1;
    int cpus = 1;
    int memory = 200;  // MB a node
  };
  static std::string store(const std::string& name) { return name + ".torc"; }
  void make(const std::string& name, const char* jobs, Share share) {
    const Sizes s = sizes();
    write_text(
        work_ / (name + ".yaml"),
        replaced(kHead + std::string(jobs), {{"NAME", name},
                                             {"MODE", std::get<const char*>(GetParam())},
                                             {"LEAD", lead_of(std::get<const char*>(GetParam()))},
                                             {"NODES", std::to_string(share.nodes)},
                                             {"MEMORY", std::to_string(share.memory)},
                                             {"CPUS", std::to_string(share.cpus)},
                                             {"STEP", std::to_string(s.step_s)},
                                             {"MEASURED", std::to_string(s.measured_s)},
                                             {"SAMPLE", std::to_string(s.sample_s)},
                                             {"SHORT", std::to_string(s.short_s)},
                                             {"LARGE", std::to_string(s.large_s)},
                                             {"COUNT", name == "forty" ? "40" : "20"},
                                             {"PID", std::to_string(getpid())}}));
    const auto init = torc({"init", name + ".yaml", "--engine", "journal", "--no-slurm"});
    ASSERT_EQ(init.exit_code, 0) << init;
  }
  // One more allocation of it.
  std::string start(const std::string& name) { return keep(name, submit(script(name))); }
  std::string keep(const std::string& name, std::string id) {
    allocations_[name].push_back(id);
    return id;
  }
  static std::string script(const std::string& name) { return store(name) + "/slurm/lab.sbatch"; }
  [[nodiscard]] std::string submitted(const Words& sbatch,
                                      const std::map<std::string, std::string>& env = {}) const {
    const auto done = login(Words{"sbatch", "--parsable"} + sbatch, env);
    EXPECT_EQ(done.exit_code, 0) << done;
    return done.out.substr(0, done.out.find('\n'));
  }
  void expect_all_end() {
    Words all;
    for (const auto& [name, ids] : allocations_) all = all + ids;
    expect_end_of(all);
  }

  // Attempts by name, in their order.
  [[nodiscard]] std::map<std::string, std::vector<json>> attempts(const std::string& name) const {
    std::map<std::string, std::vector<json>> all;
    for (auto& row : parsed(torc({"results", store(name), "--all-attempts", "--json"})))
      all[row.at("job")].push_back(row);
    return all;
  }
  // All of its jobs completed, in an attempt that ended with 0; that many attempts were made.
  void expect_completed(const std::string& name, std::size_t jobs, std::size_t made) const {
    const auto status = parsed(torc({"status", store(name), "--json"}));
    EXPECT_EQ(status.at("state"), "completed") << status;
    EXPECT_EQ(status.at("jobs_by_state").at("completed"), jobs) << status;
    const auto all = attempts(name);
    EXPECT_EQ(all.size(), jobs) << name;
    std::size_t count = 0;
    for (const auto& [job, rows] : all) {
      EXPECT_EQ(rows.back().at("state"), "completed") << rows.back();
      EXPECT_EQ(rows.back().at("exit_code"), 0) << rows.back();
      count += rows.size();
    }
    EXPECT_EQ(count, made) << name;
  }
  [[nodiscard]] std::set<std::string> hosts(const std::string& name) const {
    std::set<std::string> all;
    for (const auto& [job, rows] : attempts(name))
      for (const auto& row : rows) all.insert(row.at("host"));
    return all;
  }
  [[nodiscard]] bool runs(const std::string& command) const {
    return login({"pgrep", "-f", command}).exit_code == 0;
  }

  void expect_chain() const;
  void expect_measured(const std::string& name) const;
  void expect_two_at_a_time() const;
  void expect_out_of_memory() const;
  void expect_recovered() const;
  void expect_retried() const;
  void expect_timed_out() const;
  void expect_steps() const;
  void expect_figures() const;

  std::map<std::string, Words> allocations_;  // by name of the workflow
};

void Acceptance::expect_chain() const {
  expect_completed("chain", 3, 3);
  const auto rows = attempts("chain");
  for (const char* job : {"a", "b", "c"}) {
    const auto logs = torc({"logs", store("chain"), job});
    EXPECT_EQ(logs.out, std::string("end of ") + job + "\n") << logs;
  }
  EXPECT_GE(rows.at("b")[0].at("started_at"), rows.at("a")[0].at("ended_at"));
  EXPECT_GE(rows.at("c")[0].at("started_at"), rows.at("b")[0].at("ended_at"));
}

void Acceptance::expect_measured(const std::string& name) const {
  expect_completed(name, 2, 2);
  const auto rows = attempts(name);
  EXPECT_GT(rows.at("cpu")[0].at("cpu_seconds"), sizes().measured_s * 0.2) << rows.at("cpu")[0];
  EXPECT_GE(rows.at("memory")[0].at("peak_memory_bytes"), 200 * kMegabyte) << rows.at("memory")[0];
  for (const char* job : {"cpu", "memory"}) {
    const auto series = parsed(torc({"resources", store(name), "--series", job, "--json"}));
    EXPECT_GE(series.at("points").size(), 2U) << series;
  }
}

// Two run beside each other, and never three.
void Acceptance::expect_two_at_a_time() const {
  expect_completed("large", 4, 4);
  std::vector<std::pair<double, int>> changes;
  for (const auto& [job, rows] : attempts("large")) {
    EXPECT_GE(rows[0].at("peak_memory_bytes"), 200 * kMegabyte) << rows[0];
    changes.emplace_back(rows[0].at("started_at").get<double>(), 1);
    changes.emplace_back(rows[0].at("ended_at").get<double>(), -1);
  }
  std::ranges::sort(changes);  // of equal moments the end first
  int now = 0;
  int most = 0;
  for (const auto& [at, change] : changes) most = std::max(most, now += change);
  EXPECT_EQ(most, 2);
}

void Acceptance::expect_out_of_memory() const {
  const auto rows = attempts("oom");
  EXPECT_EQ(rows.at("good")[0].at("exit_code"), 0);
  const auto& bad = rows.at("bad").at(0);
  EXPECT_EQ(rows.at("bad").size(), 1U);
  EXPECT_EQ(bad.at("state"), "failed") << bad;
  EXPECT_EQ(bad.at("exit_code"), 137) << bad;
  EXPECT_EQ(bad.at("cause"), "out_of_memory") << bad;
  const auto why = torc({"why", store("oom"), "bad"});
  EXPECT_TRUE(why.says("memory")) << why;
  const auto entries = parsed(torc({"resources", store("oom"), "--json"}));
  int violations = 0;
  for (const auto& entry : entries) violations += entry.at("out_of_memory_jobs").get<int>();
  EXPECT_EQ(violations, 1) << entries;
}

void Acceptance::expect_recovered() const {
  expect_completed("recovered", 2, 3);
  const auto rows = attempts("recovered");
  ASSERT_EQ(rows.at("grows").size(), 2U);
  EXPECT_EQ(rows.at("grows")[0].at("cause"), "out_of_memory");
  EXPECT_EQ(rows.at("grows")[0].at("exit_code"), 137);
}

void Acceptance::expect_retried() const {
  expect_completed("retried", 7, 8);
  const auto rows = attempts("retried");
  ASSERT_EQ(rows.at("work_3").size(), 2U);
  EXPECT_EQ(rows.at("work_3")[0].at("exit_code"), 42);
  for (const auto& [job, all] : rows) {
    if (!job.starts_with("work_")) continue;
    EXPECT_GE(rows.at("post")[0].at("started_at"), all.back().at("ended_at")) << job;
  }
}

void Acceptance::expect_timed_out() const {
  const auto rows = attempts("timed");
  EXPECT_EQ(rows.at("fast").at(0).at("exit_code"), 0);
  ASSERT_EQ(rows.at("slow").size(), 1U);
  const auto& slow = rows.at("slow")[0];
  EXPECT_EQ(slow.at("state"), "terminated") << slow;
  EXPECT_EQ(slow.at("exit_code"), 152) << slow;
  EXPECT_LT(slow.at("elapsed_seconds"), sizes().measured_s + 10) << slow;
}

// A job of two nodes is one step over both; one that is warned ends well in time.
void Acceptance::expect_steps() const {
  if (!makes_steps()) return;
  expect_completed("wide", 1, 1);
  const auto nodes = split(torc({"logs", store("wide"), "wide"}).out);
  ASSERT_EQ(nodes.size(), 4U);
  EXPECT_TRUE(nodes[0].starts_with("n[")) << nodes[0];
  EXPECT_EQ(nodes[0], nodes[2]);
  EXPECT_NE(nodes[1], nodes[3]);
  expect_completed("warned", 1, 1);
  EXPECT_EQ(torc({"logs", store("warned"), "saves"}).out, "saved\n");
  EXPECT_LT(attempts("warned").at("saves")[0].at("elapsed_seconds"), sizes().measured_s + 5);
  if (!has_accounting()) return;
  // The batch script has kept what sacct knew.
  const auto measured = attempts("measured");
  for (const char* job : {"cpu", "memory"})
    EXPECT_TRUE(measured.at(job)[0].at("node_list").is_string()) << measured.at(job)[0];
}

// What each workflow cost, from whoever can tell it.
void Acceptance::expect_figures() const {
  const std::string from = has_accounting() ? "sacct" : "torc";
  for (const auto& [name, ids] : allocations_) {
    const auto usage = parsed(torc({"slurm", "usage", store(name), "--json"}));
    EXPECT_EQ(usage.at("workflow"), name);
    EXPECT_EQ(usage.at("accounting").at("answered"), has_accounting()) << usage;
    // Of a short one it is less than a second.
    const bool lasts = name == "chain" || name == "forty" || name == "measured";
    if (lasts) {
      EXPECT_GE(usage.at("node_seconds"), 1) << usage;
    }
    EXPECT_GE(usage.at("core_seconds"), usage.at("node_seconds")) << usage;
    std::set<std::string> seen;
    for (const auto& use : usage.at("allocation_runs")) {
      seen.insert(use.at("allocation"));
      EXPECT_EQ(use.at("told_by"), from) << usage;
      const bool is_wide = name == "forty" || name == "twenty" || name == "wide";
      EXPECT_EQ(use.at("nodes"), is_wide ? 2 : 1) << usage;
      EXPECT_EQ(use.at("node_seconds"),
                use.at("nodes").get<int>() * use.at("elapsed_seconds").get<int>());
    }
    EXPECT_EQ(seen, std::set<std::string>(ids.begin(), ids.end())) << name << ": " << usage;
  }
  const auto stats = parsed(torc({"slurm", "stats", store("forty"), "--json"}));
  ASSERT_EQ(stats.at("job_results").size(), 40U);
  for (const auto& job : stats.at("job_results")) {
    if (makes_steps() && has_accounting()) continue;  // the larger figure counts
    EXPECT_EQ(job.at("told_by"), "torc");
  }
  int workers = 0;
  int jobs = 0;
  for (const auto& step : stats.at("steps")) {
    EXPECT_EQ(step.at("told_by"), "sacct");
    if (step.at("step_name").get<std::string>().ends_with(".1")) ++jobs;
    if (step.at("step_name") != "torc-workers") continue;
    ++workers;
    EXPECT_EQ(step.at("nodes"), 2) << step;
    EXPECT_EQ(step.at("exit_code"), 0) << step;
    EXPECT_GT(step.at("peak_memory_bytes"), 1 * kMegabyte) << step;
  }
  EXPECT_EQ(workers, has_accounting() ? 1 : 0) << stats;
  EXPECT_EQ(jobs, has_accounting() && makes_steps() ? 40 : 0) << stats;
  const auto text = torc({"slurm", "usage", store("forty")});
  EXPECT_EQ(text.says("Slurm accounting storage is disabled"), !has_accounting()) << text;
}

TEST_P(Acceptance, workflows_of_all_kinds_do_what_a_user_of_slurm_expects) {
  Fifo canceled(work_ / "canceled_starts");
  Fifo cut(work_ / "cut_starts");
  make("canceled", kCanceled, {1, 2});
  make("cut", kCutOff, {});
  make("chain", kChain, {});
  make("measured", kMeasured, {1, 2, 400});
  make("plain", kMeasured, {1, 2, 700});
  make("forty", kForty, {2, 2, 150});
  make("twenty", kForty, {2, 1, 150});
  make("large", kLarge, {1, 2, 500});
  make("oom", kOutOfMemory, {1, 2, 450});
  make("recovered", kRecovered, {1, 1, 300});
  make("retried", kRetried, {1, 2, 100});
  make("timed", kTimedOut, {1, 2, 100});
  if (makes_steps()) {
    make("wide", kWide, {2, 1, 50});
    make("warned", kWarned, {1, 1, 50});
  }
  if (HasFatalFailure()) return;
  for (const char* name : {"canceled", "cut", "measured", "large", "timed", "oom", "recovered",
                           "chain", "retried", "twenty", "forty"}) {
    if (name == std::string("large")) {
      keep(name, submitted({script(name)},
                           {{"TORC_WORKER_FLAGS", "--lease-ttl 10s --max-parallel-jobs 2"}}));
    } else {
      start(name);
    }
  }
  if (makes_steps()) {
    start("wide");
    start("warned");
  }
  start("cut");  // waits behind all others; nobody does anything more
  // Without srun.
  keep("plain", submitted({"--nodes=1", "-c2", "--mem=700", "--output=plain.out",
                           "--wrap=exec " + std::string(TORC_PROGRAM) + " worker plain.torc"}));

  ASSERT_TRUE(lines_arrive(canceled, 2));
  const auto cancel = torc({"cancel", store("canceled"), "--all"});
  EXPECT_EQ(cancel.exit_code, 0) << cancel;
  ASSERT_TRUE(lines_arrive(cut, 1));
  EXPECT_EQ(login({"scancel", allocations_.at("cut").front()}).exit_code, 0);
  expect_all_end();

  expect_chain();
  expect_measured("measured");
  expect_measured("plain");
  const auto status = parsed(torc({"status", store("canceled"), "--json"}));
  EXPECT_EQ(status.at("jobs_by_state").at("canceled"), 3) << status;
  EXPECT_TRUE(status.at("workers").empty()) << status;
  EXPECT_FALSE(runs("sleep 1800." + std::to_string(getpid())));
  expect_completed("forty", 40, 40);
  EXPECT_EQ(hosts("forty").size(), 2U);
  expect_completed("twenty", 20, 20);
  EXPECT_EQ(hosts("twenty").size(), 2U);
  expect_two_at_a_time();
  expect_out_of_memory();
  expect_recovered();
  expect_retried();
  expect_timed_out();
  expect_steps();
  const auto again = attempts("cut").at("only");
  EXPECT_EQ(again.back().at("state"), "completed") << again;
  EXPECT_EQ(again.back().at("attempt"), 2) << again;
  EXPECT_FALSE(runs("sleep 1700." + std::to_string(getpid())));
  expect_figures();
}

INSTANTIATE_TEST_SUITE_P(Slurm, Acceptance,
                         testing::Combine(testing::ValuesIn(kModes), testing::Bool()),
                         [](const auto& chosen) {
                           return std::string(std::get<const char*>(chosen.param)) +
                                  (std::get<bool>(chosen.param) ? "_with_accounting" : "");
                         });

}  // namespace
}  // namespace torc::itest
