#include "lib/slurm/accounting.h"

#include <gtest/gtest.h>

namespace torc::slurm {
namespace {

using namespace std::chrono_literals;

// What a sacct of Slurm 22.05 printed.
constexpr const char* kPrinted =
    "12|12|alpha|CANCELLED by 1000|0:15|1795342086|1795342096|10|2|4|||n[1-2]|wf_pair\n"
    "12.batch|12.batch|alpha|CANCELLED|0:15|1795342086|1795342097|11|1|2|5640K|00:00:01|n1|batch\n"
    "12.0|12.0|alpha|COMPLETED|0:0|1795342087|1795342096|9|2|4|2.5M|1-00:01:05|n[1-2]|a|b\n";

RunProgram printing(std::string out, int exit_code = 0, std::string err = {}) {
  return [=](const std::vector<std::string>&) -> Result<CommandOutput> {
    return CommandOutput{exit_code, out, err};
  };
}

TEST(Accounting, tells_of_an_allocation_and_its_steps) {
  std::vector<std::string> asked;
  const auto told = ask_accounting(
      [&](const std::vector<std::string>& argv) -> Result<CommandOutput> {
        asked = argv;
        return CommandOutput{0, kPrinted, ""};
      },
      {"12", "--state=all", "12"});
  EXPECT_EQ(told.failure, "");
  ASSERT_EQ(told.rows.size(), 3U);
  EXPECT_EQ(told.rows[0], (Accounted{"12",
                                     "",
                                     "alpha",
                                     "wf_pair",
                                     "CANCELLED",
                                     0,
                                     15,
                                     1795342086s,
                                     1795342096s,
                                     10s,
                                     2,
                                     4,
                                     "n[1-2]",
                                     {},
                                     {}}));
  EXPECT_EQ(told.rows[1],
            (Accounted{"12", "batch", "alpha", "batch", "CANCELLED", 0, 15, 1795342086s,
                       1795342097s, 11s, 1, 2, "n1", ByteCount{5640 << 10}, 1s}));
  EXPECT_EQ(told.rows[2].name, "a|b");
  EXPECT_EQ(told.rows[2].max_rss, ByteCount{2'621'440});
  EXPECT_EQ(told.rows[2].ave_cpu, 86'465s);
  EXPECT_EQ(asked.at(asked.size() - 3), "12") << "once, and nothing that is no id";
}

TEST(Accounting, of_an_element_of_an_array_has_the_name_that_workers_know) {
  const auto told = ask_accounting(
      printing("10|8_2|alpha|RUNNING|0:0|1795342086|Unknown|3|1|1|||n1|wf\n"
               "10.0|8_2.0|alpha|RUNNING|0:0|1795342086|Unknown|3|1|1||00:00:01|n1|w\n"
               "8|8_3|alpha|PENDING|0:0|Unknown|Unknown|0|1|1|||None assigned|wf\n"),
      {"10", "8_3"});
  ASSERT_EQ(told.rows.size(), 3U);
  EXPECT_EQ(told.rows[0].allocation, "10");
  EXPECT_EQ(told.rows[0].end, WallTime{});
  EXPECT_EQ(told.rows[1].step, "0");
  EXPECT_EQ(told.rows[2].allocation, "8_3");
  EXPECT_EQ(told.rows[2].start, WallTime{});
  EXPECT_EQ(told.rows[2].node_list, "");
}

TEST(Accounting, that_does_not_answer_says_why_and_tells_nothing) {
  const auto disabled =
      ask_accounting(printing("", 1, "Slurm accounting storage is disabled\n"), {"12"});
  EXPECT_EQ(disabled.failure, "Slurm accounting storage is disabled");
  EXPECT_TRUE(disabled.rows.empty());
  // As run_program() ends one that hangs.
  EXPECT_EQ(ask_accounting(printing(kPrinted, -1), {"12"}).failure, "it took too long");
  EXPECT_TRUE(ask_accounting(printing(kPrinted, -1), {"12"}).rows.empty());
  const auto broken = ask_accounting(
      [](const std::vector<std::string>&) -> Result<CommandOutput> {
        return Error{ErrorKind::io, "cannot start sacct", ""};
      },
      {"12"});
  EXPECT_EQ(broken.failure, "cannot start sacct");
  const auto empty = ask_accounting(printing(""), {"12"});
  EXPECT_EQ(empty.failure, "");
  EXPECT_TRUE(empty.rows.empty());
}

TEST(Accounting, counts_whole_lines_of_what_was_asked_about) {
  const std::string text = kPrinted;
  for (std::size_t cut = 0; cut < text.size(); ++cut) {
    const auto told = ask_accounting(printing(text.substr(0, cut)), {"12"});
    EXPECT_LE(told.rows.size(), 2U) << cut;
    const bool at_a_line = cut == 0 || text[cut - 1] == '\n';
    EXPECT_EQ(told.failure.empty(), at_a_line) << cut;
  }
  EXPECT_TRUE(ask_accounting(printing(kPrinted), {"13"}).rows.empty()) << "of another allocation";
  for (const char* foreign : {"command not found: sacct\n", "12 12 alpha COMPLETED\n", "|||||\n",
                              "-j|12|alpha|COMPLETED|0:0|1|2|3|4|5|6|7|8|9\n"}) {
    const auto told = ask_accounting(printing(foreign), {"12"});
    EXPECT_TRUE(told.rows.empty()) << foreign;
    EXPECT_FALSE(told.failure.empty()) << foreign;
  }
}

TEST(Accounting, stops_at_its_bound_and_after_the_first_failure) {
  std::string text;
  for (std::size_t i = 0; i < kMostAccounted + 1; ++i)
    text += "12|12|alpha|COMPLETED|0:0|1|2|3|1|1|||n1|wf\n";
  const auto many = ask_accounting(printing(text), {"12"});
  EXPECT_EQ(many.rows.size(), kMostAccounted);
  EXPECT_FALSE(many.failure.empty());

  std::vector<std::string> ids;
  for (int i = 1; i <= 1000; ++i) ids.push_back(std::to_string(i));
  int questions = 0;
  const auto counting = [&](int exit_code) {
    return [&questions, exit_code](const std::vector<std::string>&) -> Result<CommandOutput> {
      ++questions;
      return CommandOutput{exit_code, "", ""};
    };
  };
  (void)ask_accounting(counting(0), ids);
  EXPECT_EQ(questions, 4);
  (void)ask_accounting(counting(1), ids);
  EXPECT_EQ(questions, 5);
}

TEST(Accounting, reads_memory_and_times_as_sacct_writes_them) {
  EXPECT_EQ(accounted_memory("0"), ByteCount{0});
  EXPECT_EQ(accounted_memory("104857600"), ByteCount{104'857'600});
  EXPECT_EQ(accounted_memory("1.50G"), ByteCount{std::uint64_t{3} << 29});
  for (const char* no :
       {"", "K", "-1", "1.G", "1X", "99999999999999999999", "18446744073709551615P"})
    EXPECT_EQ(accounted_memory(no), std::nullopt) << no;
  EXPECT_EQ(accounted_time("01:02.345"), 62s);
  for (const char* no : {"", "12", "a:b", "1-", "1:2:3:4", "-1:00"})
    EXPECT_EQ(accounted_time(no), std::nullopt) << no;
}

}  // namespace
}  // namespace torc::slurm
