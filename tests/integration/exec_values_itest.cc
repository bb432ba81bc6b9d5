// torc exec: where values come from and what becomes of them in a command. What GNU parallel does
// with the same words was compared by hand, and is what is expected here.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

using Words = std::vector<std::string>;

// Its stdin is what `redirection` makes of it, which is for a shell: "< FILE".
Ended run_with(const Workplace& here, const Words& arguments, const std::string& redirection) {
  Launch launch = here.torc(arguments);
  Words argv{"/bin/sh", "-c", "exec \"$@\" " + redirection, "sh"};
  argv.insert(argv.end(), launch.argv.begin(), launch.argv.end());
  launch.argv = std::move(argv);
  return run(launch);
}

// `writer` | torc
Ended run_piped(const Workplace& here, const Words& arguments, const std::string& writer) {
  Launch launch = here.torc(arguments);
  Words argv{"/bin/sh", "-c", writer + " | \"$@\"", "sh"};
  argv.insert(argv.end(), launch.argv.begin(), launch.argv.end());
  launch.argv = std::move(argv);
  return run(launch);
}

// What `torc exec -k` with these words prints.
std::string printed(const Workplace& here, const Words& words) {
  Words arguments{"exec", "-k"};
  arguments.insert(arguments.end(), words.begin(), words.end());
  const Ended ended = here.run(arguments);
  EXPECT_EQ(ended.exit_code, 0) << ended;
  return ended.out;
}

// --- several sources ---

TEST(ExecValues, of_several_sources_there_is_a_job_for_every_combination) {
  const Workplace here;
  EXPECT_EQ(printed(here, {"-c", "echo {1} {2}", ":::", "a", "b", ":::", "1", "2"}),
            "a 1\na 2\nb 1\nb 2\n");
  EXPECT_EQ(printed(here, {"-c", "echo", ":::", "a", "b", ":::", "1", "2"}),
            "a 1\na 2\nb 1\nb 2\n");
  EXPECT_EQ(printed(here, {"-c", "echo {2}-{1} {}", "a", ":::", "1", "2"}), "1-a a 1\n2-a a 2\n");
  EXPECT_EQ(printed(here, {"-c", "echo {.}", ":::", "a.x", ":::", "1.y", "2.y"}), "a 1\na 2\n");
  EXPECT_EQ(printed(here, {"-c", "echo {1.} {1/} {1//} {1/.} {-1} {#}", ":::", "x/a.c", "b.x",
                           ":::", "1"}),
            "x/a a.c x a 1 1\nb b.x . b 1 2\n");
}

TEST(ExecValues, files_are_sources_too) {
  const Workplace here;
  here.write("letters", "a\nb\n");
  here.write("numbers", "1\n2\n");
  const std::string all = "a 1\na 2\nb 1\nb 2\n";
  EXPECT_EQ(printed(here, {"-c", "echo {1} {2}", "::::", "letters", "numbers"}), all);
  EXPECT_EQ(printed(here, {"-c", "echo {1} {2}", "::::", "letters", ":::", "1", "2"}), all);
  EXPECT_EQ(printed(here, {"-a", "letters", "-a", "numbers", "-c", "echo {1} {2}"}), all);
  EXPECT_EQ(printed(here, {"-a", "letters", "-c", "echo {1} {2}", ":::", "1", "2"}), all);
  EXPECT_EQ(
      run_with(here, {"exec", "-k", "-c", "echo {1} {2}", "::::", "letters", "-"}, "< numbers").out,
      all);
}

TEST(ExecValues, linked_sources_go_side_by_side_as_far_as_the_shortest) {
  const Workplace here;
  here.write("numbers", "1\n2\n");
  EXPECT_EQ(printed(here, {"-c", "echo {1}-{2}", ":::", "a", "b", "c", ":::+", "1", "2"}),
            "a-1\nb-2\n");
  EXPECT_EQ(printed(here, {"-c", "echo {1}-{2}", ":::", "a", "b", "::::+", "numbers"}),
            "a-1\nb-2\n");
  EXPECT_EQ(
      printed(here, {"-c", "echo {1}{2}{3}", ":::", "a", "b", ":::", "x", "y", ":::+", "1", "2"}),
      "ax1\nay2\nbx1\nby2\n");
  EXPECT_EQ(
      printed(here, {"-c", "echo {1}{2}{3}", ":::", "a", "b", ":::+", "x", "y", ":::", "1", "2"}),
      "ax1\nax2\nby1\nby2\n");
}

TEST(ExecValues, a_source_without_values_makes_no_jobs) {
  const Workplace here;
  for (const Words& words :
       {Words{"-c", "echo {}", ":::"}, Words{"-c", "echo {1} {2}", ":::", "a", ":::"}}) {
    Words arguments{"exec"};
    arguments.insert(arguments.end(), words.begin(), words.end());
    const Ended ended = here.run(arguments);
    EXPECT_EQ(ended.exit_code, 0) << ended;
    EXPECT_EQ(ended.out, "");
    EXPECT_TRUE(ended.says("there are no values: nothing was run")) << ended;
  }
}

TEST(ExecValues, words_behind_the_mark_are_values_whatever_they_look_like) {
  const Workplace here;
  EXPECT_EQ(printed(here, {"-c", "printf '<%s>' {}", ":::", "-k", "--help", "--", "[a,b]", "%%"}),
            "<-k><--help><--><[a,b]><%%>");
}

// --- shapes ---

TEST(ExecValues, a_line_may_be_columns) {
  const Workplace here;
  here.write("table", "a,b\nc,d,e\nf\ng,\n,h\n");
  EXPECT_EQ(printed(here, {"--colsep", ",", "-a", "table", "-c", "echo \"{2}-{1}-{}.\""}),
            "b-a-a b.\nd-c-c d e.\n-f-f.\n''-g-g ''.\nh-''-'' h.\n");
  EXPECT_EQ(
      printed(here, {"--colsep", " *; *", "-c", "echo {1}{2}{3}", ":::", "a ; b", ":::", "x", "y"}),
      "abx\naby\n");
  EXPECT_EQ(
      printed(here, {"--colsep", "\\t", "--tag", "-c", "echo $TORC_VALUE_2 #", ":::", "a\tb c"}),
      "a b c\tb c\n");
}

TEST(ExecValues, a_job_may_have_several_values_of_a_source) {
  const Workplace here;
  EXPECT_EQ(printed(here, {"-N", "2", "-c", "echo {1}-{2}. {}", ":::", "a", "b", "c"}),
            "a-b. a b\nc-. c\n");
  EXPECT_EQ(printed(here, {"-N2", "-c", "echo", ":::", "a", "b", ":::", "1", "2"}),
            "a 1 a 2\nb 1 b 2\n");
}

TEST(ExecValues, jobs_find_all_of_their_values_in_their_environment) {
  const Workplace here;
  EXPECT_EQ(printed(here, {"-c",
                           "printf '%s|%s|%s\\n' \"$TORC_VALUE\" \"$TORC_VALUE_1\" "
                           "\"$TORC_VALUE_2\" #",
                           ":::", "it's {1}", ":::", "b c"}),
            "it's {1} b c|it's {1}|b c\n");
  EXPECT_EQ(printed(here, {"-c", "echo \"$TORC_VALUE ${TORC_VALUE_1-none}\" #", ":::", "a"}),
            "a none\n");
}

TEST(ExecValues, another_string_stands_for_the_value_when_asked) {
  const Workplace here;
  EXPECT_EQ(printed(here, {"-I", "@@", "-c", "echo @@ {}", ":::", "a"}), "a {}\n");
}

TEST(ExecValues, many_combinations_are_made_without_holding_them) {
  const Workplace here;
  std::string lines;
  for (int i = 1; i <= 300; ++i) lines += std::to_string(i) + "\n";
  here.write("lines", lines);
  // The one job that may fail stops the rest: this is about making them.
  const Ended ended = here.run({"exec", "-j1", "--max-failures", "1", "--store", "s", "-c",
                                "test {1} {2} = x", "::::", "lines", "lines"});
  EXPECT_EQ(ended.exit_code, 1) << ended;
  EXPECT_EQ(here.json({"status", "s"})["jobs"], 90'000);
  EXPECT_EQ(here.json({"job", "s", "70000"})["command"], "test 234 100 = x");
  EXPECT_EQ(here.run({"verify", "s"}).exit_code, 0);
}

// --- the command ---

TEST(ExecValues, words_before_the_mark_are_the_command) {
  const Workplace here;
  EXPECT_EQ(printed(here, {"echo", "-n", "{}", "-k", ";", "echo", ":::", "a", "b"}),
            "a -k\nb -k\n");
  EXPECT_EQ(printed(here, {"sh", "-c", "'echo got $0'", ":::", "a b"}), "got a b\n");
  EXPECT_EQ(printed(here, {"--quote", "sh", "-c", "echo \"$0\" {}", "a  b", ":::", "x y"}),
            "a  b x y\n");
  EXPECT_EQ(printed(here, {"--param", "i=1:2", "echo", "{i}"}), "1\n2\n");
}

TEST(ExecValues, without_a_command_values_are_commands) {
  const Workplace here;
  here.write("commands", "echo a\necho {}\n");
  EXPECT_EQ(printed(here, {":::", "echo a", "echo {}"}), "a\n{}\n");
  EXPECT_EQ(printed(here, {":::", "echo", ":::", "a", "b"}), "a\nb\n");
  EXPECT_EQ(printed(here, {"-a", "commands"}), "a\n{}\n");
  EXPECT_EQ(run_with(here, {"exec", "-k"}, "< commands").out, "a\n{}\n");
}

// --- stdin ---

TEST(ExecValues, are_lines_of_stdin_where_nobody_names_any) {
  const Workplace here;
  here.write("lines", "a b\nc\n");
  EXPECT_EQ(run_piped(here, {"exec", "-k", "-c", "echo {}"}, "seq 3").out, "1\n2\n3\n");
  EXPECT_EQ(run_piped(here, {"exec", "-k", "-c", "echo"}, "seq 3").out, "1\n2\n3\n");
  EXPECT_EQ(run_piped(here, {"exec", "-k", "echo"}, "seq 3").out, "1\n2\n3\n");
  EXPECT_EQ(run_with(here, {"exec", "-k", "-c", "echo {}"}, "< lines").out, "a b\nc\n");
}

TEST(ExecValues, stdin_is_left_alone_where_values_are_named) {
  const Workplace here;
  EXPECT_EQ(run_piped(here, {"exec", "-k", "-c", "echo {}", ":::", "a"}, "seq 3").out, "a\n");
  EXPECT_EQ(run_piped(here, {"exec", "-c", "echo {i}", "--param", "i=7:7"}, "seq 3").out, "7\n");
}

TEST(ExecValues, a_command_that_has_no_place_for_one_runs_once_without_any) {
  const Workplace here;
  for (const char* in : {"< /dev/null", "<&-"}) {
    EXPECT_EQ(run_with(here, {"exec", "-c", "echo once"}, in).out, "once\n") << in;
    EXPECT_EQ(run_with(here, {"exec", "echo", "once"}, in).out, "once\n") << in;
  }
  EXPECT_EQ(run_piped(here, {"exec", "-c", "echo once"}, "true").out, "once\n")
      << "as cron starts it";
}

TEST(ExecValues, nothing_runs_when_stdin_is_empty_and_values_were_expected) {
  const Workplace here;
  const auto ran_nothing = [](const Ended& ended) {
    EXPECT_EQ(ended.exit_code, 0) << ended;
    EXPECT_EQ(ended.out, "") << ended;
    EXPECT_TRUE(ended.says("there are no values: nothing was run")) << ended;
  };
  ran_nothing(run_with(here, {"exec", "-c", "echo {}"}, "< /dev/null"));
  ran_nothing(run_with(here, {"exec", "-c", "echo {}"}, "<&-"));
  ran_nothing(run_piped(here, {"exec", "-c", "echo {}"}, "true"));
  ran_nothing(run_piped(here, {"exec", "-c", "echo", "-"}, "true"));
  ran_nothing(run_piped(here, {"exec", "echo"}, "true"));
}

// --- at a time ---

TEST(ExecValues, a_job_knows_which_of_those_at_a_time_it_is) {
  const Workplace here;
  Fifo record(here.path() / "record");
  Fifo gate(here.path() / "gate");
  const auto process = here.start(
      {"exec", "-j", "2", "-c", "echo \"{} '{%}'\" > record; read x < gate", ":::", "a", "b", "c"});
  ASSERT_TRUE(wait_until({process.get(), &record},
                         [&] { return record.lines().size() == 2 || !process->running(); }));
  EXPECT_TRUE(record.has("a '1'"));
  EXPECT_TRUE(record.has("b '2'"));
  gate.open_gate(10);
  EXPECT_EQ(process->wait().exit_code, 0);
  record.pump();
  EXPECT_TRUE(record.has("c '1'") || record.has("c '2'"));
}

TEST(ExecValues, who_goes_on_has_slots_as_before) {
  const Workplace here;
  EXPECT_EQ(here.run({"exec", "-c", "echo {%}; test -e there #", ":::", "a"}).exit_code, 1);
  here.write("there", "");
  EXPECT_EQ(here.run({"exec", "--resume-failed"}).out, "1\n");
}

// --- what is not there ---

TEST(ExecValues, what_makes_no_sense_is_refused_with_what_does) {
  const Workplace here;
  here.write("lines", "a\n");
  const std::vector<std::pair<Words, std::string>> cases{
      {{"-c", "echo {3}", ":::", "a", ":::", "b"}, "{3} in the command is value 3 of a job"},
      {{"-c", "x", ":::+", "a"}, ":::+ goes with the values of the ::: before it"},
      {{"-c", "x", "::::"}, ":::: names no file"},
      {{"-c", "x", "::::", "-", "-"}, "stdin can be read only once"},
      {{"-c", "x", "-a", "lines", "b"}, "for every combination of both write ::: VALUES"},
      {{"-c", "x", "--param", "i=1:2", ":::", "b"}, "values and --param"},
      {{"-C", "lines", ":::", "b"}, "what separates columns is --colsep"},
      {{"--colsep", "(", "-c", "x", ":::", "a"}, "is not a regular expression"},
      {{"--colsep", " *", "-c", "x", ":::", "a"}, "--colsep ' +' where you have"},
      {{"--colsep", ",", "-c", "x"}, "--colsep and -N are for values"},
      {{"-c", "echo {= uc =}", ":::", "a"}, "let the shell do it"},
      {{"-c", "echo {##}", ":::", "a"}, "{#} is the number of the job"},
      {{"--resume", ":::", "a"}, "other jobs were given"},
      {{"--resume", "--colsep", ","}, "other jobs were given"},
      {{"-N", "0", "-c", "x", ":::", "a"}, "-N"},
      {{"--pipe", "cat", ":::", "a"}, "split(1)"},
      {{"-X", "echo", ":::", "a"}, "-N N gives a job N values"},
      {{"-L1", "echo", ":::", "a"}, "-N N gives a job N values"},
      {{"--sshlogin", "host", "echo", ":::", "a"}, "torc submit"},
      {{"--header", ":", "echo", ":::", "a"}, "--param NAME=@FILE"},
      {{"--eta", "echo", ":::", "a"}, "--progress"},
      {{"--linebuffer", "echo", ":::", "a"}, "torc logs -f"},
      {{"--kep-order", "echo", ":::", "a"}, "--keep-order"},
  };
  for (const auto& [words, text] : cases) {
    Words arguments{"exec"};
    arguments.insert(arguments.end(), words.begin(), words.end());
    const Ended ended = here.run(arguments);
    EXPECT_EQ(ended.exit_code, 2) << text << ended;
    EXPECT_TRUE(ended.says(text)) << text << ended;
    EXPECT_FALSE(std::filesystem::exists(here.path() / ".torc-exec")) << text;
  }
}

}  // namespace
}  // namespace torc::itest
