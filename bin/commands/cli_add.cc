// The flags of the commands that add jobs to a living workflow.
#include <CLI/CLI.hpp>

#include "bin/commands/add_commands.h"

namespace torc::cli {

void add_adding_commands(CLI::App& cli, const App& app, AddingOptions& options, Exit& exit) {
  auto* c = cli.add_subcommand("add", "Add the jobs of a file to a workflow, also while it runs");
  c->add_option("FILE", options.add.words, "[STORE] FILE: a file with 'jobs:'; - is stdin")
      ->type_name("[STORE] FILE|-")
      ->required()
      ->expected(1, 2);
  c->add_flag("--dry-run", options.add.dry_run, "say what would be added and add nothing");
  c->add_flag("--json", options.add.json, "machine-readable output");
  c->callback([&] { exit = run_add(app, options.add); });

  SpawnOptions& o = options.spawn;
  c = cli.add_subcommand("spawn", "Within a job: add further jobs, or its own next iteration");
  c->add_option("FILE", o.file, "a file with 'jobs:', or - for stdin; else the flags describe one")
      ->type_name("FILE|-");
  c->add_option("--name", o.name, "its name; without: that of the first iteration and a number");
  c->add_option("--command", o.command, "its command; without: that of the job that spawns");
  c->add_option("--depends-on", o.depends_on, "a job that completes before; may be repeated")
      ->type_name("NAME");
  c->add_option("--param", o.parameters, "a parameter: one job for each of its values")
      ->type_name("NAME=VALUES");
  c->add_option("--env", o.env, "an environment variable")->type_name("NAME=VALUE");
  c->add_option("--resources", o.resources, "a name of resource_requirements");
  c->add_option("--scheduler", o.scheduler, "a name of slurm_schedulers");
  c->add_option("--label", o.label, "only workers with this label run it");
  c->add_option("--priority", o.priority, "higher first");
  c->add_option("--state", o.state, "what is handed on, which jobs find in TORC_SPAWN_STATE")
      ->type_name("JSON|@FILE");
  c->add_flag("--now", o.now, "do not wait for the completion of the job that spawns");
  c->add_flag("--dry-run", o.dry_run, "say what would be added and add nothing");
  c->add_flag("--json", o.json, "machine-readable output");
  c->callback([&] { exit = run_spawn(app, options.spawn); });
}

}  // namespace torc::cli
