#include "bin/help/completion.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "lib/base/text/quote.h"

namespace torc::cli {
namespace {

const std::vector<CommandHelp> kCommands = {
    {"init",
     "Make it",
     {{{"--engine"}, true, {"lmdb", "journal"}, "how"}, {{"--store"}, true, {}, ""}}},
    {"jobs", "List 'em", {{{"-q", "--quiet"}, false, {}, "less"}}},
    {"data", "Look", {}, {{{"ACTION"}, true, {"get", "set"}, ""}}},
    {"logs", "Print", {{{"-f"}, false, {}, ""}}, {{{"[STORE] NAME…"}, true, {}, ""}}}};

// What bash would offer after these words, the last of which is being typed.
std::string offered(const std::string& words, int last, const std::string& before = "") {
  const std::string program =
      fmt::format("{}{}\nCOMP_WORDS=({}); COMP_CWORD={}; _torc; echo -n \"${{COMPREPLY[@]}}\"",
                  before, *completion_script("bash", kCommands), words, last);
  // Quoted for sh, which knows no $'…'.
  std::FILE* pipe = popen(("bash -c " + shell_quote(program)).c_str(), "r");
  std::string out;
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) out.push_back(static_cast<char>(c));
  pclose(pipe);
  return out;
}

TEST(Completion, bash_is_offered_commands_flags_and_values) {
  EXPECT_EQ(offered("torc i", 1), "init");
  EXPECT_EQ(offered("torc jobs --", 2), "--quiet");
  EXPECT_EQ(offered("torc init --engine j", 3), "journal");
  EXPECT_EQ(offered("torc init --e", 2), "--engine");
  EXPECT_EQ(offered("torc data ''", 2), "get set");
  EXPECT_EQ(offered("torc data get ''", 3), "");
}

// torc itself is asked which there are: here it tells how.
TEST(Completion, bash_is_offered_the_jobs_that_torc_finds) {
  const std::string torc = "torc() { printf '<%s>' \"$@\"; }; ";
  const auto asked = [&](const std::string& words, int last) { return offered(words, last, torc); };
  EXPECT_EQ(asked("torc logs al", 2), "<completion><words><al>");
  EXPECT_EQ(asked("torc logs wf.torc al", 3), "<completion><words><al><wf.torc>");
  EXPECT_EQ(asked("torc logs ''", 2), "<completion><words><>");
  EXPECT_EQ(asked("torc logs stage : al", 4), "<completion><words><stage:al><stage><:>");
  EXPECT_EQ(asked("torc logs -", 2), "-f");
  EXPECT_EQ(asked("torc jobs al", 2), "") << "it takes none";
  const std::string found = "torc() { echo stage:align; }; ";
  EXPECT_EQ(offered("torc logs stage : al", 4, found), "align") << "the rest is typed already";
  EXPECT_EQ(offered("torc logs st", 2, found), "stage:align");
}

TEST(Completion, bash_is_left_to_complete_files_where_torc_knows_nothing) {
  EXPECT_EQ(offered("torc init --store ''", 3), "");
  EXPECT_EQ(offered("torc init wf", 2), "");
}

TEST(Completion, fish_gets_a_line_for_each_flag) {
  const std::string script = *completion_script("fish", kCommands);
  EXPECT_NE(script.find("complete -c torc -n '__fish_seen_subcommand_from init' -l engine -r -f -a "
                        "'lmdb journal' -d 'how'\n"),
            std::string::npos)
      << script;
  EXPECT_NE(script.find("__fish_seen_subcommand_from data' -f -a 'get set'\n"), std::string::npos);
  EXPECT_NE(script.find("-s q -l quiet -d 'less'"), std::string::npos);
  EXPECT_NE(script.find(R"(-a jobs -d 'List '\''em')"), std::string::npos);
}

TEST(Completion, another_shell_is_told_which_there_are) {
  EXPECT_EQ(completion_script("tcsh", kCommands).error().remedy, "bash, zsh or fish");
}

}  // namespace
}  // namespace torc::cli
