// The launcher of a definition on a real Grid Engine of two execution hosts: what it submits, lists
// and cancels, what it says of a master that does not answer, and a workflow whose allocations come
// and go by it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/exec/start/run_program.h"
#include "lib/launcher/generic_launcher.h"
#include "lib/launcher/worker_script.h"
#include "lib/spec/text/source.h"
#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

using namespace std::chrono_literals;

namespace fs = std::filesystem;
using launcher::Listing;
using launcher::Submitted;
using nlohmann::json;
using slurm::Stage;

using Words = std::vector<std::string>;

constexpr int kCannot = 77;  // cluster.sh: this machine cannot do it

launcher::Definition definition_of(std::string_view name) {
  const spec::Source source(launcher::built_in_definition(name), std::string(name));
  spec::Report report(source);
  auto definition = launcher::read_definition(source, report);
  EXPECT_TRUE(definition.has_value()) << spec::to_text(std::move(report).sorted());
  return definition.value_or(launcher::Definition());
}

class GridEngine : public testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv("TORC_TEST_SKIP_GRIDENGINE") != nullptr)
      GTEST_SKIP() << "TORC_TEST_SKIP_GRIDENGINE is set";
    fs::create_directory(work_);
    const auto start = cluster({"start", "2", std::to_string(getpid())});
    started_ = start.exit_code == 0;
    if (start.exit_code == kCannot) GTEST_SKIP() << start;
    ASSERT_TRUE(started_) << start;
    launcher_ = launcher::generic_launcher(
        {[this](const slurm::Command& command) { return run_there(command); }, "root",
         definition_of("gridengine")});
  }
  void TearDown() override {
    if (!started_) return;
    const auto stop = cluster({"stop"});
    EXPECT_EQ(stop.exit_code, 0) << stop;
  }

  [[nodiscard]] Words script_words() const {
    return {std::string(TORC_SOURCE_DIR) + "/tests/integration/gridengine/cluster.sh",
            cluster_.string()};
  }
  [[nodiscard]] Ended cluster(const Words& arguments) const {
    Words argv = script_words();
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    return run({argv, {}, work_, {}, {}});
  }
  [[nodiscard]] Ended torc(const Words& arguments) const {
    Words argv{"exec", "-", TORC_PROGRAM};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    return cluster(argv);
  }
  // On the login side, or on a host.
  [[nodiscard]] Result<slurm::SbatchOutput> run_there(const slurm::Command& command,
                                                      const std::string& host = "-") const {
    exec::ProgramRequest request;
    request.argv = script_words();
    request.argv.insert(request.argv.end(), {"exec", host});
    request.argv.insert(request.argv.end(), command.argv.begin(), command.argv.end());
    request.environment = command.environment;
    request.environment.emplace_back("PATH=/usr/bin:/bin:/usr/sbin:/sbin");
    request.time_limit = command.limit;
    request.output_limit = command.output_limit;
    TORC_ASSIGN(exec::ProgramOutput output, exec::run_program(request));
    return slurm::SbatchOutput{output.exit_code, output.signal,         output.timed_out,
                               output.truncated, std::move(output.out), std::move(output.err)};
  }

  [[nodiscard]] launcher::Submission submission(const std::string& intent,
                                                const std::string& script) const {
    const fs::path file = work_ / (intent + ".sh");
    write_text(file, script);
    launcher::Submission one;
    one.intent = intent;
    one.script = file;
    return one;
  }
  [[nodiscard]] Listing look_for(const Words& intents, bool ended_too = false) const {
    return launcher_->list({.intents = intents, .ended_too = ended_too});
  }
  // Grid Engine tells nobody when a job changes: it is asked until it says so.
  [[nodiscard]] ::testing::AssertionResult becomes(const Words& intents, Stage stage,
                                                   bool ended_too = false) const {
    const auto end = std::chrono::steady_clock::now() + kLongEnough;
    Listing last;
    while (std::chrono::steady_clock::now() < end) {
      last = look_for(intents, ended_too);
      const auto count = std::ranges::count(last.allocations, stage, &launcher::Listed::stage);
      if (static_cast<std::size_t>(count) == intents.size()) return ::testing::AssertionSuccess();
    }
    auto failure = ::testing::AssertionFailure() << last.failure;
    for (const auto& one : last.allocations) failure << '\n' << one.intent << ' ' << one.state;
    return failure;
  }

  Scratch scratch_;
  const fs::path work_ = scratch_.path() / "shared files";
  std::unique_ptr<launcher::Launcher> launcher_;
  const fs::path cluster_ = scratch_.path() / "ge";
  bool started_ = false;
};

constexpr const char* kWaits = "#!/bin/bash\n#$ -j y -o /dev/null\nexec sleep 1000\n";

TEST_F(GridEngine, what_is_submitted_is_found_by_the_name_of_its_try_and_cancelled) {
  EXPECT_EQ(launcher_->cluster(), "master");
  EXPECT_TRUE(look_for({"7.a"}).whole) << "nothing is there, and that is said";
  EXPECT_TRUE(look_for({"7.a"}).allocations.empty());

  Fifo starts(work_ / "starts");
  auto runs =
      submission("7.a", "#!/bin/bash\n#$ -j y -o /dev/null\necho \"$TORC_MINE|$TORC_INTENT\" > '" +
                            starts.path().string() + "'\nexec sleep 1000\n");
  runs.environment = {{"TORC_MINE", "a,b 'c'"}};
  const auto first = launcher_->submit(runs);
  ASSERT_EQ(first.what, Submitted::accepted) << testing::PrintToString(first.words);
  EXPECT_EQ(first.cluster, "master");
  ASSERT_TRUE(wait_until({&starts}, [&] { return !starts.lines().empty(); }));
  EXPECT_EQ(starts.lines()[0], "a,b 'c'|7.a");

  // No host is left for it.
  auto waits = submission("7.b", kWaits);
  waits.exclude_nodes = {"n1", "n2"};
  const auto second = launcher_->submit(waits);
  ASSERT_EQ(second.what, Submitted::accepted) << testing::PrintToString(second.words);
  EXPECT_TRUE(becomes({"7.a"}, Stage::runs));
  const Listing both = look_for({"7.a", "7.b", "7.c"});
  EXPECT_TRUE(both.whole);
  ASSERT_EQ(both.allocations.size(), 2U);
  for (const auto& one : both.allocations) {
    EXPECT_EQ(one.id, one.intent == "7.a" ? first.id : second.id);
    EXPECT_EQ(one.stage, one.intent == "7.a" ? Stage::runs : Stage::waits) << one.state;
    EXPECT_EQ(one.cluster, "master");
  }
  EXPECT_GT(both.allocations[0].submitted + both.allocations[1].submitted, 0s);

  EXPECT_TRUE(launcher_->cancel({first.id, second.id}));
  EXPECT_TRUE(becomes({"7.a"}, Stage::over, true)) << "by the queue or by the accounting";
  EXPECT_TRUE(launcher_->cancel({first.id, second.id})) << "what has ended counts";
  EXPECT_TRUE(look_for({"7.b"}).whole);
}

TEST_F(GridEngine, refusals_for_good_and_silence_are_told_apart) {
  const auto refused = launcher_->submit(submission("1.a", "#!/bin/bash\n#$ -q nope\ntrue\n"));
  EXPECT_EQ(refused.what, Submitted::refused) << testing::PrintToString(refused.words);
  EXPECT_FALSE(refused.not_from_here);
  const auto from_host = launcher::generic_launcher(
      {[this](const slurm::Command& command) { return run_there(command, "n1"); }, "root",
       definition_of("gridengine")});
  const auto there = from_host->submit(submission("1.b", kWaits));
  EXPECT_EQ(there.what, Submitted::refused) << testing::PrintToString(there.words);
  EXPECT_TRUE(there.not_from_here);

  const auto away =
      launcher::generic_launcher({[this](slurm::Command command) {
                                    command.environment.emplace_back("SGE_TEST_PORT=1");
                                    return run_there(command);
                                  },
                                  "root", definition_of("gridengine")});
  EXPECT_EQ(away->submit(submission("1.c", kWaits)).what, Submitted::later);
  const Listing silent = away->list({.intents = {"1.c"}, .ended_too = false});
  EXPECT_FALSE(silent.whole);
  EXPECT_NE(silent.failure, "");
  EXPECT_TRUE(look_for({"1.a", "1.b", "1.c"}).allocations.empty());
}

// A workflow in allocations of a node each; one of the two loses its power.
TEST_F(GridEngine, a_workflow_is_finished_by_its_workers_though_a_host_dies) {
  write_text(work_ / "wf.yaml",
             "name: wf\njobs:\n"
             "  - {name: a, command: 'echo a $(hostname) > starts; read go < gate'}\n"
             "  - {name: b, command: 'echo b $(hostname) > starts; read go < gate'}\n"
             "  - {name: c, depends_on: [a, b], command: 'echo c $(hostname) > starts'}\n");
  Fifo starts(work_ / "starts");
  Fifo gate(work_ / "gate");
  const auto init = torc({"init", "wf.yaml", "--engine", "journal"});
  ASSERT_EQ(init.exit_code, 0) << init;
  launcher::WorkerScript script;
  script.store = work_ / "wf.torc";
  script.torc = TORC_PROGRAM;
  script.flags = {"--lease-ttl", "10s", "--num-cpus", "1"};
  const auto text = launcher::render_worker_script(definition_of("gridengine"), script);
  ASSERT_TRUE(text.ok()) << text.error().text();
  for (const char* intent : {"1", "2"}) {
    auto one = submission(intent, *text);
    one.exclude_nodes = {intent[0] == '1' ? "n2" : "n1"};
    const auto answer = launcher_->submit(one);
    ASSERT_EQ(answer.what, Submitted::accepted) << testing::PrintToString(answer.words);
  }
  ASSERT_TRUE(wait_until({&starts}, [&] { return starts.lines().size() >= 2; }));
  ASSERT_EQ(cluster({"crash", "n2"}).exit_code, 0);
  const auto on_n2 = [&](const std::string& line) { return line.ends_with(" n2"); };
  ASSERT_EQ(std::ranges::count_if(starts.lines(), on_n2), 1) << "a host each";
  // The dead worker's job runs again on the host that is left, then what waits for both.
  gate.open_gate(2);
  ASSERT_TRUE(wait_until({&starts}, [&] { return starts.lines().size() >= 4; }));
  EXPECT_EQ(starts.lines()[3], "c n1");
  EXPECT_TRUE(becomes({"1"}, Stage::over, true)) << "nothing was left for it";
  const auto status = torc({"status", "wf.torc"});
  EXPECT_TRUE(status.says("3/3")) << status;
}

// `torc submit` and what follows from it, by the definition of Grid Engine that the workflow names.
// An allocation is a host with both of its slots.
class GridEngineAllocations : public GridEngine {
 protected:
  // What its jobs do comes from the test.
  void write_workflow(const std::string& allocate, const std::string& jobs,
                      const std::string& more_schedulers = {},
                      const std::string& more_options = {}) const {
    write_text(work_ / "wf.yaml",
               "name: wf\n"
               "launcher: gridengine\n"
               "lease: {ttl: 10s}\n"
               "resource_requirements: [{name: r, num_cpus: 2, runtime: PT5M}]\n"
               "schedulers:\n"
               "  - {name: host, walltime: '00:10:00', options: -pe smp 2" +
                   more_options + ", allocate: " + allocate + "}\n" + more_schedulers + "jobs:\n" +
                   jobs);
  }
  // Compute nodes may submit, too.
  void open_to_all() const {
    for (const char* host : {"n1", "n2"})
      ASSERT_EQ(cluster({"exec", "-", "qconf", "-as", host}).exit_code, 0);
  }
  // A pass, which a person waits for; the first one makes the store.
  void submit(const std::string& what = "wf.torc") const {
    const auto ended = torc({"submit", what, "--engine", "journal"});
    ASSERT_EQ(ended.exit_code, 0) << ended;
  }
  [[nodiscard]] json ledger() const {
    const auto ended = torc({"allocations", "wf.torc", "--all", "--json"});
    const json parsed = json::parse(ended.out, nullptr, false);
    EXPECT_FALSE(parsed.is_discarded()) << ended;
    return parsed.is_discarded() ? json::array() : parsed.at("allocation_records");
  }
  [[nodiscard]] json status() const {
    const auto ended = torc({"status", "wf.torc", "--json"});
    return json::parse(ended.out, nullptr, false);
  }
  [[nodiscard]] std::size_t in_stage(const std::string& stage) const {
    const json all = ledger();
    return static_cast<std::size_t>(std::ranges::count_if(
        all, [&](const json& one) { return one.at("allocation_stage") == stage; }));
  }
  // Passes, until the ledger has it.
  template <class Condition>
  [[nodiscard]] bool comes_true(Condition condition) const {
    const auto end = std::chrono::steady_clock::now() + kLongEnough;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) return false;
      submit();
    }
    return true;
  }
  // Of jobs of the batch system, by its word for their state.
  [[nodiscard]] std::size_t in_queue(const std::string& state) const {
    const auto ended = cluster({"exec", "-", "qstat", "-s", state});
    EXPECT_EQ(ended.exit_code, 0) << ended;
    const auto lines = lines_of(ended.out);
    return lines.size() < 2 ? 0 : lines.size() - 2;
  }
};

std::string host_in(const std::string& line) {
  return line.substr(line.rfind(' ') + 1);
}

TEST_F(GridEngineAllocations,
       a_workflow_is_submitted_and_ends_though_a_host_dies_and_nobody_is_near) {
  write_workflow("{min: 2, max: 3, workers_idle: 5s}",
                 "  - {name: a, resource_requirements: r, "
                 "command: 'echo a $(hostname) > starts; read go < gate'}\n"
                 "  - {name: b, resource_requirements: r, "
                 "command: 'echo b $(hostname) > starts; read go < gate'}\n"
                 "  - {name: c, depends_on: [a, b], command: 'echo c $(hostname) > starts'}\n");
  Fifo starts(work_ / "starts");
  Fifo gate(work_ / "gate");
  const auto submitted = torc({"submit", "wf.yaml", "--engine", "journal"});
  ASSERT_EQ(submitted.exit_code, 0) << submitted;
  EXPECT_TRUE(submitted.says("submitted 2 allocations")) << submitted;
  ASSERT_TRUE(wait_until({&starts}, [&] { return starts.lines().size() >= 2; }));
  EXPECT_NE(host_in(starts.lines()[0]), host_in(starts.lines()[1])) << "a host each";
  ASSERT_EQ(cluster({"crash", "n2"}).exit_code, 0);
  // The dead worker's job runs again on the host that is left, then what waits for both.
  gate.open_gate(2);
  ASSERT_TRUE(wait_until({&starts}, [&] { return starts.lines().size() >= 4; }));
  EXPECT_EQ(starts.lines()[3], "c n1");
  EXPECT_TRUE(comes_true([&] { return in_stage("ended") >= 1; })) << ledger();
  EXPECT_EQ(status().at("state"), "completed");
  EXPECT_EQ(in_queue("p"), 0U) << "nothing waits for a workflow that is finished";
}

TEST_F(GridEngineAllocations,
       as_many_allocations_are_there_as_jobs_need_and_no_place_counts_twice) {
  write_workflow("{workers_idle: 5s}",
                 "  - {name: 'a_{i}', parameters: {i: '1:3'}, resource_requirements: r, "
                 "command: 'echo a $(hostname) > starts; read go < gate'}\n");
  Fifo starts(work_ / "starts");
  Fifo gate(work_ / "gate");
  submit("wf.yaml");
  // What a host has is learned from the first worker, who asks for the others.
  ASSERT_TRUE(wait_until(
      {&starts}, [&] { return starts.lines().size() >= 2; }, 150s));
  EXPECT_NE(host_in(starts.lines()[0]), host_in(starts.lines()[1]));
  for (int pass = 0; pass < 2; ++pass) submit();
  const json all = ledger();
  EXPECT_EQ(all.size(), 3U) << "a job each, queued and running ones counted once: " << all;
  EXPECT_EQ(in_stage("running"), 2U) << all;
  EXPECT_EQ(in_stage("queued"), 1U) << all;
  // The workers of those that run are bound to them.
  std::set<std::string> ids;
  for (const json& one : all) {
    if (one.at("allocation_stage") == "running") ids.insert(one.at("allocation"));
  }
  std::set<std::string> of_workers;
  const json now = status();
  for (const json& one : now.at("workers")) of_workers.insert(one.at("allocation"));
  EXPECT_EQ(of_workers, ids);

  // No class needs what waits: it is canceled, and what runs goes on.
  const auto canceled = torc({"cancel", "wf.torc", "a_3"});
  EXPECT_EQ(canceled.exit_code, 0) << canceled;
  EXPECT_EQ(in_queue("p"), 0U);
  EXPECT_EQ(in_queue("r"), 2U);
  // One has nothing left, and ends itself, by which the ledger learns of it.
  gate.open_gate(1);
  EXPECT_TRUE(comes_true([&] { return in_stage("ended") == 2 && in_stage("running") == 1; }))
      << ledger();
  EXPECT_EQ(in_queue("r"), 1U);
  gate.open_gate(1);
  EXPECT_TRUE(comes_true([&] { return in_stage("ended") == 3; })) << ledger();
  EXPECT_EQ(in_queue("prs"), 0U);
  std::map<std::string, int> ends;
  for (const json& one : ledger()) ++ends[one.at("ended_how")];
  EXPECT_EQ(ends["over"], 2) << ledger();
  EXPECT_EQ(ends["canceled"], 1) << ledger();
}

// While one host does a job, jobs of another scheduler, whose host is the other one, become ready:
// a worker's pass asks for an allocation for them. It comes within 45 s.
class GridEnginePasses : public GridEngineAllocations {
 protected:
  void begin() const {
    write_workflow("{workers_idle: 5s}",
                   "  - {name: quick, scheduler: host, command: 'true'}\n"
                   "  - {name: long, scheduler: host, command: 'read go < gate'}\n"
                   "  - {name: other, scheduler: other, depends_on: [quick], "
                   "command: 'echo other $(hostname) > starts'}\n",
                   "  - {name: other, options: -l h=n2, allocate: {}}\n", " -l h=n1");
    const auto submitted = torc({"submit", "wf.yaml", "--engine", "journal"});
    ASSERT_TRUE(submitted.says("submitted 1 allocation")) << submitted;
  }
  void see_to_the_end() {
    ASSERT_TRUE(wait_until({&*starts_}, [&] { return !starts_->lines().empty(); })) << ledger();
    EXPECT_EQ(starts_->lines()[0], "other n2");
    gate_->open_gate(1);
    EXPECT_TRUE(comes_true([&] { return in_stage("ended") == 2; })) << ledger();
    EXPECT_EQ(status().at("state"), "completed");
  }
  void SetUp() override {
    GridEngineAllocations::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    starts_.emplace(work_ / "starts");
    gate_.emplace(work_ / "gate");
  }

  std::optional<Fifo> starts_;
  std::optional<Fifo> gate_;
};

TEST_F(GridEnginePasses, of_workers_submit_where_hosts_may) {
  open_to_all();
  begin();
  see_to_the_end();
}

TEST_F(GridEnginePasses, of_workers_on_hosts_that_may_not_submit_leave_it_to_a_login_node) {
  begin();
  fs::path journal;
  for (const auto& entry : fs::directory_iterator(work_ / "wf.torc")) {
    if (entry.path().filename().string().starts_with("state-")) journal = entry.path() / "journal";
  }
  NewNames commits(journal);
  const auto waits = [&] {
    return torc({"status", "wf.torc"}).says("1 allocation waits for a login node");
  };
  ASSERT_TRUE(wait_until({&commits}, waits)) << ledger();
  EXPECT_TRUE(starts_->lines().empty());
  const auto sent = torc({"status", "wf.torc", "--submit"});
  EXPECT_TRUE(sent.says("submitted 1 allocation")) << sent;
  see_to_the_end();
}

TEST_F(GridEngineAllocations, what_the_system_says_no_to_stops_the_scheduler_and_is_told) {
  write_workflow("{}", "  - {name: a, command: 'true'}\n");
  const std::string text = read_text(work_ / "wf.yaml");
  const std::string good = "-pe smp 2";
  write_text(work_ / "wf.yaml", std::string(text).replace(text.find(good), good.size(), "-q nope"));
  const auto submitted = torc({"submit", "wf.yaml", "--engine", "journal"});
  EXPECT_EQ(submitted.exit_code, 2) << submitted;
  const auto told = torc({"status", "wf.torc"});
  EXPECT_TRUE(told.says("nope")) << told;
  EXPECT_EQ(in_queue("prs"), 0U);
  EXPECT_EQ(ledger().at(0).at("ended_how"), "refused");
}

}  // namespace
}  // namespace torc::itest
