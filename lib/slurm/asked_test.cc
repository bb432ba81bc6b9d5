#include "lib/slurm/asked.h"

#include <gtest/gtest.h>

namespace torc::slurm {
namespace {

using namespace std::chrono_literals;

spec::SlurmScheduler with(const std::string& extra) {
  spec::SlurmScheduler s;
  s.name = "s";
  s.extra = extra;
  return s;
}

TEST(AskedBy, who_asks_for_no_cpus_gets_one_a_task) {
  const Asked bare = asked_by(with(""), {});
  EXPECT_EQ(bare.cpus, 1U);
  EXPECT_TRUE(bare.cpus_by_default);
  spec::SlurmScheduler tasks = with("");
  tasks.ntasks_per_node = 3;
  EXPECT_EQ(asked_by(tasks, {}).cpus, 3U);
}

TEST(AskedBy, who_asks_for_cpus_gets_these) {
  for (const char* extra : {"-c 4", "-c4", "--cpus-per-task=4", "--cpus-per-task 2 -c 4"}) {
    EXPECT_EQ(asked_by(with(extra), {}).cpus, 4U) << extra;
    EXPECT_FALSE(asked_by(with(extra), {}).cpus_by_default);
  }
  EXPECT_EQ(asked_by(with(""), {{"cpus-per-task", "6"}}).cpus, 6U);
  EXPECT_EQ(asked_by(with("-c 4"), {{"cpus-per-task", "6"}}).cpus, 4U) << "extra wins";
  EXPECT_EQ(asked_by(with("-c 4 --ntasks-per-node=2"), {}).cpus, 8U);
}

TEST(AskedBy, what_follows_from_the_node_is_not_known) {
  for (const char* extra : {"--exclusive", "--exclusive=user", "--mincpus=8", "-n 4", "-c x"})
    EXPECT_EQ(asked_by(with(extra), {}).cpus, std::nullopt) << extra;
  EXPECT_EQ(asked_by(with(""), {{"exclusive", "true"}}).cpus, std::nullopt);
  EXPECT_EQ(asked_by(with(""), {{"exclusive", "false"}}).cpus, 1U);
}

TEST(AskedBy, a_script_is_read_as_sbatch_reads_it) {
  const Asked asked = asked_by_script(
      "#!/bin/bash\n#SBATCH --time='00:30:00'\n#SBATCH --mem='500M'\n"
      "#SBATCH --cpus-per-task='2'\n#SBATCH --time=40\n# SBATCH --mem=1G\nsrun --mem=2G x\n");
  EXPECT_EQ(asked.walltime, 40min);
  EXPECT_EQ(asked.memory, mebibytes(500));
  EXPECT_EQ(asked.cpus, 2U);
  const Asked open = asked_by_script("#SBATCH --time=UNLIMITED\n#SBATCH --mem=0\n");
  EXPECT_EQ(open.walltime, std::nullopt);
  EXPECT_EQ(open.memory, std::nullopt);
}

}  // namespace
}  // namespace torc::slurm
