// torc on a real Slurm: slurmctld, four nodes that share nothing but files, real sbatch and srun.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "lib/slurm/query.h"
#include "lib/slurm/script.h"
#include "tests/integration/slurm/slurm_test.h"

namespace torc::itest {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

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
      echo "$TORC_JOB_NAME $TORC_ATTEMPT_ID $(hostname)" > starts
      read go < gate
      echo "$TORC_ATTEMPT_ID $(hostname)" > done_{i:02d}
  - name: join
    scheduler: pair
    resource_requirements: one
    depends_on_regexes: ["^hold_"]
    command: cat done_* > joined
)yaml";
constexpr std::size_t kHolds = 12;

TEST_F(SlurmTest,
       jobs_of_a_node_that_dies_are_finished_by_another_and_all_workers_leave_by_themselves) {
  Fifo starts(work_ / "starts");
  Fifo gate(work_ / "gate");
  write_text(work_ / "night.yaml", kWorkflow);
  // On one machine `auto` would choose the engine of one machine.
  const auto init = torc({"init", "night.yaml", "--engine", "journal"});
  ASSERT_EQ(init.exit_code, 0) << init;
  const Words allocations = {submit("night.torc/slurm/pair.sbatch"),
                             submit("night.torc/slurm/pair.sbatch")};

  // Every CPU of every node has a job: both allocations and all four workers are at work.
  constexpr std::size_t kAtOnce = std::size_t{kNodes} * kCpusOfNode;
  ASSERT_TRUE(lines_arrive(starts, kAtOnce));
  std::map<std::string, Words> on_node;
  for (const auto& start : starts_in(starts)) on_node[start.host].push_back(start.job);
  EXPECT_EQ(on_node.size(), std::size_t{kNodes});
  for (const auto& [node, jobs] : on_node) EXPECT_EQ(jobs.size(), std::size_t{kCpusOfNode}) << node;

  // The login side and a node see the same.
  for (const auto& status : {parsed(torc({"status", "night.torc", "--json"})),
                             parsed(torc_on("n2", {"status", "night.torc", "--json"}))}) {
    EXPECT_EQ(status.at("workflow"), "night");
    EXPECT_EQ(status.at("jobs_by_state").at("blocked"), 1);
    EXPECT_EQ(status.at("jobs_by_state").at("completed"), 0);
    std::set<std::string> seen;
    for (const auto& worker : status.at("workers")) seen.insert(worker.at("allocation"));
    EXPECT_EQ(status.at("workers").size(), std::size_t{kNodes});
    EXPECT_EQ(seen, std::set<std::string>(allocations.begin(), allocations.end()));
  }

  // The power of a node goes. Its allocation has its batch script elsewhere and lives on, also when
  // Slurm has noticed.
  const auto nodes = nodes_of(allocations.front());
  ASSERT_EQ(nodes.size(), 2U);
  const auto& lost = nodes[1];
  const auto lost_jobs = on_node[lost];
  ASSERT_EQ(cluster({"crash", lost}).exit_code, 0);
  const auto noticed =
      login({"scontrol", "update", "NodeName=" + lost, "State=DOWN", "Reason=power"});
  ASSERT_EQ(noticed.exit_code, 0) << noticed;
  gate.open_gate(2 * kHolds);
  ASSERT_TRUE(lines_arrive(starts, kHolds + lost_jobs.size()));
  expect_end_of(allocations);

  std::map<std::string, Start> last;
  for (const auto& start : starts_in(starts)) last[start.job] = start;
  for (const auto& [node, jobs] : on_node) {
    for (const auto& job : jobs) EXPECT_EQ(last[job].attempt, node == lost ? 2 : 1) << job;
  }
  const auto status = parsed(torc({"status", "night.torc", "--json"}));
  EXPECT_EQ(status.at("jobs_by_state").at("completed"), kHolds + 1);
  EXPECT_EQ(status.at("state"), "completed");
  std::set<std::string> names;
  for (const auto& job : parsed(torc({"jobs", "night.torc", "--json"}))) {
    const auto name = job.at("job").get<std::string>();
    EXPECT_TRUE(names.insert(name).second) << name << " is listed twice";
    EXPECT_EQ(job.at("state"), "completed") << name;
    EXPECT_EQ(job.at("exit_code"), 0) << name;
    EXPECT_NE(job.at("host"), std::count(lost_jobs.begin(), lost_jobs.end(), name) ? lost : "");
    if (name == "join") continue;
    EXPECT_EQ(job.at("attempt"), last[name].attempt) << name;
    EXPECT_EQ(job.at("host"), last[name].host) << name;
  }
  EXPECT_EQ(names.size(), kHolds + 1);
  const auto joined = read_text(work_ / "joined");
  EXPECT_EQ(std::count(joined.begin(), joined.end(), '\n'), kHolds);
  const auto verified = torc({"verify", "night.torc"});
  EXPECT_EQ(verified.exit_code, 0) << verified;
}

// Each says who it is, of how many, where it runs, and where its job does.
constexpr const char* kSteps = R"yaml(name: steps
resource_requirements:
  - {name: one, num_cpus: 1, memory: 50m}
  - {name: two, num_cpus: 2, memory: 50m}
slurm_schedulers:
  - {name: pair, nodes: 2, walltime: "00:10:00", extra: --exclusive}
jobs:
  - name: bare_{i}
    parameters: {i: "1:4"}
    scheduler: pair
    resource_requirements: one
    command: |
      srun sh -c 'echo "$TORC_JOB_NAME $SLURM_PROCID/$SLURM_NTASKS $(hostname) $0" > starts; read go < gate' $(hostname)
  - name: both
    scheduler: pair
    resource_requirements: two
    depends_on_regexes: ["^bare_"]
    command: |
      srun -n2 -c1 sh -c 'echo "$TORC_JOB_NAME $SLURM_PROCID/$SLURM_NTASKS $(hostname) $0" > starts' $(hostname)
)yaml";

TEST_F(SlurmTest, srun_in_a_job_starts_its_tasks_on_the_jobs_own_node_beside_those_of_others) {
  Fifo starts(work_ / "starts");
  Fifo gate(work_ / "gate");
  write_text(work_ / "steps.yaml", kSteps);
  const auto init = torc({"init", "steps.yaml", "--engine", "journal"});
  ASSERT_EQ(init.exit_code, 0) << init;
  const auto allocation = submit("steps.torc/slurm/pair.sbatch");
  // Two jobs fit a node: each has a step at the same time.
  ASSERT_TRUE(lines_arrive(starts, 4));
  gate.open_gate(4);
  ASSERT_TRUE(lines_arrive(starts, 6));
  expect_end_of({allocation});
  std::multiset<std::string> tasks;
  std::map<std::string, int> on_node;
  for (const auto& line : starts.lines()) {
    const auto words = split(line);
    ASSERT_EQ(words.size(), 4U) << line;
    EXPECT_EQ(words[2], words[3]) << line;
    tasks.insert(words[0] + " " + words[1]);
    if (words[0] != "both") ++on_node[words[2]];
  }
  EXPECT_EQ(tasks, (std::multiset<std::string>{"bare_1 0/1", "bare_2 0/1", "bare_3 0/1",
                                               "bare_4 0/1", "both 0/2", "both 1/2"}));
  EXPECT_EQ(on_node.size(), 2U) << "on both nodes there were jobs";
  const auto status = parsed(torc({"status", "steps.torc", "--json"}));
  EXPECT_EQ(status.at("jobs_by_state").at("completed"), 5);
}

constexpr const char* kParts = R"yaml(name: parts
resource_requirements:
  - {name: small, num_cpus: 1, memory: 150m}
  - {name: large, num_cpus: 1, memory: 250m}
slurm_schedulers:
  - {name: first, nodes: 1, walltime: "00:30:00", mem: 200M}
jobs:
  - name: small_{i}
    parameters: {i: "1:3"}
    resource_requirements: small
    command: |
      echo "$SLURM_JOB_ID $SLURM_JOB_ID_HET_GROUP_0 $SLURM_JOB_ID_HET_GROUP_1 $SLURM_HET_SIZE" >> said
      echo "$(hostname)" > starts; read go < gate
  - name: large
    depends_on_regexes: ["^small_"]
    resource_requirements: large
    command: echo "$(hostname)" > starts
)yaml";

TEST_F(SlurmTest, all_parts_of_a_heterogeneous_allocation_work_each_with_what_it_was_granted) {
  Fifo starts(work_ / "starts");
  Fifo gate(work_ / "gate");
  write_text(work_ / "parts.yaml", kParts);
  const auto init = torc({"init", "parts.yaml", "--engine", "journal"});
  ASSERT_EQ(init.exit_code, 0) << init;
  const auto submitted = login({"sbatch", "--parsable", "--mem=200", ":", "-N2", "--mem=300",
                                "parts.torc/slurm/first.sbatch"});
  ASSERT_EQ(submitted.exit_code, 0) << submitted;
  const auto id = submitted.out.substr(0, submitted.out.find('\n'));
  // Each node has one CPU of it.
  ASSERT_TRUE(lines_arrive(starts, 3));
  EXPECT_EQ(std::set<std::string>(starts.lines().begin(), starts.lines().end()).size(), 3U);
  const auto first = nodes_of(id + "+0");
  ASSERT_EQ(first.size(), 1U);
  gate.open_gate(3);
  ASSERT_TRUE(lines_arrive(starts, 4));
  EXPECT_NE(starts.lines()[3], first[0]) << "its part has 200 MB only";
  expect_end_of({id});
  // Each part is known by the number that Slurm has for it.
  std::map<std::string, int> workers;
  for (const auto& entry : fs::directory_iterator(work_ / "parts.torc/logs")) {
    const auto text = read_text(entry.path());
    const auto at = text.find(", allocation ");
    if (at != std::string::npos) ++workers[text.substr(at + 13, text.find(',', at + 1) - at - 13)];
  }
  EXPECT_EQ(workers.size(), 2U);
  // Their jobs by that of the first, beside which it stands: kill_tagged() goes by that.
  const auto said = split(read_text(work_ / "said"));
  ASSERT_EQ(said.size(), 12U);
  for (std::size_t i = 0; i < said.size(); i += 4) {
    EXPECT_EQ(said[i], id);
    EXPECT_EQ(said[i + 1], id);
    EXPECT_EQ(said[i + 2],
              id == workers.begin()->first ? workers.rbegin()->first : workers.begin()->first);
    EXPECT_EQ(said[i + 3], "2");
  }
  for (const auto& [allocation, count] : workers)
    EXPECT_EQ(count, allocation == id ? 1 : 2) << allocation;
}

class GrantedMemory : public SlurmTest {
 protected:
  [[nodiscard]] std::string configuration() const override { return "DefMemPerCPU=100"; }
};

TEST_F(GrantedMemory, by_a_default_is_what_a_worker_below_salloc_has) {
  write_text(work_ / "one.yaml", "name: one\njobs: [{name: a, command: 'true'}]\n");
  const auto init = torc({"init", "one.yaml", "--engine", "journal"});
  ASSERT_EQ(init.exit_code, 0) << init;
  const auto worked =
      login({"salloc", "-Q", "-N1", "-n1", "srun", TORC_PROGRAM, "worker", "one.torc"});
  EXPECT_EQ(worked.exit_code, 0) << worked;
  EXPECT_NE((worked.out + worked.err).find("100 MiB (what Slurm granted)"), std::string::npos)
      << worked;
}

constexpr const char* kFirst = R"yaml(name: first
resource_requirements:
  - {name: one, num_cpus: 1, memory: 50m}
slurm_schedulers:
  - {name: one, nodes: 1, walltime: "00:30:00"}
jobs:
  - name: submits
    scheduler: one
    resource_requirements: one
    command: sbatch --parsable next.torc/slurm/whole.sbatch > next_id && echo "$TORC_END_TIME" > first_end
)yaml";
constexpr const char* kNext = R"yaml(name: next
resource_requirements:
  - {name: more, num_cpus: 2, memory: 200m}
slurm_schedulers:
  - {name: whole, nodes: 1, walltime: "00:05:00", extra: --exclusive}
jobs:
  - name: larger
    scheduler: whole
    resource_requirements: more
    command: echo "$TORC_END_TIME" > next_end
  - {name: of_any_memory, scheduler: whole, command: srun true}
)yaml";

TEST_F(SlurmTest, an_allocation_that_a_job_submits_has_a_share_and_an_end_of_its_own) {
  write_text(work_ / "first.yaml", kFirst);
  write_text(work_ / "next.yaml", kNext);
  for (const auto* spec : {"first.yaml", "next.yaml"}) {
    const auto init = torc({"init", spec, "--engine", "journal"});
    ASSERT_EQ(init.exit_code, 0) << init;
  }
  expect_end_of({submit("first.torc/slurm/one.sbatch")});
  const auto next = split(read_text(work_ / "next_id"));
  ASSERT_EQ(next.size(), 1U);
  expect_end_of(next);
  const auto status = parsed(torc({"status", "next.torc", "--json"}));
  EXPECT_EQ(status.at("jobs_by_state").at("completed"), 2) << status;
  const auto end = [this](const char* file) { return std::atol(read_text(work_ / file).c_str()); };
  EXPECT_LT(end("next_end") + 20 * 60, end("first_end"));
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
      echo "$TORC_JOB_NAME $TORC_ATTEMPT_ID $(hostname)" > starts
      read go < gate
)yaml";

TEST_F(SlurmTest, an_allocation_has_ended_when_its_id_cluster_and_start_are_told_to_have) {
  const slurm::RunProgram ask = [this](const Words& argv) -> Result<slurm::CommandOutput> {
    const Ended ended = login(argv);
    return slurm::CommandOutput{ended.exit_code, ended.out, ended.err};
  };
  Fifo gate(work_ / "gate");
  Fifo said(work_ / "said");
  const auto submitted = login({"sbatch", "--parsable", "--array=3", "--output=/dev/null", "--wrap",
                                "echo $SLURM_CLUSTER_NAME $SLURM_JOB_ID > said; read x < gate"});
  ASSERT_EQ(submitted.exit_code, 0) << submitted;
  ASSERT_TRUE(lines_arrive(said, 1));
  const Words told = split(said.lines().front());
  ASSERT_EQ(told.size(), 2U);
  const slurm::AllocationTimes times = slurm::allocation_times(ask, told[0], told[1], {}, {});
  ASSERT_TRUE(times.start && times.end);
  EXPECT_GT(*times.end, *times.start);
  EXPECT_EQ(slurm::allocation_times(ask, "beta", told[1], {}, {}).end, std::nullopt);

  const std::string element = submitted.out.substr(0, submitted.out.find('\n')) + "_3";
  const slurm::Allocation same{told[0], element, *times.start};
  const slurm::Allocation elsewhere{"beta", element, *times.start};
  const slurm::Allocation requeued{told[0], element, *times.start - std::chrono::seconds(1)};
  const slurm::Allocation never{told[0], "999999", *times.start};
  using slurm::AllocationState;
  const auto states = [&] { return slurm::ask_about(ask, {same, elsewhere, requeued, never}); };
  const slurm::AllocationNow running = states().at(same);
  EXPECT_EQ(running.state, AllocationState::active);
  EXPECT_EQ(running.nodes.size(), 1U);
  EXPECT_EQ(running.end, times.end);
  EXPECT_EQ(states().at(requeued).state, AllocationState::given_up);
  ASSERT_EQ(login({"scontrol", "update", "JobId=" + told[1], "TimeLimit=7"}).exit_code, 0);
  EXPECT_EQ(states().at(same).end, *times.start + std::chrono::minutes(7));
  gate.open_gate(1);
  expect_end_of({told[1]});
  const auto after = states();
  EXPECT_EQ(after.at(same).state, AllocationState::ended);
  for (const auto& other : {elsewhere, requeued, never})
    EXPECT_EQ(after.at(other).state, AllocationState::unknown);
}

TEST_F(SlurmTest, a_node_that_is_set_down_is_given_up_by_an_allocation_that_goes_on) {
  const slurm::RunProgram ask = [this](const Words& argv) -> Result<slurm::CommandOutput> {
    const Ended ended = login(argv);
    return slurm::CommandOutput{ended.exit_code, ended.out, ended.err};
  };
  Fifo gate(work_ / "gate");
  Fifo said(work_ / "said");
  const auto submitted =
      login({"sbatch", "--parsable", "-N3", "--no-kill", "--output=/dev/null", "--wrap",
             "echo $SLURM_CLUSTER_NAME $SLURM_JOB_ID $SLURMD_NODENAME "
             "$SLURM_JOB_NODELIST > said; read x < gate"});
  ASSERT_EQ(submitted.exit_code, 0) << submitted;
  ASSERT_TRUE(lines_arrive(said, 1));
  const Words told = split(said.lines().front());
  ASSERT_EQ(told.size(), 4U);
  EXPECT_EQ(slurm::node_name(told[2], told[3]), told[2]);
  const slurm::AllocationTimes times = slurm::allocation_times(ask, told[0], told[1], {}, {});
  ASSERT_TRUE(times.start);
  const slurm::Allocation run{told[0], told[1], *times.start};
  const Words nodes = nodes_of(told[1]);
  ASSERT_EQ(nodes.size(), 3U);
  using slurm::AllocationState;
  for (const auto& node : nodes)
    EXPECT_EQ(slurm::state_on(slurm::ask_about(ask, {run}).at(run), node), AllocationState::active);
  ASSERT_EQ(
      login({"scontrol", "update", "NodeName=" + nodes[1], "State=DOWN", "Reason=test"}).exit_code,
      0);
  const slurm::AllocationNow now = slurm::ask_about(ask, {run}).at(run);
  EXPECT_EQ(now.state, AllocationState::active);
  EXPECT_EQ(slurm::state_on(now, nodes[1]), AllocationState::given_up);
  EXPECT_EQ(slurm::state_on(now, nodes[0]), AllocationState::active);
  EXPECT_EQ(slurm::state_on(now, nodes[2]), AllocationState::active);
  gate.open_gate(1);
  expect_end_of({told[1]});
}

TEST_F(SlurmTest, a_requeued_allocation_keeps_its_log_and_its_worker_comes_back) {
  Fifo starts(work_ / "starts");
  Fifo gate(work_ / "gate");
  write_text(work_ / "again.yaml", kOneJob);
  const auto init = torc({"init", "again.yaml", "--engine", "journal"});
  ASSERT_EQ(init.exit_code, 0) << init;
  const auto id = submit("again.torc/slurm/one.sbatch");
  ASSERT_TRUE(lines_arrive(starts, 1));

  ASSERT_EQ(login({"scontrol", "requeue", id}).exit_code, 0);
  ASSERT_TRUE(lines_arrive(starts, 2)) << "the job has not started again";
  EXPECT_EQ(starts_in(starts)[1].attempt, 2);
  gate.open_gate(2);
  expect_end_of({id});

  EXPECT_EQ(parsed(torc({"status", "again.torc", "--json"})).at("jobs_by_state").at("completed"),
            1);
  const auto log = read_text(work_ / ("again.torc/logs/slurm-" + id + ".out"));
  const auto restart = log.find("restarted allocation " + id);
  ASSERT_NE(restart, std::string::npos) << log;
  EXPECT_GT(restart, 0U) << "what the first run wrote is gone:\n" << log;
}

// With a stand-in for torc that says what a worker would find.
class WorkerStepTest : public SlurmTest {
 protected:
  const fs::path store_ = work_ / "100% run.torc";

  void submit_stand_in(const spec::SlurmScheduler& scheduler) {
    const auto program = work_ / "fake torc";
    write_text(program,
               "#!/bin/sh\n[ $1 != supervise ] || { shift 2; exec \"$@\"; }\necho "
               "\"$(hostname) $SLURM_NTASKS $SLURM_CPUS_ON_NODE "
               "store=$TORC_STORE args=$*\" > '" +
                   (work_ / "seen").string() + "'\n");
    fs::permissions(program, fs::perms::owner_all);
    fs::create_directories(store_ / "logs");
    const auto text = slurm::render_script({"it's a test", store_, program, "a job"}, scheduler,
                                           {{"comment", "it's 100% \"quoted\" # here"}});
    ASSERT_TRUE(text.ok()) << text.error().text();
    write_text(work_ / "job.sbatch", *text);
    const auto submitted = login({"sbatch", "job.sbatch"}, {{"TORC_WORKER_FLAGS", "--one --two"}});
    EXPECT_EQ(submitted.exit_code, 0) << submitted;
  }
};

TEST_F(WorkerStepTest, each_node_gets_one_worker_that_sees_all_of_its_share_whatever_the_tasks) {
  Fifo seen(work_ / "seen");
  spec::SlurmScheduler scheduler;
  scheduler.name = "it's";
  scheduler.nodes = 2;
  scheduler.walltime = "5";
  std::size_t lines = 0;
  for (const auto* extra : {"--ntasks-per-node=2", "-n 4", "--cpus-per-task=2", "--exclusive",
                            "--mem-per-cpu=100 --exclusive"}) {
    SCOPED_TRACE(extra);
    scheduler.extra = extra;
    submit_stand_in(scheduler);
    ASSERT_TRUE(lines_arrive(seen, lines + kNodes / 2));
    std::set<std::string> hosts;
    for (; lines < seen.lines().size(); ++lines) {
      const auto& line = seen.lines()[lines];
      const auto words = split(line);
      hosts.insert(words.at(0));
      EXPECT_EQ(words.at(1), "2") << "one task a node: " << line;
      EXPECT_EQ(words.at(2), "2") << "all CPUs of the allocation on the node: " << line;
      EXPECT_TRUE(line.ends_with("store=" + store_.string() + " args=worker " + store_.string() +
                                 " --scheduler=it's --one --two"))
          << line;
    }
    EXPECT_EQ(hosts.size(), 2U);
  }
  EXPECT_EQ(lines, 10U);
  for (const auto& entry : fs::directory_iterator(store_ / "logs")) {
    EXPECT_TRUE(entry.path().filename().string().starts_with("slurm-")) << entry.path();
  }
}

}  // namespace
}  // namespace torc::itest
