#include "lib/slurm/shown.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace torc::slurm {
namespace {

using namespace std::chrono_literals;

std::string cell(std::string text, std::size_t width) {
  text.resize(width, ' ');
  return text;
}

// As squeue of 22.05 prints it.
struct Row {
  std::string id = "7";
  std::string array_id = id;
  std::string state = "PENDING";
  std::string start = "1795342086";
  std::string end = "N/A";
  std::string reason = "Priority";
  std::string name = "wf-one";
  std::string script = "/shared files/wf.torc/slurm/one.sbatch";
  std::string nodes = {};
};
std::string line(const Row& r) {
  return cell(r.id, 24) + cell(r.array_id, 48) + cell("alpha", 64) + cell(r.nodes, 16384) +
         cell("2", 12) + cell(r.state, 24) + cell(r.start, 32) + cell(r.end, 32) +
         cell("1795340000", 32) + cell("1000", 12) + cell(r.name, 256) + cell(r.script, 4096) +
         cell(r.reason, 512) + "\n";
}
const std::string kHeading = "JOBID                   JOBID      CLUSTER\n";

RunProgram slurm_that(int exit_code, std::string out, std::string err = {}) {
  return [=](const std::vector<std::string>&) -> Result<CommandOutput> {
    return CommandOutput{exit_code, out, err};
  };
}

TEST(ShownAllocations, what_waits_has_a_reason_and_an_expected_start) {
  const Shown shown = show_named(slurm_that(0, kHeading + line({})), {"wf-one"});
  EXPECT_TRUE(shown.whole);
  EXPECT_EQ(shown.failure, "");
  ASSERT_EQ(shown.allocations.size(), 1U);
  const ShownAllocation& a = shown.allocations[0];
  EXPECT_EQ(a.id, "7");
  EXPECT_EQ(a.cluster, "alpha");
  EXPECT_EQ(a.name, "wf-one");
  EXPECT_EQ(a.state, "PENDING");
  EXPECT_EQ(a.reason, "Priority");
  EXPECT_EQ(a.script, "/shared files/wf.torc/slurm/one.sbatch");
  EXPECT_EQ(a.uid, 1000U);
  EXPECT_EQ(a.submitted, 1795340000s);
  EXPECT_EQ(a.start, 1795342086s);
  EXPECT_EQ(a.end, 0s);
}

TEST(ShownAllocations, what_has_ended_has_no_reason_and_what_is_not_told_is_left_out) {
  const Row ended{.state = "CANCELLED", .start = "N/A", .end = "1795343000", .script = "(null)"};
  const Shown shown = show_named(slurm_that(0, kHeading + line(ended)), {"wf-one"});
  ASSERT_EQ(shown.allocations.size(), 1U);
  EXPECT_EQ(shown.allocations[0].reason, "");
  EXPECT_EQ(shown.allocations[0].script, "");
  EXPECT_EQ(shown.allocations[0].start, 0s);
  EXPECT_EQ(shown.allocations[0].end, 1795343000s);
  EXPECT_EQ(shown.allocations[0].canceled_by, "");
}

// Nobody may take what is missing for what is not there.
TEST(ShownAllocations,
     an_answer_that_is_not_whole_or_none_at_all_says_nothing_of_what_is_not_in_it) {
  const auto ask = [](const RunProgram& run) { return show_named(run, {"wf-one"}); };
  EXPECT_TRUE(ask(slurm_that(0, kHeading)).whole) << "it shows none";
  for (const std::string& cut : {kHeading + line({}).substr(0, 16000), kHeading + line({}) + "8  8",
                                 kHeading + line({}).substr(0, 16000) + "\n"}) {
    const Shown shown = ask(slurm_that(0, cut));
    EXPECT_FALSE(shown.whole);
    EXPECT_EQ(shown.failure, "");
    EXPECT_LE(shown.allocations.size(), 1U);
  }
  for (const std::string& no_answer :
       {std::string(), std::string("\n"), std::string("Hello\n"), line({.state = "CANCELLED"})}) {
    const Shown shown = ask(slurm_that(0, no_answer));
    EXPECT_FALSE(shown.whole);
    EXPECT_NE(shown.failure, "");
    EXPECT_TRUE(shown.allocations.empty());
  }
  const Shown away = ask(slurm_that(1, kHeading + line({}), "a\nsqueue: error: connect failure\n"));
  EXPECT_EQ(away.failure, "squeue: error: connect failure");
  EXPECT_TRUE(away.allocations.empty());
  EXPECT_EQ(ask(slurm_that(-1, {})).failure, "it took too long");
}

TEST(ShownAllocations, only_plain_names_and_numbers_are_asked_about) {
  std::vector<std::string> asked;
  const RunProgram run = [&](const std::vector<std::string>& argv) -> Result<CommandOutput> {
    asked = argv;
    return CommandOutput{0, kHeading, ""};
  };
  EXPECT_TRUE(show_named(run, {"a b", "", "--me", "x,y", "wf-one", "wf.2"}).whole);
  EXPECT_EQ(asked.at(asked.size() - 3), "wf-one,wf.2");
  EXPECT_TRUE(show_numbered(run, {"7", "7;rm", "-1", "8_2"}).whole);
  EXPECT_EQ(asked.at(asked.size() - 3), "7,8_2");
  asked.clear();
  EXPECT_TRUE(show_named(run, {"a b"}).whole);
  EXPECT_TRUE(asked.empty()) << "there is nothing to ask about";
}

// As a worker of it says where it is, whatever the array of which it may be called an element.
TEST(ShownAllocations, an_element_of_an_array_is_called_by_a_number_of_its_own_where_it_has_one) {
  const std::string rows = line({.id = "7", .array_id = "7_[3-4]"}) +
                           line({.id = "9", .array_id = "7_2"}) +
                           line({.id = "71", .array_id = "71"});
  std::vector<std::string> ids;
  for (const auto& a : show_named(slurm_that(0, kHeading + rows), {"wf-one"}).allocations)
    ids.push_back(a.id);
  const std::string ended =
      "9|7_2|alpha|1000|TIMEOUT|1795340000|Unknown|1795341000|wf-one\n"
      "7|7_4|alpha|1000|TIMEOUT|1795340000|Unknown|1795341000|wf-one\n";
  for (const auto& a : show_ended(slurm_that(0, ended), {"wf-one"}, 1795000000s).allocations)
    ids.push_back(a.id);
  EXPECT_EQ(ids, (std::vector<std::string>{"7_[3-4]", "9", "71", "9", "7_4"}));
}

TEST(ShownAllocations, users_are_named_unless_slurm_does_not_know_one_of_them) {
  std::vector<std::vector<std::string>> asked;
  CommandOutput answer{0, kHeading + line({}), ""};
  const RunProgram run = [&](const std::vector<std::string>& argv) -> Result<CommandOutput> {
    asked.push_back(argv);
    return std::exchange(answer, CommandOutput{0, kHeading + line({}), ""});
  };
  EXPECT_EQ(show_named(run, {"wf-one"}, {1000, 7}).allocations.size(), 1U);
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_NE(std::ranges::find(asked[0], "1000,7"), asked[0].end());
  answer = {0, kHeading, "squeue: error: Invalid user: 7\n"};
  asked.clear();
  EXPECT_EQ(show_named(run, {"wf-one"}, {1000, 7}).allocations.size(), 1U);
  ASSERT_EQ(asked.size(), 2U);
  EXPECT_EQ(std::ranges::find(asked[1], "1000,7"), asked[1].end());
  answer = {1, "", "squeue: error: connect failure\n"};
  asked.clear();
  EXPECT_NE(show_named(run, {"wf-one"}, {1000}).failure, "");
  EXPECT_EQ(asked.size(), 1U) << "who does not answer is not asked twice";
}

TEST(ShownAllocations, the_accounting_tells_who_canceled_and_only_of_what_is_over) {
  const std::string out =
      "4|4|alpha|1000|CANCELLED by 1001|1795340000|Unknown|1795341000|wf-one\n"
      "5|5|alpha|1000|PENDING|1795340000|Unknown|Unknown|wf-one\n"
      "6|6|alpha|1000|TIMEOUT|1700000000|1700000001|1700000601|wf-one\n"
      "8|8|alpha|1000|CANCELLED by 0|1795340000|None|1795341000|wf-one\n"
      "7|7|alpha|1000|CANCELLED by 10";
  const Shown shown = show_ended(slurm_that(0, out), {"wf-one"}, 1795000000s);
  ASSERT_EQ(shown.allocations.size(), 2U) << "not over, too old, cut";
  EXPECT_EQ(shown.allocations[0].id, "4");
  EXPECT_EQ(shown.allocations[0].state, "CANCELLED");
  EXPECT_EQ(shown.allocations[0].canceled_by, "uid 1001");
  EXPECT_EQ(shown.allocations[1].canceled_by, "root");
  EXPECT_EQ(shown.allocations[0].start, 0s);
  EXPECT_EQ(shown.allocations[0].end, 1795341000s);
  EXPECT_TRUE(show_ended(slurm_that(1, out), {"wf-one"}, 0s).allocations.empty());
}

TEST(ShownNodes, are_told_once_with_their_reasons) {
  const auto nodes = show_nodes(slurm_that(0,
                                           "n1|down*|Not responding\nn1|down*|Not responding\n"
                                           "n2|idle|none\nnonsense\nn3|do"),
                                {"n1", "n2", "n3"});
  EXPECT_EQ(nodes, (std::vector<ShownNode>{{"n1", "down*", "Not responding"}, {"n2", "idle", ""}}));
  EXPECT_TRUE(show_nodes(slurm_that(1, "n1|down|x\n"), {"n1"}).empty());
}

TEST(Stages, only_states_that_never_change_are_over) {
  for (const char* state : {"COMPLETED", "CANCELLED", "TIMEOUT", "NODE_FAIL"})
    EXPECT_EQ(stage_of(state), Stage::over);
  for (const char* state : {"COMPLETING", "RUNNING", "SUSPENDED"})
    EXPECT_EQ(stage_of(state), Stage::runs);
  EXPECT_EQ(stage_of("PENDING"), Stage::waits);
  for (const char* state : {"REVOKED", "", "cancelled", "CANCELLED+", "NEW"})
    EXPECT_EQ(stage_of(state), Stage::other);
}

}  // namespace
}  // namespace torc::slurm
