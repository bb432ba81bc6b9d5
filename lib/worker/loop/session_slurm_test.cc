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
  const JobPreparer preparer("/s", "w", {}, "/o", context_.environment, setup_.machine, {});
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

}  // namespace
}  // namespace torc::worker
