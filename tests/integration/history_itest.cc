// torc history of both engines, of a job that failed and ran again, and of a worker that was
// killed.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

using nlohmann::json;

std::vector<std::string> kinds(const json& events) {
  std::vector<std::string> out;
  for (const json& e : events) out.push_back(e.value("event", ""));
  return out;
}

class History : public testing::TestWithParam<const char*> {
 protected:
  void make(const std::string& jobs) {
    here_.write("wf.yaml", "name: wf\njobs:\n" + jobs);
    ASSERT_EQ(here_.run({"init", "wf.yaml", "--engine", GetParam()}).exit_code, 0);
  }
  Workplace here_;
};

INSTANTIATE_TEST_SUITE_P(Engines, History, testing::Values("journal", "lmdb"),
                         [](const auto& engine) { return std::string(engine.param); });

TEST_P(History, tells_who_did_what_and_when) {
  make("  - {name: good, command: \"true\"}\n  - {name: bad, command: exit 3}\n");
  EXPECT_EQ(here_.run({"run", "wf.torc"}).exit_code, 1);
  const json all = here_.json({"history", "wf.torc"});
  EXPECT_EQ(all.value("complete", false), std::string(GetParam()) == "journal") << all;
  const json bad = here_.json({"history", "wf.torc", "--job", "bad"})["events"];
  EXPECT_EQ(kinds(bad), (std::vector<std::string>{"claimed", "started", "finished"}));
  EXPECT_EQ(bad[2]["exit_code"], 3);
  EXPECT_EQ(bad[2]["state"], "failed");
  EXPECT_LE(bad[0]["at"], bad[2]["at"]);
  const json worker = here_.json({"history", "--worker", bad[0]["worker"].dump()})["events"];
  EXPECT_EQ(kinds(worker).front(), "registered");
  EXPECT_EQ(kinds(worker).back(), "released");
  EXPECT_EQ(worker.size(), 8U);
  EXPECT_EQ(here_.json({"history", "--limit", "2"})["events"].size(), 2U);
  EXPECT_TRUE(here_.json({"history", "--since", "2099-01-01"})["events"].empty());
  EXPECT_EQ(here_.json({"history", "--since", "2h"})["events"].size(), 8U);
  const Ended table = here_.run({"history"});
  EXPECT_TRUE(table.says("failed: exit code 3")) << table;
}

TEST_P(History, tells_that_a_worker_died_and_its_job_ran_again) {
  Fifo record(here_.path() / "record");
  Fifo gate(here_.path() / "gate");
  make("  - {name: a, command: \"echo a > record; read x < gate\"}\n");
  const auto first = here_.start({"run", "wf.torc"});
  ASSERT_TRUE(wait_for_line(record, "a", *first));
  first->kill(SIGKILL);
  (void)first->wait();
  gate.open_gate(2);
  const Ended ended = here_.run({"run", "wf.torc"});
  EXPECT_EQ(ended.exit_code, 0) << ended;
  auto told = kinds(here_.json({"history", "--job", "a"})["events"]);
  // Whether the start was reported before the worker died is a matter of milliseconds.
  if (told.size() == 6 && told[1] == "started") told.erase(told.begin() + 1);
  EXPECT_EQ(told,
            (std::vector<std::string>{"claimed", "requeued", "claimed", "started", "finished"}));
  EXPECT_EQ(here_.json({"history", "a"}), here_.json({"history", "--job", "a"}));
  const auto all = kinds(here_.json({"history"})["events"]);
  EXPECT_EQ(std::count(all.begin(), all.end(), "expired"), 1);
}

TEST_P(History, of_some_jobs_is_asked_as_of_jobs_elsewhere) {
  make(
      "  - {name: \"p_{i}\", command: echo, parameters: {i: \"1:3\"}}\n"
      "  - {name: q, command: echo, depends_on: [p_1]}\n");
  ASSERT_EQ(here_.run({"run", "wf.torc"}).exit_code, 0);
  const auto jobs = [&](std::vector<std::string> names) {
    names.insert(names.begin(), {"history", "wf.torc"});
    std::set<std::string> told;
    const json shown = here_.json(names);
    for (const json& event : shown["events"])
      told.insert(event["job"].is_null() ? "-" : event["job"].get<std::string>());
    return told;
  };
  const std::set<std::string> stage = {"p_1", "p_2", "p_3"};
  EXPECT_EQ(jobs({"stage:p"}), stage);
  EXPECT_EQ(jobs({"p_*"}), stage);
  EXPECT_EQ(jobs({"p_[23]", "q"}), (std::set<std::string>{"p_2", "p_3", "q"}));
  EXPECT_EQ(jobs({"q", "--job", "p_1"}), (std::set<std::string>{"p_1", "q"}));
  // Of changes those that concern one of them.
  ASSERT_EQ(here_.run({"reset", "q", "--yes"}).exit_code, 0);
  EXPECT_EQ(jobs({"stage:p"}), stage);
  const auto of_q = kinds(here_.json({"history", "p_3", "q"})["events"]);
  EXPECT_EQ(std::count(of_q.begin(), of_q.end(), "changed"), 1);
  EXPECT_EQ(here_.run({"history", "stage:r"}).exit_code, 2);
}

TEST_P(History, of_what_is_not_there_is_refused) {
  make("  - {name: a, command: \"true\"}\n");
  EXPECT_EQ(here_.run({"history", "--job", "b"}).exit_code, 2);
  const Ended since = here_.run({"history", "--since", "soon"});
  EXPECT_EQ(since.exit_code, 2) << since;
  EXPECT_TRUE(since.says("2026-05-01 12:00")) << since;
  EXPECT_TRUE(here_.run({"history"}).says("nothing that fits has happened") ||
              here_.run({"history"}).says("created"));
}

}  // namespace
}  // namespace torc::itest
