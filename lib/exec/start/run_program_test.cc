#include "lib/exec/start/run_program.h"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "lib/exec/machine/procfs.h"
#include "lib/exec/process/host_fixture.h"

namespace torc::exec {
namespace {

using namespace std::chrono_literals;

ProgramRequest shell(const std::string& script) {
  ProgramRequest request;
  request.argv = {"sh", "-c", script};
  request.environment = {"PATH=/usr/bin:/bin", "COLOUR=green"};
  return request;
}

TEST(RunProgram, gives_back_output_and_exit_code) {
  const auto output = run_program(shell("echo $COLOUR; echo oops >&2; exit 3"));
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->out, "green\n");
  EXPECT_EQ(output->err, "oops\n");
  EXPECT_EQ(output->exit_code, 3);
  EXPECT_FALSE(output->timed_out);
}

TEST(RunProgram, reads_its_input_to_the_end_and_without_one_nothing) {
  EXPECT_EQ(run_program(shell("cat"))->out, "");
  ProgramRequest request = shell("cat; cat");
  request.input = std::string(300'000, 'x') + "\nend\n";
  EXPECT_EQ(run_program(request)->out, request.input);
}

TEST(RunProgram, a_missing_program_is_127_and_a_refused_one_126) {
  ProgramRequest request = shell("");
  request.argv = {"no-such-program"};
  EXPECT_EQ(run_program(request)->exit_code, 127);
  request.argv = {"/no/such/program"};
  EXPECT_EQ(run_program(request)->exit_code, 127);
  request.argv = {"/etc/passwd"};
  EXPECT_EQ(run_program(request)->exit_code, 126);
  request.argv.clear();
  EXPECT_FALSE(run_program(request).ok());
}

TEST(RunProgram, a_program_over_its_time_is_killed_with_its_children) {
  ProgramRequest request = shell("trap '' TERM; sleep 1000 & sleep 1000");
  request.time_limit = 20ms;
  const auto output = run_program(request);
  ASSERT_TRUE(output.ok());
  EXPECT_TRUE(output->timed_out);
  EXPECT_EQ(output->signal, SIGKILL);
}

TEST(RunProgram, a_time_limit_that_has_passed_at_the_start_holds) {
  ProgramRequest request = shell("sleep 1000");
  request.time_limit = 0ns;
  EXPECT_TRUE(run_program(request)->timed_out);
}

TEST(RunProgram, what_is_left_behind_does_not_hold_the_end_up) {
  EXPECT_EQ(run_program(shell("sleep 1000 & echo done"))->out, "done\n");
}

TEST(RunProgram, output_beyond_the_limit_is_dropped) {
  ProgramRequest request = shell("head -c 300000 /dev/zero; echo end >&2");
  request.output_limit = ByteCount{1000};
  const auto output = run_program(request);
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->out.size(), 1000u);
  EXPECT_TRUE(output->truncated);
  EXPECT_EQ(output->err, "end\n");
  EXPECT_EQ(output->exit_code, 0);
}

TEST(RunProgram, a_program_that_never_stops_writing_is_ended_in_time) {
  ProgramRequest request = shell("exec yes");
  request.time_limit = 20ms;
  EXPECT_TRUE(run_program(request)->timed_out);
}

class BesideHost : public HostTest {};

TEST_F(BesideHost, programs_of_another_thread_are_not_reaped_by_the_host) {
  std::atomic<bool> done = false;
  int right = 0;
  std::thread asker([&] {
    for (int i = 0; i < 100; ++i) {
      const auto output = run_program(shell("exit " + std::to_string(i % 50)));
      if (output.ok() && output->exit_code == i % 50) ++right;
    }
    done = true;
  });
  int jobs = 0;
  for (; !done; ++jobs) EXPECT_EQ(run("exit 5").exit_code, 5);
  asker.join();
  EXPECT_EQ(right, 100);
  EXPECT_GT(jobs, 0);
}

TEST_F(BesideHost, programs_of_the_host_thread_are_left_alone_while_commands_end) {
  const RunId id = start("exec 9>fifo; echo ready >&9; exit 6");
  for (int i = 0; i < 20; ++i) EXPECT_EQ(run_program(shell("exit 7"))->exit_code, 7);
  EXPECT_EQ(end_of(id).exit_code, 6);
}

TEST_F(BesideHost, a_program_that_runs_while_a_tree_is_ended_is_not_killed) {
  ASSERT_EQ(mkfifo((directory_ / "gate").c_str(), 0600), 0);
  std::thread asker([&] {
    const auto output = run_program(shell("cat " + (directory_ / "gate").string()));
    EXPECT_EQ(output->out, "go\n");
    EXPECT_EQ(output->exit_code, 0);
  });
  EXPECT_EQ(run("sleep 1000 & exit 1").exit_code, 1);
  host_->kill_all();
  write_file("gate", "go\n");
  asker.join();
}

}  // namespace
}  // namespace torc::exec
