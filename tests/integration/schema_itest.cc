// docs/schema/: what torc prints with --json, as JSON Schemas say it. Every command that has the
// flag, as its own help tells, is run and held to its schema.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Words = std::vector<std::string>;

const Path kSchemas = Path(TORC_SOURCE_DIR) / "docs/schema";

// Exit code 77: python3 has no jsonschema.
Ended validate(const Workplace& here, const Path& schemas, const json& documents) {
  const Path list = here.write("documents.json", documents.dump());
  const Path program = Path(TORC_SOURCE_DIR) / "tests/integration/validate_documents.py";
  return run({{"/usr/bin/env", "python3", program, schemas, list}, {}, here.path(), {}, {}});
}

// What the help of a command tells of it.
struct Help {
  bool json = false;
  Words actions;  // "get", …, where a positional says which there are
  Words subcommands;
};

Words split(const std::string& text, char at) {
  Words parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, at);) parts.push_back(part);
  return parts;
}

Help help_of(const Workplace& here, Words command) {
  command.emplace_back("--help");
  const Ended ended = here.run(command);
  EXPECT_EQ(ended.exit_code, 0) << ended;
  Help help;
  std::string section;
  for (const std::string& line : lines_of(ended.out)) {
    if (!line.starts_with("  ")) {
      section = line;
      continue;
    }
    std::string word;
    std::istringstream(line) >> word;
    if (line[2] == ' ') continue;  // the text of a flag
    const bool of_flags = section == "Options:" || section == "Positionals:";
    const bool of_commands =
        section.ends_with(':') && section != "First steps:" && section != "Examples:" && !of_flags;
    if (of_commands) help.subcommands.push_back(word);
    if (section == "Options:" && word == "--json") help.json = true;
    std::string argument, choices;
    std::istringstream(line) >> argument >> choices;
    const bool are_words =
        choices.find_first_not_of("abcdefghijklmnopqrstuvwxyz|") == std::string::npos;
    if (section == "Positionals:" && are_words && choices.find('|') != std::string::npos)
      help.actions = split(choices, '|');
  }
  return help;
}

// The names of the schemas that there have to be: "status", "data-get", …
std::set<std::string> wanted_schemas(const Workplace& here, const Words& command = {}) {
  std::set<std::string> wanted;
  const Help help = help_of(here, command);
  std::string name;
  for (const std::string& word : command) name += (name.empty() ? "" : "-") + word;
  if (help.json && help.actions.empty()) wanted.insert(name);
  for (const std::string& action : help.actions) {
    if (help.json) wanted.insert(name + "-" + action);
  }
  for (const std::string& subcommand : help.subcommands) {
    Words longer = command;
    longer.push_back(subcommand);
    wanted.merge(wanted_schemas(here, longer));
  }
  return wanted;
}

std::string said(const Words& words) {
  std::string line = "torc";
  for (const std::string& word : words) line += " " + word;
  return line;
}

constexpr const char* kBad = "name: wf\njobs: [{name: a, comand: b}]\n";

// TORC stands for the program. The last job waits until the others and what is measured of it can
// be seen.
constexpr const char* kSpec = R"(name: wf
user_data:
  - {name: threshold, data: {a: [1, null], b: {c: text}}}
  - {name: found}
files: [{name: input, path: input.txt}]
resource_requirements:
  - {name: small, num_cpus: 1, memory: 400m, runtime: PT10M}
  - {name: huge, num_cpus: 512}
slurm_schedulers: [{name: big, account: lab, walltime: "01:00:00"}]
resource_monitor: {granularity: time_series, sample_interval_seconds: 1}
failure_handlers:
  - name: again
    rules: [{exit_codes: [3], max_retries: 1}, {exit_codes: [4], backoff: PT1H}]
budget: {core_hours: 10, node_hours: 20}
limits: {"good_{i}": 2}
actions:
  - {trigger_type: on_workflow_start, action_type: run_commands, commands: ["echo started"]}
  - {trigger_type: on_worker_start, action_type: run_commands, commands: ["true", "true"]}
  - {trigger_type: on_jobs_complete, action_type: run_commands, jobs: [bad], commands: ["exit 5"]}
  - {trigger_type: on_jobs_ready, action_type: run_commands, jobs: [blocked], commands: ["true"]}
jobs:
  - {name: "good_{i}", command: "echo {i}", resource_requirements: small, parameters: {i: "1:3"}}
  - {name: bad, command: exit 3, failure_handler: again}
  - {name: later, command: exit 4, failure_handler: again}
  - {name: killed, command: "kill -9 $$"}
  - {name: missing, command: /no/such/program}
  - {name: packed, command: echo, stdio: {mode: packed}}
  - {name: combined, command: echo, stdio: {mode: combined}}
  - {name: silent, command: echo, stdio: {mode: none}}
  - {name: reader, command: "cat ${files.input.input}"}
  - {name: maker, command: "TORC data set ${user_data.output.found} 7 --json > set.json"}
  - {name: huge, command: "true", resource_requirements: huge}
  - {name: kept, command: "true"}
  - {name: bound, command: "true", scheduler: big, label: fast}
  - {name: blocked, command: "true", depends_on: [bad]}
  - {name: dropped, command: "true", depends_on: [bad], cancel_on_blocking_job_failure: true}
  - {name: unneeded, command: "true", depends: {afternotok: [good_1]}}
  - name: spawner
    command: >-
      TORC spawn --name tried --command true --dry-run --json > dry-run.json;
      TORC spawn --name child --command true --state '{"n": [1]}' --json > spawn.json;
      TORC spawn --name wrong --command true --depends-on nobody --json > wrong.json; true
  - name: waiting
    command: >-
      until TORC resources wf.torc --series waiting && TORC jobs wf.torc --state delayed | grep later;
      do sleep 0.1; done; echo up > record; read x < gate
    depends: {afterany: [bad, killed, missing, packed, combined, silent, reader, maker, spawner, "good_{i}"]}
    resource_requirements: small
)";

std::string with_program(std::string text) {
  for (std::size_t at = 0; (at = text.find("TORC ", at)) != std::string::npos;)
    text.replace(at, 4, TORC_PROGRAM);
  return text;
}

class JsonSchema : public testing::Test {
 protected:
  // Runs it with --json; what it prints is to fit `schema`, which is one of its command.
  json take(const std::string& schema, const Words& words, int exit_code = 0) {
    return take(schema, here_.torc(words), exit_code);
  }
  json take(const std::string& schema, Launch launch, int exit_code = 0) {
    const Words words(launch.argv.begin() + 1, launch.argv.end());
    EXPECT_TRUE(schema == words[0] || schema.starts_with(words[0] + "-")) << schema;
    launch.argv.emplace_back("--json");
    const Ended ended = run(launch);
    EXPECT_EQ(ended.exit_code, exit_code) << said(words) << ": " << ended;
    return note(schema, said(words), ended.out);
  }
  json note(const std::string& schema, const std::string& from, const std::string& text) {
    json document = json::parse(text, nullptr, false);
    EXPECT_FALSE(document.is_discarded()) << from << ": " << text;
    used_.insert(schema);
    documents_.push_back({{"schema", schema}, {"from", from}, {"document", document}});
    return document;
  }
  // As on a node that never saw the store.
  [[nodiscard]] Launch elsewhere(const Words& words) {
    Launch launch = here_.torc(words);
    launch.env["TMPDIR"] = here_.new_tmpdir("node" + std::to_string(++nodes_)).string();
    return launch;
  }

  void look_at_files();
  void run_workflow();
  void look_while_it_runs();
  void look_afterwards();
  void look_at_each_job();
  void use_data();
  void change_jobs();
  void maintain_the_store();
  void look_at_the_cluster();
  void ask_for_allocations();
  void repair_a_journal();
  void go_on_with_lmdb();
  void try_out_a_directory();
  void trust_a_store();

  const Workplace here_;
  json documents_ = json::array();
  std::set<std::string> used_;
  int nodes_ = 0;
};

void JsonSchema::look_at_files() {
  here_.write("input.txt", "1\n");
  here_.write("wf.yaml", with_program(kSpec));
  here_.write("bad.yaml", kBad);
  for (const std::string command : {"check", "plan", "graph"}) {
    take(command, {command, "wf.yaml"});
    take(command, {command, "bad.yaml"}, 2);
  }
  here_.write("job.sh", "#!/bin/sh\n#TORC --cpus 1 --array 1-2\necho hi\n");
  take("check", {"check", "job.sh"});
  EXPECT_EQ(take("init", {"init", "wf.yaml", "--engine", "journal"})["scripts"].size(), 1U);
  take("init", {"init", "bad.yaml"}, 2);
  take("run", {"run", "bad.yaml"}, 2);
  take("graph", {"graph", "wf.torc"});
  take("status", {"status", "wf.torc"});
  take("status", {"status", "wf.torc", "--stages"});
  take("resources", {"resources", "wf.torc"});
  take("results", {"results", "wf.torc"});
}

void JsonSchema::run_workflow() {
  for (int i = 0; i < 2; ++i) take("hold", {"hold", "wf.torc", "kept"});
  take("hold", {"hold", "wf.torc", "--name", "^b", "--dry-run"});
  Fifo record(here_.path() / "record");
  Fifo gate(here_.path() / "gate");
  const auto worker = here_.start(
      {"run", "wf.torc", "--json", "--num-cpus", "2", "--memory", "1g", "--num-gpus", "0"});
  ASSERT_TRUE(wait_for_line(record, "up", *worker)) << worker->err();
  look_while_it_runs();
  take("cancel", {"cancel", "wf.torc", "later"});
  gate.open_gate(1);
  const Ended ended = worker->wait();
  EXPECT_EQ(ended.exit_code, 1) << ended;
  note("run", "torc run of a store", ended.out);
  note("spawn", "torc spawn within a job", read_text(here_.path() / "spawn.json"));
  note("spawn", "torc spawn --dry-run within a job", read_text(here_.path() / "dry-run.json"));
  note("spawn", "torc spawn of what is wrong", read_text(here_.path() / "wrong.json"));
  note("data-set", "torc data set within a job", read_text(here_.path() / "set.json"));
}

void JsonSchema::look_while_it_runs() {
  const json status = take("status", {"status", "wf.torc"});
  EXPECT_EQ(status["jobs_by_state"]["running"], 1) << status;
  EXPECT_EQ(status["workers"].size(), 1U) << status;
  EXPECT_EQ(status["unserved"].size(), 1U) << status;
  EXPECT_EQ(status["jobs_by_state"]["delayed"], 1) << status;
  EXPECT_GE(take("node", {"node"})["workers"].size(), 1U) << "others of this node count, too";
  take("logs", {"logs", "wf.torc", "waiting"});
  take("actions", {"actions", "wf.torc"});
  take("compact", {"compact", "wf.torc"});
  take("backup", {"backup", "wf.torc", "copy-while.torc"});
  look_at_each_job();
}

void JsonSchema::look_at_each_job() {
  for (const json& job : take("jobs", {"jobs", "wf.torc"})) {
    const std::string name = job["job"];
    take("job", {"job", "wf.torc", name});
    take("why", {"why", "wf.torc", name});
  }
}

void JsonSchema::look_afterwards() {
  const json status = take("status", {"status", "wf.torc"});
  for (const char* state : {"completed", "failed", "canceled", "blocked", "held", "ready"})
    EXPECT_GE(status["jobs_by_state"][state], 1) << state << status;
  EXPECT_TRUE(status["budget"].is_object()) << status;
  EXPECT_EQ(status["actions"], 4) << status;
  EXPECT_EQ(status["limits"].size(), 1U) << status;
  EXPECT_GE(status["failures"].size(), 3U) << status;
  look_at_each_job();
  take("jobs", {"jobs", "wf.torc", "--state", "delayed"});
  take("graph", {"graph", "wf.torc"});
  EXPECT_GE(take("results", {"results", "wf.torc"}).size(), 8U);
  EXPECT_GT(take("results", {"results", "wf.torc", "--all-attempts"}).size(),
            take("results", {"results", "wf.torc", "--failed"}).size());
  EXPECT_GE(take("resources", {"resources", "wf.torc"}).size(), 8U);
  take("resources-apply", {"resources", "wf.torc", "--apply", "wf.yaml", "--dry-run"});
  const json series = take("resources-series", {"resources", "wf.torc", "--series", "waiting"});
  EXPECT_GE(series["points"].size(), 1U) << series;
  EXPECT_GE(take("logs-diagnose", {"logs", "wf.torc", "--diagnose"})["diagnosed"].size(), 3U);
  EXPECT_GE(take("recover", {"recover", "wf.torc", "--dry-run"})["failure_groups"].size(), 2U);
  const json cleaned = take("clean", {"clean", "wf.torc", "--completed", "--dry-run"});
  EXPECT_GE(cleaned["freed_output"]["files"], 1) << cleaned;
  take("clean", {"clean", "--exec", "--older-than", "0", "--dry-run"});
  take("slurm-usage", {"slurm", "usage", "wf.torc"});
  take("slurm-stats", {"slurm", "stats", "wf.torc"});
  for (const std::string job : {"good_1", "packed", "combined", "silent"})
    take("logs", {"logs", "wf.torc", job});
  EXPECT_EQ(take("actions", {"actions", "wf.torc"}).size(), 4U);
  std::set<std::string> kinds;
  const json history = take("history", {"history", "wf.torc"});
  for (const json& event : history["events"]) kinds.insert(event["event"]);
  for (const char* kind :
       {"created", "registered", "claimed", "started", "finished", "requeued", "added", "canceled",
        "held", "action_started", "action_ended", "released"})
    EXPECT_TRUE(kinds.contains(kind)) << kind;
}

void JsonSchema::use_data() {
  take("data-list", {"data", "list", "wf.torc"});
  take("data-get", {"data", "get", "wf.torc", "threshold"});
  take("data-get", {"data", "get", "wf.torc", "found"});
  take("data-set", {"data", "set", "wf.torc", "new", "{\"a\": 1}", "--create"});
  take("data-set", {"data", "set", "wf.torc", "new", "{\"a\": 1}"});
  for (int i = 0; i < 2; ++i) take("data-delete", {"data", "delete", "wf.torc", "found"});
  take("data-get", {"data", "get", "wf.torc", "found"});
}

void JsonSchema::change_jobs() {
  here_.write("more.yaml", "jobs: [{name: more, command: \"true\", depends_on: [good_1]}]\n");
  here_.write("wrong.yaml", "jobs: [{name: good_1, command: other}]\n");
  take("add", {"add", "wf.torc", "more.yaml", "--dry-run"});
  take("add", {"add", "wf.torc", "more.yaml"});
  take("add", {"add", "wf.torc", "more.yaml"});
  take("add", {"add", "wf.torc", "wrong.yaml"}, 2);
  take("job", {"job", "wf.torc", "more"});
  take("set", {"set", "wf.torc", "huge", "cpus=2", "priority=5"});
  take("set", {"set", "wf.torc", "--all", "runtime=none", "--dry-run"});
  take("set", {"set", "wf.torc", "--limit", "good_{i}=3"});
  take("release", {"release", "wf.torc", "--all"});
  take("retry", {"retry", "wf.torc", "--canceled", "--dry-run"});
  take("retry", {"retry", "wf.torc", "bad", "dropped", "good_1"});
  take("cancel", {"cancel", "wf.torc", "bad"});
  here_.write("input.txt", "1\n2\n");
  const json stale = take("reinit", {"reinit", "wf.torc", "--dry-run"});
  EXPECT_GE(stale["stale_jobs"], 1) << stale;
  take("reinit", {"reinit", "wf.torc"});
  take("apply", {"apply", "wf.yaml", "--dry-run"});
  take("list", {"list"});
  take("reset", {"reset", "wf.torc", "good_1", "--dry-run"});
  take("reset", {"reset", "wf.torc", "--all", "--yes"});
}

void JsonSchema::look_at_the_cluster() {
  here_.write("cluster.yaml", R"(cluster: alpha
partitions:
  - {name: p, walltime: 1h, nodes: [{count: 1, cpus: 2, memory: 1g, gpus: [{type: a, count: 1}]}]}
qos: [{name: normal}]
associations: [{account: lab, qos: [normal]}]
)");
  const json cluster = take("cluster-show", {"cluster", "show", "--profile", "cluster.yaml"});
  EXPECT_EQ(cluster["partitions"].size(), 1U) << cluster;
  EXPECT_EQ(cluster["profile"], "cluster.yaml");
  take("cluster-match", {"cluster", "match", "--profile", "cluster.yaml", "--cpus", "2"});
  here_.write("planned.yaml",
              "name: wf\nresource_requirements: [{name: r, num_cpus: 2, runtime: PT5M}]\n"
              "jobs:\n"
              "  - {name: \"a_{i}\", command: \"true\", resource_requirements: r, "
              "parameters: {i: \"1:20\"}}\n"
              "  - {name: b, command: \"true\", num_cpus: 99}\n");
  const json plan = take("plan", {"plan", "planned.yaml", "--profile", "cluster.yaml"});
  EXPECT_FALSE(plan["allocation_plan"]["groups"][0]["choices"].empty()) << plan;
  EXPECT_FALSE(plan["allocation_plan"]["unplanned"].empty()) << plan;
  take("cluster-match", {"cluster", "match", "--profile", "cluster.yaml", "--cpus", "3"}, 1);
}

void JsonSchema::ask_for_allocations() {
  for (const auto& [name, text] : {std::pair("sbatch", "echo 17"), std::pair("squeue", "exit 1"),
                                   std::pair("sacct", "exit 1"), std::pair("scancel", "exit 0")}) {
    here_.write(std::string("bin/") + name, std::string("#!/bin/sh\n") + text + "\n");
    fs::permissions(here_.path() / "bin" / name, fs::perms::owner_all);
  }
  const auto on_a_cluster = [&](const Words& words) {
    Launch launch = here_.torc(words);
    launch.env["PATH"] = (here_.path() / "bin").string() + ":/usr/bin:/bin";
    return launch;
  };
  here_.write("asks.yaml", R"(name: asks
slurm_schedulers:
  - {name: some, account: lab, walltime: "01:00:00"}
  - {name: other, account: lab, walltime: "01:00:00"}
actions:
  - {trigger_type: on_jobs_complete, jobs: [only], action_type: schedule_nodes, scheduler: other, num_allocations: 2}
jobs: [{name: only, command: "true"}]
)");
  take("submit", on_a_cluster({"submit", "bad.yaml"}), 2);
  const json made = take("submit", on_a_cluster({"submit", "asks.yaml", "--engine", "journal"}));
  ASSERT_EQ(made["allocation_records"].size(), 1U) << made;
  EXPECT_EQ(made["allocation_records"][0]["allocation"], "17") << made;
  const json more =
      take("schedule-nodes", on_a_cluster({"schedule-nodes", "asks.torc", "--scheduler", "some"}));
  EXPECT_EQ(more["allocation_records"].size(), 2U) << more;
  take("allocations-tick", on_a_cluster({"allocations", "tick", "asks.torc"}));
  take("allocations", on_a_cluster({"allocations", "asks.torc", "--all"}));
  EXPECT_EQ(take("status", on_a_cluster({"status", "asks.torc"}))["allocations_by_stage"]["queued"],
            2);
  take("allocations-readmit", on_a_cluster({"allocations", "readmit", "asks.torc", "n1"}));
  take("allocations-cancel", on_a_cluster({"allocations", "cancel", "asks.torc", "1"}));
  const json stopped = take("allocations-stop", on_a_cluster({"allocations", "stop", "asks.torc"}));
  EXPECT_EQ(stopped["slurm_schedulers"][0]["managed"], false) << stopped;
  const json actions = take("actions", {"actions", "asks.torc"});
  ASSERT_EQ(actions.size(), 1U) << actions;
  EXPECT_EQ(actions[0]["scheduler"], "other") << actions;
  EXPECT_EQ(actions[0]["asked_allocations"], 2) << actions;
}

void JsonSchema::maintain_the_store() {
  take("verify", {"verify", "wf.torc"});
  take("repair", {"repair", "wf.torc"});
  take("compact", {"compact", "wf.torc"});
  take("backup", {"backup", "wf.torc", "copy.torc", "--engine", "lmdb"});
  take("adopt", {"adopt", "wf.torc"});
  take("history", {"history", "wf.torc", "--limit", "0"});
  take("history", {"history", "copy.torc"});
}

void JsonSchema::repair_a_journal() {
  here_.write("long.yaml", R"(name: long
jobs:
  - {name: first, command: "true"}
  - {name: second, command: "true", depends_on: [first]}
  - {name: third, command: "true", depends_on: [second]}
)");
  ASSERT_EQ(here_.run({"init", "long.yaml", "--engine", "journal"}).exit_code, 0);
  ASSERT_EQ(here_.run({"run", "long.torc", "-q"}).exit_code, 0);
  std::vector<Path> commits;
  for (const auto& entry : fs::recursive_directory_iterator(here_.path() / "long.torc")) {
    if (entry.is_regular_file() && entry.path().parent_path().parent_path().filename() == "journal")
      commits.push_back(entry.path());
  }
  std::sort(commits.begin(), commits.end());
  ASSERT_GE(commits.size(), 4U);
  std::fstream(*(commits.end() - 3), std::ios::in | std::ios::out | std::ios::binary).seekp(60)
      << "XX";
  take("verify", elsewhere({"verify", "long.torc"}), 4);
  EXPECT_GE(take("repair", elsewhere({"repair", "long.torc"}), 4)["lost_commits"].size(), 3U);
  take("repair", elsewhere({"repair", "long.torc", "--quarantine-tail"}), 2);
  take("repair", elsewhere({"repair", "long.torc", "--quarantine-tail", "--yes"}));
  take("history", elsewhere({"history", "long.torc"}));
}

void JsonSchema::go_on_with_lmdb() {
  here_.write("small.yaml", R"(name: small
use_pending_failed: true
jobs:
  - {name: undecided, command: exit 2}
  - {name: follower, command: "true", depends_on: [undecided]}
  - {name: "j_{i}", command: "true", parameters: {i: "1:500"}, stdio: {mode: none}}
)");
  take("init", {"init", "small.yaml", "--engine", "lmdb"});
  EXPECT_EQ(here_.run({"run", "small.torc", "-q"}).exit_code, 1);
  take("status", {"status", "small.torc"});
  take("job", {"job", "small.torc", "undecided"});
  take("why", {"why", "small.torc", "undecided"});
  take("why", {"why", "small.torc", "follower"});
  take("cancel", {"cancel", "small.torc", "--state", "pending_failed"});
  take("rm", {"rm", "small.torc", "follower", "--dry-run"});
  take("set", {"set", "small.torc", "--keep-attempts", "9"});
  take("status-at", {"status", "small.torc", "--at", "0s"});
  EXPECT_GE(take("undo-list", {"undo", "small.torc", "--list"})["kept_changes"].size(), 2U);
  take("undo", {"undo", "small.torc"});
  take("actions", {"actions", "small.torc"});
  take("data-list", {"data", "list", "small.torc"});
  take("history", {"history", "small.torc"});
  take("verify", {"verify", "small.torc"});
  take("adopt", {"adopt", "small.torc"});
  take("compact", {"compact", "small.torc"});
  const json whole = take("repair-salvage", {"repair", "small.torc", "--salvage", "whole.torc"});
  EXPECT_EQ(whole["salvaged_as"], "store") << whole;
  const Path data = here_.path() / "small.torc/data.mdb";
  std::string bytes = read_text(data);
  constexpr std::size_t kPage = 4096;
  for (std::size_t page = 8; page < bytes.size() / kPage; page += 2)
    bytes.replace(page * kPage, kPage, kPage, '\0');
  write_text(data, bytes);
  const json left = take("repair-salvage", {"repair", "small.torc", "--salvage", "left"}, 4);
  EXPECT_EQ(left["salvaged_as"], "lists") << left;
}

void JsonSchema::try_out_a_directory() {
  fs::create_directory(here_.path() / "place");
  take("doctor", {"doctor", "place"});
  const auto other = here_.start({"doctor", "place", "--two-node", "--json"});
  const json two = take("doctor", {"doctor", "place", "--two-node"});
  EXPECT_TRUE(two["two_node"].is_object()) << two;
  const Ended theirs = other->wait();
  EXPECT_EQ(theirs.exit_code, 0) << theirs;
  note("doctor", "torc doctor place --two-node, the other one", theirs.out);
  take("bench", {"bench", "place", "--seconds", "1", "--processes", "2", "--engine", "journal"});
  take("bench", {"bench", "place", "--seconds", "1", "--processes", "1", "--engine", "lmdb"});
  take("node", {"node"});
}

void JsonSchema::trust_a_store() {
  const auto as_usual = [&](const Words& words) {
    Launch launch = here_.torc(words);
    launch.env["XDG_CONFIG_HOME"] = (here_.path() / "config").string();
    return launch;
  };
  take("trust", as_usual({"trust"}));
  take("trust", as_usual({"trust", "wf.torc"}));
  take("trust", as_usual({"trust"}));
  take("trust", as_usual({"trust", "wf.torc", "--forget"}));
}

TEST_F(JsonSchema, every_command_with_json_has_one_and_prints_what_it_says) {
  look_at_files();
  run_workflow();
  look_afterwards();
  use_data();
  change_jobs();
  maintain_the_store();
  repair_a_journal();
  go_on_with_lmdb();
  try_out_a_directory();
  trust_a_store();
  look_at_the_cluster();
  ask_for_allocations();
  const std::set<std::string> wanted = wanted_schemas(here_);
  EXPECT_GE(wanted.size(), 30U) << "the help is not understood";
  for (const std::string& schema : wanted) {
    EXPECT_TRUE(fs::exists(kSchemas / (schema + ".json"))) << "make docs/schema/" << schema;
    EXPECT_TRUE(used_.contains(schema)) << "nothing here prints what " << schema << " is for";
  }
  for (const auto& entry : fs::directory_iterator(kSchemas)) {
    const std::string name = entry.path().stem();
    EXPECT_TRUE(used_.contains(name) || name == "common" || name == "workflow")
        << "nothing here prints what docs/schema/" << name << ".json is for";
  }
  const Ended ended = validate(here_, kSchemas, documents_);
  if (ended.exit_code == 77) GTEST_SKIP() << ended.out;
  EXPECT_EQ(ended.exit_code, 0) << ended;
}

// --- that it would be seen ---

class BrokenSchema : public testing::Test {
 protected:
  BrokenSchema() {
    fs::copy(kSchemas, here_.path() / "schema");
    here_.write("wf.yaml", "name: wf\njobs: [{name: a, command: b}]\n");
    EXPECT_EQ(here_.run({"init", "wf.yaml"}).exit_code, 0);
    documents_ = {{{"schema", "status"},
                   {"from", "torc status"},
                   {"document", here_.json({"status", "wf.torc"})}}};
  }
  // The schema `name` after `change`.
  Ended validate_with(const std::string& name, const std::function<void(json&)>& change) {
    const Path file = here_.path() / "schema" / (name + ".json");
    json schema = json::parse(read_text(file));
    change(schema);
    write_text(file, schema.dump());
    return validate(here_, here_.path() / "schema", documents_);
  }
  Workplace here_;
  json documents_;
};

#define EXPECT_TOLD(ended, text)                            \
  if ((ended).exit_code == 77) GTEST_SKIP() << (ended).out; \
  EXPECT_EQ((ended).exit_code, 1) << (ended);               \
  EXPECT_TRUE((ended).says(text)) << "missing: " << (text) << '\n' << (ended)

TEST_F(BrokenSchema, that_lacks_a_field_of_the_output_is_told) {
  const Ended ended = validate_with("status", [](json& schema) {
    schema["properties"].erase("halted");
    json& required = schema["required"];
    required.erase(std::find(required.begin(), required.end(), "halted"));
  });
  EXPECT_TOLD(ended, "'halted' was unexpected");
}

TEST_F(BrokenSchema, that_wants_a_field_that_the_output_has_not_is_told) {
  const Ended ended = validate_with("status", [](json& schema) {
    schema["properties"]["more"] = true;
    schema["required"].push_back("more");
  });
  EXPECT_TOLD(ended, "'more' is a required property");
}

TEST_F(BrokenSchema, that_does_not_know_a_value_is_told) {
  const Ended ended =
      validate_with("common", [](json& schema) { schema["$defs"]["engine"]["enum"] = {"other"}; });
  EXPECT_TOLD(ended, "is not one of ['other']");
}

TEST_F(BrokenSchema, that_takes_any_field_is_told) {
  const Ended ended =
      validate_with("status", [](json& schema) { schema.erase("additionalProperties"); });
  EXPECT_TOLD(ended, "status.json takes a field that is in no schema");
}

}  // namespace
}  // namespace torc::itest
