// What jobs are told of Slurm by a worker that is a task of a step on several nodes.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "lib/base/sanitizer.h"
#include "lib/worker/loop/session_fixture.h"

namespace torc::worker {
namespace {

class SlurmSession : public SessionTest {
 protected:
  SlurmSession() { context_.environment = pointers_.data(); }
  // What a worker's environment has besides.
  void has(const std::string& entry) {
    entries_.push_back(std::make_unique<std::string>(entry));
    pointers_.insert(pointers_.end() - 1, entries_.back()->data());
    context_.environment = pointers_.data();
  }
  // Of the command that was started as the n-th: "NAME=value", each name once.
  std::set<std::string> environment_of(std::size_t n) {
    std::set<std::string> all;
    const exec::Command& command = host_.commands.at(n);
    for (const auto* list : {command.common_env.get(), &command.env})
      all.insert(list->begin(), list->end());
    return all;
  }
  std::string value(const std::string& name, std::size_t n = 0) {
    for (const std::string& entry : environment_of(n)) {
      if (entry.starts_with(name + "=")) return entry.substr(name.size() + 1);
    }
    return "(none)";
  }

 private:
  std::vector<std::unique_ptr<std::string>> entries_;
  std::vector<char*> pointers_{nullptr};
};

constexpr const char* kTwoCpus =
    "resource_requirements: [{name: r, num_cpus: 2, memory: 100m}]\n"
    "jobs: [{name: a, command: x, resource_requirements: r}]\n";

TEST_F(SlurmSession, a_job_sees_its_share_of_the_node_and_nothing_of_the_step) {
  setup_.machine.cpus = 4;
  for (const char* entry :
       {"SLURM_JOB_ID=7", "SLURMD_NODENAME=n3", "SLURM_NTASKS=4", "SLURM_STEP_NODELIST=n[1-4]",
        "SLURM_JOB_NODELIST=n[1-4]", "SRUN_DEBUG=3", "PMI_RANK=2", "SLURM_CPU_BIND=quiet,none",
        "SLURM_MEM_PER_CPU=900", "SLURM_PROCID=2", "SLURM_JOB_PARTITION=cpu", "HOME=/h"})
    has(entry);
  make(kTwoCpus);
  std::string hosts;
  host_.outcome = [&] {
    std::ifstream file(value("SLURM_HOSTFILE"));
    hosts.assign(std::istreambuf_iterator<char>(file), {});
    return std::optional(ScriptedHost::ended_by_itself(0));
  };
  run();
  for (const char* entry :
       {"SLURM_JOB_ID=7", "SLURM_JOB_PARTITION=cpu", "HOME=/h", "SLURM_NTASKS=1", "SLURM_NNODES=1",
        "SLURM_JOB_NODELIST=n3", "SRUN_CPUS_PER_TASK=2", "SLURM_CPUS_PER_TASK=2", "SLURM_EXACT=1",
        "SLURM_MEM_PER_NODE=100", "SLURM_TASKS_PER_NODE=2"})
    EXPECT_TRUE(environment_of(0).contains(entry)) << entry;
  for (const char* name : {"SLURM_STEP_NODELIST", "SRUN_DEBUG", "PMI_RANK", "SLURM_CPU_BIND",
                           "SLURM_MEM_PER_CPU", "SLURM_PROCID", "SLURM_GRES"})
    EXPECT_EQ(value(name), "(none)") << name;
  EXPECT_EQ(hosts, "n3\nn3\nn3\nn3\n");
}

// What the worker takes for the node's memory may be more than what Slurm granted.
TEST_F(SlurmSession, steps_of_a_job_that_declares_no_memory_use_what_the_allocation_has) {
  setup_.machine.cpus = 4;
  setup_.machine.memory = ByteCount{std::uint64_t{4000} << 20};
  setup_.machine.gpus = {"0"};
  setup_.machine.gpu_variable = "CUDA_VISIBLE_DEVICES";
  has("SLURM_JOB_ID=7");
  has("SLURMD_NODENAME=n3");
  make("jobs: [{name: a, command: x}]\n");
  run();
  EXPECT_EQ(value("SLURM_MEM_PER_NODE"), "0");
  EXPECT_EQ(value("SLURM_GRES"), "none") << "else it would wait for the GPUs of others";
}

TEST_F(SlurmSession, what_the_workflow_sets_wins) {
  has("SLURM_JOB_ID=7");
  has("SLURMD_NODENAME=n3");
  make("env: {SLURM_MEM_PER_NODE: \"5\", SLURM_NTASKS: \"2\"}\njobs: [{name: a, command: x}]\n");
  run();
  EXPECT_EQ(value("SLURM_MEM_PER_NODE"), "5");
  EXPECT_EQ(value("SLURM_NTASKS"), "2");
}

// Half of it would be worse: a bare srun would choose the allocation's first node.
TEST_F(SlurmSession, where_no_file_can_name_its_node_nothing_is_changed) {
  if (kSanitized) GTEST_SKIP() << "the check of an object's class needs the descriptors of a pipe";
  has("SLURM_JOB_ID=7");
  has("SLURMD_NODENAME=n3");
  has("SLURM_NTASKS=4");
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const JobPreparer preparer("/s", "w", {}, "/d", "/o", context_.environment, setup_.machine, {});
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  const exec::Command command = preparer.plain_command("x");
  const auto& env = *command.common_env;
  EXPECT_NE(std::find(env.begin(), env.end(), "SLURM_NTASKS=4"), env.end());
  EXPECT_TRUE(command.env.empty());
}

TEST_F(SlurmSession, beside_an_allocation_nothing_is_changed) {
  has("SLURM_JOB_ID=7");  // of salloc: this host is none of its nodes
  has("SLURM_NTASKS=4");
  make("jobs: [{name: a, command: x}]\n");
  run();
  EXPECT_EQ(value("SLURM_NTASKS"), "4");
  EXPECT_EQ(value("SLURM_HOSTFILE"), "(none)");
}

// Slurm gives back to the allocation the time in which it was suspended; it is asked for the new
// end only later.
TEST_F(SlurmSession, a_step_that_starts_after_a_suspension_has_the_time_that_slurm_gave_back) {
  has("SLURM_JOB_ID=7");
  has("SLURMD_NODENAME=n3");
  setup_.allocation = "7";
  setup_.ends_at = clock_.wall_now() + std::chrono::minutes(60);
  make(
      "execution_config: {mode: slurm}\n"
      "jobs: [{name: a, command: x}, {name: b, command: x, depends_on: [a]}]\n");
  host_.outcome = [this] {
    constexpr auto kSuspended = std::chrono::hours(3);
    if (host_.started == 1) {
      clock_.sleep_for(kSuspended);
      host_.stood_still = kSuspended;
    }
    return std::optional(ScriptedHost::ended_by_itself(0));
  };
  EXPECT_EQ(run().completed, 2U);
  ASSERT_EQ(host_.commands.size(), 2U);
  const auto minutes = [&](std::size_t n) {
    for (const std::string& option : host_.commands.at(n).step) {
      if (option.starts_with("--time=")) return std::stoi(option.substr(7));
    }
    return 0;
  };
  EXPECT_NEAR(minutes(0), 62, 1);
  EXPECT_NEAR(minutes(1), 62, 2);
}

TEST_F(SlurmSession, the_step_of_a_job_with_alternatives_has_what_its_own_one_says) {
  has("SLURM_JOB_ID=7");
  has("SLURMD_NODENAME=n3");
  setup_.machine.cpus = 3;
  setup_.machine.memory = mebibytes(1000);
  make(
      "execution_config: {mode: slurm}\n"
      "jobs:\n"
      "  - name: fit_{i}\n"
      "    command: first\n"
      "    one_of: [{cpus: 2, memory: 300m, time_limit: 30m},\n"
      "             {cpus: 1, memory: 100m, time_limit: 5m, command: second}]\n"
      "    parameters: {i: \"1:2\"}\n");
  setup_.lease_ttl = std::chrono::minutes(5);
  host_.outcome = [] { return std::nullopt; };
  host_.meanwhile = [&](BootTime) {
    if (host_.running_now.size() < 2) return false;
    for (const exec::RunId id : std::vector(host_.running_now))
      host_.end(id, ScriptedHost::ended_by_itself(0));
    return true;
  };
  EXPECT_EQ(run().completed, 2U);
  ASSERT_EQ(host_.commands.size(), 2U);
  const auto has_option = [&](std::size_t n, const std::string& option) {
    const auto& step = host_.commands.at(n).step;
    return std::find(step.begin(), step.end(), option) != step.end();
  };
  EXPECT_EQ(host_.commands[0].line, "first");
  EXPECT_TRUE(has_option(0, "--cpus-per-task=2"));
  EXPECT_TRUE(has_option(0, "--mem=300M"));
  EXPECT_TRUE(has_option(0, "--time=37"));  // the lead is 30 s, and a lease may be in doubt
  EXPECT_EQ(host_.commands[1].line, "second");
  EXPECT_TRUE(has_option(1, "--cpus-per-task=1"));
  EXPECT_TRUE(has_option(1, "--mem=100M"));
  EXPECT_TRUE(has_option(1, "--time=12"));
}

class SlurmRanks : public SlurmSession {
 protected:
  SlurmRanks() {
    has("SLURM_JOB_ID=7");
    has("SLURMD_NODENAME=n3");
    settings_.run.execution.mode = spec::ExecutionMode::slurm;
  }
  // A rank of a job that runs on each node, about to start.
  PreparedJob about_to_start(std::uint32_t rank, std::uint32_t nodes, std::size_t name_length) {
    const JobPreparer preparer(store_, "w", settings_, directory_, setup_.output_dir,
                               context_.environment, setup_.machine, {});
    claim::GangPart part;
    part.gang.token = {JobId{17}, 2, 9};
    part.rank = rank;
    for (std::uint32_t n = 0; n < nodes; ++n) {
      claim::GangMember member;
      member.node = fmt::format("n{:0{}}", n, name_length);
      part.gang.members.push_back(member);
    }
    PreparedJob job;
    job.launch.on = spec::LaunchOn::all;
    job.command = preparer.plain_command("x");
    const auto joined = preparer.join_gang(job, part, 0022);
    EXPECT_TRUE(joined.ok()) << joined.error().text();
    return job;
  }
  workflow::WorkflowSettings settings_;
};

TEST_F(SlurmRanks, have_steps_of_their_own_names) {
  const auto has_name = [](const PreparedJob& job, const std::string& name) {
    const auto& step = job.command.step;
    return std::find(step.begin(), step.end(), "--job-name=" + name) != step.end();
  };
  EXPECT_TRUE(has_name(about_to_start(0, 3, 1), "17.2"));
  EXPECT_TRUE(has_name(about_to_start(1, 3, 1), "17.2.node1"));
  EXPECT_TRUE(has_name(about_to_start(2, 3, 1), "17.2.node2"));
}

TEST_F(SlurmRanks, that_find_no_list_of_nodes_are_known_to) {
  EXPECT_FALSE(about_to_start(0, 3, 1).lacks_node_list);
  EXPECT_TRUE(about_to_start(0, 3000, 60).lacks_node_list);
}

}  // namespace
}  // namespace torc::worker
