// What a worker does about jobs that fail in a workflow that recovers by itself.
#include <fstream>

#include "lib/worker/loop/session_fixture.h"

namespace torc::worker {
namespace {

using namespace std::chrono_literals;
using claim::JobState;

class RecoveryTest : public SessionTest {
 protected:
  // What each attempt prints on its standard error, and how it ends; the last goes on.
  struct Attempt {
    exec::Ended end;
    std::string error = {};
  };
  void attempts(std::vector<Attempt> in_turn) {
    host_.outcome = [this, in_turn] {
      const exec::Command& command = host_.commands.back();
      const Attempt& now = in_turn[std::min(host_.commands.size(), in_turn.size()) - 1];
      const std::string& text = now.error;
      EXPECT_EQ(write(command.stderr_fd, text.data(), text.size()),
                static_cast<ssize_t>(text.size()));
      return std::optional(now.end);
    };
  }
  static exec::Ended code(int n) { return ScriptedHost::ended_by_itself(n); }
  static exec::Ended out_of_memory() {
    exec::Ended ended = code(137);
    ended.how = exec::Ending::out_of_memory;
    return ended;
  }
};

constexpr const char* kOneJob =
    "on_failure: recover\njobs: [{name: a, command: x, memory: 100m, num_cpus: 1}]\n";

TEST_F(RecoveryTest, gives_what_ran_out_of_memory_more_and_stays_for_it) {
  make(kOneJob);
  attempts({{out_of_memory()}, {code(0)}});
  const WorkerSummary summary = run();
  EXPECT_EQ(summary.end, WorkerEnd::workflow_finished);
  EXPECT_EQ(summary.completed, 1U);
  EXPECT_EQ(summary.failed, 0U);
  EXPECT_EQ(job(1).attempt, 2U);
  EXPECT_EQ(host_.commands.back().memory_limit, mebibytes(192));
  EXPECT_TRUE(
      said("'a' failed (out of memory (exit code 137)) and runs again with more memory: "
           "recovery 1 of 3"));
}

TEST_F(RecoveryTest, leaves_a_program_s_own_error_to_a_person) {
  make(kOneJob);
  attempts({{code(1), "Traceback (most recent call last):\nValueError: no\n"}});
  EXPECT_EQ(run().failed, 1U);
  EXPECT_EQ(job(1).attempt, 1U);
}

TEST_F(RecoveryTest, goes_by_what_the_output_says_and_waits_a_while_for_a_network) {
  for (const char* mode : {"separate", "combined", "packed"}) {
    SCOPED_TRACE(mode);
    store_ = directory_ / (std::string(mode) + ".torc");
    host_.commands.clear();
    notices_.clear();
    make("on_failure: recover\nexecution_config: {stdio: {mode: " + std::string(mode) +
         "}}\njobs: [{name: a, command: x}]\n");
    attempts({{code(1), "fetch: Connection refused\n"}, {code(0)}});
    const BootTime begun = clock_.boot_now();
    EXPECT_EQ(run().completed, 1U);
    EXPECT_EQ(job(1).attempt, 2U);
    EXPECT_GE(clock_.boot_now() - begun, 30s);
    EXPECT_TRUE(said("'a' failed (exit code 1) and runs again in 30 s: recovery 1 of 3"));
  }
}

TEST_F(RecoveryTest, finds_the_line_at_either_end_of_a_long_output) {
  for (const bool at_end : {false, true}) {
    store_ = directory_ / (at_end ? "end.torc" : "begin.torc");
    host_.commands.clear();
    make("on_failure: recover\njobs: [{name: a, command: x}]\n");
    const std::string line = "fetch: Connection refused\n";
    const std::string much(8 << 20, '\n');
    attempts({{code(1), at_end ? much + line : line + much}, {code(0)}});
    EXPECT_EQ(run().completed, 1U) << at_end;
  }
}

TEST_F(RecoveryTest, ends_after_as_many_times_as_the_file_says_and_says_so) {
  make("on_failure: recover\nmax_recoveries: 2\njobs: [{name: a, command: x, memory: 100m}]\n");
  attempts({{out_of_memory()}});
  EXPECT_EQ(run().failed, 1U);
  EXPECT_EQ(job(1).attempt, 3U);
  EXPECT_TRUE(said("recovery 2 of 2"));
  EXPECT_TRUE(said("'a' has been recovered 2 times, and is not recovered again (max_recoveries)"));
}

TEST_F(RecoveryTest, is_none_where_the_file_does_not_ask_for_it) {
  make("jobs: [{name: a, command: x, memory: 100m}]\n");
  attempts({{out_of_memory()}});
  EXPECT_EQ(run().failed, 1U);
  EXPECT_EQ(job(1).attempt, 1U);
}

TEST_F(RecoveryTest, has_nothing_follow_that_waits_for_a_failure) {
  make(
      "on_failure: recover\njobs:\n"
      "  - {name: a, command: x, memory: 100m}\n"
      "  - {name: rescue, command: y, depends: {afternotok: a}}\n");
  attempts({{out_of_memory()}, {code(0)}});
  (void)run();
  EXPECT_EQ(job(1).state, JobState::completed);
  EXPECT_EQ(job(2).attempt, 0U);
}

}  // namespace
}  // namespace torc::worker
