// The flags of the commands about how jobs ended and what they used.
#include <CLI/CLI.hpp>

#include "bin/commands/result_commands.h"

namespace torc::cli {

void add_result_commands(CLI::App& cli, const App& app, ResultCommands& options, Exit& exit) {
  ResultsOptions& o = options.results;
  auto* c = cli.add_subcommand("results",
                               "Show how attempts ended, how long they took and what they used");
  c->add_option("NAME", o.words, "[STORE] [NAME…], or #NUMBER (default: all jobs)")
      ->type_name("[STORE] [NAME…]");
  auto* failed = c->add_flag("--failed", o.failed, "only of jobs that failed or were terminated");
  c->add_option("--state", o.state, "only of jobs in this state")
      ->type_name("STATE")
      ->check(CLI::IsMember({"blocked", "ready", "claimed", "running", "completed", "failed",
                             "canceled", "terminated", "held", "pending_failed", "delayed"}))
      ->excludes(failed);
  c->add_flag("--all-attempts", o.all_attempts,
              "also attempts before the newest, of which commits are left");
  auto* json = c->add_flag("--json", o.json, "machine-readable output");
  c->add_flag("--csv", o.csv, "comma-separated values with a line of titles")->excludes(json);
  c->footer(
      "\nThe state keeps the newest attempt of each job that ended. Older ones are in the "
      "commits,\n"
      "as long as those are kept (`torc history`); engine lmdb keeps none.");
  c->callback([&] { exit = run_results(app, o); });

  ResourcesOptions& resources = options.resources;
  c = cli.add_subcommand("resources", "Compare what jobs asked for with what they used");
  c->add_option("STORE", resources.store, "store");
  c->add_flag("--json", resources.json, "machine-readable output");
  auto* series = c->add_option("--series", resources.series,
                               "one job, over time: memory, CPUs, bytes read and written")
                     ->type_name("NAME");
  c->add_option("--attempt", resources.attempt, "of that job (default: the newest)")
      ->check(CLI::PositiveNumber)
      ->needs(series);
  c->footer(
      "\nA job has a time series when the workflow has `resource_monitor: {granularity: "
      "time_series}`\nand it ran for 0.1 s or longer; it can be read while the job runs.");
  c->callback([&] {
    exit = resources.series.empty() ? run_resources(app, resources) : run_series(app, resources);
  });
}

}  // namespace torc::cli
