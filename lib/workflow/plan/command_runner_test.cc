#include "lib/workflow/plan/command_runner.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "lib/store/disk/disk.h"

namespace torc::workflow {
namespace {

using namespace std::chrono_literals;

class CommandRunner : public testing::Test {
 protected:
  [[nodiscard]] slurm::RunCommand runner(std::vector<std::string> environment) {
    environment_ = std::move(environment);
    pointers_.clear();
    for (std::string& entry : environment_) pointers_.push_back(entry.data());
    pointers_.push_back(nullptr);
    context_.environment = pointers_.data();
    return command_runner(context_);
  }

  std::vector<std::string> environment_;
  std::vector<char*> pointers_;
  SystemClock clock_;
  store::PosixDisk disk_;
  SeededEntropy entropy_{1};
  store::World world_{disk_, clock_, entropy_, "n1", "boot", "ns", geteuid(), {}};
  Context context_{clock_, world_, world_, [](std::string_view) { return std::nullopt; }};
};

TEST_F(CommandRunner, gives_the_users_variables_and_what_is_given_besides_counts_first) {
  const auto run = runner({"PATH=/usr/bin:/bin", "MINE=old", "SLURM_JOB_ID=7", "TORC_STORE=/x"});
  slurm::Command command;
  command.argv = {"env"};
  command.environment = {"MINE=new, 'and'", "TORC_STORE=/y"};
  const auto output = run(command);
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->out, "MINE=new, 'and'\nTORC_STORE=/y\nPATH=/usr/bin:/bin\n");
}

TEST_F(CommandRunner, tells_an_end_by_time_by_signal_and_by_itself_apart) {
  const auto run = runner({"PATH=/usr/bin:/bin"});
  const auto shell = [&](const char* script, std::chrono::nanoseconds limit) {
    slurm::Command command;
    command.argv = {"sh", "-c", script};
    command.limit = limit;
    const auto output = run(command);
    EXPECT_TRUE(output.ok());
    return output.ok() ? *output : slurm::SbatchOutput();
  };
  EXPECT_TRUE(shell("echo 7; sleep 1000", 50ms).timed_out);
  const auto killed = shell("kill -KILL $$", 60s);
  EXPECT_FALSE(killed.timed_out);
  EXPECT_EQ(killed.signal, SIGKILL);
  EXPECT_EQ(shell("exit 3", 60s).exit_code, 3);
}

}  // namespace
}  // namespace torc::workflow
