// The command line: the table of commands, from which everything else is made that knows them all.
#pragma once

#include "bin/app.h"
#include "bin/help/command_help.h"

namespace torc::cli {

// Parses the command line and runs the command that it names.
Exit run_command_line(const App& app, int argc, char** argv);

// What there is to tell of the program and each command, in the order of --help.
[[nodiscard]] CommandHelp describe_command_line();

}  // namespace torc::cli
