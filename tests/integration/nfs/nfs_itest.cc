// torc on real NFS: a server and two clients, each a kernel of its own (lab.sh). Workers on both
// clients work on one workflow while the network, a client or the server fails; afterwards the
// store is audited as after a torture run. Jobs write to a directory of this machine, around NFS.
//
// TORC_NFS_ROUNDS: how often each fault strikes (1). TORC_TEST_SKIP_NFS: skips all of it.
// TORC_TEST_REQUIRE_NFS: a machine that cannot boot the lab is a failure, not a reason to skip.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/integration/harness.h"
#include "tests/torture/audit.h"
#include "tests/torture/events.h"

namespace torc {
namespace {

namespace fs = std::filesystem;
using itest::Ended;
using itest::Path;
using itest::Process;
using nlohmann::json;
using torture::Account;
using torture::Events;
using torture::Violation;
using namespace std::chrono_literals;

constexpr int kCannot = 77;  // lab.sh: this machine cannot do it
constexpr int kServer = 0;
constexpr std::chrono::seconds kLong{
    240};  // for what waits for leases, grace periods, slow kernels
constexpr const char* kLease = "12s";
// Beyond that lease and beyond the server's (10 s).
constexpr std::chrono::seconds kBeyond{26};
constexpr std::int64_t kClocksApart = 2'000'000'000;  // of the virtual nodes, ns

using Words = std::vector<std::string>;

// The three machines; one lab for all tests of this process.
class Lab final : public testing::Environment {
 public:
  void SetUp() override {
    if (std::getenv("TORC_TEST_SKIP_NFS") != nullptr) return;
    scratch_ = std::make_unique<itest::Scratch>();
    fs::create_directories(path() / "bin");
    for (const char* program : {TORC_PROGRAM, TORTURE_JOB})
      fs::copy(program, path() / "bin" / Path(program).filename());
    const Ended start = itest::run(launch({"start", std::to_string(getpid())}), kLong);
    if (start.exit_code != 0) {
      why_not_ = start.err;
      scratch_.reset();
      return;
    }
    std::cout << "the lab is up\n";
  }
  void TearDown() override {
    if (!scratch_) return;
    const Ended stop = itest::run(launch({"stop"}));
    EXPECT_EQ(stop.exit_code, 0) << stop;
  }

  [[nodiscard]] bool is_up() const { return scratch_ != nullptr; }
  [[nodiscard]] const std::string& why_not() const { return why_not_; }
  [[nodiscard]] const Path& path() const { return scratch_->path(); }
  [[nodiscard]] itest::Launch launch(const Words& words) const {
    Words argv{LAB_SCRIPT, path().string()};
    argv.insert(argv.end(), words.begin(), words.end());
    return {argv, {{"LAB_PROGRAMS", LAB_PROGRAMS}}, path(), {}, {}};
  }
  void tell(const Words& words) const {
    const Ended done = itest::run(launch(words), kLong);
    ASSERT_EQ(done.exit_code, 0) << "lab.sh " << words.front() << ": " << done;
  }
  [[nodiscard]] Ended run(int node, const std::string& command) const {
    return itest::run(launch({"run", std::to_string(node), command}), kLong);
  }
  // How the nodes see a path of this machine.
  [[nodiscard]] static std::string host(const Path& path) { return "/host" + path.string(); }
  [[nodiscard]] std::string torc() const { return host(path() / "bin/torc"); }

 private:
  std::unique_ptr<itest::Scratch> scratch_;
  std::string why_not_;
};

Lab* lab = nullptr;

// One workflow on the shared directory and its workers, two on each client.
class OnNfs : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (std::getenv("TORC_TEST_SKIP_NFS") != nullptr) GTEST_SKIP() << "TORC_TEST_SKIP_NFS is set";
    if (!lab->is_up()) {
      ASSERT_EQ(std::getenv("TORC_TEST_REQUIRE_NFS"), nullptr) << lab->why_not();
      GTEST_SKIP() << "this machine cannot boot the lab: " << lab->why_not();
    }
    random_.seed(itest::test_seed());
    for (const int node : {1, 2}) mount(node);
  }
  void TearDown() override {
    for (auto& worker : workers_) worker.process->kill(SIGKILL);
    if (!lab->is_up()) return;
    for (const int node : {1, 2})
      (void)lab->run(node, "pkill -KILL -x torc; cd /; umount -f -l /shared; true");
    std::cout << fmt::format(
        "{:.0f} s; {} attempts, {} jobs ran twice, {} commits, {} leases expired\n",
        std::chrono::duration<double>(Clock::now() - begun_).count(), account_.attempts,
        account_.ran_twice, account_.commits, account_.expired);
  }

  struct Worker {
    int node = 0;
    std::unique_ptr<Process> process;
  };
  using Clock = std::chrono::steady_clock;

  void mount(int node) {
    lab->tell({"mount", std::to_string(node), GetParam() + std::string(",hard")});
  }

  void begin(std::size_t jobs) {
    directory_ = lab->path() / fmt::format("{:x}", random_());
    shared_ = "/shared/" + directory_.filename().string();
    record_ = directory_ / "runs";
    fs::create_directories(record_);
    plan_ = torture::random_plan(jobs, random_);
    itest::write_text(directory_ / "wf.yaml",
                      torture::spec_of(plan_, Lab::host(lab->path() / "bin/torc-torture-job"),
                                       Lab::host(record_), "wall"));
    const Ended init = lab->run(1, fmt::format("mkdir {0} && cd {0} && {1} init {2}/wf.yaml",
                                               shared_, lab->torc(), Lab::host(directory_)));
    ASSERT_EQ(init.exit_code, 0) << init;
    ASSERT_TRUE(init.says("engine journal")) << init;
    events_ = std::make_unique<Events>(record_);
    for (const int node : {1, 2, 1, 2}) start_worker(node);
    while (workers_at_work() < 4) ASSERT_TRUE(see_lines(1)) << printed();
  }

  void start_worker(int node) {
    const std::string command =
        fmt::format("cd {} && exec {} worker wf.torc --lease-ttl {} --max-parallel-jobs 2", shared_,
                    lab->torc(), kLease);
    workers_.push_back(
        {node, std::make_unique<Process>(lab->launch({"run", std::to_string(node), command}))});
  }
  void forget_workers_of(int node) {
    std::erase_if(workers_, [node](const Worker& worker) { return worker.node == node; });
  }

  [[nodiscard]] std::vector<itest::Source*> sources() {
    std::vector<itest::Source*> all{events_.get()};
    for (auto& worker : workers_) all.push_back(worker.process.get());
    return all;
  }
  // So many further lines of jobs.
  [[nodiscard]] bool see_lines(std::uint64_t count) {
    std::uint64_t seen = 0;
    return itest::wait_until(
        sources(), [&] { return (seen += events_->take()) >= count; }, kLong);
  }
  void let_pass(std::chrono::seconds time) {
    (void)itest::wait_until(
        sources(), [] { return false; }, time);
  }
  // Some worker of `node` learned that its jobs were given to others.
  [[nodiscard]] bool superseded(int node) {
    return itest::wait_until(
        sources(),
        [&] {
          return std::any_of(workers_.begin(), workers_.end(), [&](const Worker& worker) {
            return worker.node == node &&
                   (worker.process->out().find("lease") != std::string::npos);
          });
        },
        kLong);
  }
  [[nodiscard]] std::string printed() {
    std::string all;
    for (const auto& worker : workers_)
      all += fmt::format("--- on node{}\n{}{}", worker.node, worker.process->out(),
                         worker.process->err());
    return all;
  }

  // Waits for the end of the workflow; who has left before, or gave up, is replaced.
  void finish() {
    const auto end = Clock::now() + kLong;
    for (bool done = false; !done; done = is_finished()) {
      ASSERT_LT(Clock::now(), end) << "the workflow does not end\n" << printed();
      const auto leaver = [](const Worker& worker) { return !worker.process->running(); };
      (void)itest::wait_until(
          sources(), [&] { return std::any_of(workers_.begin(), workers_.end(), leaver); }, 10s);
      for (std::size_t i = 0; i < workers_.size(); ++i) {
        if (!leaver(workers_[i])) continue;
        const int node = workers_[i].node;
        last_words_ += workers_[i].process->out() + workers_[i].process->err();
        workers_.erase(workers_.begin() + static_cast<std::ptrdiff_t>(i--));
        if (!is_finished()) start_worker(node);
      }
    }
    for (auto& worker : workers_) {
      const Ended left = worker.process->wait(90s);
      EXPECT_EQ(left.exit_code, 0) << left;
    }
  }
  // Null when it cannot be had now.
  [[nodiscard]] json status() {
    const Ended asked =
        lab->run(1, fmt::format("{} status {}/wf.torc --json", lab->torc(), shared_));
    json parsed = json::parse(asked.out, nullptr, false);
    return asked.exit_code == 0 && !parsed.is_discarded() ? parsed : json();
  }
  [[nodiscard]] std::size_t workers_at_work() {
    const json now = status();
    return now.is_null() ? 0 : now.at("workers").size();
  }
  [[nodiscard]] bool is_finished() {
    const json now = status();
    return !now.is_null() && (now.at("state") == "completed" || now.at("state") == "failed");
  }

  void audit() {
    for (const int node : {1, 2}) {
      const Ended verified =
          lab->run(node, fmt::format("{} verify {}/wf.torc", lab->torc(), shared_));
      EXPECT_EQ(verified.exit_code, 0) << "on node " << node << ": " << verified;
    }
    const Ended copied = lab->run(
        kServer, fmt::format("cp -a /export{}/wf.torc {}/", shared_, Lab::host(directory_)));
    ASSERT_EQ(copied.exit_code, 0) << copied;
    const auto ask = [&](const char* command) {
      const Ended answer =
          itest::run({{TORC_PROGRAM, command, (directory_ / "wf.torc").string(), "--json"},
                      {},
                      directory_,
                      {},
                      {}});
      if (answer.exit_code != 0)
        throw Violation{command + std::string(": ") + answer.out + answer.err};
      return json::parse(answer.out);
    };
    try {
      const json jobs = ask("jobs");
      EXPECT_EQ(ask("verify").at("clean"), true);
      torture::audit_counts(jobs, ask("status"));
      torture::audit_files(plan_, record_, jobs, kClocksApart, account_);
      torture::audit_chain(plan_, directory_ / "wf.torc", jobs, {}, account_);
      EXPECT_EQ(account_.given_up, 0U) << "a job lost five workers";
    } catch (const Violation& violation) {
      ADD_FAILURE() << "VIOLATION: " << violation.what << '\n' << last_words_ << printed();
    }
  }
  void finish_and_audit() {
    finish();
    if (HasFatalFailure()) return;
    audit();
  }
  [[nodiscard]] static int rounds() {
    const char* text = std::getenv("TORC_NFS_ROUNDS");
    return text != nullptr ? std::max(1, std::atoi(text)) : 1;
  }

  std::mt19937_64 random_;
  Path directory_;  // of this machine
  Path record_;
  std::string shared_;  // of the nodes
  torture::Plan plan_;
  std::unique_ptr<Events> events_;
  std::vector<Worker> workers_;
  std::string last_words_;
  Account account_;
  Clock::time_point begun_ = Clock::now();
};

TEST_P(OnNfs, workers_of_two_clients_finish_a_workflow) {
  begin(300);
  finish_and_audit();
  if (account_.expired > 0) std::cout << last_words_ << printed();
}

TEST_P(OnNfs, a_client_that_is_cut_off_finds_itself_superseded_when_the_network_is_back) {
  begin(300);
  for (int i = 0; i < rounds(); ++i) {
    if (!see_lines(60)) break;
    lab->tell({"cut", "2"});
    let_pass(kBeyond);
    lab->tell({"heal", "2"});
    EXPECT_TRUE(superseded(2)) << printed();
  }
  finish_and_audit();
}

TEST_P(OnNfs, a_client_that_was_frozen_beyond_its_lease_finds_itself_superseded) {
  begin(300);
  for (int i = 0; i < rounds(); ++i) {
    if (!see_lines(60)) break;
    lab->tell({"freeze", "2"});
    let_pass(kBeyond);
    lab->tell({"thaw", "2"});
    EXPECT_TRUE(superseded(2)) << printed();
  }
  finish_and_audit();
}

TEST_P(OnNfs, a_client_that_loses_its_power_in_the_middle_of_its_work_is_replaced) {
  begin(300);
  for (int i = 0; i < rounds(); ++i) {
    if (!see_lines(torture::between<std::uint64_t>(random_, 40, 80))) break;
    lab->tell({"kill", "2"});
    forget_workers_of(2);
    lab->tell({"boot", "2"});
    mount(2);
    for (int n = 0; n < 2; ++n) start_worker(2);
  }
  finish_and_audit();
}

TEST_P(OnNfs, the_server_is_killed_and_comes_back_while_workers_run) {
  begin(300);
  for (int i = 0; i < rounds(); ++i) {
    if (!see_lines(60)) break;
    lab->tell({"kill", "0"});
    let_pass(5s);
    lab->tell({"boot", "0"});
  }
  finish_and_audit();
}

// What `torc doctor` finds out is what was set up.
TEST_P(OnNfs, torc_doctor_says_that_it_is_safe_and_whether_locks_are) {
  lab->tell({"run", "1", "mkdir /shared/doctor"});
  const std::string command = lab->torc() + " doctor --two-node --wait 60s --json /shared/doctor";
  Process other(lab->launch({"run", "2", command}));
  const Ended here = lab->run(1, command);
  const Ended there = other.wait(kLong);
  lab->tell({"run", "1", "rm -r /shared/doctor"});
  EXPECT_EQ(here.exit_code, 0) << here;
  EXPECT_EQ(there.exit_code, 0) << there;
  std::cout << here.out << here.err;
}

INSTANTIATE_TEST_SUITE_P(Version, OnNfs, testing::Values("vers=4.2", "vers=3", "vers=3,nolock"),
                         [](const auto& version) {
                           std::string name = version.param;
                           std::replace_if(
                               name.begin(), name.end(),
                               [](char c) {
                                 return std::isalnum(static_cast<unsigned char>(c)) == 0;
                               },
                               '_');
                           return name;
                         });

}  // namespace
}  // namespace torc

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  // The lab is built at its first use by a test, not to list the tests.
  if (!GTEST_FLAG_GET(list_tests)) {
    torc::lab = new torc::Lab;
    testing::AddGlobalTestEnvironment(torc::lab);
  }
  return RUN_ALL_TESTS();
}
