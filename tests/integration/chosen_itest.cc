// `torc run … NAME…`: some jobs, and what they need, alone.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

class Chosen : public testing::TestWithParam<const char*> {
 protected:
  // align_i for call_i, all of these for merge; report beside them.
  Chosen() {
    here.write("wf.yaml", R"(name: wf
jobs:
  - {name: 'align_{i}', command: 'echo align_{i} >> ran', parameters: {i: '1:4'}}
  - {name: 'call_{i}', command: 'echo call_{i} >> ran; test ! -e bad_{i}', parameters: {i: '1:4'}, depends_on: ['align_{i}']}
  - {name: merge, command: echo merge >> ran, depends_on: ['call_{i}']}
  - {name: report, command: echo report >> ran, priority: 9}
)");
  }
  [[nodiscard]] Ended run(Words words) const {
    words.insert(words.begin(), {"run", "--max-parallel-jobs", "1"});
    return here.run(words);
  }
  [[nodiscard]] Ended run_file(Words words) const {
    words.insert(words.begin(), {"wf.yaml", "--engine", GetParam()});
    return run(words);
  }
  // What ran so far, in this order.
  [[nodiscard]] std::string ran() const {
    std::ifstream file(here.path() / "ran");
    std::string all;
    for (std::string line; std::getline(file, line);) all += line + ' ';
    return all;
  }
  [[nodiscard]] std::string state(const std::string& job) const {
    return here.json({"job", job})["state"];
  }

  const Workplace here;
};

TEST_P(Chosen, run_with_what_they_need_and_nothing_else) {
  const Ended ended = run_file({"call_3"});
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_TRUE(ended.says("2 of 2 jobs that were asked for completed")) << ended;
  EXPECT_TRUE(ended.says("of the workflow 2 of 10")) << ended;
  EXPECT_EQ(ran(), "align_3 call_3 ");
  EXPECT_EQ(state("report"), "ready");
  const Ended again = run_file({"call_3", "align_3"});
  EXPECT_EQ(again.exit_code, 0) << again;
  EXPECT_TRUE(again.says("nothing to do: 2 of 2 jobs that were asked for completed")) << again;
  EXPECT_EQ(ran(), "align_3 call_3 ");
  EXPECT_EQ(here.run({"verify"}).exit_code, 0);
}

TEST_P(Chosen, are_named_in_every_way_also_without_the_store) {
  EXPECT_EQ(run_file({"align_[12]"}).exit_code, 0);
  EXPECT_EQ(ran(), "align_1 align_2 ");
  EXPECT_EQ(run({"call_1"}).exit_code, 0);
  EXPECT_EQ(ran(), "align_1 align_2 call_1 ");
  here.write("list", "call_2\nreport\n");
  EXPECT_EQ(run({"wf.torc", "@list"}).exit_code, 0);
  EXPECT_EQ(ran(), "align_1 align_2 call_1 report call_2 ");
  EXPECT_EQ(run({"--until", "align"}).exit_code, 0);
  EXPECT_EQ(ran(), "align_1 align_2 call_1 report call_2 align_3 align_4 ");
  EXPECT_EQ(run({"--until", "merge"}).exit_code, 0);
  EXPECT_EQ(ran(), "align_1 align_2 call_1 report call_2 align_3 align_4 call_3 call_4 merge ");
  EXPECT_EQ(run_file({}).exit_code, 0);
  EXPECT_EQ(here.run({"verify"}).exit_code, 0);
}

TEST_P(Chosen, that_nobody_has_are_refused_before_anything_runs) {
  for (const Words& words : {Words{"cal_1"}, Words{"stage:calls"}, Words{"--until", "calls"},
                             Words{"call_9*"}, Words{"--force", "nobody"}}) {
    const Ended ended = run_file(words);
    EXPECT_EQ(ended.exit_code, 2) << words.back() << ended;
    EXPECT_EQ(ran(), "");
  }
}

TEST_P(Chosen, end_the_run_also_where_one_failed_and_others_could_run) {
  here.write("bad_2", "");
  const Ended ended = run_file({"merge"});
  EXPECT_EQ(ended.exit_code, 1) << ended;
  EXPECT_TRUE(ended.says("7 of 9 jobs that were asked for completed")) << ended;
  EXPECT_TRUE(ended.says("failed: call_2")) << ended;
  EXPECT_EQ(ran().find("report"), std::string::npos) << ran();
  EXPECT_EQ(ran().find("merge"), std::string::npos) << ran();
}

// What failed elsewhere in the workflow is no matter of this run.
TEST_P(Chosen, are_told_of_alone_where_others_had_failed_before) {
  here.write("bad_2", "");
  EXPECT_EQ(run_file({"merge"}).exit_code, 1);
  const Ended ended = run_file({"align_4"});
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_FALSE(ended.says("failed: ")) << ended;
  EXPECT_FALSE(ended.says("torc retry")) << ended;
  const Ended failed = run_file({"call_[24]"});
  EXPECT_EQ(failed.exit_code, 1) << failed;
  EXPECT_TRUE(failed.says("failed: call_2")) << failed;
}

TEST_P(Chosen, are_waited_for_where_another_worker_has_what_they_need) {
  here.write("gated.yaml", R"(name: gated
jobs:
  - {name: first, command: echo first > record; read x < gate}
  - {name: second, command: echo second > record, depends_on: [first]}
  - {name: other, command: echo other > record, priority: -1}
)");
  Fifo record(here.path() / "record");
  Fifo gate(here.path() / "gate");
  ASSERT_EQ(here.run({"init", "gated.yaml", "--engine", GetParam()}).exit_code, 0);
  const auto worker = here.start({"run", "gated.torc", "first"});
  ASSERT_TRUE(wait_for_line(record, "first", *worker)) << worker->err();
  const auto waiting = here.start({"run", "gated.torc", "second"});
  const auto beside = here.run({"run", "gated.torc", "other"});
  EXPECT_EQ(beside.exit_code, 0) << beside;
  gate.open_gate(1);
  EXPECT_EQ(worker->wait().exit_code, 0);
  const Ended ended = waiting->wait();
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_TRUE(ended.says("2 of 2 jobs that were asked for completed")) << ended;
  record.pump();
  EXPECT_EQ(record.lines(), (Words{"first", "other", "second"}));
}

TEST_P(Chosen, run_again_by_force_with_all_that_is_built_on_them) {
  ASSERT_EQ(run_file({}).exit_code, 0);
  const std::string before = ran();
  const Ended planned = run_file({"-n", "--force", "call_2"});
  EXPECT_EQ(planned.exit_code, 0) << planned;
  EXPECT_TRUE(planned.says("2 jobs would run: 1 ready, 1 that waits for others; 8 of 10"))
      << planned;
  EXPECT_EQ(ran(), before);
  const Ended ended = run_file({"--force", "call_2"});
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_EQ(ran(), before + "call_2 merge ");
  EXPECT_EQ(run_file({"call_3", "--force", "align_3"}).exit_code, 0);
  EXPECT_EQ(ran(), before + "call_2 merge align_3 call_3 ");
  EXPECT_EQ(state("merge"), "ready");
}

TEST_P(Chosen, are_told_by_stages_before_they_run) {
  ASSERT_EQ(run_file({"call_1"}).exit_code, 0);
  const Ended all = run_file({"-n"});
  EXPECT_TRUE(all.says("8 jobs would run: 4 ready, 4 that wait for others")) << all;
  EXPECT_TRUE(all.says("align_{i}          3   4          3")) << all;
  const Ended some = run_file({"-n", "call_*"});
  EXPECT_TRUE(some.says("2 of 8 jobs that were asked for completed")) << some;
  EXPECT_TRUE(some.says("call_{i}")) << some;
  EXPECT_FALSE(some.says("merge")) << some;
  EXPECT_FALSE(some.says("report")) << some;
  EXPECT_EQ(ran(), "align_1 call_1 ");
}

// Though a workflow file could be called so.
TEST_P(Chosen, may_have_the_ending_of_a_workflow_file) {
  here.write("ends.yaml",
             "name: ends\njobs: [{name: 'to_{f}', command: 'echo {f} >> ended', "
             "parameters: {f: [x.json, y.yaml]}}]\n");
  std::filesystem::remove_all(here.path() / "wf.torc");
  ASSERT_EQ(here.run({"init", "ends.yaml", "--engine", GetParam()}).exit_code, 0);
  const Ended one = here.run({"run", "to_x.json"});
  EXPECT_EQ(one.exit_code, 0) << one;
  EXPECT_EQ(read_text(here.path() / "ended"), "x.json\n");
  EXPECT_TRUE(here.run({"run", "to_z.json"}).says("there is no file 'to_z.json'"));
}

TEST_P(Chosen, need_no_input_of_the_others) {
  here.write("in.yaml", R"(name: in
files: [{name: nowhere, path: nowhere}]
jobs:
  - {name: a, command: echo a >> ran}
  - {name: b, command: echo b >> ran, input_files: [nowhere]}
)");
  const Ended all = run({"in.yaml", "--engine", GetParam()});
  EXPECT_EQ(all.exit_code, 2) << all;
  const Ended one = run({"in.yaml", "a"});
  EXPECT_EQ(one.exit_code, 0) << one;
  EXPECT_EQ(ran(), "a ");
  EXPECT_EQ(run({"in.yaml", "b"}).exit_code, 2);
}

TEST_P(Chosen, are_counted_in_json) {
  here.write("bad_1", "");
  Launch launch = here.torc({"run", "wf.yaml", "--engine", GetParam(), "--json", "call_*"});
  const Ended ended = itest::run(launch);
  EXPECT_EQ(ended.exit_code, 1) << ended;
  const json out = json::parse(ended.out);
  EXPECT_EQ(out["end"], "chosen_over");
  EXPECT_EQ(out["asked_for"]["jobs"], 8);
  EXPECT_EQ(out["asked_for"]["jobs_by_state"]["completed"], 7);
  EXPECT_EQ(out["asked_for"]["jobs_by_state"]["failed"], 1);
  EXPECT_EQ(out["jobs"], 10);
}

INSTANTIATE_TEST_SUITE_P(Engines, Chosen, ::testing::Values("lmdb", "journal"));

}  // namespace
}  // namespace torc::itest
