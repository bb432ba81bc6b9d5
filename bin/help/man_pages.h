// Manual pages, made from the description of the command line itself, and with them all files
// beside an installed program that tell of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bin/help/command_help.h"
#include "lib/base/path.h"

namespace torc::cli {

// Manual pages, and completions where each shell looks for them.
struct HelpFile {
  Path path;  // below PREFIX/share
  std::string text;
};
[[nodiscard]] std::vector<HelpFile> help_files(const CommandHelp& torc, std::string_view version);

// "torc-logs-export" of the command "logs export", "torc" of the program.
[[nodiscard]] std::string man_page_name(const CommandHelp& command);

// In the language of man(7).
[[nodiscard]] std::string command_man_page(const CommandHelp& command, std::string_view version);

// Text that troff shows as it is: no line of it is a request, nothing in it an escape, and no sign
// a prettier one that a shell would not know, as hyphens and quotes are else.
[[nodiscard]] std::string roff_text(std::string_view text);

}  // namespace torc::cli
