// Completion scripts for shells, made from the description of the command line itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bin/help/command_help.h"
#include "lib/base/result.h"

namespace torc::cli {

// A script that completes commands, flags, and the values of flags and of first arguments with few
// of them; files for
// everything else. Error invalid: a shell other than bash, zsh and fish.
Result<std::string> completion_script(std::string_view shell,
                                      const std::vector<CommandHelp>& commands);

// A file _torc for a directory of zsh's $fpath, where zsh finds it by itself.
[[nodiscard]] std::string zsh_site_function(const std::vector<CommandHelp>& commands);

}  // namespace torc::cli
