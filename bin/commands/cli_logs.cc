// The flags of `torc logs`, and of `torc logs export` below it.
#include "bin/commands/logs_commands.h"

namespace torc::cli {

void add_logs(CLI::App& cli, const App& app, LogsOptions& logs, ExportOptions& exports,
              Exit& exit) {
  auto* c = cli.add_subcommand("logs", "Print the output of a job, or of all that failed");
  c->add_option("NAME", logs.words, "[STORE] NAME, or #NUMBER; with --failed a STORE")
      ->expected(1, 2)
      ->type_name("[STORE] NAME");
  auto* err =
      c->add_flag("--stderr", logs.err, "its standard error instead of its standard output");
  auto* follow = c->add_flag("-f,--follow", logs.follow,
                             "print what comes until the job has ended, over all its attempts");
  auto* failed = c->add_flag("--failed", logs.failed, "the end of what each failed job printed");
  auto* tail = c->add_option("--tail", logs.tail, "only the last N lines (with --failed: 20)")
                   ->type_name("N");
  auto* recovery = c->add_flag("--recovery", logs.recovery,
                               "what the recovery script printed after the attempt");
  auto* attempt = c->add_option("--attempt", logs.attempt, "of this attempt (default: the newest)")
                      ->type_name("N");
  auto* path = c->add_flag("--path", logs.path_only, "print the file's path instead");
  auto* json = c->add_flag("--json", logs.json, "paths and sizes, machine-readable");
  for (auto* other : {tail, recovery, path, json}) follow->excludes(other);
  for (auto* other : {err, follow, recovery, attempt, path, json}) failed->excludes(other);

  auto* e = c->add_subcommand("export", "Write the output of all jobs to files NAME.out, NAME.err");
  e->add_option("DIR", exports.words, "[STORE] DIR: a new or empty directory")
      ->required()
      ->expected(1, 2)
      ->type_name("[STORE] DIR");
  e->add_flag("--all-attempts", exports.all_attempts,
              "superseded attempts too, as NAME.ATTEMPT.out");
  e->callback([&] { exit = run_export(app, exports); });
  c->callback([&, e] {
    if (!e->parsed()) exit = run_logs(app, logs);
  });
}

}  // namespace torc::cli
