// Allocations that come and go by themselves on a real Slurm.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/integration/slurm/slurm_test.h"

namespace torc::itest {
namespace {

using nlohmann::json;

// What its jobs do comes from the test.
constexpr const char* kHead = R"yaml(name: wf
resource_requirements: [{name: r, num_cpus: 2, memory: 50m, runtime: PT30S}]
slurm_schedulers:
  - name: one
    nodes: 1
    walltime: "00:05:00"
    mem: 900m
    extra: --exclusive --cpus-per-task=2 --ntasks-per-node=1
jobs:
)yaml";

class SlurmAllocations : public SlurmTest {
 protected:
  void submit(const std::string& jobs) const {
    write_text(work_ / "wf.yaml", kHead + jobs);
    const auto submitted = torc({"submit", "wf.yaml", "--engine", "journal"});
    ASSERT_EQ(submitted.exit_code, 0) << submitted;
    EXPECT_TRUE(submitted.says("submitted 1 allocation")) << submitted;
  }
  [[nodiscard]] json status() const { return parsed(torc({"status", "wf.torc", "--json"})); }
  [[nodiscard]] Words queue() const { return split(login({"squeue", "-h", "-o", "%i"}).out); }
};

TEST_F(SlurmAllocations, a_workflow_goes_from_nothing_to_its_end_and_nothing_is_left) {
  submit(
      "  - {name: 'a_{i}', parameters: {i: '1:6'}, command: sleep 0.2, resource_requirements: "
      "r}\n");
  const Words ids = queue();
  ASSERT_EQ(ids.size(), 1U);
  expect_end_of(ids);
  EXPECT_EQ(status().at("state"), "completed");
  EXPECT_TRUE(queue().empty());
  // Six jobs, each with two CPUs for a fifth of a second.
  const json all = parsed(torc({"allocations", "wf.torc", "--all", "--json"}));
  const double used = all.at("allocation_records").at(0).at("used_core_hours");
  EXPECT_GE(used * 3600, 6 * 2 * 0.2) << all;
  EXPECT_LT(used * 3600, 6 * 2 * 5) << all;
}

TEST_F(SlurmAllocations, whose_allocation_is_canceled_gets_another_without_a_person) {
  Fifo starts(work_ / "starts");
  submit(
      "  - {name: a, resource_requirements: r, command: "
      "'echo a $TORC_ATTEMPT_ID $SLURM_JOB_ID > starts; [ $SLURM_JOB_ID != 1 ] || exec sleep "
      "300'}\n");
  ASSERT_TRUE(lines_arrive(starts, 1));
  const std::string first = split(starts.lines().at(0)).at(2);
  EXPECT_EQ(login({"scancel", first}).exit_code, 0);
  ASSERT_TRUE(lines_arrive(starts, 2));
  const std::string second = split(starts.lines().at(1)).at(2);
  EXPECT_NE(second, first);
  expect_end_of({second});
  EXPECT_EQ(status().at("state"), "completed");
}

TEST_F(SlurmAllocations, what_waits_for_jobs_that_are_canceled_is_canceled) {
  EXPECT_EQ(
      login({"scontrol", "update", "NodeName=n[1-4]", "State=DRAIN", "Reason=test"}).exit_code, 0);
  submit("  - {name: a, command: 'true', resource_requirements: r}\n");
  ASSERT_EQ(queue().size(), 1U);
  const auto canceled = torc({"cancel", "wf.torc", "--all"});
  EXPECT_EQ(canceled.exit_code, 0) << canceled;
  // What any pass does.
  (void)torc({"submit", "wf.torc"});
  EXPECT_TRUE(queue().empty());
}

}  // namespace
}  // namespace torc::itest
