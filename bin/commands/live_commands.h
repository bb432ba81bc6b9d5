// The commands that change a workflow while it runs: their options as the command line fills them,
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

// Which jobs a command is about.
struct SelectOptions {
  std::vector<std::string> words;  // [STORE] NAME…
  std::string name;                // regular expression, searched in the name
  std::string state;
  bool all = false;
};

struct ChangeOptions {
  SelectOptions jobs;
  bool failed = false;    // retry: what failed or was terminated
  bool canceled = false;  // retry: what was canceled
  bool dry_run = false;
  bool json = false;
};

struct ResetOptions {
  SelectOptions jobs;
  bool yes = false;    // accepted results may be discarded
  bool force = false;  // what runs is canceled
  bool dry_run = false;
  bool json = false;
};

struct ActionsOptions {
  std::string store;
  std::optional<std::uint32_t> output;  // print what this action printed
  bool json = false;
};

struct LiveOptions {
  ChangeOptions cancel, retry, hold, release, set;
  ResetOptions reset;
  ActionsOptions actions;
};

Exit run_cancel(const App& app, const ChangeOptions& options);
Exit run_retry(const App& app, const ChangeOptions& options);
Exit run_hold(const App& app, const ChangeOptions& options);
Exit run_reset(const App& app, const ResetOptions& options);
Exit run_set(const App& app, const ChangeOptions& options);  // words: also KEY=VALUE
Exit run_actions(const App& app, const ActionsOptions& options);
Exit run_release(const App& app, const ChangeOptions& options);

// Adds them to the command line. `options` and `exit` outlive the parsing.
void add_live_commands(CLI::App& cli, const App& app, LiveOptions& options, Exit& exit);

}  // namespace torc::cli
