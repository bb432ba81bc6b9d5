// What is asked of Slurm, and what is said of it and of workers, at a fixed moment.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "lib/base/quantities.h"
#include "lib/report/situation_text.h"
#include "lib/worker/loop/session_fixture.h"

namespace torc::report {
namespace {

using namespace std::chrono_literals;

constexpr WallTime kNoon = 1'800'000'000s;

slurm::ShownAllocation allocation(const std::string& id, const std::string& state) {
  slurm::ShownAllocation a{id, "alpha", "wf-one", state, "", "one"};
  a.uid = 1000;
  a.submitted = kNoon - 1h;
  return a;
}

// With a lease of 50 s, and a job.
WorkerNow worker_now(std::uint64_t epoch, WallTime heard_at) {
  WorkerNow w;
  w.worker.epoch = claim::WorkerEpoch{epoch};
  w.worker.info.host = "n1";
  w.worker.info.registered_at = kNoon - 1h;
  w.worker.held = 1;
  w.heard_at = heard_at;
  w.lease = 50s;
  if (kNoon - heard_at > 30s)
    w.silent = std::chrono::duration_cast<std::chrono::seconds>(kNoon - heard_at);
  return w;
}

Situation with_work() {
  Situation s;
  s.workflow.jobs = 1;
  s.workflow.counts[static_cast<std::size_t>(claim::JobState::ready)] = 1;
  return s;
}

TEST(SayState, tells_what_slurm_tells_and_nothing_else) {
  slurm::ShownAllocation a = allocation("7", "PENDING");
  EXPECT_EQ(say_state(a, kNoon), "PENDING");
  a.reason = "Priority";
  EXPECT_EQ(say_state(a, kNoon), "PENDING (Priority)");
  a.start = kNoon - 1s;
  EXPECT_EQ(say_state(a, kNoon), "PENDING (Priority)") << "an expectation that has passed is none";
  a.start = kNoon + 1h;
  EXPECT_EQ(say_state(a, kNoon), "PENDING (Priority), expected to start " + show_time(kNoon + 1h));
  a = allocation("7", "RUNNING");
  EXPECT_EQ(say_state(a, kNoon), "RUNNING");
  a.end = kNoon + 90s;
  EXPECT_EQ(say_state(a, kNoon), "RUNNING, 90 s left");
  a.end = kNoon - 1s;
  EXPECT_EQ(say_state(a, kNoon), "RUNNING");
  a = allocation("7", "CANCELLED");
  EXPECT_EQ(say_state(a, kNoon), "CANCELLED");
  a.canceled_by = "uid 7";
  a.end = kNoon - 1h;
  EXPECT_EQ(say_state(a, kNoon), "CANCELLED by uid 7, ended " + show_time(kNoon - 1h));
  EXPECT_EQ(say_state(allocation("7", "REVOKED"), kNoon), "REVOKED");
}

TEST(SayAbsence, of_a_process_that_is_gone_on_this_machine) {
  Situation s = with_work();
  s.workers = {worker_now(3, kNoon)};
  s.workers[0].is_gone = true;
  EXPECT_EQ(say_absence(s, s.workers[0], kNoon),
            "worker 3 on n1 is gone: its process has ended; its jobs run again at once with a "
            "worker on this machine, within 70 s with one elsewhere");
}

TEST(SayAbsence, tells_when_the_lease_ends_and_what_it_takes_then) {
  Situation s = with_work();
  s.workers = {worker_now(3, kNoon - 40s)};
  EXPECT_EQ(say_absence(s, s.workers[0], kNoon),
            "worker 3 on n1 has been silent for 40 s; its lease ends in 10 s, and its jobs run "
            "again within 70 s of a worker's start");
  s.workers[0] = worker_now(3, kNoon - 2h);
  EXPECT_EQ(say_absence(s, s.workers[0], kNoon),
            "worker 3 on n1 has been silent for 2 h; its lease is over, and its jobs run "
            "again within 70 s of a worker's start");
  s.workers[0].worker.held = 0;
  EXPECT_TRUE(say_absence(s, s.workers[0], kNoon).ends_with("2 h; it has no jobs"));
}

TEST(SayAbsence, where_another_one_is_at_work_tells_by_when_it_takes_over) {
  Situation s = with_work();
  s.workers = {worker_now(3, kNoon - 40s), worker_now(5, kNoon)};
  EXPECT_EQ(say_absence(s, s.workers[0], kNoon),
            "worker 3 on n1 has been silent for 40 s; its jobs run again at the latest in 30 s");
  // Who came later has watched it for a shorter time.
  s.workers[1].worker.info.registered_at = kNoon - 5s;
  EXPECT_TRUE(say_absence(s, s.workers[0], kNoon).ends_with("at the latest in 65 s"));
  s.workers = {worker_now(3, kNoon - 40min), worker_now(5, kNoon)};
  EXPECT_TRUE(say_absence(s, s.workers[0], kNoon)
                  .ends_with("run again when another worker has found its lease to be over"));
}

TEST(SayAbsence, tells_what_slurm_says_of_the_node_and_the_allocation) {
  Situation s = with_work();
  s.workers = {worker_now(3, kNoon - 40s)};
  claim::WorkerInfo& info = s.workers[0].worker.info;
  info.allocation = "7";
  info.cluster = "alpha";
  info.node = "n1";
  s.slurm = SlurmAnswer{};
  s.slurm->nodes = {{"n1", "down*", ""}};
  s.slurm->allocations = {allocation("7", "RUNNING")};
  EXPECT_TRUE(say_absence(s, s.workers[0], kNoon)
                  .starts_with("worker 3 on n1, allocation 7, has been silent for 40 s, Slurm says "
                               "n1 is down and does not answer; its lease"));
  s.slurm->nodes[0].state = "idle";
  s.slurm->allocations[0].state = "NODE_FAIL";
  EXPECT_TRUE(say_absence(s, s.workers[0], kNoon)
                  .starts_with("worker 3 on n1, allocation 7, has been silent for 40 s, Slurm says "
                               "n1 is idle and its allocation is NODE_FAIL; its lease"));
}

TEST(SaySlurm, tells_nothing_of_what_it_was_not_told) {
  Situation s = with_work();
  EXPECT_EQ(say_slurm(s, kNoon), "") << "it was not asked";
  s.slurm = SlurmAnswer{};
  s.slurm->failure = "it took too long";
  s.slurm->answered_at = kNoon;
  EXPECT_EQ(say_slurm(s, kNoon),
            "Slurm did not answer (it took too long): what it has of this workflow's allocations "
            "is not known.");
  s.slurm->failure = {};
  EXPECT_EQ(say_slurm(s, kNoon), "") << "the answer was cut, and shows none";
  s.slurm->whole = true;
  EXPECT_EQ(say_slurm(s, kNoon),
            "Slurm shows no allocation that is called as the batch scripts here call it.");
  s.newest = worker_now(3, kNoon).worker;
  s.newest->info.allocation = "23";
  s.newest->gone_at = kNoon - 60s;
  EXPECT_EQ(say_slurm(s, kNoon),
            "Slurm shows no allocation that is called as the batch scripts here call it, nor that "
            "of the newest worker (worker 3 on n1, allocation 23, gone since " +
                show_time(kNoon - 60s) + ").");
  s.newest = {};
  s.slurm->allocations = {allocation("6", "CANCELLED"), allocation("7", "TIMEOUT")};
  EXPECT_EQ(say_slurm(s, kNoon), "The newest that Slurm shows: allocation 7 (wf-one) is TIMEOUT.");
  s.slurm->allocations.push_back(allocation("8", "PENDING"));
  EXPECT_EQ(say_slurm(s, kNoon), "Slurm says: allocation 8 (wf-one) is PENDING.");
  EXPECT_EQ(say_slurm(s, kNoon + 1999ms), "Slurm says: allocation 8 (wf-one) is PENDING.");
  EXPECT_EQ(say_slurm(s, kNoon + 7900ms),
            "Slurm says: allocation 8 (wf-one) is PENDING (asked 7 s ago).");
  EXPECT_EQ(say_slurm(s, kNoon + 1min),
            "Slurm says: allocation 8 (wf-one) is PENDING (asked 1 min ago).");
  EXPECT_EQ(say_slurm(s, kNoon, "wide"),
            "Slurm shows no allocation of the batch script for scheduler 'wide'.");
}

TEST(Waiting, is_for_what_slurm_will_start_and_for_what_has_just_begun) {
  Situation s = with_work();
  s.slurm = SlurmAnswer{};
  s.slurm->answered_at = kNoon;
  s.slurm->allocations = {allocation("6", "CANCELLED"), allocation("7", "RUNNING"),
                          allocation("8", "PENDING")};
  EXPECT_EQ(waiting(s).size(), 1U);
  EXPECT_TRUE(waiting(s, "wide").empty());
  s.slurm->allocations[1].start = kNoon - 60s;
  EXPECT_EQ(waiting(s).size(), 2U) << "its workers have not registered yet";
  s.workers = {worker_now(3, kNoon - 10min)};
  s.workers[0].worker.info.allocation = "7";
  EXPECT_EQ(waiting(s).size(), 1U) << "they have";
}

TEST(Waiting, takes_a_remedy_for_each_of_at_most_three) {
  Situation s = with_work();
  s.slurm = SlurmAnswer{};
  for (const char* id : {"1", "2", "3", "4"}) {
    s.slurm->allocations.push_back(allocation(id, "PENDING"));
    s.slurm->allocations.back().reason = "JobHeldUser";
  }
  EXPECT_EQ(remedy_for_waiting(waiting(s)),
            "scontrol release 1; scontrol release 2; scontrol release 3");
  s.slurm->allocations = {allocation("1", "PENDING"), allocation("2", "PENDING")};
  EXPECT_EQ(remedy_for_waiting(waiting(s)), remedy_for_waiting({waiting(s).front()}))
      << "what is said of both is said once";
}

TEST(Waiting, is_for_the_end_of_a_suspension_too) {
  Situation s = with_work();
  s.workers = {worker_now(3, kNoon - 40s)};
  claim::WorkerInfo& info = s.workers[0].worker.info;
  info.allocation = "7";
  info.cluster = "alpha";
  s.slurm = SlurmAnswer{};
  s.slurm->allocations = {allocation("7", "SUSPENDED"), allocation("8", "PENDING")};
  EXPECT_EQ(waiting(s).size(), 2U);
  ASSERT_NE(suspended_of(s, info), nullptr);
  EXPECT_EQ(suspended_of(s, info)->id, "7");
  EXPECT_NE(say_absence(s, s.workers[0], kNoon).find("Slurm says its allocation is SUSPENDED"),
            std::string::npos);
  info.allocation = "8";
  EXPECT_EQ(suspended_of(s, info), nullptr);
  EXPECT_EQ(say_absence(s, s.workers[0], kNoon).find("SUSPENDED"), std::string::npos);
}

class SayNobody : public worker::SessionTest {};

TEST_F(SayNobody, ends_with_the_command_that_starts_one) {
  std::string path = "PATH=" + directory_.string();
  char* environment[] = {path.data(), nullptr};
  context_.environment = environment;
  Situation s = with_work();
  EXPECT_EQ(say_nobody(context_, s, "wf.torc"),
            "no worker is at work; start one: torc run wf.torc\n");
  s.scripts = {{"one", "/s/wf.torc/slurm/one.sbatch", "wf-one"}};
  EXPECT_EQ(say_nobody(context_, s, "wf.torc"),
            "no worker is at work; start one: torc run wf.torc\n")
      << "there is no sbatch";
  std::ofstream(directory_ / "sbatch").close();
  std::filesystem::permissions(directory_ / "sbatch", std::filesystem::perms::owner_all);
  EXPECT_EQ(say_nobody(context_, s, "wf.torc"),
            "no worker is at work; start one: sbatch /s/wf.torc/slurm/one.sbatch\n");
  s.slurm = SlurmAnswer{};
  s.slurm->allocations = {allocation("8", "PENDING")};
  EXPECT_EQ(say_nobody(context_, s, "wf.torc"),
            "no worker is at work: the workflow waits for an allocation\n");
  s.slurm->allocations[0].reason = "JobHeldUser";
  EXPECT_EQ(say_nobody(context_, s, "wf.torc"),
            "no worker is at work, and no allocation brings one by itself\n");
  EXPECT_EQ(say_stuck(s), "allocation 8 is held: scontrol release 8\n");
  EXPECT_EQ(remedy_for_nobody(context_, s, "wf.torc"), "scontrol release 8");
  s.slurm->allocations.push_back(allocation("9", "SUSPENDED"));
  EXPECT_EQ(remedy_for_nobody(context_, s, "wf.torc"), "scontrol release 8; scontrol resume 9");
  s.slurm->allocations.push_back(allocation("10", "PENDING"));
  EXPECT_EQ(say_nobody(context_, s, "wf.torc"),
            "no worker is at work: the workflow waits for an allocation\n")
      << "one that Slurm starts";
  s.workers = {worker_now(5, kNoon)};
  EXPECT_EQ(say_nobody(context_, s, "wf.torc"), "");
  EXPECT_NE(say_stuck(s), "") << "also where somebody is at work";
  s.workers = {worker_now(3, kNoon - 1h)};
  s.slurm = {};
  EXPECT_NE(say_nobody(context_, s, "wf.torc"), "") << "a silent one does no work";
  s.workflow = {};
  EXPECT_EQ(say_nobody(context_, s, "wf.torc"), "") << "nothing is left to do";
}

// A job that needs this much, as a class.
claim::JobClass needing(std::chrono::seconds runtime, std::uint64_t mib, std::uint32_t cpus) {
  claim::JobClass c;
  c.need.runtime = runtime;
  c.need.memory = mebibytes(mib);
  c.need.cpus = cpus;
  return c;
}

// With an sbatch, and two scripts: 'big' has more of everything, 'all' the first place.
class HowToStart : public worker::SessionTest {
 protected:
  HowToStart() {
    std::ofstream(directory_ / "sbatch").close();
    std::filesystem::permissions(directory_ / "sbatch", std::filesystem::perms::owner_all);
    context_.environment = environment_;
    situation_.kept = {60s, 0s, 30s};
    situation_.scripts = {script("all"), script("big")};
    situation_.scripts[0].asked = {2, false, mebibytes(500), 10min};
    situation_.scripts[1].asked = {8, false, mebibytes(4000), 2h};
  }
  static SubmitScript script(const std::string& name) {
    return {name, "/s/wf.torc/slurm/" + name + ".sbatch", "wf-" + name};
  }
  std::string how(const std::vector<claim::JobClass>& classes) {
    const Start start = how_to_start(context_, situation_, "wf.torc", classes);
    EXPECT_EQ(start.by == Start::By::sbatch, start.how.starts_with("sbatch"));
    return start.how;
  }

  std::string path_ = "PATH=" + directory_.string();
  char* environment_[2] = {path_.data(), nullptr};
  Situation situation_ = with_work();
  const std::string all_ = "sbatch /s/wf.torc/slurm/all.sbatch";
  const std::string big_ = "sbatch /s/wf.torc/slurm/big.sbatch";
};

TEST_F(HowToStart, names_the_scripts_whose_workers_could_run_a_job) {
  EXPECT_EQ(how({}), all_ + ", or " + big_) << "nothing is ready";
  EXPECT_EQ(how({needing(5min, 100, 1)}), all_ + ", or " + big_);
  EXPECT_EQ(how({needing(9min, 100, 1)}), big_) << "10 min are too few for what is kept free";
  EXPECT_EQ(how({needing(5min, 501, 1)}), big_);
  EXPECT_EQ(how({needing(5min, 100, 3)}), big_);
  claim::JobClass bound = needing(5min, 100, 1);
  bound.scheduler = "big";
  EXPECT_EQ(how({bound}), big_);
  EXPECT_EQ(how({needing(9min, 100, 1), needing(5min, 100, 1)}), all_ + ", or " + big_)
      << "each can run one of them";
}

TEST_F(HowToStart, says_why_no_script_would_do) {
  EXPECT_EQ(how({needing(3h, 100, 1)}),
            "no batch script brings workers that could run it: /s/wf.torc/slurm/all.sbatch "
            "(walltime 10 min, and 3 h 2 min are needed), /s/wf.torc/slurm/big.sbatch (walltime 2 "
            "h, and 3 h 2 min are needed). Edit a script, or let it need less with torc set");
  claim::JobClass bound = needing(5min, 4001, 1);
  bound.scheduler = "big";
  EXPECT_EQ(how({bound}),
            "no batch script brings workers that could run it: /s/wf.torc/slurm/all.sbatch (it is "
            "not for scheduler 'big'), /s/wf.torc/slurm/big.sbatch (mem 3.906 GiB, and 3.907 GiB "
            "are needed). Edit a script, or let it need less with torc set");
  situation_.ready = {needing(5min, 100, 9)};
  EXPECT_EQ(say_nobody(context_, situation_, "wf.torc"),
            "no worker is at work, and no batch script brings workers that could run it: "
            "/s/wf.torc/slurm/all.sbatch (2 CPUs, and 9 are needed), /s/wf.torc/slurm/big.sbatch "
            "(8 CPUs, and 9 are needed). Edit a script, or let it need less with torc set\n");
}

TEST_F(HowToStart, names_no_script_that_starts_workers_for_the_original_of_a_copy) {
  situation_.scripts[1].other_store = "/o/wf.torc";
  EXPECT_EQ(how({needing(5min, 100, 1)}),
            "/s/wf.torc/slurm/big.sbatch starts workers for /o/wf.torc: this store was moved or "
            "copied. `torc set wf.torc --workdir DIR`, with the directory of its jobs, mends that");
}

TEST_F(HowToStart, names_last_what_may_not_do) {
  situation_.scripts[0].refused = true;
  EXPECT_EQ(how({needing(5min, 100, 1)}), big_ + ", or " + all_) << "Slurm has refused it";
  situation_.scripts[0].refused = false;
  situation_.scripts[0].asked.cpus = 1;
  situation_.scripts[0].asked.cpus_by_default = true;
  EXPECT_EQ(how({needing(5min, 100, 2)}), big_ + ", or " + all_) << "Slurm gives one CPU a task";
}

TEST_F(HowToStart, reads_what_a_script_asks_for_and_that_slurm_refused_it) {
  std::filesystem::create_directory(directory_ / "slurm");
  const Path script = directory_ / "slurm" / "one.sbatch";
  const auto write = [](const Path& file, const std::string& text) { std::ofstream(file) << text; };
  write(script, "#!/bin/bash\n#SBATCH --job-name='wf-one'\n#SBATCH --time='00:10:00'\n");
  auto found = find_scripts(directory_);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].job_name, "wf-one");
  EXPECT_EQ(found[0].asked.walltime, 10min);
  EXPECT_FALSE(found[0].refused);
  const auto made = std::filesystem::last_write_time(script);
  write(mark_of_refusal(script), "no\n");
  std::filesystem::last_write_time(mark_of_refusal(script), made + 1s);
  found = find_scripts(directory_);
  ASSERT_EQ(found.size(), 1U) << "the mark is no script";
  EXPECT_TRUE(found[0].refused);
  std::filesystem::last_write_time(script, made + 2s);
  EXPECT_FALSE(find_scripts(directory_)[0].refused) << "it was changed since";
  EXPECT_EQ(found[0].other_store, "");
  write(script, "#!/bin/bash\nexport TORC_STORE=/o/wf.torc\n");
  EXPECT_EQ(find_scripts(directory_)[0].other_store, "/o/wf.torc");
}

// --- asking ---

// Prints what `rows` says for every squeue, and remembers the questions.
struct FakeSlurm {
  std::vector<slurm::ShownAllocation> rows;
  int exit_code = 0;
  std::vector<std::string> asked = {};  // programs

  static std::string cell(std::string text, std::size_t width) {
    text.resize(width, ' ');
    return text;
  }
  static std::string time(WallTime at) { return at.count() == 0 ? "N/A" : std::to_string(at / 1s); }
  slurm::RunProgram run() {
    return [this](const std::vector<std::string>& argv) -> Result<slurm::CommandOutput> {
      std::string program;
      for (const char* one : {"squeue", "sacct", "sinfo"}) {
        if (std::ranges::find(argv, one) != argv.end()) program = one;
      }
      asked.push_back(program);
      if (program != "squeue") return slurm::CommandOutput{1, "", ""};
      std::string out = "JOBID\n";
      for (const auto& a : rows) {
        out += cell(a.id, 24) + cell(a.id, 48) + cell(a.cluster, 64) + cell("", 16384) +
               cell("1", 12) + cell(a.state, 24) + cell(time(a.start), 32) + cell(time(a.end), 32) +
               cell(time(a.submitted), 32) + cell(std::to_string(a.uid.value_or(0)), 12) +
               cell(a.name, 256) + cell(a.script, 4096) + cell(a.reason, 512) + "\n";
      }
      return slurm::CommandOutput{exit_code, out, "squeue: error: away\n"};
    };
  }
};

class AskingSlurm : public testing::Test {
 protected:
  AskingSlurm() {
    situation_.scripts = {{"one", "/s/wf.torc/slurm/one.sbatch", "wf-one"},
                          {"wide", "/s/wf.torc/slurm/wide.sbatch", "wf-wide"}};
  }
  std::vector<std::string> ids() {
    answer_ = ask_slurm(slurm_.run(), asking_, situation_, kNoon);
    std::vector<std::string> ids;
    for (const auto& a : answer_.allocations) ids.push_back(a.id);
    return ids;
  }
  slurm::ShownAllocation row(const std::string& id, const std::string& state,
                             const std::string& script = "/s/wf.torc/slurm/one.sbatch") {
    slurm::ShownAllocation a = allocation(id, state);
    a.script = script;
    return a;
  }
  using Ids = std::vector<std::string>;

  FakeSlurm slurm_;
  Asking asking_{1000, {"/s/wf.torc"}, kNoon - 2h};
  Situation situation_ = with_work();
  SlurmAnswer answer_;
};

TEST_F(AskingSlurm, takes_for_the_workflow_s_what_its_scripts_name_and_no_other_store_s) {
  slurm_.rows = {
      row("1", "PENDING"),           row("2", "PENDING", "/s/other.torc/slurm/one.sbatch"),
      row("3", "PENDING", "(null)"), row("4", "PENDING", "/home/me/changed.sh"),
      row("5", "PENDING", "(null)"), row("6", "PENDING")};
  slurm_.rows[4].uid = 1001;  // somebody else's of the same name
  slurm_.rows[5].uid = 1001;  // of the group whose store it is
  EXPECT_EQ(ids(), (Ids{"1", "3", "4", "6"}));
  for (const auto& a : answer_.allocations) EXPECT_EQ(a.script, "one");
  EXPECT_TRUE(answer_.whole);
  EXPECT_EQ(slurm_.asked, (Ids{"squeue"})) << "one question, where something lives";
}

// Whoever may submit anything can give it the name and the path that Slurm shows.
TEST_F(AskingSlurm, takes_nothing_of_a_stranger_for_the_workflow_s) {
  asking_.users = {1000, 1001};
  slurm_.rows = {row("1", "PENDING"), row("2", "PENDING"), row("3", "PENDING")};
  slurm_.rows[1].uid = 1001;  // whose store it is
  slurm_.rows[2].uid = 1002;
  EXPECT_EQ(ids(), (Ids{"1", "2"}));
  EXPECT_TRUE(answer_.whole);
}

TEST_F(AskingSlurm, takes_an_allocation_of_a_worker_by_its_number_and_cluster) {
  situation_.workers = {worker_now(3, kNoon)};
  situation_.workers[0].worker.info.allocation = "9";
  situation_.workers[0].worker.info.cluster = "alpha";
  slurm_.rows = {row("9", "RUNNING", "/any/script")};
  slurm_.rows[0].name = "another name";
  EXPECT_EQ(ids(), (Ids{"9"}));
  situation_.workers[0].worker.info.cluster = "beta";
  EXPECT_EQ(ids(), Ids{}) << "of another cluster";
}

TEST_F(AskingSlurm, takes_the_allocation_of_the_newest_worker_also_when_that_has_left) {
  situation_.newest = worker_now(3, kNoon).worker;
  situation_.newest->info.allocation = "9";
  situation_.newest->info.cluster = "alpha";
  slurm_.rows = {row("9", "RUNNING", "(null)")};
  slurm_.rows[0].name = "interactive";
  EXPECT_EQ(ids(), (Ids{"9"}));
}

TEST_F(AskingSlurm, leaves_out_what_ended_before_the_store_was_made) {
  slurm_.rows = {row("1", "CANCELLED"), row("2", "PENDING"), row("3", "CANCELLED")};
  slurm_.rows[0].submitted = slurm_.rows[1].submitted = kNoon - 3h;
  EXPECT_EQ(ids(), (Ids{"2", "3"})) << "what waits brings workers to the store that is there now";
}

TEST_F(AskingSlurm, concludes_nothing_from_a_failure) {
  slurm_.rows = {row("1", "CANCELLED")};
  slurm_.exit_code = 1;
  EXPECT_EQ(ids(), Ids{});
  EXPECT_FALSE(answer_.whole);
  EXPECT_EQ(answer_.answered_at, WallTime{});
  EXPECT_EQ(answer_.failure, "squeue: error: away");
  EXPECT_EQ(slurm_.asked.size(), 1U) << "who does not answer is asked nothing more";
}

TEST_F(AskingSlurm,
       asks_the_accounting_only_where_nothing_lives_and_about_nodes_of_silent_workers) {
  slurm_.rows = {row("1", "CANCELLED")};
  EXPECT_EQ(ids(), (Ids{"1"}));
  EXPECT_EQ(slurm_.asked, (Ids{"squeue", "sacct"}));
  slurm_.rows = {row("1", "RUNNING")};
  slurm_.asked.clear();
  situation_.workers = {worker_now(3, kNoon - 1h), worker_now(4, kNoon)};
  for (WorkerNow& w : situation_.workers) w.worker.info.node = "n1";
  (void)ids();
  EXPECT_EQ(slurm_.asked, (Ids{"squeue", "sinfo"}));
}

}  // namespace
}  // namespace torc::report
