// The files beside an installed program that tell of its command line: manual pages, and
// completions where each shell looks for them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bin/help/command_help.h"
#include "lib/base/path.h"

namespace torc::cli {

struct HelpFile {
  Path path;  // below PREFIX/share
  std::string text;
};
[[nodiscard]] std::vector<HelpFile> help_files(const CommandHelp& torc, std::string_view version);

}  // namespace torc::cli
