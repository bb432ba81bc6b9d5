#include "bin/cli.h"

#include <memory>
#include <string>
#include <string_view>

#include "bin/commands/commands.h"
#include "bin/flags.h"
#include "bin/help/man_pages.h"
#include "lib/base/number.h"
#include "lib/exec/step/step_keeper.h"
#include "lib/store/disk/disk.h"

namespace torc::cli {
namespace {

constexpr const char* kStoreNote = R"(
STORE may be left out when TORC_STORE is set or the working directory holds exactly one *.torc.
)";

constexpr const char* kExitCodes = R"(
Exit codes: 0 all jobs completed (or the command did what was asked); 1 some job failed or was never reached;
2 wrong flags or a spec with errors; 3 the store cannot be used.)";

// Only where no command is named.
constexpr const char* kFirstSteps = R"(

First steps:
  torc check wf.yaml      what is wrong with it, if anything
  torc run wf.yaml        run it here
  torc init wf.yaml       make a store and batch scripts, then: sbatch wf.torc/slurm/NAME.sbatch
  torc status             how far it is, from any node)";

// Every command, in the order of --help. A new one has a line here, and one in
// bin/commands/commands.h.
struct Entry {
  const char* name;
  void (*add)(Command& c);
};
// clang-format off
constexpr Entry kCommands[] = {
    {"check", add_check},
    {"plan", add_plan},
    {"graph", add_graph},
    {"new", add_new},
    {"schema", add_schema},
    {"cluster", add_cluster},
    {"init", add_init},
    {"run", add_run},
    {"exec", add_exec},
    {"worker", add_worker},
    {"supervise", add_supervise},
    {"node", add_node},
    {"status", add_status},
    {"jobs", add_jobs},
    {"job", add_job},
    {"why", add_why},
    {"results", add_results},
    {"resources", add_resources},
    {"logs", add_logs},
    {"slurm", add_slurm},
    {"export", add_export},
    {"verify", add_verify},
    {"doctor", add_doctor},
    {"repair", add_repair},
    {"backup", add_backup},
    {"history", add_history},
    {"bench", add_bench},
    {"compact", add_compact},
    {"adopt", add_adopt},
    {"trust", add_trust},
    {"add", add_add},
    {"spawn", add_spawn},
    {"cancel", add_cancel},
    {"retry", add_retry},
    {"reset", add_reset},
    {"hold", add_hold},
    {"set", add_set},
    {"release", add_release},
    {"actions", add_actions},
    {"data", add_data},
    {"reinit", add_reinit},
    {"completion", add_completion},
};
// clang-format on

std::unique_ptr<CommandLine> make_command_line() {
  const std::string footer = std::string(kStoreNote) + kExitCodes;
  auto line = std::make_unique<CommandLine>(
      "torc: runs workflows of many jobs on clusters, without any server", "torc " TORC_VERSION,
      footer);
  for (const Entry& entry : kCommands) {
    Command& command = line->add(entry.name);
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
  const auto line = make_command_line();
  const auto asked = line->parse(argc, argv);
  if (!asked) return report(app, asked.error());
  if (asked->run) return report(app, asked->run(app));
  say(app.out, "{}", asked->text);
  return Exit::ok;
}

CommandHelp describe_command_line() {
  return make_command_line()->help();
}

}  // namespace torc::cli
