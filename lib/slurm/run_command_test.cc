#include "lib/slurm/run_command.h"

#include <gtest/gtest.h>

namespace torc::slurm {
namespace {

TEST(BatchEnvironment, what_an_allocation_was_told_does_not_pass_to_the_next_one) {
  const std::vector<std::string> in_allocation{"PATH=/bin", "SLURM_JOB_ID=7"};
  for (const char* entry : {"SLURM_JOB_ID=7", "TORC_ALLOCATION_END=1", "TORC_LATEST_END=2",
                            "TORC_STORE=/x", "TORC_JOB_DETAILS=y"})
    EXPECT_FALSE(passes_to_batch_system(entry, in_allocation)) << entry;
  for (const char* entry : {"PATH=/bin", "TORC_WORKER_FLAGS=--lease-ttl 10s", "TORC_MINE=1",
                            "SLURM_CONF=/etc/slurm.conf", "SBATCH_ACCOUNT=a"})
    EXPECT_TRUE(passes_to_batch_system(entry, in_allocation)) << entry;
}

TEST(BatchEnvironment, of_a_job_nothing_passes_that_it_was_told_of_itself) {
  const std::vector<std::string> in_job{"TORC_RUN_ID=abc", "TORC_MEMORY_BYTES=5"};
  for (const char* entry : {"TORC_RUN_ID=abc", "TORC_MEMORY_BYTES=5", "TORC_MINE=1"})
    EXPECT_FALSE(passes_to_batch_system(entry, in_job)) << entry;
  EXPECT_TRUE(passes_to_batch_system("TORC_WORKER_FLAGS=x", in_job));
}

TEST(RunCommand, output_that_was_cut_is_no_answer_to_who_only_reads_it) {
  SbatchOutput output{.exit_code = 0, .out = "x"};
  const auto run = run_program_of([&](const Command&) { return Result<SbatchOutput>(output); },
                                  std::chrono::seconds(1));
  EXPECT_EQ(run({"squeue"})->exit_code, 0);
  output.truncated = true;
  EXPECT_EQ(run({"squeue"})->exit_code, -1);
}

}  // namespace
}  // namespace torc::slurm
