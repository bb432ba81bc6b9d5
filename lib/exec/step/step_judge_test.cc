#include "lib/exec/step/step_judge.h"

#include <gtest/gtest.h>

#include <csignal>

namespace torc::exec {
namespace {

Ended exited(int code) {
  Ended srun;
  srun.how = Ending::exited;
  srun.exit_code = code;
  return srun;
}

TEST(StepJudge, time_memory_and_nodes_are_told_apart_by_the_words_of_srun) {
  EXPECT_EQ(
      judge_step("slurmstepd: error: *** STEP 1.2 ON n1 CANCELLED AT X DUE TO TIME LIMIT ***\n",
                 exited(137))
          .how,
      Ending::timed_out);
  EXPECT_EQ(
      judge_step("slurmstepd: error: Detected 1 oom_kill event in StepId=1.2.", exited(137)).how,
      Ending::out_of_memory);
  EXPECT_EQ(judge_step("srun: error: n1: task 0: Out Of Memory", exited(137)).how,
            Ending::out_of_memory);
  EXPECT_EQ(judge_step("srun: error: Node failure on n1", exited(137)).how, Ending::stopped);
  EXPECT_EQ(judge_step("slurmstepd: error: *** STEP 1.2 ON n1 CANCELLED AT X DUE TO PREEMPTION ***",
                       exited(137))
                .how,
            Ending::stopped);
}

TEST(StepJudge, without_words_its_signal_was_the_end_and_srun_tells_which) {
  EXPECT_EQ(judge_step("srun: error: n1: task 0: Killed", exited(137)).how, Ending::signaled);
  EXPECT_EQ(judge_step("", exited(137)).signal, SIGKILL);
  EXPECT_EQ(judge_step("", exited(143)).signal, SIGTERM);
  EXPECT_EQ(judge_step("", exited(0)).signal, SIGKILL);
}

TEST(StepJudge, of_an_srun_that_was_killed_the_job_runs_again) {
  Ended srun;
  srun.how = Ending::signaled;
  srun.signal = SIGKILL;
  EXPECT_EQ(judge_step("", srun).how, Ending::stopped);
}

TEST(StepJudge, the_accounting_knows_what_srun_did_not_hear) {
  EXPECT_EQ(judge_accounted("7.1|OUT_OF_MEMORY|0:125\n", "7.1")->how, Ending::out_of_memory);
  EXPECT_EQ(judge_accounted("7.1|TIMEOUT|0:15\n", "7.1")->how, Ending::timed_out);
  EXPECT_EQ(judge_accounted("7.1|NODE_FAIL|0:0\n", "7.1")->how, Ending::stopped);
  const auto killed = judge_accounted("batch|RUNNING|0:0\n7.1|CANCELLED by 0|0:9\n", "7.1");
  ASSERT_TRUE(killed);
  EXPECT_EQ(killed->how, Ending::signaled);
  EXPECT_EQ(killed->signal, SIGKILL);
  EXPECT_EQ(judge_accounted("7.1|FAILED|143:0\n", "7.1")->signal, SIGTERM);
  EXPECT_EQ(judge_accounted("7.1|FAILED|0:11\n", "7.1")->signal, SIGSEGV);
}

TEST(StepJudge, what_is_not_final_or_of_another_step_is_no_answer) {
  EXPECT_FALSE(judge_accounted("7.1|RUNNING|0:0\n", "7.1"));
  EXPECT_FALSE(judge_accounted("17.1|TIMEOUT|0:0\n7.10|TIMEOUT|0:0\n", "7.1"));
  EXPECT_FALSE(judge_accounted("Slurm accounting storage is disabled\n", "7.1"));
  EXPECT_FALSE(judge_accounted("", "7.1"));
}

}  // namespace
}  // namespace torc::exec
