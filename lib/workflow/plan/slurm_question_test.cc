// Real processes that stand in for sbatch.
#include "lib/workflow/plan/slurm_question.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <sstream>

#include "lib/base/file/descriptor.h"
#include "lib/store/disk/disk.h"

namespace torc::workflow {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using slurm::Answer;
using slurm::Verdict;
using Words = std::vector<std::string>;

constexpr auto kLongEnough = 60s;
const std::string kStarts = "to start at 2026-11-25T04:30:00 using 4 processors on nodes n1";
const std::string kAccepts = "echo 'sbatch: Job 7 " + kStarts + "' >&2\n";
const std::string kRefuses =
    "echo 'allocation failure: Requested node configuration is not available' >&2; exit 1\n";

class SlurmQuestion : public testing::Test {
 protected:
  SlurmQuestion() {
    std::string pattern = (fs::temp_directory_path() / "torc-sbatch-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
    fs::create_directories(root_ / "bin");
    context_.directory = root_;
    set({"PATH=" + (root_ / "bin").string() + ":/usr/bin:/bin", "HERE=" + root_.string()});
  }
  ~SlurmQuestion() override { fs::remove_all(root_); }

  void set(Words environment) {
    environment_ = std::move(environment);
    pointers_.clear();
    for (std::string& entry : environment_) pointers_.push_back(entry.data());
    pointers_.push_back(nullptr);
    context_.environment = pointers_.data();
  }
  // `script` runs with the root as $HERE.
  void sbatch(const std::string& script) const {
    const Path file = root_ / "bin" / "sbatch";
    std::ofstream(file) << "#!/bin/sh\n" << script;
    fs::permissions(file, fs::perms::owner_all);
  }
  [[nodiscard]] std::string text(const std::string& name) const {
    std::ostringstream all;
    all << std::ifstream(root_ / name).rdbuf();
    return all.str();
  }
  [[nodiscard]] Answer ask(std::chrono::nanoseconds limit = kLongEnough) const {
    const auto answers = ask_slurm(context_, {gpu_}, ReadFrom::standard_input, limit);
    EXPECT_TRUE(answers && answers->size() == 1);
    return answers ? answers->at(0) : Answer{};
  }

  Path root_;
  BatchScript gpu_{"gpu", {}, "/st ore/slurm/gpu.sbatch", "#!/bin/bash\n#SBATCH --nodes='2'\n"};
  BatchScript cpu_{"cpu", {}, "/st ore/slurm/cpu.sbatch", "#!/bin/bash\n"};
  Words environment_;
  std::vector<char*> pointers_;
  SystemClock clock_;
  store::PosixDisk disk_;
  SeededEntropy entropy_{1};
  store::World world_{disk_, clock_, entropy_, "n1", "boot", "ns", geteuid(), {}};
  Context context_{clock_, world_, world_, [](std::string_view) { return std::nullopt; }};
};

TEST_F(SlurmQuestion, without_a_file_the_script_is_on_standard_input) {
  sbatch("echo \"$# $*\" > $HERE/words; cat > $HERE/script\n" + kAccepts);
  const Answer answer = ask();
  EXPECT_EQ(answer.verdict, Verdict::accepted);
  EXPECT_EQ(answer.words, (Words{kStarts}));
  EXPECT_EQ(text("words"), "1 --test-only\n");
  EXPECT_EQ(text("script"), gpu_.text);
}

TEST_F(SlurmQuestion, a_script_that_is_there_is_named_as_who_submits_it_does) {
  sbatch("echo \"$# $*\" > $HERE/words; cat > $HERE/script\n" + kAccepts);
  const auto answers = ask_slurm(context_, {gpu_}, ReadFrom::its_file);
  ASSERT_TRUE(answers);
  EXPECT_EQ(answers->at(0).verdict, Verdict::accepted);
  EXPECT_EQ(text("words"), "2 --test-only /st ore/slurm/gpu.sbatch\n");
  EXPECT_EQ(text("script"), "");
}

TEST_F(SlurmQuestion, each_script_is_asked_about_once_and_has_an_answer_of_its_own) {
  sbatch("echo asked >> $HERE/log; if grep -q nodes; then " + kRefuses + "fi\n" + kAccepts);
  const auto answers = ask_slurm(context_, {gpu_, cpu_, gpu_}, ReadFrom::standard_input);
  ASSERT_TRUE(answers && answers->size() == 3);
  EXPECT_EQ(answers->at(0).verdict, Verdict::refused);
  EXPECT_EQ(answers->at(0).words,
            (Words{"allocation failure: Requested node configuration is not available"}));
  EXPECT_EQ(answers->at(1).verdict, Verdict::accepted);
  EXPECT_EQ(answers->at(2).verdict, Verdict::refused);
  EXPECT_EQ(text("log"), "asked\nasked\nasked\n");
}

TEST_F(SlurmQuestion, without_sbatch_or_without_scripts_nothing_can_be_asked) {
  EXPECT_EQ(ask_slurm(context_, {}, ReadFrom::standard_input), std::nullopt);
  sbatch(kAccepts);
  EXPECT_TRUE(can_ask_slurm(context_));
  fs::remove(root_ / "bin" / "sbatch");
  for (const Words& environment :
       {Words{"PATH=" + root_.string()}, Words{"PATH=" + (root_ / "bin").string()}}) {
    set(environment);
    EXPECT_FALSE(can_ask_slurm(context_));
    EXPECT_EQ(ask().verdict, Verdict::unanswered);
  }
}

TEST_F(SlurmQuestion, an_sbatch_that_cannot_be_executed_is_told) {
  set({"PATH=" + (root_ / "bin").string()});
  sbatch(kAccepts);
  fs::permissions(root_ / "bin" / "sbatch", fs::perms::owner_read);
  EXPECT_TRUE(can_ask_slurm(context_));
  EXPECT_EQ(ask().verdict, Verdict::unanswered);
}

TEST_F(SlurmQuestion, what_an_allocation_tells_does_not_reach_sbatch) {
  sbatch("env > $HERE/env\n" + kAccepts);
  Words environment = environment_;
  for (const char* entry : {"SLURM_JOB_ID=7", "SLURM_NTASKS_PER_NODE=4", "SBATCH_PARTITION=gpu",
                            "SLURM_CONF=/etc/here.conf"})
    environment.emplace_back(entry);
  set(environment);
  EXPECT_EQ(ask().verdict, Verdict::accepted);
  const std::string seen = text("env");
  EXPECT_NE(seen.find("\nSBATCH_PARTITION=gpu\n"), std::string::npos) << seen;
  EXPECT_NE(seen.find("\nSLURM_CONF=/etc/here.conf\n"), std::string::npos) << seen;
  EXPECT_EQ(seen.find("SLURM_JOB_ID"), std::string::npos) << seen;
  EXPECT_EQ(seen.find("SLURM_NTASKS_PER_NODE"), std::string::npos) << seen;
}

TEST_F(SlurmQuestion, one_that_hangs_is_killed_with_its_children_and_the_rest_is_left_out) {
  const Path fifo = root_ / "alive";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const Descriptor alive(::open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  ASSERT_TRUE(alive);
  sbatch(R"sh(trap '' TERM
echo asked >> $HERE/log
(trap '' TERM; exec 9>$HERE/alive; echo started >&9; sleep 1000) &
sleep 1000
)sh");
  // Until the child had the time to come into being.
  std::array<char, 16> started{};
  for (auto limit = 100ms; started[0] == 0; limit *= 2) {
    ASSERT_LT(limit, kLongEnough);
    fs::remove(root_ / "log");
    const auto answers = ask_slurm(context_, {gpu_, cpu_}, ReadFrom::standard_input, limit);
    ASSERT_TRUE(answers && answers->size() == 2);
    EXPECT_EQ(answers->at(0).verdict, Verdict::unanswered);
    EXPECT_TRUE(answers->at(0).why.starts_with("sbatch did not answer within the "));
    EXPECT_TRUE(answers->at(0).why.ends_with(" for all batch scripts, and was killed"));
    EXPECT_EQ(answers->at(1).verdict, Verdict::unanswered);
    EXPECT_TRUE(answers->at(1).why.starts_with("sbatch was not asked: the ")) << answers->at(1).why;
    EXPECT_LE(text("log"), "asked\n") << "the second was asked about all the same";
    [[maybe_unused]] const ssize_t n = ::read(alive.get(), started.data(), started.size());
  }
  // Nobody holds the other end any more.
  pollfd end{alive.get(), 0, 0};
  ASSERT_EQ(::poll(&end, 1, 60'000), 1) << "the child of sbatch goes on";
  EXPECT_TRUE((end.revents & POLLHUP) != 0);
}

TEST_F(SlurmQuestion, one_that_says_nothing_has_not_answered) {
  sbatch("exit 0\n");
  EXPECT_EQ(ask().verdict, Verdict::unanswered);
  EXPECT_EQ(ask().why, "sbatch printed nothing");
  sbatch("exit 1\n");
  EXPECT_EQ(ask().verdict, Verdict::unanswered);
}

TEST_F(SlurmQuestion, one_that_is_killed_within_a_line_has_not_answered) {
  sbatch("printf 'allocation failure: Requested node conf' >&2; kill -9 $$\n");
  const Answer answer = ask();
  EXPECT_EQ(answer.verdict, Verdict::unanswered);
  EXPECT_EQ(answer.why, "sbatch was ended by signal 9");
  EXPECT_EQ(answer.words, (Words{"allocation failure: Requested node conf"}));
}

TEST_F(SlurmQuestion, a_banner_in_front_is_no_part_of_the_answer) {
  sbatch("echo '** alpha **'; echo 'sbatch: budget: 80 % used' >&2\n" + kAccepts);
  EXPECT_EQ(ask().words, (Words{kStarts}));
}

TEST_F(SlurmQuestion, of_ten_megabytes_the_end_counts) {
  sbatch("yes 'sbatch: error: something' | head -c 10000000 >&2; echo >&2\n" + kRefuses);
  const Answer answer = ask();
  EXPECT_EQ(answer.verdict, Verdict::refused);
  ASSERT_EQ(answer.words.size(), slurm::kMostLines);
  EXPECT_EQ(answer.words.back(),
            "allocation failure: Requested node configuration is not available");
  sbatch("yes | head -c 100000000 >&2\n" + kRefuses);
  EXPECT_EQ(ask().verdict, Verdict::unanswered) << "its end is lost";
}

}  // namespace
}  // namespace torc::workflow
