// The commands about how jobs ended and what they used: their options as the command line fills
// them, and the functions that run them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bin/app.h"

namespace CLI {
class App;
}

namespace torc::cli {

struct ResultsOptions {
  std::vector<std::string> words;  // [STORE] [NAME…]
  bool failed = false;             // jobs that ended as failed or terminated
  std::string state;               // empty: any
  bool all_attempts = false;       // also those before the newest, from the commits
  bool json = false;
  bool csv = false;
};

struct ResourcesOptions {
  std::string store;
  std::string series;         // a job: how it went over time; empty: all jobs, summed up
  std::uint32_t attempt = 0;  // of it; 0: the newest
  bool json = false;
};

struct ResultCommands {
  ResultsOptions results;
  ResourcesOptions resources;
};

Exit run_results(const App& app, const ResultsOptions& options);
Exit run_resources(const App& app, const ResourcesOptions& options);
Exit run_series(const App& app, const ResourcesOptions& options);

// Adds them to the command line; `options` and `exit` must outlive its parsing.
void add_result_commands(CLI::App& cli, const App& app, ResultCommands& options, Exit& exit);

}  // namespace torc::cli
