// torc exec: what it writes of each job that has ended, and when it starts nothing more.
#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

constexpr const char* kColumns =
    "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand";

void expect_line(const std::string& line, const std::string& seq, const std::string& tail) {
  const std::regex form(seq + "\t:\t[0-9]{10}\\.[0-9]{3}\t *[0-9]+\\.[0-9]{3}\t0\t" + tail);
  EXPECT_TRUE(std::regex_match(line, form)) << line;
}

// --- --joblog ---

TEST(ExecRecords, the_joblog_has_the_columns_of_parallel) {
  const Workplace here;
  const Ended ended =
      here.run({"exec", "-j1", "--joblog", "log", "-c", "printf 12345; exit {}", ":::", "0", "3"});
  EXPECT_EQ(ended.exit_code, 1) << ended;
  const auto lines = lines_of(read_text(here.path() / "log"));
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0], kColumns);
  expect_line(lines[1], "1", "5\t0\t0\tprintf 12345; exit 0");
  expect_line(lines[2], "2", "5\t3\t0\tprintf 12345; exit 3");
}

TEST(ExecRecords, the_joblog_tells_signals_and_keeps_a_command_on_its_line) {
  const Workplace here;
  EXPECT_EQ(
      here.run({"exec", "--joblog", "log", "-c", "kill -9 $$ #\t{}", ":::", "a\nb"}).exit_code, 1);
  const auto lines = lines_of(read_text(here.path() / "log"));
  ASSERT_EQ(lines.size(), 2U);
  expect_line(lines[1], "1", "0\t0\t9\tkill -9 \\$\\$ # 'a b'");
}

TEST(ExecRecords, the_joblog_is_made_anew_but_by_who_goes_on) {
  const Workplace here;
  here.write("log", "something old\n");
  const std::string command = "test -e there; exit $? #";
  EXPECT_EQ(here.run({"exec", "--joblog", "log", "-c", command, ":::", "a"}).exit_code, 1);
  EXPECT_EQ(lines_of(read_text(here.path() / "log")).front(), kColumns);
  here.write("there", "");
  EXPECT_EQ(here.run({"exec", "--joblog", "log", "--resume-failed"}).exit_code, 0);
  const auto lines = lines_of(read_text(here.path() / "log"));
  ASSERT_EQ(lines.size(), 3U);
  expect_line(lines[1], "1", "0\t1\t0\ttest -e there; exit \\$\\? # a");
  expect_line(lines[2], "1", "0\t0\t0\ttest -e there; exit \\$\\? # a");
}

TEST(ExecRecords, only_the_last_attempt_of_a_job_is_in_the_joblog) {
  const Workplace here;
  EXPECT_EQ(here.run({"exec", "--retries", "2", "--joblog", "log", "-c",
                      "test $TORC_ATTEMPT_ID = 2 #", ":::", "a"})
                .exit_code,
            0);
  const auto lines = lines_of(read_text(here.path() / "log"));
  ASSERT_EQ(lines.size(), 2U);
  expect_line(lines[1], "1", "0\t0\t0\ttest \\$TORC_ATTEMPT_ID = 2 # a");
}

TEST(ExecRecords, a_joblog_that_cannot_be_written_is_told_before_anything_runs) {
  const Workplace here;
  const Ended ended = here.run({"exec", "--joblog", "none/log", "-c", "touch ran #", ":::", "a"});
  EXPECT_EQ(ended.exit_code, 2) << ended;
  EXPECT_TRUE(ended.says("cannot write 'none/log'")) << ended;
  EXPECT_FALSE(std::filesystem::exists(here.path() / "ran"));
}

// --- --results ---

TEST(ExecRecords, results_lie_in_directories_named_by_the_values) {
  const Workplace here;
  const Ended ended = here.run({"exec", "-k", "--results", "out", "-c", "echo {1}; echo {2} >&2",
                                ":::", "a/b", "..", ":::", "x y"});
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_EQ(ended.out, "a/b\n..\n") << "it is passed on, too";
  auto files = contents(here.path() / "out");
  std::erase_if(files, [](const auto& one) { return one.second.empty(); });  // directories
  EXPECT_EQ(files, (std::map<std::string, std::string>{{"1/a\\_b/2/x y/seq", "1"},
                                                       {"1/a\\_b/2/x y/stdout", "a/b\n"},
                                                       {"1/a\\_b/2/x y/stderr", "x y\n"},
                                                       {"1/\\../2/x y/seq", "2"},
                                                       {"1/\\../2/x y/stdout", "..\n"},
                                                       {"1/\\../2/x y/stderr", "x y\n"}}));
}

TEST(ExecRecords, results_of_commands_lie_below_these) {
  const Workplace here;
  EXPECT_EQ(here.run({"exec", "-q", "--results", "out", ":::", "echo a"}).out, "");
  EXPECT_EQ(
      here.run({"exec", "-q", "--results", "out", "-c", "echo {i}", "--param", "i=7:7"}).exit_code,
      0);
  EXPECT_EQ(read_text(here.path() / "out/1/echo a/stdout"), "a\n");
  EXPECT_EQ(read_text(here.path() / "out/1/i=7/stdout"), "7\n");
}

TEST(ExecRecords, results_that_cannot_be_written_are_told_once_and_jobs_go_on) {
  const Workplace here;
  here.write("out", "");
  const Ended ended =
      here.run({"exec", "-k", "--results", "out", "-c", "echo {}", ":::", "a", "b"});
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_EQ(ended.out, "a\nb\n");
  const std::size_t first = ended.err.find("torc: cannot write ");
  ASSERT_NE(first, std::string::npos) << ended;
  EXPECT_EQ(ended.err.find("torc: cannot write ", first + 1), std::string::npos) << ended;
}

TEST(ExecRecords, results_of_long_values_that_begin_alike_lie_apart) {
  const Workplace here;
  const std::string value(260, 'v');
  ASSERT_EQ(here.run({"exec", "--results", "out", "-c", "echo {#}", ":::", value + "1", value + "2",
                      value + "3"})
                .exit_code,
            0);
  const std::filesystem::directory_iterator places(here.path() / "out/1");
  EXPECT_EQ(std::distance(begin(places), end(places)), 3);
}

TEST(ExecRecords, a_table_of_results_is_refused) {
  const Workplace here;
  const Ended table = here.run({"exec", "--results", "a.csv", "-c", "x", ":::", "a"});
  EXPECT_EQ(table.exit_code, 2) << table;
  EXPECT_TRUE(table.says("--joblog FILE is a table")) << table;
  const Ended place = here.run({"exec", "--results", "out_{}", "-c", "x", ":::", "a"});
  EXPECT_EQ(place.exit_code, 2) << place;
  EXPECT_TRUE(place.says("has a place for a value")) << place;
}

// --- --halt ---

TEST(ExecRecords, halt_starts_nothing_after_so_many_failures) {
  const Workplace here;
  const Ended ended = here.run({"exec", "-j1", "--store", "s", "--halt", "soon,fail=2", "-c",
                                "echo {}; exit {}", ":::", "0", "1", "2", "0"});
  EXPECT_EQ(ended.exit_code, 1) << ended;
  EXPECT_EQ(ended.out, "0\n1\n2\n");
  EXPECT_TRUE(ended.says("--halt: 2 jobs failed: nothing more was started")) << ended;
  EXPECT_EQ(here.json({"status", "s"})["jobs_by_state"]["ready"], 1);
  const Ended rest = here.run({"exec", "--resume", "--store", "s"});
  EXPECT_EQ(rest.out, "0\n") << "what was not started can go on";
}

TEST(ExecRecords, halt_after_a_success_is_what_was_wanted) {
  const Workplace here;
  const Ended ended = here.run(
      {"exec", "-j1", "--halt", "now,success=1", "-c", "echo {}; exit {}", ":::", "1", "0", "2"});
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_EQ(ended.out, "1\n0\n");
}

TEST(ExecRecords, halt_now_ends_what_runs_and_it_may_run_again) {
  const Workplace here;
  Fifo gate(here.path() / "gate");
  const Ended ended = here.run({"exec", "-j2", "--store", "s", "--halt", "now,done=1", "-c",
                                "if test {} = a; then exec cat gate; fi", ":::", "a", "b"});
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_EQ(here.json({"status", "s"})["jobs_by_state"]["ready"], 1);
  EXPECT_EQ(here.json({"job", "s", "1"})["state"], "ready");
}

TEST(ExecRecords, halt_that_makes_no_sense_is_refused) {
  const Workplace here;
  for (const char* halt : {"3", "now", "now,fail=0", "later,fail=1"}) {
    const Ended ended = here.run({"exec", "--halt", halt, "-c", "x", ":::", "a"});
    EXPECT_EQ(ended.exit_code, 2) << ended;
    EXPECT_TRUE(ended.says("--halt now,fail=1, --halt soon,fail=10%")) << ended;
  }
}

}  // namespace
}  // namespace torc::itest
