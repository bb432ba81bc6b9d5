// torc exec: what becomes of commands and values, what it prints, and how it goes on.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

Launch with_stdin(const Workplace& here, std::vector<std::string> arguments,
                  const std::string& file) {
  // The harness gives no stdin: a shell does.
  Launch launch = here.torc(std::move(arguments));
  std::vector<std::string> argv{"/bin/sh", "-c", "exec \"$@\" < " + file, "sh"};
  argv.insert(argv.end(), launch.argv.begin(), launch.argv.end());
  launch.argv = std::move(argv);
  return launch;
}

std::vector<std::string> sorted_lines(const std::string& text) {
  std::vector<std::string> lines = lines_of(text);
  std::sort(lines.begin(), lines.end());
  return lines;
}

std::string only_store(const Workplace& here) {
  std::string found;
  for (const auto& entry : std::filesystem::directory_iterator(here.path() / ".torc-exec"))
    found += (found.empty() ? "" : " ") + (".torc-exec/" + entry.path().filename().string());
  return found;
}

using Lines = std::vector<std::string>;

TEST(Exec, runs_a_command_for_each_value_and_prints_what_they_print) {
  const Workplace here;
  const Ended ended = here.run({"exec", "-k", "-c", "echo got {}", "a", "b", "c"});
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_EQ(ended.out, "got a\ngot b\ngot c\n");
  EXPECT_EQ(ended.err, "");
  EXPECT_EQ(here.run({"verify", only_store(here)}).exit_code, 0);
}

TEST(Exec, a_value_is_one_word_whatever_it_holds) {
  const Workplace here;
  const std::string nasty = "a b; touch pwned; $(touch pwned) `touch pwned` 'x' \"y\" {i} * ~ #";
  const Ended ended =
      here.run({"exec", "-k", "-c", "printf '<%s>\\n' {}", ":::", nasty, "", "two\nlines", "\\"});
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_EQ(ended.out, "<" + nasty + ">\n<>\n<two\nlines>\n<\\>\n");
  EXPECT_FALSE(std::filesystem::exists(here.path() / "pwned"));
}

TEST(Exec, jobs_find_the_value_as_it_is_in_their_environment) {
  const Workplace here;
  const Ended ended =
      here.run({"exec", "-c", "sh -c 'printf \"%s\\n\" \"$TORC_VALUE\"' {}", "it's {} 1e3 007"});
  EXPECT_EQ(ended.out, "it's {} 1e3 007\n") << ended;
}

TEST(Exec, knows_the_parts_of_a_path_as_parallel_does) {
  const Workplace here;
  const Ended ended = here.run(
      {"exec", "-k", "-c", "echo {#} {} {.} {/} {//} {/.}", "d.x/a b.tar.gz", "plain", ".hidden"});
  EXPECT_EQ(ended.out,
            "1 d.x/a b.tar.gz d.x/a b.tar a b.tar.gz d.x a b.tar\n"
            "2 plain plain plain . plain\n3 .hidden .hidden .hidden . .hidden\n")
      << ended;
}

TEST(Exec, a_command_without_a_place_for_the_value_gets_it_at_its_end) {
  const Workplace here;
  EXPECT_EQ(here.run({"exec", "--dry-run", "-c", "gzip -9", "a", "b c"}).out,
            "gzip -9 a\ngzip -9 'b c'\n");
  EXPECT_EQ(here.run({"exec", "--dry-run", "-c", "echo ${HOME} {{}}", "a"}).out,
            "echo ${HOME} {{}} a\n");
}

TEST(Exec, runs_a_command_on_each_line_of_a_file_or_of_stdin) {
  const Workplace here;
  here.write("commands", "echo 1 {x}\n\n  \nawk 'BEGIN {print 2}'\r\necho 3 # not this");
  const Lines expected{"1 {x}", "2", "3"};
  const Ended file = here.run({"exec", "-C", "commands"});
  EXPECT_EQ(file.exit_code, 0) << file;
  EXPECT_EQ(sorted_lines(file.out), expected);
  const Ended in = run(with_stdin(here, {"exec", "-"}, "commands"));
  EXPECT_EQ(in.exit_code, 0) << in;
  EXPECT_EQ(sorted_lines(in.out), expected);
}

TEST(Exec, takes_values_from_stdin_by_lines_or_with_nul) {
  const Workplace here;
  here.write("lines", "a b\nc\n");
  here.write("nuls", std::string("a\nb\0c\0", 6));
  EXPECT_EQ(run(with_stdin(here, {"exec", "-k", "-c", "echo {}", "-"}, "lines")).out, "a b\nc\n");
  EXPECT_EQ(run(with_stdin(here, {"exec", "-k", "-0", "-c", "echo {}", "-"}, "nuls")).out,
            "a\nb\nc\n");
  EXPECT_EQ(here.run({"exec", "-k", "-c", "echo {}", "-a", "lines"}).out, "a b\nc\n");
}

TEST(Exec, parameters_are_those_of_workflow_files) {
  const Workplace here;
  here.write("names", "x\ny\n");
  const Ended all =
      here.run({"exec", "-k", "-c", "echo {i:02d} {n}", "--param", "i=1:2", "--param", "n=@names"});
  EXPECT_EQ(all.out, "01 x\n01 y\n02 x\n02 y\n") << all;
  const Ended zipped = here.run({"exec", "-k", "--link", "zip", "-c", "echo {i} {lr}", "--param",
                                 "i=1:2", "--param", "lr=0.1,0.2", "--store", "z"});
  EXPECT_EQ(zipped.out, "1 0.1\n2 0.2\n") << zipped;
  EXPECT_EQ(here.run({"logs", "z", "i=2,lr=0.2"}).out, "2 0.2\n");
  const Ended bad = here.run(
      {"exec", "--link", "zip", "-c", "echo {i}{j}", "--param", "i=1:2", "--param", "j=1:3"});
  EXPECT_EQ(bad.exit_code, 2) << bad;
  EXPECT_TRUE(bad.says("'i' has 2 values and 'j' has 3")) << bad;
}

TEST(Exec, ends_with_1_when_a_job_failed_and_says_which) {
  const Workplace here;
  const Ended ended =
      here.run({"exec", "-c", "echo out {}; echo err {} >&2; exit {}", "0", "3", "--store", "s"});
  EXPECT_EQ(ended.exit_code, 1) << ended;
  EXPECT_EQ(sorted_lines(ended.out), (Lines{"out 0", "out 3"}));
  EXPECT_NE(ended.err.find("err 0\n"), std::string::npos);
  EXPECT_NE(ended.err.find("torc: failed: 3 (#2): exit code 3\n"), std::string::npos) << ended;
  EXPECT_NE(ended.err.find("torc: 1 of 2 jobs completed, 1 failed\n"), std::string::npos);
  EXPECT_EQ(here.run({"logs", "s", "2"}).out, "out 3\n");
}

TEST(Exec, puts_the_value_before_each_line_when_asked) {
  const Workplace here;
  const Ended ended = here.run({"exec", "-k", "--tag", "-c", "printf '1\\n\\n3' #", "a b", "c"});
  EXPECT_EQ(ended.out, "a b\t1\na b\t\na b\t3\nc\t1\nc\t\nc\t3\n") << ended;
}

TEST(Exec, passes_bytes_on_as_they_are) {
  const Workplace here;
  const Ended ended = here.run({"exec", "-c", "printf 'a\\000\\377b' #", "x"});
  EXPECT_EQ(ended.out, std::string("a\0\377b", 4)) << ended;
}

TEST(Exec, goes_on_where_a_killed_one_stopped) {
  const Workplace here;
  Fifo record(here.path() / "record");
  Fifo gate(here.path() / "gate");
  const auto killed =
      here.start({"exec", "-j1", "-c",
                  "echo {} > record; test {} = a || read x < gate; echo done {}", "a", "b", "c"});
  ASSERT_TRUE(wait_for_line(record, "b", *killed));
  killed->kill(SIGKILL);
  (void)killed->wait();
  gate.open_gate(10);
  const Ended ended = here.run({"exec", "--resume", "-k"});
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_EQ(ended.out, "done b\ndone c\n");
  record.pump();
  Lines ran = record.lines();
  std::sort(ran.begin(), ran.end());
  EXPECT_EQ(ran, (Lines{"a", "b", "b", "c"}));
  const Ended idle = here.run({"exec", "--resume"});
  EXPECT_EQ(idle.exit_code, 0) << idle;
  EXPECT_TRUE(idle.says("there was nothing left to do")) << idle;
}

TEST(Exec, waits_with_the_order_kept_for_nothing_that_ended_before) {
  const Workplace here;
  Fifo gate(here.path() / "gate");
  const std::string command =
      "test {} != a || exit 0; test -e second || exit 1; "
      "test {} = b || read x < gate; echo did {}";
  EXPECT_EQ(here.run({"exec", "-c", command, "a", "b", "c", "--store", "s"}).exit_code, 1);
  here.write("second", "");
  const auto process = here.start({"exec", "--resume-failed", "-k", "--store", "s"});
  EXPECT_TRUE(process->wait_for_output("did b\n")) << "while c still runs";
  gate.open_gate(1);
  const Ended ended = process->wait();
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_EQ(ended.out, "did b\ndid c\n");
}

TEST(Exec, ctrl_c_lets_running_jobs_end_and_says_how_to_go_on) {
  const Workplace here;
  Fifo record(here.path() / "record");
  Fifo gate(here.path() / "gate");
  const auto process =
      here.start({"exec", "-j1", "-c", "echo {} > record; read x < gate; echo did {}", "a", "b"});
  ASSERT_TRUE(wait_for_line(record, "a", *process));
  process->kill(SIGINT);
  ASSERT_TRUE(wait_until({process.get()},
                         [&] { return process->err().find("finishing 1") != std::string::npos; }));
  gate.open_gate(10);
  const Ended ended = process->wait();
  EXPECT_EQ(ended.exit_code, 130) << ended;
  EXPECT_TRUE(ended.says("1 of 2 jobs completed; interrupted by SIGINT\n")) << ended;
  EXPECT_EQ(ended.out, "did a\n");
  EXPECT_TRUE(ended.says("go on with: torc exec --resume\n")) << ended;
  EXPECT_EQ(here.run({"exec", "--resume"}).out, "did b\n");
}

TEST(Exec, runs_again_what_failed_when_asked) {
  const Workplace here;
  const std::string command = "test -e ok-{} && echo fine {}";
  here.write("ok-a", "");
  EXPECT_EQ(here.run({"exec", "-c", command, "a", "b", "--store", "s"}).exit_code, 1);
  here.write("ok-b", "");
  const Ended same = here.run({"exec", "--resume", "--store", "s"});
  EXPECT_EQ(same.exit_code, 1) << same;
  EXPECT_EQ(same.out, "");
  const Ended again = here.run({"exec", "--resume-failed", "--store", "s"});
  EXPECT_EQ(again.exit_code, 0) << again;
  EXPECT_EQ(again.out, "fine b\n");
}

TEST(Exec, tries_again_ends_what_takes_too_long_and_stops_after_failures) {
  const Workplace here;
  const Ended tried =
      here.run({"exec", "--retries", "2", "-c", "test $TORC_ATTEMPT_ID = 3 && echo third {}", "x"});
  EXPECT_EQ(tried.out, "third x\n") << tried;
  EXPECT_EQ(tried.exit_code, 0) << tried;
  const Ended late = here.run({"exec", "--timeout", "1s", "-c", "sleep 100 #", "x"});
  EXPECT_EQ(late.exit_code, 1) << late;
  EXPECT_TRUE(late.says("time limit")) << late;
  const Ended halted = here.run({"exec", "-j1", "--max-failures", "1", "--store", "h", "-c",
                                 "false #", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j"});
  EXPECT_EQ(halted.exit_code, 1) << halted;
  EXPECT_GT(here.json({"status", "h"})["jobs_by_state"]["ready"], 0) << halted;
}

TEST(Exec, runs_as_many_at_a_time_as_asked) {
  const Workplace here;
  Fifo record(here.path() / "record");
  Fifo gate(here.path() / "gate");
  const auto process = here.start(
      {"exec", "-j", "5", "-c", "echo {} > record; read x < gate #", "1", "2", "3", "4", "5", "6"});
  EXPECT_TRUE(wait_until({process.get(), &record},
                         [&] { return record.lines().size() == 5 || !process->running(); }));
  EXPECT_FALSE(record.has("6"));
  gate.open_gate(10);
  EXPECT_EQ(process->wait().exit_code, 0);
}

TEST(Exec, jobs_have_what_they_ask_for_of_the_node) {
  const Workplace here;
  Fifo record(here.path() / "record");
  Fifo gate(here.path() / "gate");
  const auto process =
      here.start({"exec", "-j", "8", "--node-resource", "fpga=[a,b],[c,d]", "--resource", "fpga=2",
                  "-c", "echo $TORC_RESOURCE_FPGA > record; read x < gate #", "1", "2", "3"});
  ASSERT_TRUE(wait_until({process.get(), &record},
                         [&] { return record.lines().size() == 2 || !process->running(); }));
  EXPECT_TRUE(record.has("a,b"));
  EXPECT_TRUE(record.has("c,d")) << "there are four pieces";
  gate.open_gate(10);
  EXPECT_EQ(process->wait().exit_code, 0);
}

TEST(Exec, as_many_as_asked_run_at_a_time_also_when_they_ask_for_something) {
  const Workplace here;
  Fifo record(here.path() / "record");
  Fifo gate(here.path() / "gate");
  const auto process =
      here.start({"exec", "-j", "2", "--node-resource", "port=1-9", "--resource", "port=1", "-c",
                  "echo {} > record; read x < gate #", "1", "2", "3"});
  ASSERT_TRUE(wait_until({process.get(), &record},
                         [&] { return record.lines().size() == 2 || !process->running(); }));
  EXPECT_FALSE(record.has("3"));
  gate.open_gate(10);
  EXPECT_EQ(process->wait().exit_code, 0);
}

TEST(Exec, says_what_this_node_lacks_and_goes_on_where_it_has_it) {
  const Workplace here;
  const Ended lacks = here.run({"exec", "--resource", "fpga=1", "--store", "s", "-c", "echo", "x"});
  EXPECT_EQ(lacks.exit_code, 3) << lacks;
  EXPECT_TRUE(lacks.says("it needs 1 'fpga', of which there is none")) << lacks;
  EXPECT_TRUE(lacks.says("--node-resource says what this node has")) << lacks;
  const Ended ended = here.run({"exec", "--resume", "--store", "s", "--node-resource", "fpga=1"});
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_EQ(ended.out, "x\n");
}

TEST(Exec, makes_jobs_of_more_lines_than_it_holds_at_a_time) {
  const Workplace here;
  std::string lines;
  constexpr int kLines = 70'000;
  for (int i = 1; i <= kLines; ++i) lines += "value " + std::to_string(i) + "\n";
  here.write("lines", lines);
  // The one job that may fail stops the rest: this is about making them.
  const Ended ended = here.run({"exec", "-j1", "--max-failures", "1", "--store", "s", "-c",
                                "test {} != 'value 1'", "-a", "lines"});
  EXPECT_EQ(ended.exit_code, 1) << ended;
  EXPECT_EQ(here.json({"status", "s"})["jobs"], kLines);
  EXPECT_EQ(here.json({"job", "s", "70000"})["command"], "test 'value 70000' != 'value 1'");
  EXPECT_EQ(here.json({"job", "s", "#65537"})["job"], "65537");
  EXPECT_EQ(here.run({"verify", "s"}).exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(here.path() / "s.making"));
}

TEST(Exec, output_that_cannot_be_written_is_a_failure_that_is_told) {
  const Workplace here;
  Launch launch = here.torc({"exec", "-j", "1", "-c", "echo {}", ":::", "a", "b", "c"});
  launch.argv.insert(launch.argv.begin(), {"/bin/sh", "-c", "exec \"$@\" >/dev/full", "sh"});
  const Ended ended = run(launch);
  EXPECT_EQ(ended.exit_code, 1) << ended;
  EXPECT_TRUE(ended.says("the output cannot be written (No space left on device)")) << ended;
}

TEST(Exec, nothing_is_made_of_bad_input) {
  const Workplace here;
  here.write("long", "echo ok\n" + std::string(140'000, 'x') + "\n");
  here.write("nul", std::string("echo \0\n", 7));
  here.write("lines", "a\n");
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
      {{"exec"}, "there is no command"},
      {{"exec", "-c", "x {2}", "a", "b"}, "{2} in the command is value 2 of a job"},
      {{"exec", "-C", "lines", "a"}, "-C names whole commands"},
      {{"exec", "-C", "lines", "-c", "a"}, "-C names whole commands"},
      {{"exec", "-C", "nothing"}, "cannot read 'nothing'"},
      {{"exec", "-C", "long"}, "long:2: more than 131071 bytes"},
      {{"exec", "-C", "nul"}, "nul:1: a NUL byte"},
      {{"exec", "-n", "2", "-c", "x", "b"}, "-N says how many values"},
      {{"exec", "-c", "x", "-a", "lines", "b"}, "values in one place"},
      {{"exec", "-c", "x", "--param", "i=1:3", "b"}, "values and --param"},
      {{"exec", "-c", "x", "--param", "i"}, "NAME=VALUES"},
      {{"exec", "-c", "x", "--param", "i=3:1"}, "is empty"},
      {{"exec", "-c", "x", "-j", "0", "b"}, "--jobs"},
      {{"exec", "-c", "x", "--resource", "fpga", "b"}, "--resource takes NAME=AMOUNT, not 'fpga'"},
      {{"exec", "-c", "x", "--resource", "f=1", "--resource", "f=2", "b"}, "given twice"},
      {{"exec", "-c", "x", "--resource", "f pga=1", "b"}, "no resource can be named 'f pga'"},
      {{"exec", "-c", "x", "--resource", "cpus=1", "b"}, "'cpus' has a key of its own"},
      {{"exec", "-c", "x", "--resource", "fpga=0", "b"}, "'fpga' cannot be '0'"},
      {{"exec", "-c", "x", "--gpus", "1.5", "b"}, "whole GPUs, or a part of one"},
      {{"exec", "--resume", "--gpus", "1"}, "other jobs were given"},
      {{"exec", "--resume", "-c", "x"}, "other jobs were given"},
      {{"exec", "--resume"}, "there is nothing to go on with"},
      {{"exec", "--resume", "--store", "none"}, "there is nothing to go on with: no "},
      {{"exec", "-c", "echo {}", "--name", "a\nb", "v"}, "name"},
  };
  for (const auto& [arguments, text] : cases) {
    const Ended ended = here.run(arguments);
    EXPECT_EQ(ended.exit_code, 2) << text << ended;
    EXPECT_TRUE(ended.says(text)) << text << ended;
    EXPECT_FALSE(std::filesystem::exists(here.path() / ".torc-exec") && !only_store(here).empty())
        << text;
  }
  here.write("empty", "\n\n");
  const Ended none = here.run({"exec", "-c", "echo", "-a", "empty"});
  EXPECT_EQ(none.exit_code, 0) << none;
  EXPECT_TRUE(none.says("there are no values: nothing was run")) << none;
}

}  // namespace
}  // namespace torc::itest
