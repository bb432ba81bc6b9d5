#include "lib/launcher/slurm_launcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace torc::launcher {
namespace {

using namespace std::chrono_literals;

using Words = std::vector<std::string>;

constexpr std::uint32_t kMe = 1000;

std::string cell(std::string text, std::size_t width) {
  text.resize(width, ' ');
  return text;
}

// As squeue and sacct of 22.05 print them.
struct Row {
  std::string id = "7";
  std::string name = "try-1";
  std::string comment = "(null)";
  std::string state = "PENDING";
  std::string user = std::to_string(kMe);
  std::string cluster = "alpha";
  std::string line = {};  // of sbatch
};
std::string queued(const Row& r) {
  return cell(r.id, 24) + cell(r.id, 48) + cell(r.cluster, 64) + cell("2", 12) + cell(r.state, 24) +
         cell("1795342086", 32) + cell("N/A", 32) + cell("1795340000", 32) + cell(r.user, 12) +
         cell(r.name, 256) + cell("Priority", 256) + cell(r.comment, 512) + "\n";
}
std::string accounted(const Row& r) {
  return r.id + "|" + r.id + "|" + r.cluster + "|" + r.user + "|" + r.state +
         "|1795340000|Unknown|1795341000|2|" + r.name + "|" + r.comment + "|" + r.line + "\n";
}
const std::string kQueue = cell("JOBID", 24) + cell("JOBID", 1024) + cell("COMMENT", 256) + "\n";
const std::string kAccounting =
    "JobIDRaw|JobID|Cluster|UID|State|Submit|Start|End|NNodes|JobName|Comment|SubmitLine\n";

bool holds(const Words& words, const std::string& word) {
  return std::ranges::find(words, word) != words.end();
}
std::string program_of(const Words& argv) {
  for (const char* program : {"sbatch", "squeue", "sacct", "scancel", "scontrol"}) {
    if (holds(argv, program)) return program;
  }
  return "?";
}

// A Slurm that prints what it is told to.
class FakeSlurm {
 public:
  std::string queue = kQueue;
  std::string accounting = kAccounting;
  slurm::SbatchOutput other = {.exit_code = 0, .out = "12\n"};
  std::vector<slurm::Command> commands;

  std::unique_ptr<Launcher> launcher(std::string cluster = "alpha") {
    return slurm_launcher({[this](const slurm::Command& command) { return answer(command); }, kMe,
                           std::move(cluster)});
  }
  [[nodiscard]] std::size_t asked(const std::string& program) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        commands, [&](const auto& c) { return program_of(c.argv) == program; }));
  }

 private:
  Result<slurm::SbatchOutput> answer(const slurm::Command& command) {
    commands.push_back(command);
    const std::string program = program_of(command.argv);
    if (program == "squeue") return slurm::SbatchOutput{.exit_code = 0, .out = queue};
    if (program == "sacct") return slurm::SbatchOutput{.exit_code = 0, .out = accounting};
    return other;
  }
};

Submission submission() {
  Submission one;
  one.intent = "wf.one-3_1";
  one.script = "/shared files/one.sbatch";
  one.environment = {{"TORC_INTENT", "a,b c"}};
  return one;
}

TEST(SlurmLauncher, submits_under_the_name_of_the_try_to_this_hosts_own_cluster) {
  FakeSlurm slurm;
  const SubmitAnswer answer = slurm.launcher()->submit(submission());
  EXPECT_EQ(answer.what, Submitted::accepted);
  EXPECT_EQ(answer.id, "12");
  EXPECT_EQ(answer.cluster, "alpha");
  ASSERT_EQ(slurm.commands.size(), 1U);
  const slurm::Command& command = slurm.commands[0];
  EXPECT_EQ(command.argv,
            (Words{"env", "-u", "SLURM_CLUSTERS", "-u", "SBATCH_CLUSTERS", "-u", "SBATCH_ARRAY_INX",
                   "-u", "SBATCH_WAIT", "sbatch", "--parsable", "--export=ALL",
                   "--job-name=wf.one-3_1", "/shared files/one.sbatch"}));
  EXPECT_EQ(command.environment, (Words{"TORC_INTENT=a,b c"})) << "commas and blanks are kept";
  EXPECT_EQ(command.limit, kSubmitLimit);
}

TEST(SlurmLauncher, a_shared_name_leaves_the_comment_for_the_try) {
  FakeSlurm slurm;
  Submission one = submission();
  one.shared_name = "wf chain";
  one.exclude_nodes = {"n01", "n02", "bad node", "-x", "m7"};
  (void)slurm.launcher()->submit(one);
  const Words& argv = slurm.commands.at(0).argv;
  EXPECT_TRUE(holds(argv, "--job-name=wf chain"));
  EXPECT_TRUE(holds(argv, "--comment=wf.one-3_1"));
  EXPECT_TRUE(holds(argv, "--exclude=n[01-02],m7"));
}

TEST(SlurmLauncher, what_could_not_be_started_has_submitted_nothing) {
  const auto launcher =
      slurm_launcher({[](const slurm::Command&) -> Result<slurm::SbatchOutput> {
                        return Error{ErrorKind::busy, "no process can be had", "", 0};
                      },
                      kMe});
  EXPECT_EQ(launcher->submit(submission()).what, Submitted::later);
  EXPECT_EQ(launcher->list({}).failure, "no process can be had");
  EXPECT_FALSE(launcher->list({}).whole);
  EXPECT_FALSE(launcher->cancel({"1"}));
}

TEST(SlurmLauncher, a_name_that_could_mean_something_else_is_not_submitted) {
  FakeSlurm slurm;
  for (const std::string& name :
       {std::string(), std::string("-x"), std::string("a b"), std::string("a,b"), std::string("ä"),
        std::string(kLongestIntent + 1, 'a')}) {
    Submission one = submission();
    one.intent = name;
    EXPECT_EQ(slurm.launcher()->submit(one).what, Submitted::refused) << name;
  }
  EXPECT_TRUE(slurm.commands.empty());
  EXPECT_TRUE(is_intent(std::string(kLongestIntent, 'a')));
}

TEST(SlurmLauncher, finds_tries_by_name_and_by_comment_in_one_question) {
  FakeSlurm slurm;
  slurm.queue += queued({.id = "7", .name = "try-1"}) +
                 queued({.id = "8", .name = "chain", .comment = "try-2", .state = "RUNNING"}) +
                 queued({.id = "9", .name = "chain", .comment = "site:x try-3"}) +
                 queued({.id = "10", .name = "chain", .comment = "a wish of the user's"}) +
                 queued({.id = "11", .name = "something else"});
  const Listing listing =
      slurm.launcher()->list({.intents = {"try-1", "try-2", "try-3"}, .shared_names = {"chain"}});
  EXPECT_TRUE(listing.whole);
  EXPECT_FALSE(listing.accounting);
  EXPECT_EQ(listing.failure, "");
  EXPECT_EQ(listing.cluster, "alpha");
  ASSERT_EQ(listing.allocations.size(), 4U);
  EXPECT_EQ(listing.allocations[0], (Listed{"alpha", "7", "try-1", "try-1", "PENDING", "Priority",
                                            slurm::Stage::waits, 1795340000s, 1795342086s, 0s, 2}));
  EXPECT_EQ(listing.allocations[1].intent, "try-2");
  EXPECT_EQ(listing.allocations[1].stage, slurm::Stage::runs);
  EXPECT_EQ(listing.allocations[2].intent, "try-3");
  EXPECT_EQ(listing.allocations[3].intent, "") << "no name of a try";
  EXPECT_EQ(slurm.commands.size(), 1U);
  EXPECT_TRUE(holds(slurm.commands[0].argv, "try-1,try-2,try-3,chain"));
}

TEST(SlurmLauncher, asks_once_whatever_the_number_of_names) {
  FakeSlurm slurm;
  Looking many;
  for (int i = 0; i < 20'000; ++i) many.intents.push_back("try-" + std::to_string(i));
  many.ended_too = true;
  slurm.queue += queued({.name = "try-19999"});
  const Listing listing = slurm.launcher()->list(many);
  EXPECT_EQ(listing.allocations.size(), 1U);
  EXPECT_EQ(slurm.asked("squeue"), 1U);
  EXPECT_EQ(slurm.asked("sacct"), 1U);
  for (const auto& command : slurm.commands) {
    for (const auto& word : command.argv) EXPECT_LT(word.size(), 128U * 1024);
  }
}

TEST(SlurmLauncher, what_is_of_others_is_not_ours) {
  FakeSlurm slurm;
  slurm.queue += queued({.user = "1001"});
  const Listing theirs = slurm.launcher()->list({.intents = {"try-1"}});
  EXPECT_TRUE(theirs.allocations.empty());
  EXPECT_TRUE(theirs.whole);
}

// What an answer of another system does not hold may well be there.
TEST(SlurmLauncher, an_answer_of_another_cluster_is_none) {
  for (const std::string& rows :
       {queued({.cluster = "beta"}), queued({}) + queued({.id = "8", .cluster = "beta"})}) {
    for (const char* known : {"alpha", "gamma"}) {
      FakeSlurm slurm;
      slurm.queue += rows;
      const Listing listing = slurm.launcher(known)->list({.intents = {"try-1"}});
      EXPECT_FALSE(listing.whole);
      EXPECT_TRUE(listing.allocations.empty());
      EXPECT_EQ(listing.failure, "it told of another cluster");
    }
  }
  FakeSlurm slurm;
  slurm.accounting += accounted({.cluster = "beta"});
  const Listing listing = slurm.launcher()->list({.intents = {"try-1"}, .ended_too = true});
  EXPECT_TRUE(listing.whole);
  EXPECT_FALSE(listing.accounting);
}

TEST(SlurmLauncher, half_an_answer_is_not_whole_and_nothing_is_no_answer) {
  const std::string one = queued({});
  for (const std::string& cut :
       {kQueue + one + one.substr(0, 500), kQueue + one.substr(0, one.size() - 1),
        kQueue + one + "slurm_load_jobs error\n", kQueue.substr(0, kQueue.size() - 1)}) {
    FakeSlurm slurm;
    slurm.queue = cut;
    EXPECT_FALSE(slurm.launcher()->list({.intents = {"try-1"}}).whole) << cut.size();
  }
  for (const std::string& none :
       {std::string(), std::string("\n"), std::string("JOBID\n"), one, std::string("<html>\n")}) {
    FakeSlurm slurm;
    slurm.queue = none;
    const Listing listing = slurm.launcher()->list({.intents = {"try-1"}});
    EXPECT_FALSE(listing.whole);
    EXPECT_NE(listing.failure, "");
    EXPECT_TRUE(listing.allocations.empty());
  }
  FakeSlurm slurm;
  EXPECT_TRUE(slurm.launcher()->list({.intents = {"try-1"}}).whole) << "a heading and no rows";
}

TEST(SlurmLauncher, the_accounting_knows_what_has_left_the_queue) {
  FakeSlurm slurm;
  slurm.queue += queued({.id = "9", .name = "try-9", .state = "COMPLETED"});
  slurm.accounting +=
      accounted({.id = "7", .name = "try-1", .state = "CANCELLED by 1000"}) +
      accounted(
          {.id = "8",
           .name = "chain",
           .comment = "",
           .state = "TIMEOUT",
           .line = "sbatch --parsable --job-name=chain --comment=try-2 one.sbatch\nand more"}) +
      accounted({.id = "9", .name = "try-9", .state = "COMPLETED"});
  const Looking looking{.intents = {"try-1", "try-2", "try-9"},
                        .shared_names = {"chain"},
                        .since = 1795339000s,
                        .ended_too = true};
  const Listing listing = slurm.launcher()->list(looking);
  EXPECT_TRUE(listing.accounting);
  ASSERT_EQ(listing.allocations.size(), 3U) << "each once";
  EXPECT_EQ(listing.allocations[0].id, "9");
  EXPECT_EQ(listing.allocations[1].intent, "try-1");
  EXPECT_EQ(listing.allocations[1].stage, slurm::Stage::over);
  EXPECT_EQ(listing.allocations[1].end, 1795341000s);
  EXPECT_EQ(listing.allocations[2].intent, "try-2");
  EXPECT_EQ(listing.allocations[2].state, "TIMEOUT");
}

TEST(SlurmLauncher, an_accounting_that_answers_nothing_or_half_was_not_asked) {
  const std::string row = accounted({});
  for (const std::string& cut : {std::string(), std::string("sacct: disabled\n"), row,
                                 kAccounting + row.substr(0, row.size() - 3)}) {
    FakeSlurm slurm;
    slurm.accounting = cut;
    const Listing listing = slurm.launcher()->list({.intents = {"try-1"}, .ended_too = true});
    EXPECT_TRUE(listing.whole);
    EXPECT_FALSE(listing.accounting) << cut;
  }
}

TEST(SlurmLauncher, cancels_all_by_one_command_and_only_what_has_a_number) {
  FakeSlurm slurm;
  slurm.other = {.exit_code = 0};
  EXPECT_TRUE(slurm.launcher()->cancel({"1", "2", "3_4"}));
  ASSERT_EQ(slurm.commands.size(), 1U);
  const Words& argv = slurm.commands[0].argv;
  EXPECT_EQ(Words(argv.end() - 4, argv.end()), (Words{"scancel", "1", "2", "3_4"}));
  EXPECT_TRUE(holds(argv, "SCANCEL_STATE")) << "taken out of the environment";
  EXPECT_FALSE(slurm.launcher()->cancel({"1", "--me"}));
  EXPECT_TRUE(slurm.launcher()->cancel({}));
  EXPECT_EQ(slurm.commands.size(), 2U);
  EXPECT_EQ(slurm.commands[1].argv.back(), "1");
}

TEST(SlurmLauncher, what_has_ended_already_counts_as_cancelled) {
  FakeSlurm slurm;
  slurm.other = {.exit_code = 1,
                 .err =
                     "scancel: error: Kill job error on job id 7: Job/step already completing or "
                     "completed\n"};
  EXPECT_TRUE(slurm.launcher()->cancel({"7", "8"}));
  slurm.other.err += "scancel: error: Kill job error on job id 8: Access/permission denied\n";
  EXPECT_FALSE(slurm.launcher()->cancel({"7", "8"}));
  slurm.other = {.exit_code = -1, .timed_out = true};
  EXPECT_FALSE(slurm.launcher()->cancel({"7"}));
}

TEST(SlurmLauncher, asks_for_the_name_of_the_cluster_once) {
  FakeSlurm slurm;
  slurm.other = {.exit_code = 1};
  const auto launcher = slurm.launcher("");
  EXPECT_EQ(launcher->cluster(), "");
  slurm.other = {.exit_code = 0, .out = "AuthType = munge\nClusterName             = alpha\n"};
  EXPECT_EQ(launcher->cluster(), "alpha");
  EXPECT_EQ(launcher->cluster(), "alpha");
  EXPECT_EQ(slurm.asked("scontrol"), 2U);
  EXPECT_EQ(slurm.launcher("beta")->cluster(), "beta");
}

}  // namespace
}  // namespace torc::launcher
