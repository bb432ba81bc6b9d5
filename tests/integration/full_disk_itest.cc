// A disk that fills up. What was acknowledged stays; nothing half made stays; and when there is
// room again, workers go on by themselves.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kDisk = 16 << 20;
constexpr std::size_t kPage = 4096;

class FullDisk : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!own_mounts()) GTEST_SKIP() << "needs a mount namespace";
    mount_small_disk(disk_, kDisk);
    mounted_ = true;
  }
  void TearDown() override {
    if (mounted_) unmount(disk_);
  }
  void fill() const { fill_disk(disk_ / "filler"); }
  void make_room() const { fs::remove(disk_ / "filler"); }
  [[nodiscard]] std::vector<std::string> on_disk() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(disk_))
      names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }

  Workplace here_;
  Path disk_ = here_.path() / "disk";
  bool mounted_ = false;
};

INSTANTIATE_TEST_SUITE_P(Engine, FullDisk, testing::Values("journal", "lmdb"),
                         [](const auto& p) { return p.param; });

constexpr const char* kSmall = "name: wf\njobs:\n  - {name: only, command: \"true\"}\n";

TEST_P(FullDisk, lets_init_make_a_whole_store_or_none) {
  here_.write("wf.yaml", kSmall);
  int made = 0;
  int refused = 0;
  // From no room at all, a page more each time.
  for (std::size_t pages = 0; pages <= 40; pages += pages < 12 ? 1 : 7) {
    SCOPED_TRACE(pages);
    fill();
    fs::resize_file(disk_ / "filler", fs::file_size(disk_ / "filler") - pages * kPage);
    const Ended ended =
        here_.run({"init", "wf.yaml", "--store", "disk/wf.torc", "--engine", GetParam()});
    if (ended.exit_code == 0) {
      ++made;
      make_room();
      const Ended verified = here_.run({"verify", "disk/wf.torc"});
      EXPECT_EQ(verified.exit_code, 0) << verified;
      fs::remove_all(disk_ / "wf.torc");
    } else {
      ++refused;
      EXPECT_EQ(ended.exit_code, 4) << ended;
      EXPECT_TRUE(ended.says("No space left on device")) << ended;
      make_room();
    }
    EXPECT_EQ(on_disk(), std::vector<std::string>{}) << ended;
  }
  EXPECT_GT(made, 0);
  EXPECT_GT(refused, 0);
}

TEST_P(FullDisk, leaves_the_old_store_in_place_when_a_forced_init_fails) {
  here_.write("wf.yaml", kSmall);
  ASSERT_EQ(
      here_.run({"init", "wf.yaml", "--store", "disk/wf.torc", "--engine", GetParam()}).exit_code,
      0);
  const auto before = contents(disk_ / "wf.torc");
  fill();
  const Ended forced =
      here_.run({"init", "wf.yaml", "--store", "disk/wf.torc", "--engine", GetParam(), "--force"});
  EXPECT_EQ(forced.exit_code, 4) << forced;
  EXPECT_EQ(contents(disk_ / "wf.torc"), before);
  EXPECT_EQ(on_disk(), (std::vector<std::string>{"filler", "wf.torc"}));
}

TEST_P(FullDisk, makes_a_worker_wait_with_its_results_until_there_is_room) {
  Fifo record(here_.path() / "record");
  Fifo gate(here_.path() / "gate");
  const std::string say = "echo $TORC_JOB_NAME > " + record.path().string();
  // So many that their records need more room than a store has to spare.
  here_.write("wf.yaml",
              "name: wf\njobs:\n"
              "  - {name: first, command: \"" +
                  say +
                  "\"}\n"
                  "  - {name: second, command: \"" +
                  say + "; read line < " + gate.path().string() +
                  "\", depends_on: [first]}\n"
                  "  - {name: \"third_{i}\", command: \"" +
                  say +
                  "\", depends_on: [second],\n"
                  "     parameters: {i: \"1:1000\"}}\n");
  ASSERT_EQ(
      here_.run({"init", "wf.yaml", "--store", "disk/wf.torc", "--engine", GetParam()}).exit_code,
      0);
  const auto worker =
      here_.start({"worker", "disk/wf.torc", "--num-cpus", "1", "--output-dir", "logs"});
  ASSERT_TRUE(wait_for_line(record, "second", *worker)) << worker->out();

  fill();
  gate.open_gate(10);
  ASSERT_TRUE(worker->wait_for_output("No space left on device")) << worker->out() << worker->err();
  EXPECT_NE(worker->out().find("the store cannot be written now"), std::string::npos)
      << worker->out();
  // Reading goes on, and what was acknowledged is there.
  const auto acknowledged = here_.jobs("disk/wf.torc");
  EXPECT_EQ(acknowledged.at("first").value("state", ""), "completed");
  EXPECT_NE(here_.json({"status", "disk/wf.torc"})["state"], "completed");

  make_room();
  const Ended ended = worker->wait();
  EXPECT_EQ(ended.exit_code, 0) << ended;
  const Ended verified = here_.run({"verify", "disk/wf.torc"});
  EXPECT_EQ(verified.exit_code, 0) << verified;
  for (const auto& [name, job] : here_.jobs("disk/wf.torc")) {
    EXPECT_EQ(job["state"], "completed") << job;
    EXPECT_EQ(job["attempt"], 1) << job;
    if (acknowledged.at(name)["state"] == "completed") {
      EXPECT_EQ(job, acknowledged.at(name));
    }
  }
  record.pump();
  EXPECT_EQ(record.lines().size(), 1002U) << "a job ran twice, or never";
}

// The node's own disk, where the copy of the store is kept, is another disk than the store's.
class FullNode : public testing::Test {
 protected:
  void SetUp() override {
    if (!own_mounts()) GTEST_SKIP() << "needs a mount namespace";
    mount_small_disk(node_, kDisk);
    mount_small_disk("/dev/shm", kDisk);  // the next place for copies: this test's own
    mounted_ = true;
    here_.write("wf.yaml",
                "name: wf\njobs:\n  - {name: \"j{i}\", command: \"true\", "
                "parameters: {i: \"1:500\"}, stdio: {mode: none}}\n");
    const Ended made = here_.run({"init", "wf.yaml", "--engine", "journal"});
    ASSERT_EQ(made.exit_code, 0) << made;
  }
  void TearDown() override {
    if (!mounted_) return;
    unmount("/dev/shm");
    unmount(node_);
  }
  [[nodiscard]] Ended run_here(std::vector<std::string> arguments) const {
    Launch launch = here_.torc(std::move(arguments));
    launch.env["TMPDIR"] = node_;
    return run(launch);
  }

  Workplace here_;
  Path node_ = here_.path() / "node";
  bool mounted_ = false;
};

TEST_F(FullNode, keeps_its_copy_of_the_store_in_the_next_place) {
  fill_disk(node_ / "filler");
  const Ended ended = run_here({"run", "wf.torc"});
  EXPECT_EQ(ended.exit_code, 0) << ended;
  const Ended verified = here_.run({"verify", "wf.torc"});
  EXPECT_EQ(verified.exit_code, 0) << verified;
}

}  // namespace
}  // namespace torc::itest
