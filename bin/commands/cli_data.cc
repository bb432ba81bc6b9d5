// The flags of the commands about what jobs take and make.
#include <CLI/CLI.hpp>

#include "bin/commands/data_commands.h"

namespace torc::cli {

void add_data_commands(CLI::App& cli, const App& app, DataCommands& options, Exit& exit) {
  DataOptions& data = options.data;
  auto* c = cli.add_subcommand("data", "Read and write user data: small JSON values in the store");
  c->add_option(
       "ACTION", data.action,
       "get [STORE] NAME; set [STORE] NAME JSON|@FILE|-; list [STORE]; delete [STORE] NAME")
      ->required()
      ->type_name("get|set|list|delete")
      ->check(CLI::IsMember({"get", "set", "list", "delete"}));
  c->add_option("WORDS", data.words, "as the action takes them")->type_name("…");
  c->add_flag("--text", data.text,
              "set: the value is plain text, kept as a JSON string; get: a string without quotes");
  c->add_flag("--create", data.create, "set: also a name that the workflow file does not declare");
  c->add_flag("--json", data.json, "machine-readable output");
  c->callback([&] { exit = run_data(app, data); });

  ReinitOptions& reinit = options.reinit;
  c = cli.add_subcommand("reinit",
                         "Run again what changed files, user data or commands made stale");
  c->add_option("STORE", reinit.store, "store");
  c->add_option("--spec", reinit.spec,
                "the workflow file with changed commands, files or user data")
      ->type_name("FILE");
  c->add_flag("--checksum", reinit.checksum,
              "contents decide, not times, where workers hashed them (`torc init --checksum`)");
  c->add_flag("--dry-run", reinit.dry_run, "say what would run again, and why");
  c->add_flag("--json", reinit.json, "machine-readable output");
  c->callback([&] { exit = run_reinit(app, reinit); });
}

}  // namespace torc::cli
