// The launcher of Slurm on a real one with its accounting: what it submits is found again by the
// name of the try, whatever answers are lost on the way.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "lib/exec/start/run_program.h"
#include "lib/launcher/slurm_launcher.h"
#include "lib/slurm/own_jobs.h"
#include "tests/integration/slurm/slurm_test.h"

namespace torc::itest {
namespace {

using launcher::Listing;
using launcher::Submitted;
using slurm::Stage;

class SlurmLaunch : public SlurmTest {
 protected:
  void SetUp() override {
    SlurmTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    conf_ = split(cluster({"env"}).out).back();
    launcher_ = launcher();
  }
  [[nodiscard]] std::map<std::string, std::string> with() const override {
    return {{"SLURM_ACCOUNTING", "1"}};
  }
  [[nodiscard]] std::string configuration() const override {
    return "PartitionName=closed Nodes=n1 AllocNodes=nowhere State=UP";
  }

  [[nodiscard]] std::unique_ptr<launcher::Launcher> launcher(Words environment = {}) const {
    return launcher::slurm_launcher({[this, environment](const slurm::Command& command) {
                                       return run_there(command, environment);
                                     },
                                     geteuid()});
  }
  [[nodiscard]] Result<slurm::SbatchOutput> run_there(const slurm::Command& command,
                                                      const Words& environment) const {
    exec::ProgramRequest request;
    request.argv = command.argv;
    request.environment = command.environment + environment;
    request.environment.push_back(conf_);
    request.environment.emplace_back("PATH=/usr/bin:/bin:/usr/sbin:/sbin");
    request.time_limit = command.limit;
    request.output_limit = command.output_limit;
    TORC_ASSIGN(exec::ProgramOutput output, exec::run_program(request));
    return slurm::SbatchOutput{output.exit_code, output.signal,         output.timed_out,
                               output.truncated, std::move(output.out), std::move(output.err)};
  }
  [[nodiscard]] launcher::Submission submission(const std::string& intent,
                                                const std::string& options = "") const {
    const auto file = work_ / (intent + ".sbatch");
    write_text(file, "#!/bin/bash\n#SBATCH --output=/dev/null --mem=10\n" + options +
                         "\necho \"$TORC_MINE\" > '" + (work_ / "starts").string() +
                         "'\nexec sleep 1000\n");
    launcher::Submission one;
    one.intent = intent;
    one.script = file;
    one.environment = {{"TORC_MINE", "a,b 'c'"}};
    return one;
  }
  // The accounting hears of it by and by.
  [[nodiscard]] Listing accounted(const launcher::Looking& looking, std::size_t count) const {
    const auto end = std::chrono::steady_clock::now() + kLongEnough;
    Listing listing;
    do {
      listing = launcher_->list(looking);
      const auto over =
          std::ranges::count(listing.allocations, Stage::over, &launcher::Listed::stage);
      if (listing.accounting && static_cast<std::size_t>(over) >= count) break;
    } while (std::chrono::steady_clock::now() < end);
    return listing;
  }

  std::string conf_;
  std::unique_ptr<launcher::Launcher> launcher_;
};

TEST_F(SlurmLaunch, tries_are_found_by_name_and_comment_in_queue_and_accounting) {
  EXPECT_EQ(launcher_->cluster(), "torctest");
  EXPECT_TRUE(launcher_->list({.intents = {"7.a"}}).whole);

  Fifo starts(work_ / "starts");
  // What the user's variables say must change neither what is submitted nor what is asked.
  const auto confused = launcher(
      {"SLURM_CLUSTERS=nowhere", "SBATCH_CLUSTERS=nowhere", "SBATCH_ARRAY_INX=1-3", "SBATCH_WAIT=1",
       "SQUEUE_STATES=COMPLETED", "SQUEUE_FORMAT=%i", "SQUEUE_USERS=nobody", "SACCT_FORMAT=jobid",
       "SCANCEL_STATE=SUSPENDED", "SQUEUE_ARRAY=1"});
  const auto first = confused->submit(submission("7.a"));
  ASSERT_EQ(first.what, Submitted::accepted) << testing::PrintToString(first.words);
  ASSERT_TRUE(lines_arrive(starts, 1));
  EXPECT_EQ(starts.lines()[0], "a,b 'c'");

  auto link = submission("7.b", "#SBATCH --dependency=singleton");
  link.shared_name = "a chain";
  link.exclude_nodes = {"n1", "n2"};
  ASSERT_EQ(confused->submit(link).what, Submitted::accepted);
  link.intent = "7.c";
  const auto third = confused->submit(link);
  ASSERT_EQ(third.what, Submitted::accepted) << testing::PrintToString(third.words);
  ASSERT_TRUE(lines_arrive(starts, 2));

  const launcher::Looking looking{
      .intents = {"7.a", "7.b", "7.c", "7.d"}, .shared_names = {"a chain"}, .ended_too = true};
  Listing listing = confused->list(looking);
  EXPECT_TRUE(listing.whole) << listing.failure;
  EXPECT_TRUE(listing.accounting);
  EXPECT_EQ(listing.cluster, "torctest");
  ASSERT_EQ(listing.allocations.size(), 3U);
  for (const auto& one : listing.allocations) {
    EXPECT_EQ(one.name, one.intent == "7.a" ? "7.a" : "a chain");
    EXPECT_EQ(one.stage, one.intent == "7.c" ? Stage::waits : Stage::runs) << one.intent;
    EXPECT_EQ(one.nodes, 1U);
    EXPECT_GT(one.submitted.count(), 0);
    if (one.intent == "7.c") {
      EXPECT_EQ(one.id, third.id);
      EXPECT_EQ(one.reason, "Dependency");
    }
  }

  std::vector<std::string> ids;
  for (const auto& one : listing.allocations) ids.push_back(one.id);
  EXPECT_TRUE(confused->cancel(ids));
  listing = accounted(looking, 3);
  EXPECT_TRUE(listing.whole && listing.accounting);
  ASSERT_EQ(listing.allocations.size(), 3U) << "each once";
  for (const auto& one : listing.allocations) EXPECT_EQ(one.stage, Stage::over) << one.state;
  EXPECT_TRUE(launcher_->cancel(ids)) << "what has ended counts";

  // Of what the queue has forgotten the accounting knows the comment by the command line.
  const auto has_both = [](const slurm::OwnJobs& past) {
    return std::ranges::all_of(Words{"7.b", "7.c"}, [&](const auto& comment) {
      return std::ranges::any_of(past.jobs,
                                 [&](const auto& job) { return job.comment == comment; });
    });
  };
  const auto ask = [this] {
    return slurm::own_in_accounting(
        [this](const slurm::Command& command) { return run_there(command, {}); },
        {geteuid(), "torctest", {"a chain", "7.a"}}, {}, true);
  };
  const auto end = std::chrono::steady_clock::now() + kLongEnough;
  slurm::OwnJobs past = ask();
  while (!has_both(past) && std::chrono::steady_clock::now() < end) past = ask();
  EXPECT_TRUE(past.whole) << past.failure;
  EXPECT_TRUE(has_both(past));
}

TEST_F(SlurmLaunch, a_refusal_a_controller_that_is_down_and_an_answer_that_is_lost_are_told_apart) {
  const auto refused = launcher_->submit(submission("8.a", "#SBATCH --partition=nope"));
  EXPECT_EQ(refused.what, Submitted::refused) << testing::PrintToString(refused.words);
  EXPECT_FALSE(refused.not_from_here);
  const auto closed = launcher_->submit(submission("8.b", "#SBATCH --partition=closed"));
  EXPECT_EQ(closed.what, Submitted::refused) << testing::PrintToString(closed.words);
  EXPECT_TRUE(closed.not_from_here);

  // It acted, and its answer was lost.
  auto lost = launcher::slurm_launcher({[this](const slurm::Command& command) {
                                          auto output = run_there(command, {});
                                          EXPECT_EQ(output->exit_code, 0);
                                          return Result<slurm::SbatchOutput>(
                                              slurm::SbatchOutput{.timed_out = true});
                                        },
                                        geteuid()});
  EXPECT_EQ(lost->submit(submission("8.c", "#SBATCH --begin=now+1hour")).what, Submitted::unclear);
  const Listing found = launcher_->list({.intents = {"8.a", "8.b", "8.c"}});
  ASSERT_EQ(found.allocations.size(), 1U);
  EXPECT_EQ(found.allocations[0].intent, "8.c");
  EXPECT_TRUE(found.whole);

  ASSERT_EQ(cluster({"controller", "stop"}).exit_code, 0);
  const auto down = launcher_->submit(submission("8.d"));
  EXPECT_EQ(down.what, Submitted::later) << testing::PrintToString(down.words);
  const Listing none = launcher_->list({.intents = {"8.c"}});
  EXPECT_FALSE(none.whole);
  EXPECT_NE(none.failure, "");
  EXPECT_FALSE(launcher_->cancel({found.allocations[0].id}));
  ASSERT_EQ(cluster({"controller", "start"}).exit_code, 0);
  EXPECT_EQ(launcher_->list({.intents = {"8.c", "8.d"}}).allocations.size(), 1U);
  EXPECT_TRUE(launcher_->cancel({found.allocations[0].id}));
}

}  // namespace
}  // namespace torc::itest
