#include "lib/launcher/generic_answer.h"

#include <gtest/gtest.h>
#include <re2/re2.h>

namespace torc::launcher {
namespace {

using namespace std::chrono_literals;

slurm::SbatchOutput printed(int exit_code, std::string out, std::string err = "") {
  return {.exit_code = exit_code, .out = std::move(out), .err = std::move(err)};
}

Definition read(std::string_view text) {
  const spec::Source source(text, "test");
  spec::Report report(source);
  auto definition = read_definition(source, report);
  EXPECT_TRUE(definition.has_value()) << spec::to_text(std::move(report).sorted());
  return definition.value_or(Definition());
}

constexpr std::string_view kMine = R"(launcher: mine
name: {prefix: t-}
submit:
  command: [sub, '{name}', '{script}']
  accepted: '^job (\S+)$'
  refused: ['^sub: no']
  later: ['^sub: not now', 'no room']
  not_from_here: ['^sub: not here']
list:
  command: [list, '{user}']
  continued: "\n\t"
  begins: '^JOBS\n'
  ends: 'END\n'
  none: '^nothing there'
  record: '(?m)^\d.*\n'
  others: ['^--+$']
  fields:
    id: '^(\S+)'
    name: '^\S+ (\S+)'
    user: '^\S+ \S+ (\S+)'
    state: '^\S+ \S+ \S+ (\S+)'
    reason: 'because (.*)'
    start: 'from (\d+:\d+ \d+\.\d+\.\d+)'
    nodes: 'nodes=(\d+)'
  times: '%H:%M %d.%m.%Y'
  stages: {waits: ['q|hq'], runs: [r], over: [z]}
cancel: {command: [del, '{ids}']}
script: {id: MINE_ID}
)";

TEST(GenericAnswer, a_record_becomes_an_allocation) {
  const Definition d = read(kMine);
  const Told told = read_answer(d, d.queue,
                                printed(0,
                                        "JOBS\n----\n1 t-a me q nodes=2 because\n\t of it\n"
                                        "2 t-b me r from 12:30 26.11.2026\n"
                                        "3 x me z\n4 t-c me strange\n5 t-d you r\nEND\n"),
                                "me");
  EXPECT_TRUE(told.whole);
  ASSERT_EQ(told.allocations.size(), 4U);
  EXPECT_EQ(told.allocations[0].id, "1");
  EXPECT_EQ(told.allocations[0].intent, "a");
  EXPECT_EQ(told.allocations[0].reason, "of it") << "its line goes on";
  EXPECT_EQ(told.allocations[0].nodes, 2U);
  EXPECT_EQ(told.allocations[0].stage, slurm::Stage::waits);
  EXPECT_EQ(told.allocations[1].stage, slurm::Stage::runs);
  EXPECT_GT(told.allocations[1].start, 1795000000s);
  EXPECT_EQ(told.allocations[2].intent, "") << "no name of ours";
  EXPECT_EQ(told.allocations[2].stage, slurm::Stage::over);
  EXPECT_EQ(told.allocations[3].stage, slurm::Stage::other) << "a word that nobody knows";
}

TEST(GenericAnswer, only_what_begins_and_ends_as_it_should_and_holds_nothing_else_is_whole) {
  const Definition d = read(kMine);
  const std::string rows = "1 t-a me q\n2 t-b me r\n";
  const auto is_whole = [&](const slurm::SbatchOutput& output) {
    return read_answer(d, d.queue, output, "me").whole;
  };
  EXPECT_TRUE(is_whole(printed(0, "JOBS\n" + rows + "END\n")));
  EXPECT_TRUE(is_whole(printed(0, "JOBS\nEND\n")));
  EXPECT_TRUE(is_whole(printed(255, "", "nothing there\n"))) << "it says so itself";
  EXPECT_FALSE(is_whole(printed(255, "", "list: cannot reach one server\nnothing there\n")))
      << "something else is wrong";
  EXPECT_TRUE(is_whole(printed(0, "JOBS\n" + rows + "END\n", "a warning\n")));
  for (const std::string& text :
       {std::string(), std::string("\n"), rows, "JOBS\n" + rows, "JOBS\n" + rows + "END",
        "JOBS\n" + rows + "1 t", "JOBS\n" + rows + "error: half\nEND\n", rows + "END\n",
        "x\nJOBS\n" + rows + "END\n", "JOBS\n" + rows + "END\nmore\n",
        std::string("JOBS\n7\nEND\n"), std::string("JOBS\n7; t-a me q\nEND\n")}) {
    EXPECT_FALSE(is_whole(printed(0, text))) << text;
  }
  EXPECT_FALSE(is_whole(printed(1, "JOBS\n" + rows + "END\n")));
  EXPECT_FALSE(is_whole(printed(1, "", "cannot connect\n")));
  auto killed = printed(0, "JOBS\n" + rows + "END\n");
  killed.timed_out = true;
  EXPECT_FALSE(is_whole(killed));
  killed = printed(0, "JOBS\nEND\n");
  killed.truncated = true;
  EXPECT_FALSE(is_whole(killed));
}

TEST(GenericAnswer, what_is_there_of_half_a_list_is_told_but_no_more) {
  const Definition d = read(kMine);
  const Told told = read_answer(d, d.queue, printed(0, "JOBS\n1 t-a me q\n2 t-b me"), "me");
  EXPECT_FALSE(told.whole);
  ASSERT_EQ(told.allocations.size(), 1U);
  EXPECT_EQ(told.allocations[0].intent, "a");
}

TEST(GenericSubmission, one_id_is_accepted_and_known_words_decide_of_a_failure) {
  const Definition d = read(kMine);
  const auto what = [&](const slurm::SbatchOutput& output) {
    return read_submission(d, output).what;
  };
  EXPECT_EQ(what(printed(0, "hello\njob 7.srv\n")), Submitted::accepted);
  EXPECT_EQ(read_submission(d, printed(0, "job 7.srv\n")).id, "7.srv");
  for (const char* out : {"", "hello\n", "job 7", "job 7\njob 8\n", "job $(x)\n"})
    EXPECT_EQ(what(printed(0, out)), Submitted::unclear) << out;
  EXPECT_EQ(what(printed(1, "", "sub: no such queue\n")), Submitted::refused);
  EXPECT_EQ(read_submission(d, printed(1, "", "Sorry.\nsub: no such queue\nExiting.\n")).told_by,
            "sub: no such queue");
  EXPECT_EQ(what(printed(1, "", "sub: not now\n")), Submitted::later);
  EXPECT_EQ(what(printed(1, "", "sub: no room\n")), Submitted::later) << "before what is for good";
  EXPECT_EQ(what(printed(1, "", "sub: not here\n")), Submitted::refused);
  EXPECT_TRUE(read_submission(d, printed(1, "", "sub: not here\n")).not_from_here);
  EXPECT_TRUE(read_submission(d, printed(127, "", "env: 'sub': No such file\n")).not_from_here);
  EXPECT_EQ(what(printed(1, "", "something else\n")), Submitted::unclear);
  EXPECT_EQ(what(printed(1, "job 7\n", "sub: no such queue\n")), Submitted::unclear)
      << "it had got further";
  auto killed = printed(-1, "", "sub: no such queue\n");
  killed.timed_out = true;
  EXPECT_EQ(what(killed), Submitted::unclear);
}

// As Grid Engine 8.1.9 prints it.
TEST(GridEngineAnswer, lists_and_accounting_are_read_to_their_ends) {
  const Definition d = read(built_in_definition("gridengine"));
  const std::string head =
      "<?xml version='1.0'?>\n<job_info  xmlns:xsd=\"http://x/qstat.xsd\">\n  <queue_info>\n";
  const std::string tail = "  </job_info>\n</job_info>\n";
  const std::string waits =
      "    <job_list state=\"pending\">\n      <JB_job_number>5</JB_job_number>\n"
      "      <JB_name>t-7.a</JB_name>\n      <JB_owner>root</JB_owner>\n      <state>hqw</state>\n"
      "      <JB_submission_time>2026-11-26T18:10:09</JB_submission_time>\n"
      "      <full_job_name>t-7.a</full_job_name>\n    </job_list>\n";
  const std::string text = head + "  </queue_info>\n  <job_info>\n" + waits + tail;
  const Told told = read_answer(d, d.queue, printed(0, text), "root");
  EXPECT_TRUE(told.whole);
  ASSERT_EQ(told.allocations.size(), 1U);
  EXPECT_EQ(told.allocations[0].intent, "7.a");
  EXPECT_EQ(told.allocations[0].stage, slurm::Stage::waits);
  EXPECT_GT(told.allocations[0].submitted, 0s);
  for (std::size_t cut = 0; cut < text.size(); ++cut)
    EXPECT_FALSE(read_answer(d, d.queue, printed(0, text.substr(0, cut)), "root").whole) << cut;
  for (const auto& [word, stage] : {std::pair("qw", slurm::Stage::waits),
                                    {"Eqw", slurm::Stage::waits},
                                    {"Rq", slurm::Stage::waits},
                                    {"hqw", slurm::Stage::waits},
                                    {"r", slurm::Stage::runs},
                                    {"t", slurm::Stage::runs},
                                    {"dr", slurm::Stage::runs},
                                    {"dt", slurm::Stage::runs},
                                    {"Rr", slurm::Stage::runs},
                                    {"S", slurm::Stage::runs},
                                    {"hr", slurm::Stage::runs},
                                    {"z", slurm::Stage::over},
                                    {"?", slurm::Stage::other}}) {
    std::string one = text;
    one.replace(one.find("hqw"), 3, word);
    EXPECT_EQ(read_answer(d, d.queue, printed(0, one), "root").allocations.at(0).stage, stage)
        << word;
  }

  const std::string line(62, '=');
  const std::string row = line +
                          "\nqname        all.q               \nowner        root\n"
                          "jobname      t-7.a               \njobnumber    5\n"
                          "qsub_time    Thu Nov 26 18:10:08 2026\n"
                          "end_time     Thu Nov 26 18:10:12 2026\ncategory     NONE\n";
  const std::string sum = "OWNER     WALLCLOCK  UTIME\n" + line + "\nroot  4  0.001\n";
  const Told past = read_answer(d, *d.accounting, printed(0, row + row + sum), "root");
  EXPECT_TRUE(past.whole);
  ASSERT_EQ(past.allocations.size(), 2U);
  EXPECT_EQ(past.allocations[0].stage, slurm::Stage::over);
  EXPECT_EQ(past.allocations[0].end - past.allocations[0].submitted, 4s);
  EXPECT_TRUE(
      read_answer(d, *d.accounting, printed(0, "OWNER  WALLCLOCK  X\n" + line + "\n"), "root")
          .whole);
  EXPECT_FALSE(read_answer(d, *d.accounting, printed(0, row), "root").whole);
  EXPECT_FALSE(read_answer(d, *d.accounting, printed(0, ""), "root").whole);
}

}  // namespace
}  // namespace torc::launcher
