// A real Slurm for a test: slurmctld, four nodes that share nothing but files, real sbatch and
// srun; and what its tests have in common.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/integration/harness.h"

namespace torc::itest {

inline constexpr int kNodes = 4;
inline constexpr int kCpusOfNode = 2;  // as the fixture's slurm.conf says
inline constexpr int kCannot = 77;     // cluster.sh: this machine cannot do it

using Words = std::vector<std::string>;

inline Words operator+(Words left, const Words& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

inline Words split(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

class SlurmTest : public testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv("TORC_TEST_SKIP_SLURM") != nullptr) {
      GTEST_SKIP() << "TORC_TEST_SKIP_SLURM is set";
    }
    std::filesystem::create_directory(work_);
    auto switches = with();
    const bool is_plain = switches.empty();
    switches["SLURM_CONF_EXTRA"] = configuration();
    const auto start =
        cluster({"start", std::to_string(kNodes), std::to_string(getpid())}, switches);
    started_ = start.exit_code != kCannot;
    if (!started_ && !is_plain) GTEST_SKIP() << start;
    ASSERT_TRUE(started_) << start
                          << "To go without the tests on a real Slurm, set TORC_TEST_SKIP_SLURM=1.";
    ASSERT_EQ(start.exit_code, 0) << start;
  }

  void TearDown() override {
    if (!started_) return;
    if (HasFailure()) print_logs();
    const auto stop = cluster({"stop"});
    EXPECT_EQ(stop.exit_code, 0) << stop;
  }

  // On the login side, in the directory of the workflow.
  [[nodiscard]] Ended login(const Words& argv,
                            const std::map<std::string, std::string>& env = {}) const {
    auto launch = Launch{Words{"/usr/bin/env"} + argv, env, work_, {}, {}};
    launch.env["SLURM_CONF"] = (cluster_ / "slurm.conf").string();
    launch.env.try_emplace("XDG_CACHE_HOME", (scratch_.path() / "caches").string());
    return run(launch);
  }
  // Further lines of slurm.conf.
  [[nodiscard]] virtual std::string configuration() const { return {}; }
  // What the cluster shall have besides, as cluster.sh takes it (SLURM_ACCOUNTING, SLURM_CGROUPS).
  // A machine that cannot give it skips the test, with its reason.
  [[nodiscard]] virtual std::map<std::string, std::string> with() const { return {}; }
  [[nodiscard]] Ended cluster(const Words& arguments,
                              const std::map<std::string, std::string>& env = {}) const {
    return run({Words{std::string(TORC_SOURCE_DIR) + "/tests/integration/slurm/cluster.sh",
                      cluster_.string()} +
                    arguments,
                env,
                work_,
                {},
                {}});
  }
  [[nodiscard]] Ended torc(const Words& arguments) const {
    return login(Words{TORC_PROGRAM} + arguments);
  }
  [[nodiscard]] Ended torc_on(const std::string& node, const Words& arguments) const {
    return cluster(Words{"exec", node, TORC_PROGRAM} + arguments);
  }

  // The id of a new allocation whose workers have short leases.
  [[nodiscard]] std::string submit(const std::string& script) const {
    const auto submitted =
        login({"sbatch", "--parsable", script}, {{"TORC_WORKER_FLAGS", "--lease-ttl 10s"}});
    EXPECT_EQ(submitted.exit_code, 0) << submitted;
    return submitted.out.substr(0, submitted.out.find('\n'));
  }
  // Its nodes, the one that runs the batch script first.
  [[nodiscard]] Words nodes_of(const std::string& id) const {
    const auto list = login({"squeue", "-h", "-j", id, "-o", "%N"});
    const auto hosts =
        login({"scontrol", "show", "hostnames", list.out.substr(0, list.out.find('\n'))});
    EXPECT_EQ(hosts.exit_code, 0) << hosts;
    return split(hosts.out);
  }
  // Waits until these allocations have ended by themselves. Slurm says when: it starts what depends
  // on them.
  void expect_end_of(const Words& ids) const {
    std::string dependency = "--dependency=afterany";
    for (const auto& id : ids) dependency += ":" + id;
    const auto after = login({"srun", "-Q", "-n1", "--mem=10", dependency, "true"});
    EXPECT_EQ(after.exit_code, 0) << "an allocation has not ended by itself: " << after;
  }

  Scratch scratch_;
  const std::filesystem::path work_ = scratch_.path() / "shared files";  // also a test of quoting

 private:
  // Everything that says why, before the directory goes.
  void print_logs() const {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(work_, ignored)) {
      if (entry.path().extension() != ".out") continue;
      std::cerr << "---- " << entry.path() << '\n' << read_text(entry.path());
    }
    for (const auto& entry : std::filesystem::directory_iterator(cluster_ / "log", ignored)) {
      if (entry.path().extension() != ".log") continue;
      const auto text = read_text(entry.path());
      const auto from = text.size() > 3000 ? text.size() - 3000 : 0;
      std::cerr << "---- " << entry.path() << '\n' << text.substr(from);
    }
  }

  const std::filesystem::path cluster_ = scratch_.path() / "cluster";
  bool started_ = false;
};

inline nlohmann::json parsed(const Ended& ended) {
  auto value = nlohmann::json::parse(ended.out, nullptr, false);
  EXPECT_FALSE(value.is_discarded()) << ended;
  return value;
}

struct Start {
  std::string job;
  int attempt = 0;
  std::string host;
};

inline std::vector<Start> starts_in(const Fifo& fifo) {
  std::vector<Start> starts;
  for (const auto& line : fifo.lines()) {
    const auto words = split(line);
    EXPECT_EQ(words.size(), 3U) << line;
    if (words.size() == 3) starts.push_back({words[0], std::atoi(words[1].c_str()), words[2]});
  }
  return starts;
}

inline ::testing::AssertionResult lines_arrive(Fifo& fifo, std::size_t count) {
  if (wait_until({&fifo}, [&] { return fifo.lines().size() >= count; })) {
    return ::testing::AssertionSuccess();
  }
  auto failure = ::testing::AssertionFailure() << "of " << count << " lines only came:\n";
  for (const auto& line : fifo.lines()) failure << line << '\n';
  return failure;
}

}  // namespace torc::itest
