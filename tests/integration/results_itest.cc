// What is told of how jobs ended and what they used.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

using nlohmann::json;

// `tail` keeps what it reads as long as its input goes on.
constexpr const char* kJobs = R"(name: wf
resource_requirements:
  - {name: little, memory: 64m}
  - {name: much, memory: 900m}
execution_config: {oom_exit_code: 99}
jobs:
  - name: good
    command: "head -c 100M /dev/zero | tail -n 1 >/dev/null"
    resource_requirements: much
  - {name: bad, command: exit 3}
  - {name: killed, command: "kill -9 $$"}
  - {name: missing, command: /no/such/program}
  - name: greedy
    command: "(head -c 200M /dev/zero; exec sleep 1000) | tail >/dev/null"
    resource_requirements: little
  - {name: never, command: "true", depends_on: [bad]}
)";

class Results : public testing::TestWithParam<const char*> {
 protected:
  void run(const std::string& spec) {
    here_.write("wf.yaml", spec);
    ASSERT_EQ(here_.run({"init", "wf.yaml", "--engine", GetParam()}).exit_code, 0);
    const Ended ended =
        here_.run({"run", "wf.torc", "--num-cpus", "2", "--memory", "1g", "--num-gpus", "0"});
    ASSERT_EQ(ended.exit_code, 1) << ended;
  }
  std::map<std::string, json> by_name(std::vector<std::string> arguments) {
    std::map<std::string, json> found;
    for (const json& row : here_.json(std::move(arguments))) found[row["job"]] = row;
    return found;
  }
  Workplace here_;
};

INSTANTIATE_TEST_SUITE_P(Engines, Results, testing::Values("journal", "lmdb"),
                         [](const auto& engine) { return std::string(engine.param); });

TEST_P(Results, tell_every_ending_apart) {
  run(kJobs);
  auto rows = by_name({"results"});
  EXPECT_EQ(rows.size(), 5U) << "one that never ran has no attempt";
  EXPECT_EQ(rows["good"]["cause"], "exited");
  EXPECT_EQ(rows["good"]["exit_code"], 0);
  EXPECT_EQ(rows["bad"]["exit_code"], 3);
  EXPECT_EQ(rows["killed"]["cause"], "signaled");
  EXPECT_EQ(rows["killed"]["signal"], 9);
  EXPECT_EQ(rows["missing"]["cause"], "not_started");
  EXPECT_EQ(rows["missing"]["errno"], ENOENT);
  EXPECT_EQ(rows["greedy"]["cause"], "out_of_memory");
  EXPECT_EQ(rows["greedy"]["exit_code"], 99);
  EXPECT_GT(rows["greedy"]["peak_memory_bytes"], 64 << 20);
  EXPECT_FALSE(rows["greedy"]["host"].is_null());
  EXPECT_GT(rows["good"]["voluntary_switches"], 0);
  if (rows["bad"]["elapsed_seconds"].get<double>() < 0.05) {  // it may have waited for a processor
    EXPECT_TRUE(rows["bad"]["peak_memory_bytes"].is_null()) << "too short to be looked at";
    EXPECT_TRUE(rows["bad"]["read_bytes"].is_null());
  }
  EXPECT_FALSE(here_.run({"job", "missing"}).says("used")) << "it never ran";
  EXPECT_FALSE(here_.run({"job", "never"}).says("used"));
  EXPECT_TRUE(here_.run({"job", "good"}).says("storage"));
  EXPECT_TRUE(here_.run({"results"}).says("99:9"));
  EXPECT_TRUE(here_.run({"results", "killed"}).says("0:9"));
  EXPECT_EQ(by_name({"results", "wf.torc", "bad"}).size(), 1U);
  EXPECT_EQ(by_name({"results", "--failed"}).size(), 4U);
  EXPECT_EQ(by_name({"results", "--state", "completed"}).size(), 1U);
  EXPECT_EQ(here_.run({"results", "nobody"}).exit_code, 2);
  const auto csv = lines_of(here_.run({"results", "--csv"}).out);
  ASSERT_EQ(csv.size(), 6U);
  EXPECT_TRUE(csv[0].starts_with("job_id,job,attempt,state,cause,exit_code,signal,errno,"))
      << csv[0];
  EXPECT_TRUE(csv[3].starts_with("3,killed,1,failed,signaled,,9,,")) << csv[3];
  EXPECT_EQ(here_.run({"results", "--csv", "--json"}).exit_code, 2);
}

TEST_P(Results, earlier_attempts_are_told_by_either_engine) {
  run(R"(name: wf
failure_handlers: [{name: h, rules: [{exit_codes: [3], max_retries: 2}]}]
jobs: [{name: a, command: exit 3, failure_handler: h}]
)");
  EXPECT_EQ(here_.json({"results"}).size(), 1U);
  const json all = here_.json({"results", "--all-attempts"});
  ASSERT_EQ(all.size(), 3U) << all;
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(all[i]["attempt"], i + 1);
    EXPECT_EQ(all[i]["exit_code"], 3);
    EXPECT_EQ(all[i]["state"], "failed");
  }
  EXPECT_EQ(here_.run({"results", "--all-attempts"}).err, "");
  const Ended one = here_.run({"job", "a"});
  EXPECT_TRUE(one.says("before       2 on ")) << one;
  EXPECT_TRUE(one.says("             1 on ")) << one;
  // A result that was thrown away stays known, also while the job runs again or is not reached.
  EXPECT_EQ(here_.run({"reset", "--all", "--yes"}).exit_code, 0);
  EXPECT_EQ(here_.json({"results", "--all-attempts"}).size(), 3U);
  EXPECT_EQ(here_.run({"verify"}).exit_code, 0);
}

TEST_P(Results, a_job_that_was_held_has_no_attempt_for_it) {
  here_.write("wf.yaml", R"(name: wf
failure_handlers: [{name: h, rules: [{exit_codes: [3], max_retries: 1, backoff: PT1H}]}]
jobs: [{name: never, command: "true"}, {name: once, command: exit 3, failure_handler: h}]
)");
  ASSERT_EQ(here_.run({"init", "wf.yaml", "--engine", GetParam()}).exit_code, 0);
  ASSERT_EQ(here_.run({"hold", "wf.torc", "never"}).exit_code, 0);
  (void)here_.run({"run", "wf.torc", "--num-cpus", "1", "--idle-timeout", "1s"});
  for (const char* then : {"hold", "release", "hold"})
    ASSERT_EQ(here_.run({then, "wf.torc", "once"}).exit_code, 0) << then;
  const json all = here_.json({"results", "--all-attempts"});
  ASSERT_EQ(all.size(), 1U) << all;
  EXPECT_EQ(all[0]["job"], "once");
  EXPECT_EQ(all[0]["attempt"], 1);
  EXPECT_EQ(all[0]["exit_code"], 3);
}

TEST_P(Results, resources_tell_who_wastes_and_who_needs_more) {
  run(kJobs);
  std::map<std::string, json> entries;
  for (const json& row : here_.json({"resources"})) entries[row["first_job"]] = row;
  EXPECT_EQ(entries.size(), 4U) << "of what did not run nothing is known";
  EXPECT_EQ(entries["good"]["problems"], json::array({"wastes_memory"}));
  EXPECT_LT(entries["good"]["suggested_memory_bytes"], 900 << 20);
  EXPECT_EQ(entries["greedy"]["problems"], json::array({"out_of_memory"}));
  EXPECT_GE(entries["greedy"]["suggested_memory_bytes"], 128 << 20);
  EXPECT_TRUE(entries["bad"]["memory_bytes"].is_null()) << "it declares none";
  EXPECT_TRUE(here_.run({"resources"}).says("wastes memory"));
}

TEST_P(Results, resources_name_an_entry_as_it_is_written_and_suggest_a_runtime) {
  here_.write("wf.yaml", R"(name: wf
jobs:
  - {name: "simulate_{r}_{i:03d}", command: "true", parameters: {r: "1:3", i: "1:2"}}
)");
  ASSERT_EQ(here_.run({"run", "wf.yaml", "--engine", GetParam()}).exit_code, 0);
  const auto lines = lines_of(here_.run({"resources"}).out);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_TRUE(lines[1].starts_with("simulate_{r}_{i} ")) << lines[1];
  EXPECT_NE(lines[1].find(" 1 min"), std::string::npos) << lines[1];
}

TEST_P(Results, a_checkpoint_is_told_as_one) {
  here_.write("wf.yaml", R"(name: wf
jobs:
  - name: a
    command: "test -e saved && exit 0; trap 'touch saved; exit 85' TERM; sleep 1000 & echo up > record; wait"
    checkpoint_exit_code: 85
)");
  Fifo record(here_.path() / "record");
  ASSERT_EQ(here_.run({"init", "wf.yaml", "--engine", GetParam()}).exit_code, 0);
  const auto worker = here_.start({"worker", "wf.torc"});
  ASSERT_TRUE(wait_for_line(record, "up", *worker)) << worker->err();
  worker->kill(SIGTERM);
  const Ended ended = worker->wait();
  EXPECT_TRUE(ended.says("0 completed, 0 failed, 1 given back")) << ended;
  EXPECT_TRUE(here_.run({"results"}).says("checkpoint"));
  EXPECT_TRUE(here_.run({"job", "a"}).says("saved its state"));
  EXPECT_EQ(here_.run({"run", "wf.torc"}).exit_code, 0);
  const auto all = here_.json({"results", "--all-attempts"});
  ASSERT_EQ(all.size(), 2U) << all;
  EXPECT_EQ(all[0]["state"], "ready") << "it had not failed";
  EXPECT_EQ(all[1]["state"], "completed");
}

// --- time series ---

// The job itself waits until its series can be read: no longer than that, and while it runs.
TEST_P(Results, a_time_series_is_read_while_its_job_runs) {
  here_.write("wf.yaml", std::string(R"(name: wf
resource_monitor: {granularity: time_series, sample_interval_seconds: 1}
jobs:
  - name: a
    command: "head -c 3000000 /dev/zero >big; until )") +
                             TORC_PROGRAM + R"( resources wf.torc --series a; do sleep 0.1; done"
  - {name: b, command: "true"}
)");
  ASSERT_EQ(here_.run({"init", "wf.yaml", "--engine", GetParam()}).exit_code, 0);
  const Ended ended = here_.run({"run", "wf.torc", "--num-cpus", "2", "--num-gpus", "0"});
  ASSERT_EQ(ended.exit_code, 0) << ended;
  const json series = here_.json({"resources", "--series", "a"});
  EXPECT_EQ(series["job"], "a");
  EXPECT_EQ(series["attempt"], 1);
  ASSERT_GE(series["points"].size(), 1U);
  const json& last = series["points"].back();
  EXPECT_GE(last["written_bytes"], 3'000'000);
  EXPECT_GE(last["processes"], 1);
  EXPECT_GT(last["used_memory_bytes"], 0);
  EXPECT_TRUE(here_.run({"resources", "wf.torc", "--series", "a", "--attempt", "1"}).says("CPUs"));
  const Ended none = here_.run({"resources", "--series", "b"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_TRUE(none.says("no time series")) << none;
  EXPECT_EQ(here_.run({"resources", "--series", "nobody"}).exit_code, 2);
  EXPECT_EQ(here_.run({"resources", "--attempt", "1"}).exit_code, 2);
  EXPECT_GT(by_name({"results"})["a"]["written_bytes"], 3'000'000);
}

TEST_P(Results, a_bound_job_runs_on_one_cpu) {
  here_.write("wf.yaml", R"(name: wf
execution_config: {enable_cpu_bind: true}
jobs: [{name: a, command: "grep Cpus_allowed_list /proc/self/status | grep -E '\\s[0-9]+$'"}]
)");
  ASSERT_EQ(here_.run({"init", "wf.yaml", "--engine", GetParam()}).exit_code, 0);
  const Ended ended = here_.run({"run", "wf.torc", "--num-gpus", "0"});
  EXPECT_EQ(ended.exit_code, 0) << ended;
}

TEST_P(Results, are_of_jobs_by_globs_stages_and_several_states) {
  run(R"(name: wf
jobs:
  - {name: 'a_{i}', command: "test {i} != 2", parameters: {i: "1:3"}}
  - {name: b, command: "true"}
)");
  const auto rows = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "results");
    return here_.json(words).size();
  };
  EXPECT_EQ(rows({"a_*"}), 3U);
  EXPECT_EQ(rows({"stage:a", "b"}), 4U);
  EXPECT_EQ(rows({"a_*", "--failed"}), 1U);
  EXPECT_EQ(rows({"--state", "failed,completed"}), 4U);
  EXPECT_EQ(rows({"b", "--state", "failed"}), 0U);
  EXPECT_EQ(here_.run({"results", "c_*"}).exit_code, 2);
  EXPECT_EQ(here_.run({"results", "--state", "gone"}).exit_code, 2);
}

}  // namespace
}  // namespace torc::itest
