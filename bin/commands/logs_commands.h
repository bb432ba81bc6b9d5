// The flags of `torc logs` and `torc logs export`.
#pragma once

#include <CLI/CLI.hpp>

#include "bin/commands/commands.h"

namespace torc::cli {

// Adds them to the command line. `logs`, `exports` and `exit` outlive the parsing.
void add_logs(CLI::App& cli, const App& app, LogsOptions& logs, ExportOptions& exports, Exit& exit);

}  // namespace torc::cli
