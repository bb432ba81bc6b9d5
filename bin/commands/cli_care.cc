// The flags of the commands that look after a store.
#include <CLI/CLI.hpp>

#include "bin/commands/care_commands.h"
#include "lib/base/quantities.h"

namespace torc::cli {
namespace {

void add_duration(CLI::App* command, const std::string& flag, std::chrono::seconds& target,
                  const std::string& help) {
  command
      ->add_option_function<std::string>(
          flag,
          [&target, flag](const std::string& text) {
            const auto value = parse_duration(text);
            if (!value) throw CLI::ValidationError(flag, value.error().text());
            target = *value;
          },
          help)
      ->type_name("TIME");
}

void add_doctor(CLI::App& cli, const App& app, DoctorOptions& o, Exit& exit) {
  auto* c = cli.add_subcommand("doctor", "Try out whether a directory is a safe place for a store");
  c->add_option("DIR", o.directory, "directory, or a store (default: the working directory)");
  c->add_flag("--two-node", o.two_node,
              "with the same command on another node (srun -N2, or by hand): tests what holds "
              "between the two");
  add_duration(c, "--wait", o.wait, "--two-node: how long to wait for the other (default 5m)");
  c->add_flag("--json", o.json, "machine-readable output");
  c->footer(
      "\nIt makes a directory of its own in DIR and removes it again.\n"
      "Exit codes: 0 fit for a store; 3 unfit, or it could not be tried out; 2 wrong flags.");
  c->callback([&] { exit = run_doctor(app, o); });
}

void add_repair(CLI::App& cli, const App& app, RepairOptions& o, Exit& exit) {
  auto* c =
      cli.add_subcommand("repair", "Show how much of a damaged store is good; go on from there");
  c->add_option("STORE", o.store, "store");
  auto* tail =
      c->add_flag("--quarantine-tail", o.quarantine_tail,
                  "go on from the last good commit and move what follows to STORE/quarantine/");
  c->add_option("--salvage", o.salvage,
                "engine lmdb: put what can be read into a new directory, a store where nothing is "
                "missing")
      ->type_name("NEW")
      ->check([](const std::string& name) {
        return name.empty() ? "names no directory" : std::string();
      })
      ->excludes(tail);
  c->add_flag("--yes", o.yes, "without a question");
  c->add_flag("--force", o.force,
              "although workers are registered as alive (they are surely gone)");
  c->add_flag("--json", o.json, "machine-readable output");
  c->footer(
      "\nWithout --quarantine-tail it only looks. Nothing is ever deleted, and --salvage changes\n"
      "nothing in STORE. What it makes is a store only if no record is missing and they fit\n"
      "together; else it is lists: jobs.jsonl and records.jsonl.\n"
      "Exit codes: 0 nothing to repair, or repaired and verified, or salvaged as a store that is\n"
      "verified; 3 damaged and not repaired;\n"
      "2 nobody agreed to the repair, or wrong flags.");
  c->callback([&] { exit = run_repair(app, o); });
}

void add_backup(CLI::App& cli, const App& app, BackupOptions& o, Exit& exit) {
  auto* c = cli.add_subcommand("backup", "Copy a store while workers go on; the copy is a store");
  c->add_option("DEST", o.words, "[STORE] DEST; DEST must not be there yet")
      ->required()
      ->expected(1, 2)
      ->type_name("[STORE] DEST");
  c->add_option("--engine", o.engine, "of the copy")
      ->type_name("ENGINE")
      ->check(CLI::IsMember({"same", "auto", "lmdb", "journal"}))
      ->capture_default_str();
  c->add_flag("--json", o.json, "machine-readable output");
  c->callback([&] { exit = run_backup(app, o); });
}

void add_history(CLI::App& cli, const App& app, HistoryOptions& o, Exit& exit) {
  auto* c =
      cli.add_subcommand("history", "Show who claimed, started, finished, lost what and when");
  c->add_option("STORE", o.store, "store");
  c->add_option("--job", o.job, "of this job only: NAME, or #NUMBER")->type_name("NAME");
  c->add_option("--worker", o.worker, "of this worker only")->type_name("N");
  c->add_option("--since", o.since, "not older than 2h, or than '2026-05-01 12:00'")
      ->type_name("TIME");
  c->add_option("--limit", o.limit, "the newest N events")->type_name("N");
  c->add_flag("--json", o.json, "machine-readable output");
  c->footer(
      "\nIt is told from the commits that are still there; of what is older, and for engine lmdb,\n"
      "the state tells the newest attempt of each job. Times are those of the workers' clocks.");
  c->callback([&] { exit = run_history(app, o); });
}

void add_bench(CLI::App& cli, const App& app, BenchOptions& o, Exit& exit) {
  auto* c = cli.add_subcommand("bench", "Measure what commits cost in a directory");
  c->add_option("DIR", o.directory, "directory (default: the working directory)");
  add_duration(c, "--seconds", o.seconds, "how long in all (default 10)");
  c->add_option("--processes", o.processes, "workers at once (default 4)")
      ->type_name("N")
      ->check(CLI::Range(1, 256));
  c->add_option("--engine", o.engine, "auto: the one that a store here would have")
      ->type_name("ENGINE")
      ->check(CLI::IsMember({"auto", "lmdb", "journal"}))
      ->capture_default_str();
  c->add_flag("--json", o.json, "machine-readable output");
  c->footer("\nIt makes a store of its own in DIR and removes it again.");
  c->callback([&] { exit = run_bench(app, o); });
}

void add_compact(CLI::App& cli, const App& app, CompactOptions& o, Exit& exit) {
  auto* c = cli.add_subcommand("compact", "Make a store as small as it may be");
  c->add_option("STORE", o.store, "store");
  c->add_flag("--json", o.json, "machine-readable output");
  c->callback([&] { exit = run_compact(app, o); });
}

void add_adopt(CLI::App& cli, const App& app, AdoptOptions& o, Exit& exit) {
  auto* c = cli.add_subcommand("adopt", "Make this machine the home of a store of engine lmdb");
  c->add_option("STORE", o.store, "store");
  c->add_flag("--wait", o.wait,
              "listen until the leases of the workers that are registered have run out");
  c->add_flag("--json", o.json, "machine-readable output");
  c->footer(
      "\nA store of engine lmdb is opened by the machine that made it, whatever it is called.\n"
      "This is for a store whose disk was moved to another machine, or that was copied there.\n"
      "Exit codes: 0 it is of this machine; 3 refused, nothing was changed; 2 wrong flags.");
  c->callback([&] { exit = run_adopt(app, o); });
}

void add_trust(CLI::App& cli, const App& app, TrustOptions& o, Exit& exit) {
  auto* c = cli.add_subcommand("trust", "Let a store of another user be found, not only named");
  c->add_option("STORE", o.store, "store; without one, those that are trusted are listed");
  c->add_flag("--forget", o.forget, "trust it no more")->needs("STORE");
  c->add_flag("--json", o.json, "machine-readable output");
  c->footer(
      "\nA store says what is run. One that nobody named, the only *.torc here, the one beside a\n"
      "workflow file, the newest of `torc exec`, is used only if it belongs to you or root, or is\n"
      "trusted. What you name is your own choice and needs no trust.\n"
      "Exit codes: 0 done; 2 wrong flags, or it was not trusted; 3 it cannot be read.");
  c->callback([&] { exit = run_trust(app, o); });
}

}  // namespace

void add_care_commands(CLI::App& cli, const App& app, CareOptions& options, Exit& exit) {
  add_doctor(cli, app, options.doctor, exit);
  add_repair(cli, app, options.repair, exit);
  add_backup(cli, app, options.backup, exit);
  add_history(cli, app, options.history, exit);
  add_bench(cli, app, options.bench, exit);
  add_compact(cli, app, options.compact, exit);
  add_adopt(cli, app, options.adopt, exit);
  add_trust(cli, app, options.trust, exit);
}

}  // namespace torc::cli
