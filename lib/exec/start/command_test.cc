#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "lib/exec/start/command.h"

namespace torc::exec {
namespace {

using Words = std::vector<std::string>;

Words by_shell(const std::string& line) {
  return {"/bin/sh", "-c", line};
}

TEST(Argv, plain_words_are_split_at_blanks) {
  EXPECT_EQ(argv_of("python3 run.py --n=5 a,b:c@d%e^f+g"),
            (Words{"python3", "run.py", "--n=5", "a,b:c@d%e^f+g"}));
  EXPECT_EQ(argv_of("  sleep \t 1  \n"), (Words{"sleep", "1"}));
  EXPECT_EQ(argv_of("./größe ä"), (Words{"./größe", "ä"}));
}

TEST(Argv, quotes_that_mean_their_text_need_no_shell) {
  EXPECT_EQ(argv_of("prog 'a b' \"c  d\" x'y z'\"&\"w ''"),
            (Words{"prog", "a b", "c  d", "xy z&w", ""}));
  EXPECT_EQ(argv_of("prog 'a\nb'"), (Words{"prog", "a\nb"}));
}

TEST(Argv, everything_that_a_shell_would_change_goes_to_it) {
  for (const std::string line :
       {"a | b",         "a & b",      "a; b",        "a <b",           "a >b",
        "(a)",           "echo $HOME", "echo `date`", "a \\b",          "a *",
        "a ?",           "a [x]",      "a #b",        "~/prog",         "a ~",
        "a {x,y}",       "! a",        "a\nb",        "prog \"$HOME\"", "prog \"`date`\"",
        "prog \"a\\b\"", "prog 'open", "prog \"open", "prog a\rb"}) {
    EXPECT_EQ(argv_of(line), by_shell(line)) << line;
  }
}

TEST(Argv, builtins_keywords_and_assignments_go_to_the_shell) {
  for (const std::string line :
       {"cd /tmp", "exit 3", "export A", "A=1 prog", "A=1", "test -f x", ". ./env", ": x",
        "'cd' /tmp", "ulimit -n", "exec prog", "if a", "time prog", "kill 1", "printf x",
        "source env", "", "  \n", "''"}) {
    EXPECT_EQ(argv_of(line), by_shell(line)) << line;
  }
}

TEST(Argv, true_false_and_echo_are_programs_unless_a_builtin_would_differ) {
  EXPECT_EQ(argv_of("true"), Words{"true"});
  EXPECT_EQ(argv_of("false"), Words{"false"});
  EXPECT_EQ(argv_of("echo hello 'two  words'"), (Words{"echo", "hello", "two  words"}));
  for (const std::string line : {"true --help", "echo -n x", "echo 'a\\nb'"}) {
    EXPECT_EQ(argv_of(line), by_shell(line)) << line;
  }
}

TEST(Argv, a_first_line_of_a_script_names_the_shell) {
  const auto shell = [](const std::string& first) {
    const std::string line = first + "\necho $0";
    Words words = argv_of(line);
    EXPECT_EQ(words.back(), line);
    words.pop_back();
    return words;
  };
  EXPECT_EQ(shell("#!/bin/bash"), (Words{"/bin/bash", "-c"}));
  EXPECT_EQ(shell("#! /usr/bin/bash -e -u "), (Words{"/usr/bin/bash", "-e", "-u", "-c"}));
  EXPECT_EQ(shell("#!/usr/bin/env bash"), (Words{"/usr/bin/env", "bash", "-c"}));
  EXPECT_EQ(shell("#!/bin/zsh"), (Words{"/bin/zsh", "-c"}));
  // What is no shell, or would read -c otherwise.
  for (const std::string first :
       {"#!/usr/bin/python3", "#!bash", "#!", "#!/bin/bash -- x", "#!/bin/bash script",
        "#!/usr/bin/env", "# !/bin/bash", "#!/bin/$X"})
    EXPECT_EQ(shell(first), (Words{"/bin/sh", "-c"})) << first;
  EXPECT_EQ(argv_of("#!/bin/bash"), (Words{"/bin/sh", "-c", "#!/bin/bash"}));
}

// The words that /bin/sh makes of each line, by a function `prog` that prints them.
std::vector<Words> words_by_shell(const std::vector<std::string>& lines) {
  std::string script =
      "prog() { printf 'prog\\001'; for w; do printf '%s\\001' \"$w\"; done; printf '\\002'; }\n";
  for (const std::string& line : lines) script += line + "\n";
  std::string name = testing::TempDir() + "torc-argv-XXXXXX";
  const int fd = mkstemp(name.data());
  FILE* file = fdopen(fd, "w");
  fwrite(script.data(), 1, script.size(), file);
  fclose(file);
  FILE* shell = popen(("/bin/sh " + name).c_str(), "r");
  std::vector<Words> all(1);
  std::string word;
  for (int c = fgetc(shell); c != EOF; c = fgetc(shell)) {
    if (c == 2) {
      all.emplace_back();
    } else if (c == 1) {
      all.back().push_back(std::exchange(word, {}));
    } else {
      word.push_back(static_cast<char>(c));
    }
  }
  pclose(shell);
  std::remove(name.c_str());
  all.pop_back();
  return all;
}

RC_GTEST_PROP(Argv, agrees_with_the_shell_on_every_line_that_it_splits_itself, ()) {
  const std::string alphabet = "ab  \t'\"'\"\"-=/.,:@%^+_$\\*?~#&;|()<>{}![]`0\n";
  const auto line = rc::gen::container<std::string>(rc::gen::elementOf(alphabet));
  std::vector<std::string> lines;
  std::vector<Words> split;
  for (const std::string& rest : *rc::gen::container<std::vector<std::string>>(200, line)) {
    const std::string whole = "prog " + rest;
    const Words words = argv_of(whole);
    if (words == by_shell(whole)) continue;
    lines.push_back(whole);
    split.push_back(words);
  }
  RC_PRE(!lines.empty());
  RC_ASSERT(words_by_shell(lines) == split);
}

}  // namespace
}  // namespace torc::exec
