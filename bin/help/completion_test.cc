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
    {"data", "Look", {}, {{{"ACTION"}, true, {"get", "set"}, ""}}}};

// What bash would offer after these words, the last of which is being typed.
std::string offered(const std::string& words, int last) {
  const std::string program =
      fmt::format("{}\nCOMP_WORDS=({}); COMP_CWORD={}; _torc; echo -n \"${{COMPREPLY[@]}}\"",
                  *completion_script("bash", kCommands), words, last);
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
