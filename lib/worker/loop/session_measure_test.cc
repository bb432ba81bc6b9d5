// That jobs are bound to CPUs and sampled as the workflow says.
#include <set>
#include <sstream>

#include "lib/exec/machine/gpus.h"
#include "lib/worker/loop/session_fixture.h"

namespace torc::worker {
namespace {

using namespace std::chrono_literals;

constexpr const char* kBound =
    "execution_config: {enable_cpu_bind: true}\n"
    "jobs: [{name: \"j{i}\", command: x, parameters: {i: \"1:4\"}}]\n";

class MeasuredSession : public SessionTest {
 protected:
  // All that can run at once do, then they end.
  void run_together() {
    host_.outcome = [] { return std::nullopt; };
    host_.meanwhile = [this](BootTime) {
      if (host_.running_now.empty()) return false;
      together_ = std::max(together_, host_.running_now.size());
      for (const exec::RunId id : std::vector(host_.running_now))
        host_.end(id, ScriptedHost::ended_by_itself(0));
      return true;
    };
    EXPECT_EQ(run().end, WorkerEnd::workflow_finished);
  }
  std::size_t together_ = 0;
};

TEST_F(MeasuredSession, bound_jobs_that_run_together_have_cpus_of_their_own) {
  const auto here = exec::find_cpus();
  ASSERT_TRUE(here.ok());
  setup_.machine.cpus = static_cast<std::uint32_t>(std::min<std::size_t>(here->size(), 4));
  make(kBound);
  run_together();
  EXPECT_EQ(together_, setup_.machine.cpus);
  std::set<std::uint32_t> used;
  for (std::size_t i = 0; i < together_; ++i) {
    ASSERT_EQ(host_.commands[i].cpus.size(), 1U);
    EXPECT_TRUE(used.insert(host_.commands[i].cpus[0]).second) << "given twice";
  }
  EXPECT_EQ(host_.commands.size(), 4U);
  EXPECT_EQ(host_.commands[3].cpus.size(), 1U) << "those of the first came back";
}

TEST_F(MeasuredSession, what_is_more_than_the_machine_has_runs_unbound) {
  const auto here = exec::find_cpus();
  ASSERT_TRUE(here.ok());
  setup_.machine.cpus = static_cast<std::uint32_t>(here->size()) + 1;
  make(
      "execution_config: {enable_cpu_bind: true}\n"
      "resource_requirements: [{name: all, num_cpus: " +
      std::to_string(here->size() + 1) +
      "}]\njobs: [{name: a, command: x, resource_requirements: all}]\n");
  run_together();
  ASSERT_EQ(host_.commands.size(), 1U);
  EXPECT_TRUE(host_.commands[0].cpus.empty());
}

TEST_F(MeasuredSession, jobs_are_neither_bound_nor_sampled_unless_the_workflow_says_so) {
  make("jobs: [{name: a, command: x}]\n");
  run_together();
  EXPECT_TRUE(host_.commands.at(0).cpus.empty());
  EXPECT_EQ(host_.commands.at(0).sample_every, 0s);
}

TEST_F(MeasuredSession, a_workflow_with_time_series_has_its_jobs_sampled) {
  make(
      "resource_monitor: {granularity: time_series, sample_interval_seconds: 3}\n"
      "jobs: [{name: a, command: x}]\n");
  run_together();
  EXPECT_EQ(host_.commands.at(0).sample_every, 3s);
}

TEST_F(MeasuredSession, a_monitor_that_is_off_samples_nothing) {
  make(
      "resource_monitor: {granularity: time_series, jobs: {enabled: false}}\n"
      "jobs: [{name: a, command: x}]\n");
  run_together();
  EXPECT_EQ(host_.commands.at(0).sample_every, 0s);
}

// --- GPUs ---

std::string visible(const exec::Command& command, const std::string& variable) {
  for (const std::string& entry : command.env) {
    if (entry.starts_with(variable + "=")) return entry.substr(variable.size() + 1);
  }
  return "unset";
}

TEST_F(MeasuredSession, jobs_that_run_together_see_gpus_of_their_own_by_whatever_name_they_have) {
  for (const std::string variable :
       {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK"}) {
    SCOPED_TRACE(variable);
    std::filesystem::remove_all(store_);
    host_.commands.clear();
    host_.started = 0;
    setup_.machine.cpus = 4;
    setup_.machine.gpus = {"GPU-8f3a", "GPU-77", "3"};
    setup_.machine.gpu_variable = variable;
    make(
        "resource_requirements: [{name: one, num_gpus: 1}, {name: two, num_gpus: 2}]\n"
        "jobs:\n"
        "  - {name: a, command: x, resource_requirements: one}\n"
        "  - {name: b, command: x, resource_requirements: two}\n"
        "  - {name: c, command: x}\n");
    run_together();
    ASSERT_EQ(host_.commands.size(), 3U);
    std::set<std::string> ids;
    std::multiset<std::size_t> counts;
    for (const exec::Command& command : host_.commands) {
      std::string value = visible(command, variable);
      if (value == exec::visible_gpus(variable, {})) value.clear();
      std::istringstream list(value);
      std::size_t count = 0;
      for (std::string id; std::getline(list, id, ','); ++count)
        EXPECT_TRUE(ids.insert(id).second) << id << " is given twice";
      counts.insert(count);
    }
    EXPECT_EQ(ids, (std::set<std::string>{"3", "GPU-77", "GPU-8f3a"}));
    EXPECT_EQ(counts, (std::multiset<std::size_t>{0, 1, 2})) << "who asked for none sees none";
  }
}

}  // namespace
}  // namespace torc::worker
