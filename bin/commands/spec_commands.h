// The commands about workflow files that make no store: their options as the command line fills
// them, and the functions that run them. `torc check` is with the first ones, in commands.h.
#pragma once

#include <string>

#include "bin/app.h"

namespace CLI {
class App;
}

namespace torc::cli {

struct PlanOptions {
  std::string spec;
  bool json = false;
};

struct GraphOptions {
  std::string target;  // a spec or a store
  std::string format = "dot";
  bool json = false;
};

struct NewOptions {
  std::string kind;  // empty: list them
  std::string file;  // empty: to stdout
};

struct SpecOptions {
  PlanOptions plan;
  GraphOptions graph;
  NewOptions starter;
};

Exit run_plan(const App& app, const PlanOptions& options);
Exit run_graph(const App& app, const GraphOptions& options);
Exit run_new(const App& app, const NewOptions& options);
Exit run_schema(const App& app);

// Adds them to the command line; `options` and `exit` must outlive its parsing.
void add_spec_commands(CLI::App& cli, const App& app, SpecOptions& options, Exit& exit);

}  // namespace torc::cli
