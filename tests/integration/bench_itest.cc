// torc bench and torc compact as processes.
#include <gtest/gtest.h>
#include <signal.h>

#include <nlohmann/json.hpp>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

using nlohmann::json;

TEST(Bench, measures_within_its_time_and_leaves_nothing_behind) {
  const Workplace here;
  std::filesystem::create_directory(here.path() / "place");
  for (const char* engine : {"journal", "lmdb"}) {
    const json report = here.json(
        {"bench", "place", "--seconds", "2", "--processes", "2", "--engine", engine, "--json"});
    const bool journal = std::string(engine) == "journal";
    for (const char* field : {"append", "publish", "one_worker", "several_workers"}) {
      ASSERT_TRUE(report[field].is_object()) << field << report;
      EXPECT_GT(report[field]["operations"], 0) << field;
    }
    EXPECT_EQ(report["several_workers"]["writers"], 2);
    EXPECT_EQ(report["several_nodes"].is_object(), journal);
    if (journal) {
      EXPECT_LE(report["one_worker"]["requests_per_commit"], 9.0);
    }
    EXPECT_EQ(report["one_worker"]["requests_per_commit"].is_null(), !journal);
    EXPECT_TRUE(std::filesystem::is_empty(here.path() / "place"));
  }
}

TEST(Bench, that_is_interrupted_leaves_nothing_behind) {
  const Workplace here;
  std::filesystem::create_directory(here.path() / "place");
  const auto process = here.start({"bench", "place", "--seconds", "600"});
  ASSERT_TRUE(wait_until({process.get()},
                         [&] { return process->err().find("appending") != std::string::npos; }));
  process->kill(SIGINT);
  const Ended ended = process->wait();
  EXPECT_EQ(ended.exit_code, 4) << ended;
  EXPECT_TRUE(std::filesystem::is_empty(here.path() / "place"));
}

TEST(Compact, shows_what_it_gained_and_refuses_lmdb_under_a_worker) {
  for (const char* engine : {"journal", "lmdb"}) {
    const Workplace here;
    Fifo record(here.path() / "record");
    Fifo gate(here.path() / "gate");
    here.write("wf.yaml", R"(name: wf
jobs:
  - {name: "j_{i}", command: "true", parameters: {i: "1:200"}, stdio: {mode: none}}
  - {name: last, command: "echo last > record; read x < gate", depends_on_regexes: ["^j_"]}
)");
    ASSERT_EQ(here.run({"init", "wf.yaml", "--engine", engine}).exit_code, 0);
    const auto worker = here.start({"run", "wf.torc"});
    ASSERT_TRUE(wait_for_line(record, "last", *worker));
    const Ended under = here.run({"compact", "--json"});
    if (std::string(engine) == "journal") {
      EXPECT_EQ(under.exit_code, 0) << under;
      EXPECT_EQ(json::parse(under.out, nullptr, false).value("registered_workers", 0), 1) << under;
    } else {
      EXPECT_EQ(under.exit_code, 4) << under;
      EXPECT_TRUE(under.says("registered as alive")) << under;
    }
    gate.open_gate(1);
    EXPECT_EQ(worker->wait().exit_code, 0);
    const json after = here.json({"compact"});
    // A journal of a few commits is smaller than the snapshot beside it.
    if (std::string(engine) == "lmdb") {
      EXPECT_LE(after["after"]["size_bytes"], after["before"]["size_bytes"]);
    }
    EXPECT_EQ(here.run({"verify"}).exit_code, 0);
    EXPECT_EQ(here.json({"status"})["jobs_by_state"]["completed"], 201);
  }
}

}  // namespace
}  // namespace torc::itest
