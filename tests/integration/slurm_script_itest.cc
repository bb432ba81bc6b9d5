// A batch script is submitted as it is, on a real Slurm.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/integration/slurm/slurm_test.h"

namespace torc::itest {
namespace {

using nlohmann::json;

TEST_F(SlurmTest, a_batch_script_is_submitted_as_it_is) {
  write_text(work_ / "fit.sh", R"(#!/bin/bash
#SBATCH --job-name=fit
#SBATCH --array=1-3%2
#SBATCH --cpus-per-task=1 --mem=50m
#SBATCH --time=5
#SBATCH --output=none_%a.out
echo "$SLURM_ARRAY_TASK_ID of $SLURM_ARRAY_TASK_COUNT, $SLURM_JOB_NAME, $SLURM_CPUS_PER_TASK" \
  > "result_$SLURM_ARRAY_TASK_ID"
)");
  const Ended submitted = torc({"submit", "fit.sh", "--engine", "journal"});
  ASSERT_EQ(submitted.exit_code, 0) << submitted;
  EXPECT_TRUE(submitted.says("submitted ")) << submitted;
  // Each of the jobs has an allocation of its own, two at a time: those that end ask for the next.
  const Ended waited = torc({"wait", "fit.torc", "--timeout", "4m"});
  EXPECT_EQ(waited.exit_code, 0) << waited << torc({"status", "fit.torc"});
  for (const std::string task : {"1", "2", "3"})
    EXPECT_EQ(read_text(work_ / ("result_" + task)), task + " of 3, fit, 1\n");
  const json status = parsed(torc({"status", "fit.torc", "--json"}));
  EXPECT_EQ(status.at("jobs_by_state").at("completed"), 3) << status;
}

}  // namespace
}  // namespace torc::itest
