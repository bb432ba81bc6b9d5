// The flags of the commands about workflow files.
#include <CLI/CLI.hpp>

#include "bin/commands/spec_commands.h"
#include "bin/commands/starters.h"

namespace torc::cli {

void add_spec_commands(CLI::App& cli, const App& app, SpecOptions& options, Exit& exit) {
  PlanOptions& plan = options.plan;
  auto* c =
      cli.add_subcommand("plan", "Show stages, critical path, core-hours and what nodes need");
  c->add_option("SPEC", plan.spec, "workflow file, or - for stdin")->required();
  c->add_flag("--json", plan.json, "machine-readable output");
  c->callback([&app, &plan, &exit] { exit = run_plan(app, plan); });

  GraphOptions& graph = options.graph;
  c = cli.add_subcommand("graph", "Draw the dependencies; jobs of one entry are one node");
  c->add_option("SPEC|STORE", graph.target, "workflow file, - for stdin, or a store made by init")
      ->required();
  c->add_option("--format", graph.format, "what to write")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"dot", "mermaid", "svg"}))
      ->capture_default_str();
  c->add_flag("--json", graph.json, "nodes and edges, machine-readable");
  c->callback([&app, &graph, &exit] { exit = run_graph(app, graph); });

  NewOptions& starter = options.starter;
  c = cli.add_subcommand("new", "Write a workflow file to start from");
  std::vector<std::string> kinds;
  for (const Starter& s : starters()) kinds.emplace_back(s.kind);
  c->add_option("KIND", starter.kind, "without one: list them")
      ->type_name("KIND")
      ->check(CLI::IsMember(kinds));
  c->add_option("FILE", starter.file, "file to make (default: print it)")->type_name("FILE");
  c->callback([&app, &starter, &exit] { exit = run_new(app, starter); });

  c = cli.add_subcommand("schema", "Print the JSON Schema of workflow files, for editors");
  c->callback([&app, &exit] { exit = run_schema(app); });
}

}  // namespace torc::cli
