// torc on real NFS: a server and two clients, each a kernel of its own (lab.sh). Workers on both
// clients work on one workflow while the network, a client or the server fails; afterwards the
// store is audited as after a torture run. Jobs write to a directory of this machine, around NFS.
//
// TORC_NFS_ROUNDS: how often each fault strikes (1). TORC_TEST_SKIP_NFS: skips all of it.
// TORC_TEST_REQUIRE_NFS: a machine that cannot boot the lab is a failure, not a reason to skip.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "lib/base/clock.h"
#include "tests/integration/shared_workflow.h"

namespace torc {
namespace {

namespace fs = std::filesystem;
using itest::Ended;
using itest::Process;
using nlohmann::json;
using namespace std::chrono_literals;

constexpr int kServer = 0;
constexpr std::chrono::seconds kLong{
    240};  // for what waits for leases, grace periods, slow kernels
constexpr std::chrono::seconds kLease{12};
// Beyond that lease and beyond the server's (10 s).
constexpr std::chrono::seconds kBeyond{26};
constexpr std::int64_t kClocksApart = 2'000'000'000;  // of the virtual nodes at least, ns

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
  // How the nodes see a file of this lab.
  [[nodiscard]] std::string seen(const char* file) const {
    return "/host" + (path() / file).string();
  }

 private:
  std::unique_ptr<itest::Scratch> scratch_;
  std::string why_not_;
};

Lab* lab = nullptr;

// One workflow on the shared directory and its workers, two on each client.
class OnNfs : public itest::SharedWorkflow, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    if (std::getenv("TORC_TEST_SKIP_NFS") != nullptr) GTEST_SKIP() << "TORC_TEST_SKIP_NFS is set";
    if (!lab->is_up()) {
      ASSERT_EQ(std::getenv("TORC_TEST_REQUIRE_NFS"), nullptr) << lab->why_not();
      GTEST_SKIP() << "this machine cannot boot the lab: " << lab->why_not();
    }
    set_up(lab->path(),
           {lab->seen("bin/torc"), lab->seen("bin/torc-torture-job"), kLease, kLong, kClocksApart});
    for (const int node : {1, 2}) mount(node);
  }
  void TearDown() override {
    kill_workers();
    if (!lab->is_up()) return;
    for (const int node : {1, 2})
      (void)run(node, "pkill -KILL -x torc; cd /; umount -f -l /shared; true");
    tell_figures();
  }

  [[nodiscard]] itest::Launch on(int node, const std::string& command) const override {
    return lab->launch({"run", std::to_string(node), command});
  }
  [[nodiscard]] Path shared(int) const override { return Path("/shared") / name(); }
  [[nodiscard]] Path seen(const Path& path) const override {
    return "/host" / path.relative_path();
  }
  void fetch_store() override {
    const Ended copied = run(kServer, fmt::format("cp -a {}/wf.torc {}/", at_the_server().string(),
                                                  seen(directory()).string()));
    ASSERT_EQ(copied.exit_code, 0) << copied;
  }
  [[nodiscard]] Path at_the_server() const { return Path("/export/shared") / name(); }

  void mount(int node) {
    lab->tell({"mount", std::to_string(node), GetParam() + std::string(",hard")});
    see_clock(node);
  }
  // A virtual node loses the time of its boot between the reading of the clock and the first tick:
  // seconds on a busy machine. How far it is behind is asked after each boot, and what the audit
  // allows grows with it.
  void see_clock(int node) {
    std::int64_t quickest = INT64_MAX;
    std::int64_t behind = 0;
    for (int i = 0; i < 3; ++i) {
      const std::int64_t asked = SystemClock().wall_now().count();
      const Ended told = run(node, "date +%s%N");
      const std::int64_t answered = SystemClock().wall_now().count();
      ASSERT_EQ(told.exit_code, 0) << told;
      if (answered - asked >= quickest) continue;
      quickest = answered - asked;
      behind = asked + quickest / 2 - std::stoll(told.out);
    }
    most_behind_ = std::max(most_behind_, behind + quickest / 2);
    least_behind_ = std::min(least_behind_, behind - quickest / 2);
    clocks_are_apart(std::max(kClocksApart, most_behind_ - least_behind_));
  }
  static int rounds() { return SharedWorkflow::rounds("TORC_NFS_ROUNDS"); }
  void begin() { SharedWorkflow::begin(jobs_for(rounds()), {1, 2, 1, 2}); }

  // How many there are so far, as the server sees it: no request of a client.
  [[nodiscard]] double commits() const {
    const Ended verified = run(kServer, fmt::format("{} verify {}/wf.torc --json", terms().torc,
                                                    at_the_server().string()));
    EXPECT_EQ(verified.exit_code, 0) << verified;
    const json parsed = json::parse(verified.out, nullptr, false);
    return parsed.is_discarded() ? 0.0 : parsed.value("last_commit", 0.0);
  }
  // What the NFS clients of `nodes` have sent since they were mounted, by the name of the request.
  using Requests = std::map<std::string, double>;
  [[nodiscard]] Requests requests(const Nodes& nodes) const {
    Requests all;
    for (const int node : nodes) {
      const Ended counted = run(
          node,
          "awk '/^device/ {here = $5 == \"/shared\"; ops = 0} /per-op/ {ops = here; next} ops && "
          "$2 > 0 {print $1, $2}' /proc/self/mountstats");
      EXPECT_EQ(counted.exit_code, 0) << counted;
      std::istringstream lines(counted.out);
      std::string name;
      for (double count = 0; lines >> name >> count;) all[name] += count;
    }
    return all;
  }
  // Of all that one worker on each of `nodes` sends in a workflow.
  [[nodiscard]] double requests_per_commit(const Nodes& nodes) {
    SharedWorkflow::begin(600, nodes);
    if (HasFatalFailure()) return 0;
    const Requests before = requests(nodes);
    const double made = commits();
    finish();
    const Requests after = requests(nodes);  // an audit reads everything
    const double commits_here = std::max(1.0, commits() - made);
    if (!HasFatalFailure()) audit();
    double all = 0;
    for (const auto& [name, count] : after) {
      const auto old = before.find(name);
      const double each = (count - (old == before.end() ? 0 : old->second)) / commits_here;
      all += each;
      if (each >= 0.05) std::cout << fmt::format("{} {:.2f}, ", name, each);
    }
    std::cout << fmt::format("in all {:.1f} a commit, {} commits\n", all, commits_here);
    return all;
  }

 private:
  std::int64_t most_behind_ = INT64_MIN;
  std::int64_t least_behind_ = INT64_MAX;
};

TEST_P(OnNfs, workers_of_two_clients_finish_a_workflow) {
  begin();
  if (HasFatalFailure()) return;
  finish_and_audit();
  if (account().expired > 0) std::cout << all_printed();
}

TEST_P(OnNfs, a_client_that_is_cut_off_finds_itself_superseded_when_the_network_is_back) {
  begin();
  if (HasFatalFailure()) return;
  for (int i = 0; i < rounds(); ++i) {
    if (!see_lines(60)) break;
    lab->tell({"cut", "2"});
    struck();
    let_pass(kBeyond);
    lab->tell({"heal", "2"});
    EXPECT_TRUE(superseded(2)) << printed();
    replace_leavers();
  }
  finish_and_audit();
}

TEST_P(OnNfs, a_client_that_was_frozen_beyond_its_lease_finds_itself_superseded) {
  begin();
  if (HasFatalFailure()) return;
  for (int i = 0; i < rounds(); ++i) {
    if (!see_lines(60)) break;
    lab->tell({"freeze", "2"});
    struck();
    let_pass(kBeyond);
    lab->tell({"thaw", "2"});
    EXPECT_TRUE(superseded(2)) << printed();
    replace_leavers();
  }
  finish_and_audit();
}

TEST_P(OnNfs, a_client_that_loses_its_power_in_the_middle_of_its_work_is_replaced) {
  begin();
  if (HasFatalFailure()) return;
  for (int i = 0; i < rounds(); ++i) {
    if (!see_lines(torture::between<std::uint64_t>(random_, 40, 80))) break;
    lab->tell({"kill", "2"});
    struck();
    forget_workers_of(2);
    lab->tell({"boot", "2"});
    mount(2);
    for (int n = 0; n < 2; ++n) start_worker(2);
  }
  finish_and_audit();
}

TEST_P(OnNfs, the_server_is_killed_and_comes_back_while_workers_run) {
  begin();
  if (HasFatalFailure()) return;
  for (int i = 0; i < rounds(); ++i) {
    if (!see_lines(60)) break;
    lab->tell({"kill", "0"});
    struck();
    let_pass(5s);
    lab->tell({"boot", "0"});
  }
  finish_and_audit();
}

// All requests count: heartbeats, looks at others, snapshots, collection, a few of `torc status`.
TEST_P(OnNfs, a_commit_costs_few_requests) {
  const double alone = requests_per_commit({1});
  const double by_turns = requests_per_commit({1, 2});
  std::cout << fmt::format("requests per commit: {:.1f} by one client, {:.1f} by two\n", alone,
                           by_turns);
  EXPECT_GT(alone, 3) << "nothing was counted";
  EXPECT_LE(alone, 14);
  EXPECT_LE(by_turns, 28);
}

// What `torc doctor` finds out is what was set up.
TEST_P(OnNfs, torc_doctor_says_that_it_is_safe_and_whether_locks_are) {
  lab->tell({"run", "1", "mkdir /shared/doctor"});
  const std::string command = terms().torc + " doctor --two-node --wait 60s --json /shared/doctor";
  Process other(lab->launch({"run", "2", command}));
  const Ended here = run(1, command);
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
