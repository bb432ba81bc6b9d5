// torc status: its exit code where that is asked for, again and again, and how long jobs have run.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

class Status : public testing::TestWithParam<std::string> {
 protected:
  // `a` waits at the gate and exits with what it finds in the file `code`.
  void make_store() const {
    here.write("code", "0");
    here.write("wf.yaml", R"(name: wf
jobs:
  - {name: a, command: "echo a > record; read x < gate; read c < code; exit $c"}
  - {name: b, command: "true", depends_on: a}
)");
    const Ended made = here.run({"init", "wf.yaml", "--engine", GetParam()});
    ASSERT_EQ(made.exit_code, 0) << made;
  }
  [[nodiscard]] std::unique_ptr<Process> start_worker() {
    auto worker = here.start({"run", "wf.torc"});
    EXPECT_TRUE(wait_for_line(record, "a", *worker)) << worker->err();
    return worker;
  }

  Workplace here;
  Fifo record{here.path() / "record"};
  Fifo gate{here.path() / "gate"};
};
INSTANTIATE_TEST_SUITE_P(Engines, Status, testing::Values("journal", "lmdb"));

TEST_P(Status, tells_by_its_exit_code_how_it_is_where_that_is_asked_for) {
  make_store();
  const Ended begun = here.run({"status", "--exit-code"});
  EXPECT_EQ(begun.exit_code, 3) << begun;
  EXPECT_TRUE(begun.says("the workflow is not finished")) << begun;
  EXPECT_EQ(here.run({"status"}).exit_code, 0);
  gate.open_gate(1);
  ASSERT_EQ(here.run({"run", "wf.torc"}).exit_code, 0);
  EXPECT_EQ(here.run({"status", "--exit-code"}).exit_code, 0);
  here.write("code", "3");
  ASSERT_EQ(here.run({"reset", "a", "--yes"}).exit_code, 0);
  gate.open_gate(1);
  ASSERT_EQ(here.run({"run", "wf.torc"}).exit_code, 1);
  const Ended failed = here.run({"status", "--exit-code", "--json"});
  EXPECT_EQ(failed.exit_code, 1) << failed;
  EXPECT_FALSE(failed.says("not finished")) << failed;
  EXPECT_EQ(here.run({"status", "--exit-code", "gone.torc"}).exit_code, 4);
}

TEST_P(Status, tells_how_far_each_stage_is_where_that_is_asked_for) {
  here.write("two.yaml", R"(name: two
jobs:
  - {name: 'a_{i}', command: "test {i} != 2", parameters: {i: "1:3"}}
  - {name: 'b_{i}', command: "true", parameters: {i: "1:3"}, depends_on: ['a_{i}']}
)");
  ASSERT_EQ(here.run({"run", "two.yaml", "--engine", GetParam(), "-q"}).exit_code, 1);
  EXPECT_TRUE(here.json({"status", "two.torc"})["jobs_by_entry"].is_null());
  const nlohmann::json stages = here.json({"status", "two.torc", "--stages"})["jobs_by_entry"];
  ASSERT_EQ(stages.size(), 2U) << stages;
  EXPECT_EQ(stages[0]["entry"], "a_{i}");
  EXPECT_EQ(stages[0]["jobs_by_state"]["failed"], 1);
  EXPECT_EQ(stages[1]["jobs"], 3);
  EXPECT_EQ(stages[1]["jobs_by_state"]["completed"], 2);
  const Ended table = here.run({"status", "two.torc", "--stages"});
  EXPECT_TRUE(table.says("a_{i}     3          2       1         0        0      0        0"))
      << table;
  EXPECT_TRUE(table.says("b_{i}     3          2       0         0        0      0        1"))
      << table;
}

TEST_P(Status, is_shown_again_until_the_workflow_is_over) {
  make_store();
  const auto worker = start_worker();
  const auto watch = here.start({"status", "--watch", "--every", "1s", "--exit-code"});
  const auto looks = [&] {
    const std::string& text = watch->out();
    std::size_t n = 0;
    for (std::size_t at = 0; (at = text.find("wf  ", at)) != std::string::npos; ++at) ++n;
    return n;
  };
  EXPECT_TRUE(wait_until({watch.get()}, [&] { return looks() == 2; })) << watch->err();
  gate.open_gate(1);
  const Ended ended = watch->wait();
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_TRUE(ended.says("wf  completed")) << ended;
  EXPECT_EQ(ended.out.find('\x1b'), std::string::npos) << ended;  // into a pipe
  EXPECT_EQ(worker->wait().exit_code, 0);
}

TEST_P(Status, is_not_watched_without_a_pause_or_for_programs) {
  make_store();
  EXPECT_EQ(here.run({"status", "--watch", "--every", "0"}).exit_code, 2);
  EXPECT_EQ(here.run({"status", "--watch", "--json"}).exit_code, 2);
  EXPECT_EQ(here.run({"status", "--every", "2s"}).exit_code, 2);
}

class RunningJob : public Status {};
INSTANTIATE_TEST_SUITE_P(Journal, RunningJob, testing::Values("journal"));

TEST_P(RunningJob, is_shown_with_how_long_it_has_run) {
  make_store();
  const auto worker = start_worker();
  const std::regex row("1 +a +running +1 +- +[0-9.]+ (ms|s|min)( |\n)");
  const std::regex line("started +[^\n]+ \\([0-9.]+ [^\n]+ ago\\)\n");
  ASSERT_TRUE(here.wait_for_state("wf.torc", "a", "running"));
  const Ended jobs = here.run({"jobs"});
  EXPECT_TRUE(std::regex_search(jobs.out, row)) << jobs;
  const Ended job = here.run({"job", "a"});
  EXPECT_TRUE(std::regex_search(job.out, line)) << job;
  gate.open_gate(1);
  EXPECT_EQ(worker->wait().exit_code, 0);
  const Ended over = here.run({"job", "a"});
  EXPECT_FALSE(over.says(" ago)")) << over;
}

}  // namespace
}  // namespace torc::itest
