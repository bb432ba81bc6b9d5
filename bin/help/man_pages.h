// Manual pages, made from the description of the command line itself.
#pragma once

#include <string>
#include <string_view>

#include "bin/help/command_help.h"

namespace torc::cli {

// "torc-logs-export" of the command "logs export", "torc" of the program.
[[nodiscard]] std::string man_page_name(const CommandHelp& command);

// In the language of man(7). `torc`: the program, which the others refer to.
[[nodiscard]] std::string program_man_page(const CommandHelp& torc, std::string_view version);
[[nodiscard]] std::string command_man_page(const CommandHelp& command, std::string_view version);

// Text that troff shows as it is: no line of it is a request, nothing in it an escape, and no sign
// a prettier one that a shell would not know, as hyphens and quotes are else.
[[nodiscard]] std::string roff_text(std::string_view text);

}  // namespace torc::cli
