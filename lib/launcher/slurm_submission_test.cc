#include "lib/launcher/slurm_submission.h"

#include <gtest/gtest.h>

#include <csignal>

#include "lib/base/text/quote.h"

namespace torc::launcher {
namespace {

slurm::SbatchOutput ended(int exit_code, std::string err, std::string out = "") {
  return {.exit_code = exit_code, .out = std::move(out), .err = std::move(err)};
}

struct Case {
  const char* words;
  Submitted what;
  const char* why;  // for whoever reads this table
};

constexpr auto kRefusedNow = Submitted::refused;
constexpr auto kLaterOn = Submitted::later;
constexpr auto kNotClear = Submitted::unclear;

// "sbatch: error: Batch job submission failed: WORDS", as Slurm 22.05 has them (slurm_strerror(3)).
const std::vector<Case> kSaidByController{
    {"Invalid account or account/partition combination specified", kRefusedNow,
     "looked up before there is a record of the job; the account stays what it is"},
    {"Invalid partition name specified", kRefusedNow, "as above"},
    {"Invalid qos specification", kRefusedNow, "as above"},
    {"User's group not permitted to use this partition", kRefusedNow, "as above"},
    {"Access/permission denied", kRefusedNow, "AllocNodes: not from this host"},
    {"Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)",
     kRefusedNow, "a limit of the association, which says nothing of how many are queued"},
    {"Requested node configuration is not available", kRefusedNow, "no node is so large"},
    {"More processors requested than permitted", kRefusedNow, "as above"},
    {"Node count specification invalid", kRefusedNow, "beyond the partition's limits"},
    {"Requested time limit is invalid (missing or exceeds some limit)", kRefusedNow,
     "beyond the partition's limits"},
    {"Requested partition configuration not available now", kRefusedNow,
     "the words that EnforcePartLimits has for what is beyond the partition's limits"},
    {"Invalid feature specification", kRefusedNow, "no node has it"},
    {"Invalid generic resource (gres) specification", kRefusedNow, "no node has it"},
    {"Invalid node name specified", kRefusedNow, "of --exclude or --nodelist"},
    {"Requested reservation is invalid", kRefusedNow, "there is none of that name"},
    {"Memory required by task is not available", kRefusedNow, "no node has as much"},
    {"Unable to contact slurm controller (connect failure)", kLaterOn,
     "no connection was made, so nothing was sent"},
    {"Resource temporarily unavailable", kLaterOn,
     "MaxJobCount, or too much to do: the controller says so of itself, and sbatch tries again by "
     "itself for two minutes"},
    {"Unable to create job record, try again", kLaterOn, "as above"},
    {"Requested nodes are busy", kLaterOn, "as above"},
    {"Slurm backup controller in standby mode", kLaterOn, "who is in standby takes nothing in"},
    {"Controller is in standby mode, try a different controller", kLaterOn, "as above"},
    {"System submissions disabled", kLaterOn, "an administrator takes that back"},
    {"Partition in DOWN state", kLaterOn, "as above"},
    {"Required partition not available (inactive or drain)", kLaterOn, "as above"},
    {"Required node not available (down, drained or reserved)", kLaterOn, "as above"},
    {"Unable to connect to database", kLaterOn, "the association could not be looked up"},
    {"I/O error writing script/environment to file", kLaterOn,
     "without its script the controller starts no job"},
    {"Unspecified error", kLaterOn,
     "a job_submit plugin of the site's said no; whether for good only its own words say"},
    {"Socket timed out on send/recv operation", kNotClear, "it was sent; the answer was lost"},
    {"Zero Bytes were transmitted or received", kNotClear, "as above"},
    {"Unable to contact slurm controller (send failure)", kNotClear, "a part of it was sent"},
    {"Unable to contact slurm controller (receive failure)", kNotClear, "it was sent"},
    {"Unable to contact slurm controller (shutdown failure)", kNotClear, "it was sent"},
    {"Message receive failure", kNotClear, "it was sent"},
    {"Unexpected message received", kNotClear, "it was sent, and something came back"},
    {"Insane message length", kNotClear, "as above"},
    {"Incompatible versions of client and server code", kNotClear,
     "of the question or of the answer"},
    {"Protocol authentication error", kNotClear, "of the question or of the answer"},
    {"Slurm internal error, contact system administrator", kNotClear, "at any point"},
    {"Connection reset by peer", kNotClear, "after something was sent"},
    {"Transmogrification of the flux failed", kNotClear, "nobody knows these words"}};

TEST(SlurmSubmission, what_the_controller_answered_decides) {
  for (const Case& c : kSaidByController) {
    const std::string line =
        "sbatch: error: Batch job submission failed: " + std::string(c.words) + "\n";
    const SubmitAnswer answer = read_submission(ended(1, line));
    EXPECT_EQ(answer.what, c.what) << c.words << ": " << c.why;
    EXPECT_EQ(answer.id, "");
    ASSERT_EQ(answer.words.size(), 1U);
    EXPECT_EQ(answer.words[0] + "\n", line);
    // Whatever was said before it.
    EXPECT_EQ(read_submission(ended(1, "sbatch: error: invalid something\n" + line)).what, c.what);
    EXPECT_EQ(read_submission(ended(1, "/opt/slurm/bin/" + line)).what, c.what);
  }
}

TEST(SlurmSubmission, a_limit_of_how_many_are_queued_passes) {
  const std::string policy =
      "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit "
      "limit, user's size and/or time limits)\n";
  for (const char* limit :
       {"AssocMaxSubmitJobLimit", "QOSMaxSubmitJobPerUserLimit", "AssocGrpSubmitJobsLimit"})
    EXPECT_EQ(
        read_submission(ended(1, "sbatch: error: " + std::string(limit) + "\n" + policy)).what,
        Submitted::later)
        << limit;
  for (const char* limit : {"QOSMaxCpuPerUserLimit", "AssocMaxWallDurationPerJobLimit"})
    EXPECT_EQ(
        read_submission(ended(1, "sbatch: error: " + std::string(limit) + "\n" + policy)).what,
        Submitted::refused)
        << limit;
}

TEST(SlurmSubmission, what_sbatch_finds_wrong_by_itself_was_never_sent) {
  for (const char* words :
       {"sbatch: unrecognized option '--bogus'\nTry \"sbatch --help\" for more information\n",
        "sbatch: error: Unable to open file /x/one.sbatch\n",
        "sbatch: error: Invalid --time specification\n",
        "sbatch: error: \"x\" is not a valid node count\n",
        "sbatch: error: Invalid generic resource (gres) specification\n",
        "sbatch: fatal: --mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive.\n",
        "sbatch: error: Batch script contains DOS line breaks (\\r\\n)\n"}) {
    EXPECT_EQ(read_submission(ended(1, words)).what, Submitted::refused) << words;
    EXPECT_FALSE(read_submission(ended(1, words)).not_from_here) << words;
    // Unless it had got further.
    EXPECT_EQ(read_submission(ended(1, words, "12\n")).what, Submitted::unclear) << words;
  }
  EXPECT_EQ(read_submission(ended(1, "sbatch: fatal: Unable to process configuration file\n")).what,
            Submitted::later);
}

TEST(SlurmSubmission, where_one_may_not_submit_another_host_may) {
  for (const auto& output :
       {ended(127, "env: \xe2\x80\x98sbatch\xe2\x80\x99: No such file or directory\n"),
        ended(126, "env: 'sbatch': Permission denied\n"),
        ended(1, "sbatch: error: Batch job submission failed: Access/permission denied\n")}) {
    EXPECT_EQ(read_submission(output).what, Submitted::refused) << output.err;
    EXPECT_TRUE(read_submission(output).not_from_here) << output.err;
  }
  // A wrapper that lacks a program may have called the real one before.
  for (const auto& output : {ended(127, "/site/bin/sbatch: line 9: logger: command not found\n"),
                             ended(127, "env: 'x': No such file\nenv: 'y': No such file\n")}) {
    EXPECT_EQ(read_submission(output).what, Submitted::unclear) << output.err;
    EXPECT_FALSE(read_submission(output).not_from_here) << output.err;
  }
}

TEST(SlurmSubmission, an_id_alone_on_its_line_is_accepted) {
  struct {
    const char* out;
    const char* id;
    const char* cluster;
  } const cases[] = {{"12\n", "12", ""},
                     {"12;alpha\n", "12", "alpha"},
                     {"Welcome to alpha, user 7\n12\n", "12", ""},
                     {"Submitted batch job 12\n", "12", ""},
                     {"Submitted batch job 12 on cluster alpha\n12;alpha\n", "12", "alpha"}};
  for (const auto& c : cases) {
    const SubmitAnswer answer = read_submission(ended(0, "sbatch: lua: hello\n", c.out));
    EXPECT_EQ(answer.what, Submitted::accepted) << c.out;
    EXPECT_EQ(answer.id, c.id) << c.out;
    EXPECT_EQ(answer.cluster, c.cluster) << c.out;
  }
}

TEST(SlurmSubmission, success_without_one_id_is_unclear) {
  for (const char* out : {"", "\n", "done\n", "12", "12\n13\n", "12;\n", "12_3\n", "-12\n",
                          "12 13\n", "Submitted batch job twelve\n", "job 12\n"})
    EXPECT_EQ(read_submission(ended(0, "", out)).what, Submitted::unclear) << out;
}

TEST(SlurmSubmission, what_did_not_end_by_itself_is_unclear_whatever_it_had_said) {
  const std::string refused = "sbatch: error: Batch job submission failed: Invalid account\n";
  for (const std::string& out : {std::string(), std::string("12\n")}) {
    slurm::SbatchOutput output = ended(-1, refused, out);
    output.signal = SIGKILL;
    EXPECT_EQ(read_submission(output).what, Submitted::unclear);
    output.timed_out = true;
    EXPECT_EQ(read_submission(output).what, Submitted::unclear);
    output = ended(0, "", out);
    output.truncated = true;
    EXPECT_EQ(read_submission(output).what, Submitted::unclear);
    EXPECT_EQ(read_submission(ended(137, "", out)).what, Submitted::unclear);
  }
}

TEST(SlurmSubmission, failure_in_unknown_words_or_none_is_unclear) {
  for (const char* err :
       {"", "oops\n", "sbatch: error: something new\n", "sbatch: fatal: malloc failed\n",
        "ssh: connect to host login: No route to host\n",
        "Batch job submission failed: Invalid partition name specified\n"})
    EXPECT_EQ(read_submission(ended(1, err)).what, Submitted::unclear) << err;
}

TEST(SlurmSubmission, words_are_bounded_and_have_no_power_over_a_terminal) {
  std::string much = "\x1b]0;title\x07 red\n";
  for (int i = 0; i < 1000; ++i)
    much += "line " + std::to_string(i) + std::string(1000, 'x') + "\n";
  const auto words = read_submission(ended(1, much + "sbatch: \x1b[31m last\n")).words;
  EXPECT_LE(words.size(), slurm::kMostLines);
  for (const auto& line : words) {
    EXPECT_LE(line.size(), slurm::kMostBytes);
    EXPECT_EQ(printable(line), line);
  }
  EXPECT_EQ(words.back(), "sbatch: \\x1b[31m last");
}

}  // namespace
}  // namespace torc::launcher
