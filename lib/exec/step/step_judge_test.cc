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

TEST(StepJudge, a_step_of_several_nodes_that_failed_is_told_more_of_by_the_lines_of_srun) {
  const Ended memory = judge_gang_step(
      "Killed\nsrun: error: n1: task 0: Out Of Memory\nsrun: launch/slurm: _step_signal: "
      "Terminating StepId=1.1\n",
      exited(1));
  EXPECT_EQ(memory.how, Ending::out_of_memory);
  EXPECT_EQ(memory.signal, SIGKILL);
  EXPECT_EQ(judge_gang_step("slurmstepd-n2: error: Detected 1 oom-kill event(s) in StepId=1.1. "
                            "Some of your processes may have been killed",
                            exited(1))
                .how,
            Ending::out_of_memory);
  EXPECT_EQ(
      judge_gang_step("srun: error: Task launch for StepId=1.12 failed on node n1: Unexpected "
                      "missing socket error\nsrun: error: Application launch failed: Unexpected "
                      "missing socket error\nsrun: Job step aborted\n",
                      exited(245))
          .how,
      Ending::stopped);
}

TEST(StepJudge, a_step_that_has_lost_a_node_has_not_ended_well_whatever_srun_says) {
  for (const int code : {0, 1, 137})
    EXPECT_EQ(judge_gang_step("srun: error: Node failure on n3\n", exited(code)).how,
              Ending::stopped);
}

TEST(StepJudge, what_the_job_itself_says_and_a_step_that_ended_well_are_as_srun_ended) {
  for (const char* words :
       {"", "Out Of Memory\n", "error: Application launch failed: no\n",
        "srun: error: n1: task 3: Exited with exit code 7\n", "n1: task 0: Out Of Memory"}) {
    const Ended failed = judge_gang_step(words, exited(7));
    EXPECT_EQ(failed.how, Ending::exited) << words;
    EXPECT_EQ(failed.exit_code, 7) << words;
  }
  EXPECT_EQ(judge_gang_step("srun: error: n1: task 0: Out Of Memory\n", exited(0)).how,
            Ending::exited);
  Ended late;
  late.how = Ending::timed_out;
  EXPECT_EQ(judge_gang_step("srun: error: n1: task 0: Out Of Memory\n", late).how,
            Ending::timed_out);
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

TEST(StepJudge, a_row_of_a_step_before_says_nothing_of_one_that_is_still_told_to_run) {
  EXPECT_FALSE(judge_accounted("7.1|OUT_OF_MEMORY|0:125\n7.1|RUNNING|0:0\n", "7.1"));
  EXPECT_TRUE(judge_accounted("7.1|RUNNING|0:0\n7.1|OUT_OF_MEMORY|0:125\n", "7.1"));
}

TEST(StepJudge, only_a_job_that_has_run_for_its_own_limit_has_timed_out) {
  using namespace std::chrono_literals;
  Ended told;
  told.how = Ending::timed_out;
  EXPECT_EQ(of_job(told, 0s, 24h).how, Ending::stopped) << "that was the allocation";
  EXPECT_EQ(of_job(told, 1h, 59min).how, Ending::stopped);
  EXPECT_EQ(of_job(told, 1h, 1h).how, Ending::timed_out);
  told.how = Ending::out_of_memory;
  EXPECT_EQ(of_job(told, 0s, 1h).how, Ending::out_of_memory);
}

TEST(StepJudge, a_sacct_that_fails_need_not_be_one_without_accounts) {
  EXPECT_TRUE(has_no_accounting("Slurm accounting storage is disabled\n"));
  EXPECT_FALSE(has_no_accounting("sacct: error: slurm_persist_conn_open: failed\n"));
}

}  // namespace
}  // namespace torc::exec
