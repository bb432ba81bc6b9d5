// The Slurm of the tests with accounting and memory limits: that these are real, and that nothing
// of them is left behind.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/integration/slurm/slurm_test.h"

namespace torc::itest {
namespace {

namespace fs = std::filesystem;

class HeldToMemory : public SlurmTest {
 protected:
  [[nodiscard]] std::map<std::string, std::string> with() const override {
    return {{"SLURM_ACCOUNTING", "1"}, {"SLURM_CGROUPS", "1"}};
  }
};

// torc itself is told not to look: the kernel ends what is beyond the memory of the allocation.
constexpr const char* kSpec = R"yaml(name: held
execution_config: {mode: direct, limit_resources: false}
slurm_schedulers: [{name: lab, nodes: 1, walltime: "00:10:00", mem: 150M, extra: -c 2}]
jobs:
  - {name: bad, scheduler: lab, command: python3 -c "x = b'a' * (400 << 20)"}
  - {name: good, scheduler: lab, depends: {afterany: [bad]}, command: "true"}
)yaml";

TEST_F(HeldToMemory, a_step_beyond_it_is_ended_by_the_kernel_and_told_so_by_the_accounting) {
  write_text(work_ / "held.yaml", kSpec);
  const auto init = torc({"init", "held.yaml", "--engine", "journal", "--no-slurm"});
  ASSERT_EQ(init.exit_code, 0) << init;
  const auto allocation = submit("held.torc/slurm/lab.sbatch");
  expect_end_of({allocation});
  const auto bad = parsed(torc({"job", "held.torc", "bad", "--json"}));
  EXPECT_EQ(bad.at("state"), "failed") << bad;
  const auto good = parsed(torc({"job", "held.torc", "good", "--json"}));
  EXPECT_EQ(good.at("state"), "completed") << good;
  const auto stats = parsed(torc({"slurm", "stats", "held.torc", "--json"}));
  ASSERT_EQ(stats.at("accounting").at("answered"), true) << stats;
  bool is_told = false;
  for (const auto& step : stats.at("steps"))
    is_told = is_told ||
              (step.at("step_name") == "torc-workers" && step.at("slurm_state") == "OUT_OF_MEMORY");
  EXPECT_TRUE(is_told) << stats;
}

TEST(SlurmFixture, with_accounting_is_gone_when_its_test_is_killed) {
  if (std::getenv("TORC_TEST_SKIP_SLURM") != nullptr) GTEST_SKIP() << "TORC_TEST_SKIP_SLURM is set";
  const Scratch scratch;
  const fs::path cluster = scratch.path() / "cluster";
  const std::string program = std::string(TORC_SOURCE_DIR) + "/tests/integration/slurm/cluster.sh";
  Process owner({{"/usr/bin/env", "sleep", "1000"}, {}, scratch.path(), {}, {}});
  const auto start = run({{program, cluster, "start", "1", std::to_string(owner.pid())},
                          {{"SLURM_ACCOUNTING", "1"}},
                          scratch.path(),
                          {},
                          {}});
  if (start.exit_code == kCannot) GTEST_SKIP() << start;
  ASSERT_EQ(start.exit_code, 0) << start;
  // What is of it has its directory among its words.
  const auto runs = [&](const char* what) {
    return run({{"/usr/bin/env", "pgrep", "-f", what + (".*" + cluster.string())},
                {},
                scratch.path(),
                {},
                {}})
               .exit_code == 0;
  };
  EXPECT_TRUE(runs("mariadbd"));
  EXPECT_TRUE(fs::exists(cluster / "run/slurmdbd"));
  struct stat is {};
  ASSERT_EQ(::stat((cluster / "db").c_str(), &is), 0);
  EXPECT_EQ(is.st_mode & 0777, 0700U) << "nobody else reaches the database";
  EXPECT_FALSE(run({{"/usr/bin/env", "ss", "-Hltnp"}, {}, scratch.path(), {}, {}}).says("mariadbd"))
      << "it has no port";
  owner.kill(SIGKILL);
  (void)owner.wait();
  // The guard of the cluster says nothing when it is done, but it removes this, and then ends.
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  const auto is_over = [&] {
    return !fs::exists(cluster / "run") || std::chrono::steady_clock::now() > limit;
  };
  while (!is_over()) {
    Timer moment(std::chrono::milliseconds(100));
    (void)wait_until({&moment}, [&] { return moment.passed(); });
  }
  EXPECT_FALSE(fs::exists(cluster / "run"));
  EXPECT_FALSE(runs("mariadbd"));
  EXPECT_FALSE(runs("slurmctld"));
  (void)run(
      {{program, cluster, "stop"}, {}, scratch.path(), {}, {}});  // what the guard left, if it did
}

}  // namespace
}  // namespace torc::itest
