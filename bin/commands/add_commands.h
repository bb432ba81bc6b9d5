// The commands that add jobs to a living workflow: their options as the command line fills them,
// and the functions that run them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bin/app.h"

namespace CLI {
class App;
}

namespace torc::cli {

struct AddOptions {
  std::vector<std::string> words;  // FILE, or STORE FILE
  bool dry_run = false;
  bool json = false;
};

struct SpawnOptions {
  std::string file;  // empty: one job by the flags below
  std::string name;
  std::string command;
  std::vector<std::string> depends_on;
  std::vector<std::string> parameters;  // "i=1:10"
  std::vector<std::string> env;         // "NAME=VALUE"
  std::string resources, scheduler, label;
  std::optional<std::int32_t> priority;
  std::string state;  // JSON, or @FILE
  bool now = false;   // without waiting for the job that spawns
  bool dry_run = false;
  bool json = false;
};

struct AddingOptions {
  AddOptions add;
  SpawnOptions spawn;
};

Exit run_add(const App& app, const AddOptions& options);
Exit run_spawn(const App& app, const SpawnOptions& options);

// Adds them to the command line. `options` and `exit` outlive the parsing.
void add_adding_commands(CLI::App& cli, const App& app, AddingOptions& options, Exit& exit);

}  // namespace torc::cli
