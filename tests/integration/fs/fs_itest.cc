// torc on real shared filesystems that live in userspace: two clients of each on this machine
// (lab.sh). Workers on both work on one workflow while the network or a client fails; afterwards
// the store is audited as after a torture run. Jobs write to a directory of this machine, around
// it.
//
// TORC_FS_ROUNDS: how often each fault strikes (1). TORC_TEST_REQUIRE_FS: names of filesystems of
// which a missing package is a failure, not a reason to skip ("sshfs gluster", or "all").
// TORC_TEST_SKIP_FS: skips all of it.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "tests/integration/shared_workflow.h"

namespace torc {
namespace {

namespace fs = std::filesystem;
using itest::Ended;
using itest::Process;
using nlohmann::json;
using namespace std::chrono_literals;

constexpr int kCannot = 77;  // lab.sh: this machine cannot do it
// For what waits for leases and for the time limits of clients.
constexpr std::chrono::seconds kLong{300};

using Words = std::vector<std::string>;

struct Filesystem {
  const char* name;
  // CephFS: longer than a client that died keeps its rights (lab.sh: LAB_SESSION).
  std::chrono::seconds lease;
};

// The servers and both clients of one filesystem.
class Lab {
 public:
  explicit Lab(std::string filesystem) : filesystem_(std::move(filesystem)) {
    const Ended start = itest::run(launch({"start", std::to_string(getpid())}), kLong);
    up_ = start.exit_code == 0;
    can_ = start.exit_code != kCannot;
    why_not_ = start.err;
  }
  ~Lab() {
    if (up_) (void)itest::run(launch({"stop"}), kLong);
  }
  Lab(const Lab&) = delete;
  Lab& operator=(const Lab&) = delete;

  [[nodiscard]] bool is_up() const { return up_; }
  [[nodiscard]] bool is_possible() const { return can_; }
  [[nodiscard]] const std::string& why_not() const { return why_not_; }
  [[nodiscard]] const Path& path() const { return scratch_.path(); }
  [[nodiscard]] Path mount(const std::string& client) const {
    return path() / filesystem_ / "mnt" / client;
  }
  [[nodiscard]] itest::Launch launch(const Words& words) const {
    Words argv{LAB_SCRIPT, path().string(), filesystem_};
    argv.insert(argv.end(), words.begin(), words.end());
    return {argv, {}, path(), {}, {}};
  }
  void tell(const char* what, const char* client) const {
    const Ended done = itest::run(launch({what, client}), kLong);
    ASSERT_EQ(done.exit_code, 0) << "lab.sh " << what << ": " << done;
  }

 private:
  itest::Scratch scratch_;
  std::string filesystem_;
  std::string why_not_;
  bool up_ = false;
  bool can_ = false;
};

bool is_required(const std::string& filesystem) {
  const char* names = std::getenv("TORC_TEST_REQUIRE_FS");
  return names != nullptr &&
         (std::string(names) == "all" || std::string(names).find(filesystem) != std::string::npos);
}

// One workflow on the shared directory and its workers, two on each client.
class OnFilesystem : public itest::SharedWorkflow, public testing::WithParamInterface<Filesystem> {
 protected:
  void SetUp() override {
    if (std::getenv("TORC_TEST_SKIP_FS") != nullptr) GTEST_SKIP() << "TORC_TEST_SKIP_FS is set";
    lab_ = std::make_unique<Lab>(GetParam().name);
    if (!lab_->is_up()) {
      ASSERT_TRUE(!lab_->is_possible() && !is_required(GetParam().name)) << lab_->why_not();
      GTEST_SKIP() << "no " << GetParam().name << " on this machine: " << lab_->why_not();
    }
    set_up(lab_->path(), {TORC_PROGRAM, TORTURE_JOB, GetParam().lease, kLong, 0});
  }
  void TearDown() override {
    kill_workers();
    const bool was_up = lab_ && lab_->is_up();
    lab_.reset();  // before anybody waits for processes: what hangs in a call ends with the mount
    workers().clear();
    if (was_up) tell_figures();
  }

  [[nodiscard]] itest::Launch on(int node, const std::string& command) const override {
    return lab_->launch({"run", client(node), command});
  }
  // The same directory as a client sees it.
  [[nodiscard]] Path shared(int node) const override { return lab_->mount(client(node)) / name(); }
  // A listing that a client remembers may lack the newest files (sshfs, for 20 s), which cp would
  // leave out: so each directory is changed first, and those that are seen then once more.
  void fetch_store() override {
    const Ended copied = run(
        1, fmt::format("cd {} && for pass in 1 2; do find wf.torc -type d | while read -r d; do "
                       "touch \"$d/.anew\" && rm \"$d/.anew\"; done; done; cp -a wf.torc {}/",
                       shared(1).string(), directory().string()));
    ASSERT_EQ(copied.exit_code, 0) << copied;
  }

  static int rounds() { return SharedWorkflow::rounds("TORC_FS_ROUNDS"); }
  void begin() { SharedWorkflow::begin(jobs_for(rounds()), {1, 2, 1, 2}); }
  // Each round of a fault at the second client.
  void strike(const char* fault, const char* remedy) {
    begin();
    for (int i = 0; i < rounds() && !HasFatalFailure(); ++i) {
      if (!see_lines(60)) break;
      lab_->tell(fault, "b");
      struck();
      let_pass(2 * GetParam().lease + 2s);
      lab_->tell(remedy, "b");
      EXPECT_TRUE(superseded(2)) << printed();
      replace_leavers();
    }
    finish_and_audit();
  }

 private:
  // What the lab calls it.
  [[nodiscard]] static std::string client(int node) { return node == 1 ? "a" : "b"; }

  std::unique_ptr<Lab> lab_;
};

TEST_P(OnFilesystem, workers_of_two_clients_finish_a_workflow) {
  begin();
  finish_and_audit();
  EXPECT_EQ(account().expired, 0U) << all_printed();
}

// Nothing is said of them but by heartbeats, for several leases.
TEST_P(OnFilesystem, nobody_is_expired_who_only_writes_heartbeats) {
  const auto busy = 4 * GetParam().lease;
  init(
      fmt::format("name: long\njobs:\n  - {{name: one, command: sleep {0}}}\n  - {{name: two, "
                  "command: sleep {0}}}\n  - {{name: three, command: sleep {0}}}\n  - {{name: "
                  "four, command: sleep {0}}}\n",
                  busy.count()));
  for (const int node : {1, 2}) start_worker(node);
  for (auto& worker : workers()) {
    const Ended left = worker.process->wait(busy + kLong);
    EXPECT_EQ(left.exit_code, 0) << left;
  }
  const json now = status();
  ASSERT_FALSE(now.is_null());
  EXPECT_EQ(now.at("state"), "completed");
  const Ended jobs =
      run(2, fmt::format("{} jobs {}/wf.torc --json", TORC_PROGRAM, shared(2).string()));
  for (const json& job : json::parse(jobs.out)) EXPECT_EQ(job.at("attempt"), 1) << job.dump();
}

TEST_P(OnFilesystem, a_client_that_is_cut_off_finds_itself_superseded_when_the_network_is_back) {
  strike("cut", "heal");
}

TEST_P(OnFilesystem, replies_that_are_lost_double_and_lose_nothing) {
  strike("deaf", "heal");
}

TEST_P(OnFilesystem, a_client_that_was_frozen_beyond_its_lease_finds_itself_superseded) {
  strike("freeze", "thaw");
}

TEST_P(OnFilesystem, a_client_process_that_is_killed_and_mounted_again_goes_on) {
  strike("kill", "heal");
}

INSTANTIATE_TEST_SUITE_P(Real, OnFilesystem,
                         testing::Values(Filesystem{"sshfs", 12s}, Filesystem{"moosefs", 12s},
                                         Filesystem{"gluster", 12s}, Filesystem{"ceph", 45s}),
                         [](const auto& filesystem) { return std::string(filesystem.param.name); });

}  // namespace
}  // namespace torc
