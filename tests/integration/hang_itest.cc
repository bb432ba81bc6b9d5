// Commands on a filesystem that hangs, and on one that has died: they say what they wait for, end
// when they are told to, and take nothing for missing that they could not look at.
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/integration/fuse.h"
#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

class Hanging : public testing::Test {
 protected:
  void SetUp() override {
    if (!own_mounts()) GTEST_SKIP() << "needs a mount namespace";
    fuse_ = std::make_unique<Fuse>(here_.path() / "disk", here_.path() / "mount");
    if (!fuse_->is_mounted()) GTEST_SKIP() << "no FUSE here: " << fuse_->complaint();
    here_.write("wf.yaml", "name: wf\njobs:\n  - {name: a, command: \"true\"}\n");
    const Ended made =
        here_.run({"init", "wf.yaml", "--engine", "journal", "--store", "disk/wf.torc"});
    ASSERT_EQ(made.exit_code, 0) << made;
  }
  [[nodiscard]] std::string mount() const { return (here_.path() / "mount").string(); }

  Workplace here_;
  std::unique_ptr<Fuse> fuse_;
};

TEST_F(Hanging, a_command_says_after_some_seconds_what_it_waits_for_and_goes_on_when_that_answers) {
  ASSERT_EQ(here_.run({"status", "mount/wf.torc"}).exit_code, 0);
  fuse_->freeze();
  const auto status = here_.start({"status", "mount/wf.torc"});
  const auto told = [&] {
    return status->err().find("does not answer; waiting") != std::string::npos;
  };
  EXPECT_TRUE(wait_until({status.get()}, [&] { return told() || !status->running(); }));
  EXPECT_TRUE(told()) << status->out() << status->err();
  EXPECT_NE(status->err().find(mount() + "/wf.torc"), std::string::npos) << status->err();
  EXPECT_TRUE(status->running());
  fuse_->thaw();
  EXPECT_EQ(status->wait().exit_code, 0);
}

TEST_F(Hanging, a_command_that_waits_ends_when_it_is_told_to) {
  for (const int number : {SIGINT, SIGTERM}) {
    fuse_->freeze();
    const auto status = here_.start({"status", "mount/wf.torc"});
    ASSERT_TRUE(wait_until({status.get()}, [&] {
      return status->err().find("does not answer") != std::string::npos || !status->running();
    }));
    status->kill(number);
    EXPECT_EQ(status->wait().signal, number);
    fuse_->thaw();
  }
}

TEST_F(Hanging, what_is_on_a_dead_mount_is_not_called_missing) {
  fuse_->kill();
  const std::vector<std::vector<std::string>> commands{
      {"status", "mount/wf.torc"},   {"jobs", "mount/wf.torc"},   {"verify", "mount/wf.torc"},
      {"run", "mount/wf.torc"},      {"worker", "mount/wf.torc"}, {"doctor", "mount"},
      {"logs", "mount/wf.torc", "a"}};
  for (const auto& words : commands) {
    SCOPED_TRACE(words.front());
    const Ended ended = here_.run(words);
    EXPECT_EQ(ended.exit_code, 4) << ended;
    EXPECT_FALSE(ended.says("is not a directory")) << ended;
    EXPECT_FALSE(ended.says("there is no")) << ended;
    EXPECT_TRUE(ended.says("Transport endpoint is not connected")) << ended;
    EXPECT_TRUE(ended.says("mount")) << ended;
  }
  const Ended told = here_.run({"status", "mount/wf.torc"});
  EXPECT_TRUE(told.says("the filesystem mounted at " + mount())) << told;
}

}  // namespace
}  // namespace torc::itest
