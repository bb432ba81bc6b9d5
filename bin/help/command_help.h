// What there is to tell of a command, as values: the completions and the man pages are made of it,
// and the list in docs/user/commands.md is held to it. It comes from CommandLine::help() in
// bin/flags.h.
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
  std::string limits = {};         // of a number: "1 to 256"
  std::string default_value = {};  // empty: none that is told
  bool required = false;
  std::vector<std::string> excludes = {};  // names
  std::vector<std::string> needs = {};
};

struct CommandHelp {
  std::string name;  // "torc", "logs"; of one below that "logs export"
  std::string about;
  std::vector<FlagHelp> flags;
  std::vector<FlagHelp> arguments = {};
  std::string footer = {};  // what --help says below
  std::vector<CommandHelp> commands = {};
};

}  // namespace torc::cli
