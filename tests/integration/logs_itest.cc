// `torc logs`: what jobs printed, in every mode, while they run, after they ended and after their
// worker was killed.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

// Both ways of keeping both streams: whoever reads sees no difference.
class Logs : public testing::TestWithParam<const char*> {
 protected:
  void write_spec(const std::string& jobs) const {
    here_.write("wf.yaml", fmt::format("name: wf\nexecution_config:\n  stdio: {{mode: {}}}\n{}",
                                       GetParam(), jobs));
  }
  [[nodiscard]] std::string logs(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "logs");
    const Ended ended = here_.run(arguments);
    EXPECT_EQ(ended.exit_code, 0) << ended;
    return ended.out;
  }

  Workplace here_;
  Fifo record_{here_.path() / "record"};
  Fifo gate_{here_.path() / "gate"};
};

TEST_P(Logs, tell_the_streams_apart_and_say_when_there_is_nothing) {
  write_spec(R"(jobs:
  - {name: both, command: echo out; echo err >&2}
  - {name: quiet, command: "true"}
  - {name: tidy, command: echo out, stdio: {mode: )" +
             std::string(GetParam()) + R"(, delete_on_success: true}}
)");
  ASSERT_EQ(here_.run({"run", "wf.yaml"}).exit_code, 0);
  EXPECT_EQ(logs({"both"}), "out\n");
  EXPECT_EQ(logs({"both", "--stderr"}), "err\n");
  const Ended quiet = here_.run({"logs", "quiet", "--stderr"});
  EXPECT_EQ(quiet.exit_code, 0) << quiet;
  EXPECT_TRUE(quiet.says("quiet wrote nothing to its standard error")) << quiet;
  const Ended tidy = here_.run({"logs", "tidy"});
  EXPECT_EQ(tidy.exit_code, 4) << tidy;
  EXPECT_TRUE(tidy.says("delete_on_success")) << tidy;
}

TEST_P(Logs, are_followed_from_a_running_attempt_to_the_end_of_the_last) {
  write_spec(R"(failure_handlers:
  - {name: again, rules: [{match_all_exit_codes: true, max_retries: 1}]}
jobs:
  - name: a
    failure_handler: again
    command: "echo attempt $TORC_ATTEMPT_ID; echo up $TORC_ATTEMPT_ID > record; read x < gate; echo end; test $TORC_ATTEMPT_ID = 2"
)");
  const auto worker = here_.start({"run", "wf.yaml"});
  ASSERT_TRUE(wait_for_line(record_, "up 1", *worker)) << worker->err();
  EXPECT_EQ(logs({"wf.torc", "a"}), "attempt 1\n");
  const auto follower = here_.start({"logs", "wf.torc", "a", "-f"});
  ASSERT_TRUE(follower->wait_for_output("attempt 1\n")) << follower->err();
  gate_.open_gate(1);
  ASSERT_TRUE(wait_for_line(record_, "up 2", *worker)) << worker->err();
  ASSERT_TRUE(follower->wait_for_output("attempt 1\nend\nattempt 2\n")) << follower->out();
  gate_.open_gate(1);
  const Ended ended = follower->wait();
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_EQ(ended.out, "attempt 1\nend\nattempt 2\nend\n");
  EXPECT_EQ(worker->wait().exit_code, 0);
  EXPECT_EQ(logs({"a", "--attempt", "1"}), "attempt 1\nend\n");
  EXPECT_EQ(logs({"a"}), "attempt 2\nend\n");
}

TEST_P(Logs, of_failed_jobs_are_shown_with_headings_and_only_their_ends) {
  write_spec(R"(jobs:
  - {name: good, command: echo fine}
  - {name: bad, command: seq 100; echo why >&2; exit 3}
  - {name: mute, command: exit 4}
)");
  ASSERT_EQ(here_.run({"run", "wf.yaml"}).exit_code, 1);
  const std::string out = logs({"--failed", "--tail", "2"});
  const std::string host = out.substr(out.find(", on "), out.find(" <==") - out.find(", on "));
  EXPECT_EQ(out, fmt::format("==> bad: attempt 1, exit code 3{0} <==\n99\n100\n"
                             "--> standard error <--\nwhy\n\n"
                             "==> mute: attempt 1, exit code 4{0} <==\n(no output)\n",
                             host));
  EXPECT_EQ(logs({"bad", "--tail", "1"}), "100\n");
}

TEST_P(Logs, of_several_jobs_are_shown_with_headings) {
  write_spec(R"(jobs:
  - {name: "a_{i}", command: "echo a {i}; echo more", parameters: {i: "1:2"}}
  - {name: b, command: echo b, priority: -1}
  - {name: never, command: echo never, depends_on: [held]}
  - {name: held, command: "true"}
)");
  ASSERT_EQ(here_.run({"init", "wf.yaml"}).exit_code, 0);
  ASSERT_EQ(here_.run({"hold", "held"}).exit_code, 0);
  ASSERT_EQ(here_.run({"run", "wf.torc", "-q"}).exit_code, 3);
  EXPECT_EQ(logs({"a_*"}), "==> a_1 <==\na 1\nmore\n\n==> a_2 <==\na 2\nmore\n");
  EXPECT_EQ(logs({"wf.torc", "stage:a", "b", "--tail", "1"}),
            "==> a_1 <==\nmore\n\n==> a_2 <==\nmore\n\n==> b <==\nb\n");
  EXPECT_EQ(logs({"a_2*"}), "a 2\nmore\n") << "one job needs no heading";
  const Ended some = here_.run({"logs", "never", "b"});
  EXPECT_EQ(some.exit_code, 0) << some;
  EXPECT_TRUE(some.says("'never' has not run")) << some;
  EXPECT_TRUE(some.says("==> b <==\nb")) << some;
  EXPECT_EQ(here_.run({"logs", "a_*", "--follow"}).exit_code, 2);
  EXPECT_EQ(here_.run({"logs", "x_*"}).exit_code, 2);
}

TEST_P(Logs, of_a_job_that_can_no_longer_start_are_not_waited_for) {
  write_spec(R"(jobs:
  - {name: bad, command: exit 3}
  - {name: after, command: "true", depends_on: [bad]}
)");
  ASSERT_EQ(here_.run({"run", "wf.yaml"}).exit_code, 1);
  const Ended ended = here_.run({"logs", "after", "-f"});
  EXPECT_EQ(ended.exit_code, 1) << ended;
  EXPECT_TRUE(ended.says("torc why wf.torc after")) << ended;
}

// It has run before: what it printed then is shown, and is no reason to wait.
TEST_P(Logs, of_a_reset_job_that_can_no_longer_start_are_not_waited_for) {
  write_spec(R"(jobs:
  - {name: first, command: "true"}
  - {name: after, command: echo once, depends_on: [first]}
)");
  ASSERT_EQ(here_.run({"run", "wf.yaml"}).exit_code, 0);
  ASSERT_EQ(here_.run({"reset", "--all", "--yes"}).exit_code, 0);
  ASSERT_EQ(here_.run({"hold", "first"}).exit_code, 0);
  const auto waiting = here_.start({"logs", "after", "-f"});
  EXPECT_TRUE(wait_until({waiting.get()}, [&] {
    return waiting->err().find("waiting for after to start; why it does not: torc why") !=
           std::string::npos;
  })) << waiting->err();
  const Ended early = here_.run({"logs", "after", "-f", "--attempt", "1"});
  EXPECT_EQ(early.exit_code, 0) << "that attempt has ended" << early;
  ASSERT_EQ(here_.run({"cancel", "first"}).exit_code, 0);
  const Ended ended = waiting->wait();
  EXPECT_EQ(ended.exit_code, 1) << ended;
  EXPECT_EQ(ended.out, "once\n");
  EXPECT_TRUE(ended.says("nothing can let it start any more; see: torc why wf.torc after"))
      << ended;
}

TEST_P(Logs, are_exported_to_files_that_bear_the_names_of_the_jobs) {
  write_spec(R"(jobs:
  - {name: both, command: echo out; echo err >&2}
  - {name: a/b, command: echo slash}
  - {name: quiet, command: "true"}
)");
  ASSERT_EQ(here_.run({"run", "wf.yaml"}).exit_code, 0);
  EXPECT_EQ(logs({"export", "files"}), "3 files in files: what 2 jobs wrote; 1 wrote nothing\n");
  const std::map<std::string, std::string> expected{
      {"a%2Fb.out", "slash\n"}, {"both.err", "err\n"}, {"both.out", "out\n"}};
  EXPECT_EQ(contents(here_.path() / "files"), expected);
  EXPECT_EQ(here_.run({"logs", "export", "files"}).exit_code, 2) << "not empty";
}

TEST_P(Logs, leave_no_empty_files) {
  write_spec(R"(jobs:
  - {name: "quiet_{i}", command: "true", parameters: {i: "1:50"}}
)");
  ASSERT_EQ(here_.run({"run", "wf.yaml", "--num-cpus", "4"}).exit_code, 0);
  const Path directory = here_.path() / "wf.torc/logs/jobs";
  for (const auto& [file, text] : contents(directory)) {
    if (std::filesystem::is_directory(directory / file)) continue;
    EXPECT_TRUE(file.starts_with("packed/")) << file;
    EXPECT_FALSE(file.find("slot") != std::string::npos) << file;
  }
}

// All that a job had written is there: it told the test so after each line.
TEST_P(Logs, keep_every_line_that_was_written_before_the_worker_was_killed) {
  write_spec(R"(jobs:
  - {name: done, command: echo finished}
  - name: w_{i}
    command: "n=0; while :; do n=$((n+1)); echo line $n; echo {i} $n > record; done"
    depends_on: [done]
    parameters: {i: "1:3"}
)");
  const auto worker = here_.start({"run", "wf.yaml", "--num-cpus", "4"});
  ASSERT_TRUE(wait_until({&record_, worker.get()}, [&] { return record_.lines().size() >= 300; }));
  worker->kill(SIGKILL);
  (void)worker->wait();
  record_.pump();
  EXPECT_EQ(logs({"done"}), "finished\n");
  for (int i = 1; i <= 3; ++i) {
    const auto told = static_cast<std::size_t>(std::count_if(
        record_.lines().begin(), record_.lines().end(),
        [&](const std::string& line) { return line.starts_with(fmt::format("{} ", i)); }));
    const auto lines = lines_of(logs({fmt::format("w_{}", i)}));
    EXPECT_GE(lines.size(), told);
    EXPECT_LE(lines.size(), told + 1);
    for (std::size_t n = 0; n < lines.size(); ++n)
      EXPECT_EQ(lines[n], fmt::format("line {}", n + 1));
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, Logs, testing::Values("separate", "packed"),
                         [](const auto& mode) { return std::string(mode.param); });

TEST(PackedLogs, survive_jobs_that_empty_their_own_output) {
  const Workplace here;
  here.write("wf.yaml", R"(name: wf
execution_config: {stdio: {mode: packed}}
jobs:
  - {name: a, command: echo first}
  - {name: b, command: "echo lost; echo kept > /dev/stdout; echo twice | tee /dev/stderr", depends_on: [a]}
  - {name: c, command: echo third, depends_on: [b]}
)");
  ASSERT_EQ(here.run({"run", "wf.yaml"}).exit_code, 0);
  EXPECT_EQ(here.run({"logs", "a"}).out, "first\n");
  EXPECT_EQ(here.run({"logs", "b"}).out, "kept\ntwice\n");
  EXPECT_EQ(here.run({"logs", "b", "--stderr"}).out, "twice\n");
  EXPECT_EQ(here.run({"logs", "c"}).out, "third\n");
  const Ended path = here.run({"logs", "a", "--path"});
  EXPECT_EQ(path.exit_code, 2) << path;
  EXPECT_EQ(here.json({"logs", "a"})["stdout"]["size_bytes"], 6);
}

}  // namespace
}  // namespace torc::itest
