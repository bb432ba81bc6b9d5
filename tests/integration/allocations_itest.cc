// Allocations that torc asks a batch system for, which keeps a queue in files and answers as badly
// as the test wants: one intent has at most one allocation, whatever happens to who submits it.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/integration/harness.h"
#include "tests/integration/stopped_at_call.h"

namespace torc::itest {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using nlohmann::json;
using Words = std::vector<std::string>;

// One job, which one allocation is asked for.
constexpr const char* kWorkflow =
    "name: wf\n"
    "resource_requirements: [{name: r, num_cpus: 1, memory: 1m, runtime: PT5M}]\n"
    "slurm_schedulers: [{name: s, nodes: 1, walltime: \"00:10:00\"}]\n"
    "jobs: [{name: only, command: \"true\", resource_requirements: r}]\n";

class FakeSlurm : public testing::Test {
 protected:
  FakeSlurm() {
    here_.write("wf.yaml", kWorkflow);
    fs::create_directory(slurm());
    for (const char* name : {"sbatch", "squeue", "sacct", "scancel", "scontrol"}) {
      fs::create_directories(here_.path() / "bin");
      fs::create_symlink(std::string(TORC_SOURCE_DIR) + "/tests/integration/fake_slurm.sh",
                         here_.path() / "bin" / name);
    }
  }
  [[nodiscard]] fs::path slurm() const { return here_.path() / "slurm"; }
  // What a command of it shall do from now on; "": as it should.
  void let(const std::string& command, const std::string& mode) const {
    write_text(slurm() / command, mode);
  }
  void make_store(const Words& more = {}) const {
    Words words{"init", "wf.yaml", "--engine", "journal", "--no-slurm"};
    words.insert(words.end(), more.begin(), more.end());
    const Ended made = run(launch(words));
    ASSERT_EQ(made.exit_code, 0) << made;
  }
  // With the wall clock so far ahead.
  [[nodiscard]] Launch launch(const Words& arguments, std::chrono::seconds ahead = {}) const {
    Launch launch = here_.torc(arguments);
    launch.env["PATH"] = (here_.path() / "bin").string() + ":/usr/bin:/bin";
    launch.env["FAKE_SLURM"] = slurm();
    launch.env["XDG_CONFIG_HOME"] = here_.path() / "config";
    if (ahead.count() > 0) {
      launch.env["LD_PRELOAD"] = MOVED_CLOCK;
      launch.env["MOVED_CLOCK"] = std::to_string(ahead.count());
    }
    return launch;
  }
  Ended torc(const Words& arguments, std::chrono::seconds ahead = {}) const {
    return run(launch(arguments, ahead), 200s);
  }
  // A pass, which a person waits for.
  void submit(std::chrono::seconds ahead = {}, int exit_code = 0) const {
    const Ended ended = torc({"submit", "wf.torc"}, ahead);
    EXPECT_EQ(ended.exit_code, exit_code) << ended;
  }
  // Those that live, as the store has them.
  [[nodiscard]] json ledger() const {
    // Without the program that is asked, nothing is.
    Launch asked = launch({"allocations", "wf.torc", "--json"});
    asked.env["PATH"] = "/nowhere";
    const Ended ended = run(asked);
    auto value = json::parse(ended.out, nullptr, false);
    EXPECT_FALSE(value.is_discarded()) << ended;
    return value;
  }
  [[nodiscard]] std::vector<std::string> queue() const {
    return lines_of(read_text(slurm() / "jobs"));
  }
  [[nodiscard]] std::size_t calls_of(const std::string& command) const {
    std::size_t calls = 0;
    for (const auto& line : lines_of(read_text(slurm() / "log")))
      calls += line.starts_with(command + " ") ? 1 : 0;
    return calls;
  }
  void begin_anew() const {
    for (const auto& path : {here_.path() / "wf.torc", slurm()}) fs::remove_all(path);
    fs::create_directory(slurm());
  }
  // Passes at later times, as far as it takes until it is certain.
  void see_to_it() const {
    for (const auto ahead : {1min, 3min, 5min, 7min}) submit(ahead);
  }
  void expect_one(const std::string& what) const {
    EXPECT_EQ(queue().size(), 1U) << what << '\n' << read_text(slurm() / "log");
    const json live = ledger()["allocation_records"];
    ASSERT_EQ(live.size(), 1U) << what << '\n' << live;
    EXPECT_EQ(live.at(0).at("allocation_stage"), "queued") << what;
    EXPECT_EQ(live.at(0).at("allocation"), queue().at(0).substr(0, queue().at(0).find('|')))
        << what;
  }

  Workplace here_;
};

TEST_F(FakeSlurm, submit_goes_from_a_workflow_file_to_one_allocation) {
  const Ended ended = torc({"submit", "wf.yaml", "--engine", "journal"});
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_TRUE(ended.says("submitted 1 allocation")) << ended;
  expect_one("submitted");
  submit();
  expect_one("submitted again");
  EXPECT_EQ(calls_of("sbatch"), 1U);
}

TEST_F(FakeSlurm, whatever_sbatch_answers_there_is_one_allocation) {
  for (const char* mode : {"rubbish", "breaks", "dies", "twice"}) {
    begin_anew();
    make_store();
    let("sbatch", mode);
    submit();
    let("sbatch", "");
    submit(1min);
    expect_one(mode);
  }
}

TEST_F(FakeSlurm, an_sbatch_that_hangs_is_killed_after_a_minute_and_what_it_did_is_found) {
  make_store();
  let("sbatch", "hangs");
  const auto begun = std::chrono::steady_clock::now();
  submit();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 80s);
  let("sbatch", "");
  submit(1min);
  expect_one("hangs");
}

TEST_F(FakeSlurm, a_squeue_that_hangs_is_killed_and_nothing_is_asked_for_twice) {
  make_store();
  submit();
  let("squeue", "hangs");
  const auto begun = std::chrono::steady_clock::now();
  const Ended ended = torc({"submit", "wf.torc"});
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 50s);
  EXPECT_TRUE(ended.says("the batch system did not say what is in its queue")) << ended;
  let("squeue", "");
  expect_one("hangs");
}

TEST_F(FakeSlurm, no_short_list_makes_a_second_allocation) {
  make_store();
  submit();
  for (const char* mode : {"fails", "nothing", "empty", "half", "other"}) {
    let("squeue", mode);
    for (int minutes = 1; minutes < 60; minutes += 20) submit(std::chrono::minutes(minutes));
    expect_one(mode);
  }
  EXPECT_EQ(calls_of("sbatch"), 1U);
}

TEST_F(FakeSlurm, what_is_refused_for_good_stops_the_scheduler_until_a_person_submits_again) {
  make_store();
  let("sbatch", "refuses");
  submit({}, 2);
  const Ended tick = torc({"allocations", "tick", "wf.torc"}, 1h);
  EXPECT_EQ(tick.exit_code, 0) << tick;
  EXPECT_EQ(calls_of("sbatch"), 1U);
  const Ended status = torc({"status", "wf.torc"});
  EXPECT_TRUE(status.says("Invalid account or account/partition combination specified")) << status;
  let("sbatch", "");
  submit();
  expect_one("mended");
}

TEST_F(FakeSlurm, a_refusal_is_no_success_and_says_what_to_mend) {
  make_store();
  let("sbatch", "refuses");
  const Ended ended = torc({"submit", "wf.torc"});
  EXPECT_EQ(ended.exit_code, 2) << ended;
  EXPECT_TRUE(ended.says("mend slurm/s.sbatch in the store")) << ended;
  EXPECT_FALSE(ended.says("nothing has to be kept running")) << ended;
  EXPECT_FALSE(ended.says("no allocation is needed")) << ended;
  let("sbatch", "");
  const Ended again = torc({"submit", "wf.torc"});
  EXPECT_EQ(again.exit_code, 0) << again;
  EXPECT_TRUE(again.says("nothing has to be kept running")) << again;
}

TEST_F(FakeSlurm, who_looks_asks_the_queue_and_changes_nothing) {
  make_store();
  let("sbatch", "later");
  const Ended ended = torc({"submit", "wf.torc"});
  EXPECT_TRUE(ended.says("no allocation is at the batch system")) << ended;
  EXPECT_FALSE(ended.says("nothing has to be kept running")) << ended;
  const auto calls = calls_of("sbatch");
  let("sbatch", "");
  // Something is wanted, and may be submitted by now: not by who looks.
  for (const auto ahead : {5min, 10min}) {
    const Ended looked = torc({"allocations", "wf.torc"}, ahead);
    EXPECT_EQ(looked.exit_code, 0) << looked;
  }
  EXPECT_EQ(calls_of("sbatch"), calls);
  submit(15min);
  EXPECT_EQ(queue().size(), 1U);
  const auto asked = calls_of("squeue");
  const Ended old = torc({"allocations", "wf.torc"}, 15min + 1s);
  EXPECT_EQ(calls_of("squeue"), asked) << "a pass has just asked";
  const Ended looked = torc({"allocations", "wf.torc"}, 20min);
  EXPECT_EQ(calls_of("squeue"), asked + 1);
  EXPECT_TRUE(looked.says("as the queue says now")) << looked;
  EXPECT_EQ(torc({"allocations", "wf.torc"}, 20min + 5s).exit_code, 0);
  EXPECT_EQ(calls_of("squeue"), asked + 1) << "who looked has just asked";
  let("squeue", "empty");
  const Ended unanswered = torc({"allocations", "wf.torc"}, 21min);
  EXPECT_TRUE(unanswered.says("the batch system did not say what is in its queue")) << unanswered;
  EXPECT_TRUE(unanswered.says("as the queue said 1 min ago")) << unanswered;
}

TEST_F(FakeSlurm, who_cannot_write_to_the_store_sees_what_it_says) {
  constexpr uid_t kAda = 60001;
  constexpr uid_t kEve = 60003;
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to be several users";
  fs::permissions(here_.path(), fs::perms(0777));
  fs::permissions(slurm(), fs::perms(0777));
  const auto run_as = [&](uid_t user, const Words& words, std::chrono::seconds ahead = {}) {
    Launch by = launch(words, ahead);
    by.user = user;
    const Ended ended = run(by);
    EXPECT_EQ(ended.exit_code, 0) << ended;
    return ended;
  };
  (void)run_as(kAda, {"submit", "wf.yaml", "--engine", "journal"});
  for (const char* file : {"log", "jobs", "last", "lock"})
    fs::permissions(slurm() / file, fs::perms(0666));
  const auto asked = calls_of("squeue");
  // Whoever has nothing in the queue has nothing to ask.
  EXPECT_TRUE(run_as(kEve, {"allocations", "wf.torc"}, 10min).says("queued"));
  EXPECT_EQ(calls_of("squeue"), asked);
  for (const auto& entry : fs::recursive_directory_iterator(here_.path() / "wf.torc"))
    fs::permissions(entry.path(), fs::perms(0222), fs::perm_options::remove);
  fs::permissions(here_.path() / "wf.torc", fs::perms(0222), fs::perm_options::remove);
  const Ended hers = run_as(kAda, {"allocations", "wf.torc"}, 10min);
  EXPECT_TRUE(hers.says("queued")) << hers;
  EXPECT_TRUE(hers.says("what the queue says now could not be recorded")) << hers;
}

TEST_F(FakeSlurm, what_is_stopped_asks_for_nothing_until_it_is_submitted_again) {
  make_store();
  let("sbatch", "later");
  submit();
  ASSERT_EQ(ledger()["allocation_records"].size(), 1U);
  const Ended stopped = torc({"allocations", "stop", "wf.torc"});
  EXPECT_EQ(stopped.exit_code, 0) << stopped;
  EXPECT_TRUE(stopped.says("until you run `torc submit`")) << stopped;
  EXPECT_TRUE(ledger()["allocation_records"].empty());
  let("sbatch", "");
  const Ended tick = torc({"allocations", "tick", "wf.torc"}, 2h);
  EXPECT_EQ(tick.exit_code, 0) << tick;
  EXPECT_TRUE(queue().empty());
  submit(2h);
  expect_one("submitted again");
}

TEST_F(FakeSlurm, no_file_begins_again_what_a_person_stopped) {
  const std::string text = kWorkflow;
  const auto with = [&](const std::string& walltime) {
    std::string file = text;
    file.replace(file.find("\"00:10:00\""), 10, walltime + ", allocate: {max: 3}");
    here_.write("wf.yaml", file);
  };
  with("\"00:10:00\"");
  make_store();
  ASSERT_EQ(torc({"allocations", "stop", "wf.torc"}).exit_code, 0);
  EXPECT_TRUE(torc({"apply", "wf.yaml"}).says("nothing differs"));
  with("\"00:20:00\"");
  const Ended applied = torc({"apply", "wf.yaml"});
  EXPECT_EQ(applied.exit_code, 0) << applied;
  ASSERT_EQ(torc({"allocations", "tick", "wf.torc"}).exit_code, 0);
  EXPECT_TRUE(queue().empty());
  EXPECT_TRUE(ledger()["allocation_records"].empty());
  submit();
  expect_one("submitted again");
}

TEST_F(FakeSlurm, a_store_for_one_host_gets_no_allocations) {
  const Ended made = torc({"init", "wf.yaml", "--engine", "lmdb", "--no-slurm", "--crontab"});
  ASSERT_EQ(made.exit_code, 0) << made;
  EXPECT_TRUE(made.says("there is no line for cron")) << made;
  EXPECT_FALSE(made.says("*/5")) << made;
  for (const Words& words : {Words{"submit", "wf.torc"}, Words{"schedule-nodes", "wf.torc"},
                             Words{"allocations", "tick", "wf.torc"}}) {
    const Ended ended = torc(words);
    EXPECT_EQ(ended.exit_code, 4) << ended;
    EXPECT_TRUE(ended.says("is a store for one host")) << ended;
    EXPECT_TRUE(ended.says("torc backup wf.torc NEW --engine journal")) << ended;
  }
  EXPECT_TRUE(ledger()["allocation_records"].empty());
  EXPECT_TRUE(queue().empty());
}

TEST_F(FakeSlurm, a_line_for_cron_is_printed_with_what_cron_would_take_for_an_end_of_it_quoted) {
  fs::create_directory(here_.path() / "50%");
  const Ended ended =
      torc({"submit", "wf.yaml", "--engine", "journal", "--store", "50%/wf.torc", "--crontab"});
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_TRUE(ended.says("50\\%/wf.torc")) << ended;
  EXPECT_TRUE(ended.says("allocations tick")) << ended;
}

TEST_F(FakeSlurm, what_is_asked_for_by_hand_and_not_needed_is_said_to_be_withdrawn) {
  make_store();
  submit();
  ASSERT_EQ(torc({"run", "wf.torc"}).exit_code, 0);
  const Ended ended = torc({"schedule-nodes", "wf.torc", "-n", "2"});
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_TRUE(ended.says("what you asked for was withdrawn again")) << ended;
}

// Each with its own scheduler, which tells them apart.
constexpr const char* kAsksOnEachTrigger = R"(name: wf
slurm_schedulers:
  - {name: s1, walltime: "00:10:00"}
  - {name: s2, walltime: "00:10:00"}
  - {name: s3, walltime: "00:10:00"}
  - {name: s4, walltime: "00:10:00"}
  - {name: s5, walltime: "00:10:00"}
  - {name: s6, walltime: "00:10:00"}
actions:
  - {trigger_type: on_workflow_start, action_type: schedule_nodes, scheduler: s1}
  - {trigger_type: on_workflow_complete, action_type: schedule_nodes, scheduler: s2}
  - {trigger_type: on_jobs_ready, jobs: [b], action_type: schedule_nodes, scheduler: s3, num_allocations: 3}
  - {trigger_type: on_jobs_complete, job_name_regexes: ["^a_"], action_type: schedule_nodes, scheduler: s4}
  - {trigger_type: on_worker_start, action_type: schedule_nodes, scheduler: s5}
  - {trigger_type: on_worker_complete, action_type: schedule_nodes, scheduler: s6}
jobs:
  - {name: "a_{i}", command: "true", parameters: {i: "1:3"}}
  - {name: b, command: "true", depends_on: ["a_{i}"]}
)";

TEST_F(FakeSlurm, each_trigger_asks_for_the_allocations_of_its_action_once) {
  here_.write("wf.yaml", kAsksOnEachTrigger);
  make_store();
  for (int round = 0; round < 2; ++round) {
    const Ended ran = torc({"run", "wf.torc", "--num-cpus", "2"});
    EXPECT_EQ(ran.exit_code, 0) << ran;
  }
  Launch asked = launch({"allocations", "wf.torc", "--all", "--json"});
  asked.env["PATH"] = "/nowhere";
  const Ended listed = run(asked);
  std::map<std::string, int> of;
  const json all = json::parse(listed.out);
  for (const json& one : all["allocation_records"]) {
    EXPECT_EQ(one["asked_by"], "action") << one;
    EXPECT_EQ(one["scheduler"], "s" + std::to_string(one["asked_by_action"].get<int>())) << one;
    ++of[one["scheduler"]];
  }
  // A second worker has its own start and end; the workflow has not.
  EXPECT_EQ(of, (std::map<std::string, int>{
                    {"s1", 1}, {"s2", 1}, {"s3", 3}, {"s4", 1}, {"s5", 2}, {"s6", 2}}))
      << listed;
  const Ended actions = torc({"actions", "wf.torc"});
  EXPECT_TRUE(actions.says("asks for 3 allocations of s3")) << actions;
}

TEST_F(FakeSlurm, who_may_not_submit_here_leaves_it_to_a_login_node) {
  make_store();
  let("sbatch", "not-here");
  Launch inside = launch({"submit", "wf.torc"});
  inside.env["SLURM_JOB_ID"] = "77";
  EXPECT_EQ(run(inside).exit_code, 0);
  let("sbatch", "");
  EXPECT_EQ(run(inside).exit_code, 0);
  EXPECT_TRUE(queue().empty());
  const Ended status = torc({"status", "wf.torc"});
  EXPECT_TRUE(status.says("compute nodes may not submit")) << status;
  submit();
  expect_one("on a login node");
}

TEST_F(FakeSlurm, two_who_submit_at_once_get_one_allocation) {
  for (int round = 0; round < 5; ++round) {
    begin_anew();
    make_store();
    Process one(launch({"submit", "wf.torc"}));
    Process other(launch({"submit", "wf.torc"}));
    EXPECT_EQ(one.wait().exit_code, 0);
    EXPECT_EQ(other.wait().exit_code, 0);
    submit(1min);
    expect_one("two at once");
  }
}

TEST_F(FakeSlurm, the_submitter_may_be_killed_while_sbatch_runs) {
  // Which ends with it, and has not acted.
  make_store();
  let("sbatch", "gate");
  const Fifo gate(slurm() / "gate");
  NewNames names(slurm());
  {
    Process submitter(launch({"submit", "wf.torc"}));
    ASSERT_TRUE(wait_until({&names}, [&] { return fs::exists(slurm() / "begun"); }));
    submitter.kill(SIGKILL);
    (void)submitter.wait();
  }
  let("sbatch", "");
  see_to_it();
  expect_one("killed while sbatch runs");
}

TEST_F(FakeSlurm, the_submitter_may_be_killed_at_every_system_call) {
  // Those of a whole run; each round kills it at another one.
  make_store();
  const KilledAt whole = kill_at_call(launch({"submit", "wf.torc"}), 0);
  ASSERT_EQ(whole.exit_code, 0);
  ASSERT_GT(whole.calls, 50U);
  expect_one("whole");
  // All of them take minutes: a part of them at each run, unless TORC_TEST_ALL_CALLS is set.
  const std::uint64_t step = std::getenv("TORC_TEST_ALL_CALLS") != nullptr ? 1 : 17;
  std::uint64_t rounds = 0;
  for (std::uint64_t at = 1 + test_seed() % step;; at += step) {
    begin_anew();
    make_store();
    const KilledAt killed = kill_at_call(launch({"submit", "wf.torc"}), at);
    if (!killed.was_killed) break;
    ++rounds;
    submit(1s);
    if (queue().size() != 1) see_to_it();
    expect_one("stop " + std::to_string(at) + ", " + killed.where);
    if (HasFailure()) break;
  }
  std::cerr << rounds << " of " << whole.calls << " stops\n";
  EXPECT_GT(rounds, 5U);
}

}  // namespace
}  // namespace torc::itest
