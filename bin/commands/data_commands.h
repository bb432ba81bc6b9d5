// The commands about what jobs take and make, user data and files: their options as the command
// line fills them, and the functions that run them.
#pragma once

#include <string>
#include <vector>

#include "bin/app.h"

namespace CLI {
class App;
}

namespace torc::cli {

struct DataOptions {
  std::string action;              // get, set, list, delete
  std::vector<std::string> words;  // [STORE] NAME [VALUE]
  bool text = false;    // get: a JSON string without its quotes; set: VALUE is plain text
  bool create = false;  // set: also a name that the workflow file does not declare
  bool json = false;
};

struct ReinitOptions {
  std::string store;
  std::string spec;       // a new version of the workflow file; empty: as it was
  bool checksum = false;  // contents decide, where workers have hashed them
  bool dry_run = false;
  bool json = false;
};

struct DataCommands {
  DataOptions data;
  ReinitOptions reinit;
};

Exit run_data(const App& app, const DataOptions& options);
Exit run_reinit(const App& app, const ReinitOptions& options);

// Adds them to the command line; `options` and `exit` must outlive its parsing.
void add_data_commands(CLI::App& cli, const App& app, DataCommands& options, Exit& exit);

}  // namespace torc::cli
