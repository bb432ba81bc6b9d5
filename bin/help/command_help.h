// What there is to tell of a command, as values: the completions, the man pages and the list in
// docs/user/commands.md are made of it. Where it comes from: CommandLine::help() in bin/flags.h.
#pragma once

#include <string>
#include <vector>

namespace torc::cli {

// A flag, an option or an argument.
struct FlagHelp {
  std::vector<std::string>
      names;  // "-q", "--quiet"; of an argument what stands for it: "[STORE] NAME"
  bool takes_value = false;
  std::vector<std::string> choices;  // of the value, where they are few
  std::string about;
  std::string value = {};          // what stands for the value: "TIME"
  std::string limits = {};         // of a number: "1 - 256"
  std::string default_value = {};  // empty: none that is told
  bool required = false;
  std::vector<std::string> excludes = {};  // names
  std::vector<std::string> needs = {};
};

struct CommandHelp {
  std::string name;  // "logs"; of one below it "logs export"
  std::string about;
  std::vector<FlagHelp> flags;
  std::vector<FlagHelp> arguments = {};
  std::string footer = {};  // of its own; empty: none
  std::vector<CommandHelp> commands = {};
};

}  // namespace torc::cli
