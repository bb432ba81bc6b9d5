// The commands that are tried on a mutated store, and what has to hold of each whatever is in it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/mutation/command_run.h"
#include "tests/mutation/random.h"

namespace torc::mutation {

struct Command {
  std::vector<std::string> words;  // STORE and OUT stand for paths
  // Its standard output are bytes that jobs wrote, handed on as they are.
  bool prints_output = false;
  // It says on standard output what it found, and ends with another code than 0 for that.
  bool reports = false;
};

// Any of all that a user can do to a store. Those that work wait for nothing longer than a second.
// `of`: the first words of those that are chosen half of the time; empty: none is preferred.
[[nodiscard]] const Command& any_command(const std::vector<std::string>& of, Random& random);

struct Broken {
  std::string rule;  // a few words, the same for each that breaks it
  std::string what;  // what was seen
};

// A rule: no crash that torc explains as that of a damaged file. Not held for the bytes of data.mdb
// (SECURITY.md).
inline constexpr std::string_view kExplainedCrash = "crashed, and explained it";

[[nodiscard]] std::vector<Broken> judge(const Command& command, const CommandEnd& end);

}  // namespace torc::mutation
