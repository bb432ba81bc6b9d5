#include "lib/report/accounted_attempts.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

namespace torc::report {
namespace {

using namespace std::chrono_literals;

slurm::Accounted step_named(const std::string& name, const char* state = "COMPLETED") {
  slurm::Accounted one;
  one.allocation = "12";
  one.step = "3";
  one.name = name;
  one.state = state;
  one.end = WallTime(1s);
  one.elapsed = 5s;
  one.max_rss = ByteCount{100 << 20};
  one.ave_cpu = 4s;
  one.node_list = "n[1-2]";
  return one;
}

TEST(AccountedAttempts, are_the_steps_that_are_named_as_attempts_and_have_ended) {
  slurm::Accounted running = step_named("8.1", "RUNNING");
  running.end = {};
  slurm::Accounted allocation = step_named("9.1");
  allocation.step.clear();
  const auto found =
      attempts_among({step_named("torc-workers"), step_named("17.2", "CANCELLED by 0"),
                      step_named("0.1"), step_named("7.x"), running, allocation});
  ASSERT_EQ(found.size(), 1U);
  const auto& [number, one] = *found.begin();
  EXPECT_EQ(number, (AttemptNumber{JobId{17}, 2}));
  EXPECT_EQ(one, (AccountedAttempt{{100 << 20}, 4s, 5s, "CANCELLED", "n[1-2]"}));
}

TEST(AccountedAttempts, come_back_from_their_lines_and_what_is_none_is_left_out) {
  const auto all = attempts_among({step_named("17.2"), step_named("1.1")});
  const std::string text = to_lines(all);
  AccountedAttempts back;
  take_lines(text, back);
  EXPECT_EQ(back, all);
  back.clear();
  take_lines("1 1 x 0 0 A b\n1 1 1 1\n\n5 1 7 1 1 A \x1b[2J\n3 1 9 -4 1 A b\n" + text.substr(0, 9),
             back);
  EXPECT_TRUE(back.empty());
}

class KeptAccounts : public testing::Test {
 protected:
  KeptAccounts() { EXPECT_NE(mkdtemp(made_.data()), nullptr); }
  ~KeptAccounts() override { std::filesystem::remove_all(store()); }
  [[nodiscard]] Path store() const { return made_; }
  void keep(const std::string& allocation, const std::vector<std::string>& attempts) {
    std::vector<slurm::Accounted> steps;
    for (const std::string& name : attempts) steps.push_back(step_named(name));
    const auto kept = keep_accounted(store(), allocation, attempts_among(steps));
    EXPECT_TRUE(kept.ok()) << kept.error().text();
  }
  [[nodiscard]] std::size_t files() const {
    std::size_t n = 0;
    for (const auto& file : std::filesystem::directory_iterator(store() / "logs/sacct"))
      n += file.exists() ? 1 : 0;
    return n;
  }

 private:
  std::string made_ = "/tmp/torc-accounted-XXXXXX";
};

TEST_F(KeptAccounts, are_of_each_allocation_and_read_for_all) {
  EXPECT_TRUE(read_accounted(store()).attempts.empty());
  EXPECT_TRUE(read_accounted(store()).whole) << "nobody has kept any";
  keep("12", {"17.2", "18.1"});
  keep("12", {"17.2"});
  keep("13_7", {"1.1"});
  EXPECT_FALSE(keep_accounted(store(), "../x", {}).ok());
  EXPECT_EQ(read_accounted(store()).attempts.size(), 3U) << "half an answer takes nothing away";
  EXPECT_TRUE(read_accounted(store()).whole);
  EXPECT_EQ(files(), 2U);
  // Not through a link.
  std::ofstream(store() / "elsewhere") << to_lines(attempts_among({step_named("5.1")}));
  std::filesystem::create_symlink(store() / "elsewhere", store() / "logs/sacct/14");
  EXPECT_EQ(read_accounted(store()).attempts.size(), 3U);
  EXPECT_FALSE(read_accounted(store()).whole);
}

TEST_F(KeptAccounts, of_more_than_is_to_be_read_those_of_the_newest_allocations_are_told) {
  keep("9", {"1.1"});
  keep("11", {"2.1"});
  keep("100", {"3.1"});
  const std::size_t one = to_lines(attempts_among({step_named("1.1")})).size();
  const KeptAttempts kept = read_accounted(store(), 2 * one);
  EXPECT_FALSE(kept.whole);
  EXPECT_EQ(kept.attempts.size(), 2U);
  EXPECT_FALSE(kept.attempts.contains({JobId{1}, 1}));
  EXPECT_TRUE(read_accounted(store(), 3 * one).whole);
}

TEST_F(KeptAccounts, that_cannot_be_written_leave_those_of_before) {
  keep("12", {"17.2"});
  std::vector<slurm::Accounted> many;
  for (int job = 1; job < 200; ++job) many.push_back(step_named(std::to_string(job) + ".1"));
  rlimit usual{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &usual), 0);
  rlimit little = usual;
  little.rlim_cur = 100;
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
  const auto kept = keep_accounted(store(), "12", attempts_among(many));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &usual), 0);
  (void)signal(SIGXFSZ, handler);
  EXPECT_FALSE(kept.ok());
  EXPECT_EQ(read_accounted(store()).attempts.size(), 1U);
  EXPECT_EQ(files(), 1U);
}

TEST(AccountedAttempts, are_those_of_the_longest_of_several_steps_with_their_name) {
  slurm::Accounted script = step_named("17.2", "FAILED");
  script.elapsed = 1s;
  script.step = "4";
  const AttemptNumber number{JobId{17}, 2};
  for (const auto& steps :
       {std::vector{step_named("17.2"), script}, std::vector{script, step_named("17.2")}})
    EXPECT_EQ(attempts_among(steps).at(number).state, "COMPLETED") << "its recovery is shorter";
}

TEST(AccountedAttempts, that_are_told_again_are_those_that_were_told_last) {
  std::string made = "/tmp/torc-accounted-XXXXXX";
  ASSERT_NE(mkdtemp(made.data()), nullptr);
  const Path store = made;
  ASSERT_TRUE(
      keep_accounted(store, "12", attempts_among({step_named("1.1"), step_named("2.1")})).ok());
  slurm::Accounted more = step_named("1.1", "TIMEOUT");
  more.max_rss = ByteCount{300 << 20};
  ASSERT_TRUE(keep_accounted(store, "12", attempts_among({more})).ok());
  const auto all = read_accounted(store).attempts;
  EXPECT_EQ(all.size(), 2U);
  EXPECT_EQ(all.at({JobId{1}, 1}).state, "TIMEOUT");
  EXPECT_EQ(all.at({JobId{1}, 1}).max_rss, ByteCount{300 << 20});
  EXPECT_EQ(all.at({JobId{2}, 1}).state, "COMPLETED");
  // What cannot be read of a file is left out, and what can is kept with what is told next.
  std::ofstream(store / "logs/sacct/12", std::ios::app) << "3 1 half a line";
  ASSERT_TRUE(keep_accounted(store, "12", attempts_among({step_named("4.1")})).ok());
  EXPECT_EQ(read_accounted(store).attempts.size(), 3U);
  std::filesystem::remove_all(store);
}

TEST(AccountedAttempts, give_each_figure_by_itself) {
  claim::Outcome seen;
  seen.max_rss = {200 << 20};
  seen.cpu_time = 1s;
  EXPECT_TRUE(merge({{100 << 20}, 4s, 5s, "COMPLETED", "n1"}, seen));
  EXPECT_EQ(seen.max_rss, ByteCount{200 << 20});
  EXPECT_EQ(seen.cpu_time, 4s);
  EXPECT_FALSE(merge({{200 << 20}, 4s, 5s, "COMPLETED", "n1"}, seen)) << "it is no larger";
}

TEST(AccountedAttempts, give_the_larger_figure_and_say_whether_it_is_theirs) {
  claim::Outcome seen;
  seen.max_rss = {50 << 20};
  seen.cpu_time = 6s;
  EXPECT_TRUE(merge({{100 << 20}, 4s, 5s, "COMPLETED", "n1"}, seen));
  EXPECT_EQ(seen.max_rss, ByteCount{100 << 20});
  EXPECT_EQ(seen.cpu_time, 6s);
  EXPECT_FALSE(merge({{1}, 0s, 5s, "COMPLETED", "n1"}, seen));
}

}  // namespace
}  // namespace torc::report
