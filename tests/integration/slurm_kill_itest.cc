// What becomes of an allocation of a real Slurm when processes of it are killed, or its first node
// dies: its work goes on, and it ends by itself.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "tests/integration/slurm/slurm_test.h"

namespace torc::itest {
namespace {

constexpr const char* kHolding = R"yaml(name: hold
resource_requirements:
  - {name: two, num_cpus: 2, memory: 50m}
slurm_schedulers:
  - {name: pair, nodes: 2, walltime: "00:10:00", extra: --exclusive}
jobs:
  - name: hold_{i}
    parameters: {i: "1:2"}
    scheduler: pair
    resource_requirements: two
    command: |
      echo "$TORC_JOB_NAME $TORC_ATTEMPT_ID $(hostname)" > starts
      read go < gate
      [ "$SLURM_JOB_NAME" = hold-pair ]
)yaml";

// Two nodes with a job each, which sees the name of its allocation and not that of its worker's
// step.
class KilledTest : public SlurmTest {
 protected:
  void begin() {
    starts_.emplace(work_ / "starts");
    gate_.emplace(work_ / "gate");
    write_text(work_ / "hold.yaml", kHolding);
    const auto init = torc({"init", "hold.yaml", "--engine", "journal"});
    ASSERT_EQ(init.exit_code, 0) << init;
    id_ = submit("hold.torc/slurm/pair.sbatch");
    ASSERT_TRUE(lines_arrive(*starts_, 2));
    nodes_ = nodes_of(id_);
    ASSERT_EQ(nodes_.size(), 2U);
  }
  // On a node, by a line of a shell there; its processes have numbers of their own.
  void on(const std::string& node, const std::string& line) const {
    const auto done = cluster({"exec", node, "sh", "-c", line});
    EXPECT_EQ(done.exit_code, 0) << done;
  }
  void expect_done(std::size_t attempts) {
    gate_->open_gate(attempts);
    expect_end_of({id_});
    const auto status = parsed(torc({"status", "hold.torc", "--json"}));
    EXPECT_EQ(status.at("jobs_by_state").at("completed"), 2);
    EXPECT_EQ(starts_in(*starts_).size(), attempts);
  }
  [[nodiscard]] std::string log_of(const std::string& node) const {
    return read_text(work_ / ("hold.torc/logs/slurm-" + id_ + "." + node + ".out"));
  }

  std::optional<Fifo> starts_;
  std::optional<Fifo> gate_;
  std::string id_;
  Words nodes_;
};

TEST_F(KilledTest, a_worker_that_is_killed_with_its_watchdog_is_replaced_on_its_node) {
  begin();
  on(nodes_[1],
     "w=$(pgrep -x torc-watchdog); c=$(pgrep -P $w -x torc); kill -STOP $w $c; kill -KILL $w $c");
  ASSERT_TRUE(lines_arrive(*starts_, 3));
  EXPECT_EQ(starts_in(*starts_).back().attempt, 2);
  EXPECT_EQ(starts_in(*starts_).back().host, nodes_[1]);
  EXPECT_NE(log_of(nodes_[1]).find("a new one takes its place"), std::string::npos);
  expect_done(3);
}

TEST_F(KilledTest, an_srun_that_is_killed_is_started_again) {
  begin();
  on(nodes_[0], "kill -KILL $(pgrep -o -x srun)");
  ASSERT_TRUE(lines_arrive(*starts_, 4));
  expect_done(4);
}

TEST_F(KilledTest, a_step_that_is_cancelled_is_started_again) {
  begin();
  ASSERT_EQ(login({"scancel", id_ + ".0"}).exit_code, 0);
  ASSERT_TRUE(lines_arrive(*starts_, 4));
  expect_done(4);
}

TEST_F(KilledTest, an_allocation_ends_though_srun_never_hears_of_a_workers_end) {
  begin();
  on(nodes_[1], "kill -KILL $(pgrep -x slurmstepd)");  // of the step alone: the script is elsewhere
  expect_done(2);
}

TEST_F(KilledTest, an_allocation_whose_first_node_dies_goes_on_and_ends) {
  begin();
  ASSERT_EQ(cluster({"crash", nodes_[0]}).exit_code, 0);
  gate_->open_gate(1);
  ASSERT_TRUE(lines_arrive(*starts_, 3));
  EXPECT_EQ(starts_in(*starts_).back().host, nodes_[1]);
  gate_->open_gate(1);
  expect_end_of({id_});
  const auto status = parsed(torc({"status", "hold.torc", "--json"}));
  EXPECT_EQ(status.at("jobs_by_state").at("completed"), 2);
  EXPECT_NE(log_of(nodes_[1]).find("leaves: the workflow is finished"), std::string::npos);
}

// sbatch passes on SLURM_ARRAY_JOB_ID to a job that is of no array.
TEST_F(KilledTest, an_allocation_that_an_element_of_an_array_submits_ends_alone) {
  starts_.emplace(work_ / "starts");
  gate_.emplace(work_ / "gate");
  Fifo submitted(work_ / "submitted");
  Fifo above(work_ / "above");
  write_text(work_ / "hold.yaml", kHolding);
  const auto init = torc({"init", "hold.yaml", "--engine", "journal"});
  ASSERT_EQ(init.exit_code, 0) << init;
  const auto array =
      login({"sbatch", "--parsable", "--array=3", "--output=/dev/null", "--wrap",
             "sbatch --parsable hold.torc/slurm/pair.sbatch > submitted; read x < above"});
  ASSERT_EQ(array.exit_code, 0) << array;
  const std::string element = array.out.substr(0, array.out.find('\n')) + "_3";
  ASSERT_TRUE(lines_arrive(submitted, 1));
  id_ = submitted.lines().front();
  ASSERT_TRUE(lines_arrive(*starts_, 2));
  expect_done(2);
  EXPECT_EQ(login({"squeue", "-h", "-j", element, "-o", "%T"}).out, "RUNNING\n");
  above.open_gate(1);
  expect_end_of({element});
}

}  // namespace
}  // namespace torc::itest
