#include "lib/slurm/verdict.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>

#include "lib/base/text/quote.h"

namespace torc::slurm {
namespace {

using Words = std::vector<std::string>;

// What `sbatch --test-only` of Slurm 22.05 prints.
const std::string kStarts =
    "sbatch: Job 12 to start at 2026-11-25T04:30:00 using 4 processors on nodes n[1-2] in "
    "partition all\n";
const std::string kNoNodes = "allocation failure: Requested node configuration is not available\n";

SbatchOutput ended(int exit_code, std::string err, std::string out = "") {
  return {.exit_code = exit_code, .out = std::move(out), .err = std::move(err)};
}
Verdict verdict(int exit_code, const std::string& err) {
  return judge(ended(exit_code, err)).verdict;
}

TEST(Verdict, what_slurm_accepts_is_told_with_its_start_alone) {
  const Words start{
      "to start at 2026-11-25T04:30:00 using 4 processors on nodes n[1-2] in partition all"};
  for (const SbatchOutput& output :
       {ended(0, kStarts),
        ended(0, "*** Maintenance on Friday ***\nsbatch: lua: hello\n" + kStarts),
        ended(0, kStarts, "Welcome to alpha\n")}) {
    const Answer answer = judge(output);
    EXPECT_EQ(answer.verdict, Verdict::accepted);
    EXPECT_EQ(answer.words, start);
    EXPECT_EQ(answer.why, "");
  }
  EXPECT_EQ(judge(ended(0, kStarts + "sbatch:   Preempts: 7,8\n")).words,
            (Words{start[0], "Preempts: 7,8"}));
}

TEST(Verdict, what_slurm_refuses_is_told_in_its_words) {
  const Answer answer = judge(ended(1,
                                    "sbatch: error: invalid partition specified: nope\n"
                                    "allocation failure: Invalid partition name specified\n"));
  EXPECT_EQ(answer.verdict, Verdict::refused);
  EXPECT_EQ(answer.words, (Words{"sbatch: error: invalid partition specified: nope",
                                 "allocation failure: Invalid partition name specified"}));
  EXPECT_EQ(answer.why, "");
}

TEST(Verdict, sbatch_that_fails_by_itself_in_its_own_voice_is_a_refusal) {
  for (const std::string& words :
       {kNoNodes, "Welcome to alpha\n" + kNoNodes,
        std::string("sbatch: error: Invalid generic resource (gres) specification\n"),
        std::string("sbatch: fatal: --mem, --mem-per-cpu, and --mem-per-gpu are mutually "
                    "exclusive.\n"),
        std::string("/usr/bin/sbatch.real: unrecognized option '--bogus'\n"),
        // What the controller says counts, whatever was said on the way to it.
        "sbatch: error: auth/munge: connect to munged took two tries\n" + kNoNodes,
        std::string("sbatch: error: ask for an account and try again\n"
                    "allocation failure: Unspecified error\n")})
    EXPECT_EQ(verdict(1, words), Verdict::refused) << words;
  EXPECT_EQ(verdict(255, "sbatch: unrecognized option '--bogus'\n"), Verdict::refused);
}

TEST(Verdict, a_slurm_that_cannot_be_reached_refuses_nothing) {
  for (const char* words :
       {"allocation failure: Unable to contact slurm controller (connect failure)\n",
        "allocation failure: Socket timed out on send/recv operation\n",
        "allocation failure: Slurm backup controller in standby mode\n",
        "allocation failure: Unable to create job record, try again\n",
        "sbatch: error: Munge encode failed: Failed to access \"/run/munge/socket\": No such file "
        "or directory (Did you start munged?)\n"
        "allocation failure: Protocol authentication error\n",
        "sbatch: error: resolve_ctls_from_dns_srv: res_nsearch error: Unknown host\n"
        "sbatch: fatal: Could not establish a configuration source\n",
        "sbatch: error: ClusterName needs to be specified\n"
        "sbatch: fatal: Unable to process configuration file\n",
        "sbatch: error: Problem talking to database\n"
        "sbatch: error: 'foo' can't be reached now, or it is an invalid entry for --cluster.\n"}) {
    const Answer answer = judge(ended(1, words));
    EXPECT_EQ(answer.verdict, Verdict::unanswered) << words;
    EXPECT_EQ(answer.why, "Slurm could not be reached");
    EXPECT_FALSE(answer.words.empty());
  }
}

TEST(Verdict, silence_is_no_answer) {
  for (const int exit_code : {0, 1, 255}) {
    const Answer answer = judge(ended(exit_code, " \n\n", "\r\n"));
    EXPECT_EQ(answer.verdict, Verdict::unanswered) << exit_code;
    EXPECT_TRUE(answer.why.starts_with("sbatch printed nothing")) << answer.why;
    EXPECT_EQ(answer.words, Words{});
  }
}

TEST(Verdict, an_sbatch_that_was_ended_has_not_answered_whatever_it_had_said) {
  for (const std::string& words : {kNoNodes, kStarts, std::string("allocation fail")}) {
    SbatchOutput output = ended(-1, words);
    output.signal = SIGKILL;
    EXPECT_EQ(judge(output).verdict, Verdict::unanswered) << words;
    EXPECT_EQ(judge(output).why, "sbatch was ended by signal 9");
    output.timed_out = true;
    EXPECT_EQ(judge(output).verdict, Verdict::unanswered) << words;
    EXPECT_EQ(judge(output).why, "sbatch took too long, and was killed");
    output = ended(1, words);
    output.truncated = true;
    EXPECT_EQ(judge(output).verdict, Verdict::unanswered) << words;
    // Of one that a shell around it has lost.
    EXPECT_EQ(verdict(137, words), Verdict::unanswered);
  }
}

TEST(Verdict, what_is_not_the_voice_of_sbatch_is_no_refusal) {
  for (const char* words : {"ssh: connect to host login: No route to host\n", "oops\n",
                            "/opt/bin/sbatch-wrapper line 3: x: not found\n"})
    EXPECT_EQ(verdict(1, words), Verdict::unanswered) << words;
  EXPECT_EQ(verdict(127, "sbatch: error while loading shared libraries: libslurm.so\n"),
            Verdict::unanswered);
  EXPECT_EQ(verdict(126, "sbatch: Permission denied\n"), Verdict::unanswered);
}

TEST(Verdict, only_a_start_is_an_acceptance) {
  EXPECT_EQ(verdict(0, "sbatch: hello\n"), Verdict::unanswered);
  EXPECT_EQ(verdict(0, "the job is going to start at noon\n"), Verdict::unanswered);
  EXPECT_EQ(verdict(0, kNoNodes), Verdict::unanswered);
}

TEST(Verdict, words_have_no_power_over_a_terminal) {
  EXPECT_EQ(judge(ended(1, "sbatch: error: \x1b[31mred\x1b]0;title\a\xff\r\n")).words,
            (Words{R"(sbatch: error: \x1b[31mred\x1b]0;title\x07\xff)"}));
}

TEST(Verdict, of_much_the_end_is_told) {
  std::string much;
  for (int i = 0; i < 100'000; ++i) much += "line " + std::to_string(i) + "\n";
  const Words words = judge(ended(1, much + kNoNodes)).words;
  ASSERT_EQ(words.size(), kMostLines);
  EXPECT_EQ(words.front(), "…");
  EXPECT_EQ(words[1], "line 99992");
  EXPECT_EQ(words.back() + "\n", kNoNodes);
}

TEST(Verdict, a_long_line_is_cut_between_characters) {
  for (const std::string& character : {std::string("x"), std::string("ä"), std::string("€"),
                                       std::string("🚀"), std::string("\x1b")}) {
    for (const char* shift : {"", "a", "ab", "abc"}) {
      std::string line = std::string("sbatch: ") + shift;
      for (int i = 0; i < 100'000; ++i) line += character;
      const Words words = judge(ended(1, line)).words;
      ASSERT_EQ(words.size(), 1U);
      EXPECT_LE(words[0].size(), kMostBytes);
      EXPECT_GT(words[0].size(), kMostBytes - 10);
      EXPECT_TRUE(words[0].ends_with("…"));
      EXPECT_EQ(printable(words[0]), words[0]) << "half a character";
      for (const char* half : {"\\xe", "\\xf", "\\xc"})
        EXPECT_EQ(words[0].find(half), std::string::npos) << words[0];
    }
  }
  const std::string just(kMostBytes - 8, 'x');
  EXPECT_EQ(judge(ended(1, "sbatch: " + just)).words, (Words{"sbatch: " + just}));
}

TEST(ForSbatch, is_what_the_user_has_and_not_what_an_allocation_tells) {
  for (const char* entry : {"PATH=/bin", "SBATCH_PARTITION=gpu", "SLURM_CONF=/etc/slurm.conf",
                            "SLURM_CLUSTERS=beta", "SLURM_JWT=ey", "SLURM", "TORC_STORE=x"})
    EXPECT_TRUE(is_for_sbatch(entry)) << entry;
  for (const char* entry : {"SLURM_JOB_ID=7", "SLURM_NTASKS_PER_NODE=4", "SLURM_HOSTFILE=/x",
                            "SLURM_MEM_PER_NODE=1", "SLURM_EXIT_ERROR=0", "SLURM_CONF_=x",
                            "SLURM_CLUSTER_NAME=alpha", "SLURM_HINT=multithread"})
    EXPECT_FALSE(is_for_sbatch(entry)) << entry;
}

}  // namespace
}  // namespace torc::slurm
