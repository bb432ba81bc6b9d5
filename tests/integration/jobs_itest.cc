// What jobs see, where their output goes, and what scripts learn of them afterwards.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

using nlohmann::json;

TEST(Job, sees_who_it_is_and_what_it_may_use) {
  const Workplace here;
  here.write("wf.yaml", R"(name: my wf
env: {COMMON: workflow, MINE: workflow}
resource_requirements:
  - {name: two, num_cpus: 2, memory: 3m}
jobs:
  - name: other
    command: "true"
  - name: show
    command: env; pwd
    env: {MINE: job}
    resource_requirements: two
)");
  Launch launch =
      here.torc({"run", "wf.yaml", "--store", "s.torc", "--num-cpus", "2", "--num-gpus", "0"});
  launch.env["TORC_JOB_NAME"] = "of somebody else";
  launch.env["FROM_OUTSIDE"] = "yes";
  const Ended ended = run(launch);
  ASSERT_EQ(ended.exit_code, 0) << ended;
  const auto seen = lines_of(here.run({"logs", "show"}).out);
  const auto has = [&](const std::string& line) {
    return std::find(seen.begin(), seen.end(), line) != seen.end();
  };
  const std::string id = here.json({"status"})["store_id"].get<std::string>();
  const std::string store = (here.path() / "s.torc").string();
  for (const std::string& line :
       {"TORC_STORE=" + store, std::string("TORC_WORKFLOW_NAME=my wf"), "TORC_WORKFLOW_ID=" + id,
        std::string("TORC_JOB_ID=2"), std::string("TORC_JOB_NAME=show"),
        std::string("TORC_ATTEMPT_ID=1"), "TORC_OUTPUT_DIR=" + store + "/logs/jobs",
        std::string("TORC_NUM_CPUS=2"), std::string("TORC_NUM_GPUS=0"),
        std::string("TORC_MEMORY_BYTES=3145728"), std::string("OMP_NUM_THREADS=2"),
        std::string("COMMON=workflow"), std::string("MINE=job"), std::string("FROM_OUTSIDE=yes"),
        here.path().string()}) {
    EXPECT_TRUE(has(line)) << line;
  }
  EXPECT_TRUE(std::any_of(seen.begin(), seen.end(), [&](const std::string& line) {
    return line.starts_with("TORC_ATTEMPT_DIR=" + store);
  }));
  EXPECT_EQ(std::count_if(seen.begin(), seen.end(),
                          [](const auto& l) { return l.starts_with("TORC_JOB_NAME="); }),
            1);
  // A machine with GPUs hides them from a job that asked for none; one without says nothing about
  // them.
  for (const std::string& line : seen) {
    for (const std::string variable :
         {"CUDA_VISIBLE_DEVICES=", "ROCR_VISIBLE_DEVICES=", "ZE_AFFINITY_MASK="}) {
      if (line.starts_with(variable)) {
        EXPECT_EQ(line, variable);
      }
    }
  }
}

TEST(Job, output_goes_where_its_stdio_mode_says) {
  const Workplace here;
  std::string spec = "name: wf\njobs:\n";
  for (const std::string mode : {"separate", "combined", "no_stdout", "no_stderr", "none"}) {
    spec += fmt::format(
        "  - {{name: {0}, command: echo out; echo err >&2, stdio: {{mode: {0}}}}}\n", mode);
  }
  spec += "  - {name: tidy, command: echo out, stdio: {mode: separate, delete_on_success: true}}\n";
  here.write("wf.yaml", spec);
  ASSERT_EQ(here.run({"run", "wf.yaml"}).exit_code, 0);
  EXPECT_EQ(here.run({"logs", "separate"}).out, "out\n");
  EXPECT_EQ(here.run({"logs", "separate", "--stderr"}).out, "err\n");
  EXPECT_EQ(here.run({"logs", "combined"}).out, "out\nerr\n");
  EXPECT_EQ(here.run({"logs", "combined", "--stderr"}).out, "out\nerr\n");
  EXPECT_EQ(here.run({"logs", "no_stdout", "--stderr"}).out, "err\n");
  EXPECT_EQ(here.run({"logs", "no_stderr"}).out, "out\n");
  for (const auto& [job, flag] : {std::pair{"no_stdout", ""},
                                  {"no_stderr", "--stderr"},
                                  {"none", ""},
                                  {"none", "--stderr"}}) {
    std::vector<std::string> arguments{"logs", job};
    if (*flag != '\0') arguments.emplace_back(flag);
    const Ended ended = here.run(arguments);
    EXPECT_EQ(ended.exit_code, 2) << ended;
    EXPECT_TRUE(ended.says("is not kept")) << ended;
  }
  const Ended gone = here.run({"logs", "tidy"});
  EXPECT_EQ(gone.exit_code, 4) << gone;
  EXPECT_TRUE(gone.says("delete_on_success")) << gone;

  const json files = here.json({"logs", "separate"});
  EXPECT_EQ(files["stdout"]["size_bytes"], 4);
  EXPECT_EQ(read_text(files["stdout"]["file"].get<std::string>()), "out\n");
  EXPECT_EQ(here.run({"logs", "separate", "--path"}).out,
            files["stdout"]["file"].get<std::string>() + "\n");
}

// Short jobs are handed to threads that begin one after the other; when longer ones follow, what
// was handed over comes back before it was begun, with the files that it had got.
TEST(Job, output_is_its_own_where_long_jobs_follow_short_ones) {
  const Workplace here;
  here.write("wf.yaml", R"(name: wf
execution_config: {stdio: {mode: separate}}
jobs:
  - {name: quick, command: "true"}
  - name: "long_{i}"
    command: "echo out {i}; sleep 0.3; echo err {i} >&2"
    parameters: {i: "1:8"}
    depends_on: quick
  - {name: last, command: "echo out last; echo err last >&2", depends_on: "long_{i}"}
)");
  ASSERT_EQ(here.run({"run", "wf.yaml", "--num-cpus", "2"}).exit_code, 0);
  for (const std::string which : {"1", "2", "3", "4", "5", "6", "7", "8", "last"}) {
    const std::string job = which == "last" ? which : "long_" + which;
    EXPECT_EQ(here.run({"logs", job}).out, "out " + which + "\n");
    EXPECT_EQ(here.run({"logs", job, "--stderr"}).out, "err " + which + "\n");
  }
}

TEST(Job, output_goes_to_the_directory_of_the_flag) {
  const Workplace here;
  here.write("wf.yaml", "name: wf\njobs:\n  - {name: a, command: echo hello}\n");
  ASSERT_EQ(here.run({"run", "wf.yaml", "--output-dir", "elsewhere"}).exit_code, 0);
  EXPECT_TRUE(
      here.run({"logs", "a", "--path"}).out.starts_with((here.path() / "elsewhere").string()));
  EXPECT_EQ(here.run({"logs", "a"}).out, "hello\n");
}

TEST(Json, has_the_documented_names) {
  const Workplace here;
  Fifo record(here.path() / "record");
  Fifo gate(here.path() / "gate");
  here.write("wf.yaml", R"(name: wf
slurm_schedulers: [{name: big}]
jobs:
  - {name: a, command: "true"}
  - {name: b, command: echo b > record; read x < gate, depends_on: [a]}
  - {name: c, command: "true", depends_on: [b]}
)");
  const json made = here.json({"init", "wf.yaml", "--engine", "journal"});
  EXPECT_EQ(made["jobs"], 3);
  EXPECT_EQ(made["store"], (here.path() / "wf.torc").string());
  EXPECT_EQ(made["scripts"], json::array({(here.path() / "wf.torc/slurm/big.sbatch").string()}));

  const auto process = here.start({"run"});
  ASSERT_TRUE(wait_for_line(record, "b", *process));
  ASSERT_TRUE(here.wait_for_state("wf.torc", "b", "running"));
  const json status = here.json({"status"});
  EXPECT_EQ(status["workflow"], "wf");
  EXPECT_EQ(status["state"], "running");
  EXPECT_EQ(status["jobs_by_state"]["running"], 1);
  ASSERT_EQ(status["workers"].size(), 1U);
  EXPECT_EQ(status["workers"][0]["pid"], process->pid());
  EXPECT_EQ(status["workers"][0]["allocation"], nullptr);
  gate.open_gate(1);
  EXPECT_EQ(process->wait().exit_code, 0);

  const json jobs = here.json({"jobs"});
  ASSERT_EQ(jobs.size(), 3U);
  EXPECT_EQ(jobs[0]["job_id"], 1);
  EXPECT_EQ(jobs[0]["job"], "a");
  EXPECT_TRUE(jobs[0]["peak_memory_bytes"].is_null()) << "too short to be looked at";
  EXPECT_GE(jobs[0]["ended_at"].get<double>(), jobs[0]["started_at"].get<double>());
  EXPECT_LE(jobs[0]["ended_at"].get<double>(), jobs[1]["ended_at"].get<double>());
  EXPECT_EQ(here.json({"job", "#1"})["job"], "a");

  EXPECT_EQ(here.json({"jobs", "--name", "^[ab]$"}).size(), 2U);
  EXPECT_EQ(here.json({"jobs", "--state", "completed"}).size(), 3U);
  EXPECT_EQ(here.json({"jobs", "--state", "failed"}), json::array());
  EXPECT_EQ(here.json({"jobs", "--limit", "1"}).size(), 1U);
  EXPECT_EQ(here.json({"verify"})["clean"], true);
  EXPECT_EQ(here.json({"check", "wf.yaml"})["valid"], true);
  EXPECT_EQ(here.json({"status"})["state"], "completed");
}

TEST(Job, that_waits_tells_its_needs_and_all_that_it_waits_for) {
  const Workplace here;
  const std::string spec =
      "name: wf\nresource_requirements: [{name: big, num_cpus: 3, memory: 2g, "
      "num_gpus: 1, runtime: PT1H}]\njobs:\n"
      "  - {name: \"a_{i}\", command: \"true\", parameters: {i: \"1:300\"}}\n"
      "  - {name: z, command: \"true\"}\n"
      "  - name: all\n    command: \"true\"\n    resource_requirements: big\n"
      "    label: fast\n    priority: 7\n    depends: {afterany: [z]}\n"
      "    depends_on_regexes: [\"^a_\"]\n";
  here.write("wf.yaml", spec);
  const Ended made = here.run({"init", "wf.yaml"});
  ASSERT_EQ(made.exit_code, 0) << made;
  const json job = here.json({"job", "all"});
  EXPECT_EQ(job["priority"], 7);
  EXPECT_EQ(job["cpus"], 3);
  EXPECT_EQ(job["memory_bytes"], std::uint64_t{2} << 30);
  EXPECT_EQ(job["gpus"], 1);
  EXPECT_EQ(job["runtime_seconds"], 3600);
  EXPECT_EQ(job["scheduler"], nullptr);
  EXPECT_EQ(job["label"], "fast");
  EXPECT_EQ(job["waits_for"].size(), 100U);
  EXPECT_EQ(job["unmet_conditions"], 301);
  EXPECT_EQ(job["waits_for"][0]["job"], "a_1");
  EXPECT_EQ(job["waits_for"][0]["condition"], "afterok");
  EXPECT_EQ(job["waits_for"][0]["state"], "ready");
  EXPECT_EQ(job["storage_read_bytes"], nullptr) << "it never ran";
  EXPECT_EQ(job["voluntary_switches"], nullptr);
  EXPECT_EQ(job["cpu_seconds"], nullptr);
}

TEST(Job, that_cannot_start_says_what_is_missing_everywhere) {
  const Workplace here;
  here.write("wf.yaml", R"(name: wf
jobs:
  - {name: slip, command: nosuchprog --fast}
  - {name: file, command: ./not_executable}
)");
  here.write("not_executable", "");
  const Ended ran = here.run({"run", "wf.yaml", "--num-cpus", "1"});
  EXPECT_EQ(ran.exit_code, 1) << ran;
  const std::string slip = "could not start: no program 'nosuchprog' in PATH";
  const std::string file = "could not start: the program './not_executable' may not be executed";
  EXPECT_TRUE(ran.says(slip)) << ran;
  EXPECT_TRUE(ran.says(file)) << ran;
  for (const std::vector<std::string>& command : {std::vector<std::string>{"status"},
                                                  {"job", "slip"},
                                                  {"why", "slip"},
                                                  {"logs", "--failed"}}) {
    const Ended told = here.run(command);
    EXPECT_TRUE(told.says("'nosuchprog' in PATH")) << told;  // `why` breaks lines
  }
  EXPECT_TRUE(here.run({"status"}).says(file));
  EXPECT_FALSE(here.run({"why", "slip"}).says("torc logs")) << "it printed nothing";
}

TEST(Job, its_output_is_found_after_the_store_was_moved) {
  const Workplace here;
  here.write("wf.yaml", "name: wf\njobs:\n  - {name: j, command: echo kept}\n");
  ASSERT_EQ(here.run({"run", "wf.yaml"}).exit_code, 0);
  std::filesystem::rename(here.path() / "wf.torc", here.path() / "elsewhere.torc");
  const Ended logs = here.run({"logs", "elsewhere.torc", "j"});
  EXPECT_EQ(logs.exit_code, 0) << logs;
  EXPECT_EQ(logs.out, "kept\n");
}

TEST(Job, whose_output_is_gone_says_where_it_was) {
  const Workplace here;
  here.write("wf.yaml", "name: wf\njobs:\n  - {name: j, command: echo kept}\n");
  ASSERT_EQ(here.run({"run", "wf.yaml"}).exit_code, 0);
  std::filesystem::remove_all(here.path() / "wf.torc/logs/jobs");
  const Ended deleted = here.run({"logs", "j"});
  EXPECT_EQ(deleted.exit_code, 4) << deleted;
  EXPECT_TRUE(deleted.says("it has been deleted since")) << deleted;

  ASSERT_EQ(here.run({"run", "wf.yaml", "--store", "b.torc", "--output-dir", "out"}).exit_code, 0);
  std::filesystem::remove_all(here.path() / "out");
  const Ended elsewhere = here.run({"logs", "b.torc", "j"});
  EXPECT_EQ(elsewhere.exit_code, 4) << elsewhere;
  EXPECT_TRUE(elsewhere.says("with an --output-dir")) << elsewhere;
}

TEST(Job, that_no_live_worker_could_take_is_shown_by_status_with_its_needs) {
  const Workplace here;
  Fifo record(here.path() / "record");
  Fifo gate(here.path() / "gate");
  here.write("wf.yaml", R"(name: wf
resource_requirements:
  - {name: huge, num_cpus: 999, memory: 1g}
jobs:
  - {name: long, command: echo long > record; read x < gate}
  - {name: wide, command: "true", resource_requirements: huge}
  - {name: wider, command: "true", resource_requirements: huge, priority: -1}
)");
  const auto process = here.start({"run", "wf.yaml", "--num-cpus", "2", "--grace", "0s"});
  ASSERT_TRUE(wait_for_line(record, "long", *process)) << process->err();
  const json unserved = here.json({"status"})["unserved"];
  ASSERT_EQ(unserved.size(), 1U);
  EXPECT_EQ(unserved[0]["first_job"], "wide");
  EXPECT_EQ(unserved[0]["needs"], "999 CPUs, 1 GiB");
  EXPECT_EQ(unserved[0]["jobs"], 2);
  const Ended status = here.run({"status"});
  EXPECT_TRUE(status.says("no worker that is there could ever run them")) << status;
  EXPECT_TRUE(status.says("   2  wide   999 CPUs, 1 GiB")) << status;
  process->kill(SIGTERM);
  process->wait();
}

TEST(Job, whose_name_holds_control_characters_is_shown_without_them) {
  const Workplace here;
  here.write("wf.yaml", "name: wf\njobs:\n  - {name: \"a\\tb\", command: \"false\"}\n");
  const Ended ran = here.run({"run", "wf.yaml"});
  if (ran.exit_code == 2) return;  // refused by name: nothing to show
  for (const char* command : {"status", "jobs"}) {
    const Ended shown = here.run({command});
    EXPECT_TRUE(shown.says("a\\tb")) << shown;
    EXPECT_EQ(shown.out.find('\t'), std::string::npos) << shown;
  }
}

}  // namespace
}  // namespace torc::itest
