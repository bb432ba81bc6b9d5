#include "bin/cli.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "bin/commands/commands.h"
#include "bin/flags.h"
#include "bin/help/man_pages.h"
#include "bin/help/wrap.h"
#include "bin/locate.h"
#include "lib/base/number.h"
#include "lib/exec/step/step_keeper.h"
#include "lib/store/disk/disk.h"

namespace torc::cli {
namespace {

constexpr const char* kStoreNote = R"(
STORE may be left out when TORC_STORE is set or the working directory, or one above it, holds exactly one *.torc.
It may be a workflow file too: the store that `torc run FILE` uses.
)";

constexpr const char* kExitCodes = R"(
Exit codes: 0 all jobs completed (or the command did what was asked); 1 some job failed or was never reached;
2 wrong flags, a spec with errors, or what the batch system refuses; 3 no job failed, but the workflow is not finished;
4 the store cannot be used; 128 and its number: told to leave by a signal before it was done
(130 Ctrl-C, 143 SIGTERM, 129 SIGHUP).)";

// Only where no command is named.
constexpr const char* kFirstSteps = R"(

First steps:
  torc check wf.yaml      what is wrong with it, if anything
  torc run wf.yaml        run it here
  torc submit wf.yaml     run it on a cluster: allocations come and go as its jobs need them
  torc init wf.yaml       make a store and batch scripts, to submit them yourself
  torc status             how far it is, from any node; `torc` alone says the same where a store is)";

// Every command, in the order of --help. A new one has a line here, and one in
// bin/commands/commands.h.
struct Entry {
  std::string_view name;
  void (*add)(Command& c);
  const char* group;  // its heading in --help
};
// clang-format off
constexpr Entry kCommands[] = {
    {"new", add_new, "Write a workflow"},
    {"check", add_check, "Write a workflow"},
    {"plan", add_plan, "Write a workflow"},
    {"graph", add_graph, "Write a workflow"},
    {"schema", add_schema, "Write a workflow"},
    {"cluster", add_cluster, "Write a workflow"},
    {"run", add_run, "Run it"},
    {"submit", add_submit, "Run it"},
    {"init", add_init, "Run it"},
    {"exec", add_exec, "Run it"},
    {"apply", add_apply, "Run it"},
    {"allocations", add_allocations, "Run it"},
    {"schedule-nodes", add_schedule_nodes, "Run it"},
    {"worker", add_worker, "Run it"},
    {"supervise", add_supervise, "Run it"},
    {"node", add_node, "Run it"},
    {"status", add_status, "See how it is"},
    {"wait", add_wait, "See how it is"},
    {"list", add_list, "See how it is"},
    {"jobs", add_jobs, "See how it is"},
    {"job", add_job, "See how it is"},
    {"why", add_why, "See how it is"},
    {"results", add_results, "See how it is"},
    {"resources", add_resources, "See how it is"},
    {"logs", add_logs, "See how it is"},
    {"slurm", add_slurm, "See how it is"},
    {"history", add_history, "See how it is"},
    {"export", add_export, "See how it is"},
    {"cancel", add_cancel, "Change what is to run"},
    {"rm", add_rm, "Change what is to run"},
    {"retry", add_retry, "Change what is to run"},
    {"recover", add_recover, "Change what is to run"},
    {"redo", add_redo, "Change what is to run"},
    {"reset", add_reset, "Change what is to run"},
    {"reinit", add_reinit, "Change what is to run"},
    {"undo", add_undo, "Change what is to run"},
    {"hold", add_hold, "Change what is to run"},
    {"release", add_release, "Change what is to run"},
    {"set", add_set, "Change what is to run"},
    {"add", add_add, "Change what is to run"},
    {"spawn", add_spawn, "Change what is to run"},
    {"actions", add_actions, "Change what is to run"},
    {"data", add_data, "Change what is to run"},
    {"verify", add_verify, "Look after stores"},
    {"doctor", add_doctor, "Look after stores"},
    {"repair", add_repair, "Look after stores"},
    {"backup", add_backup, "Look after stores"},
    {"clean", add_clean, "Look after stores"},
    {"compact", add_compact, "Look after stores"},
    {"adopt", add_adopt, "Look after stores"},
    {"trust", add_trust, "Look after stores"},
    {"bench", add_bench, "Look after stores"},
    {"completion", add_completion, "In the shell"},
};
// clang-format on

// Of the command `only` alone, or where there is none of that name of all. A watchdog holds on to
// what was made for its command line as long as its worker lives.
std::unique_ptr<CommandLine> make_command_line(std::string_view only = {}) {
  const bool is_known =
      std::ranges::any_of(kCommands, [&](const Entry& entry) { return entry.name == only; });
  const std::string footer = std::string(kStoreNote) + kExitCodes;
  auto line = std::make_unique<CommandLine>(
      "torc: runs workflows of many jobs on clusters, without any server", "torc " TORC_VERSION,
      footer);
  for (const Entry& entry : kCommands) {
    if (is_known && entry.name != only) continue;
    Command& command = line->add(std::string(entry.name));
    command.group(entry.group);
    entry.add(command);
    if (!command.takes_store()) command.leave_out(kStoreNote);
  }
  line->footer(footer + kFirstSteps);  // the commands have theirs by now
  return line;
}

// Below `directory`, as they lie below PREFIX/share; prints their names.
Result<void> write_help_files(const App& app, const std::string& directory) {
  store::Disk& disk = app.world.disk;
  const Path root = (app.directory / directory).lexically_normal();
  for (const HelpFile& file : help_files(describe_command_line(), TORC_VERSION)) {
    Path folder = root;
    for (const Path& part : file.path.parent_path()) {
      folder /= part;
      const auto made = disk.make_directory(folder);
      if (!made && made.error().kind != ErrorKind::exists) return made;
    }
    (void)disk.unlink(root / file.path);
    TORC_TRY(store::write_file(disk, root / file.path, file.text, store::Durable::no));
    say(app.out, "{}\n", file.path.string());
  }
  return {};
}

// Longer lines are hard to read; in a pager nobody knows how wide the screen is.
std::size_t help_columns(const App& app) {
  constexpr int kMost = 100;
  constexpr int kInPipe = 80;
  if (!app.out_is_terminal) return kInPipe;
  const int now = app.columns ? app.columns() : app.terminal_columns;
  return static_cast<std::size_t>(std::clamp(now, 1, kMost));
}

}  // namespace

Exit run_command_line(const App& app, int argc, char** argv) {
  // What the installation needs; not among what --help shows.
  if (argc == 3 && std::string_view(argv[1]) == "--write-help-files") {
    const auto written = write_help_files(app, argv[2]);
    return written ? Exit::ok : report(app, written.error());
  }
  // What a worker's srun starts within a step.
  if (argc == 4 && std::string_view(argv[1]) == "--keep-step") {
    const auto key = whole_number<exec::StepKey>(argv[3]);
    const auto kept = exec::keep_step(app.clock, argv[2], key.value_or(0), app.environment);
    return kept ? static_cast<Exit>(*kept) : report(app, kept.error());
  }
  // Whoever only says "torc" wants to know how it is here.
  std::string program = argc > 0 ? argv[0] : "torc";
  std::string status = "status";
  bool is_bare = false;
  if (argc == 1) {
    const auto found = locate_store(app, "");
    const bool several = !found && found.error().what.starts_with("several stores");
    if (several) status = "list";
    is_bare = found.ok() || several;
  }
  char* looks[] = {program.data(), status.data(), nullptr};
  const auto line = make_command_line(is_bare ? status : argc > 1 ? argv[1] : "");
  const auto asked = is_bare ? line->parse(2, looks) : line->parse(argc, argv);
  if (!asked) return report(app, asked.error());
  if (asked->run) return report(app, asked->run(app));
  say(app.out, "{}", wrapped_help(asked->text, help_columns(app)));
  return Exit::ok;
}

CommandHelp describe_command_line() {
  return make_command_line()->help();
}

}  // namespace torc::cli
