// Completion scripts for shells, made from the description of the command line itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"

namespace torc::cli {

struct FlagHelp {
  std::vector<std::string> names;  // "-q", "--quiet"
  bool takes_value = false;
  std::vector<std::string> choices;  // of the value, where they are few
  std::string about;
};

struct CommandHelp {
  std::string name;
  std::string about;
  std::vector<FlagHelp> flags;
};

// A script that completes commands, flags and the values of flags with few of them; files for
// everything else. Error invalid: a shell other than bash, zsh and fish.
Result<std::string> completion_script(std::string_view shell,
                                      const std::vector<CommandHelp>& commands);

}  // namespace torc::cli
