// torc init: check, expand, make the store and the batch scripts, say what to do next.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bin/commands/allocate/passes.h"
#include "bin/commands/commands.h"
#include "bin/commands/input_check.h"
#include "bin/commands/prepare/slurm_answers.h"
#include "bin/commands/spec_report.h"
#include "bin/commands/workdir.h"
#include "bin/flags.h"
#include "lib/base/plural.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/claim/queries/queries.h"
#include "lib/report/job_view.h"
#include "lib/report/start_by_hand.h"
#include "lib/report/submit_script.h"
#include "lib/store/disk/disk.h"
#include "lib/store/engine/engine_name.h"
#include "lib/worker/setup/worker_setup.h"
#include "lib/workflow/context/sharing.h"
#include "lib/workflow/context/spec_text.h"
#include "lib/workflow/plan/make_store.h"

namespace torc::cli {
namespace {

constexpr std::size_t kMostClasses = 256;

struct InitOptions {
  std::string spec;
  std::string store;            // empty: <workflow name>.torc in the working directory
  std::string engine = "auto";  // auto, lmdb, journal
  std::string group;            // name or number of a group that shares the store; empty: none
  std::optional<std::chrono::seconds> retention;  // nullopt: what the filesystem here needs
  bool force = false;                             // move an existing store aside
  bool checksum = false;        // workers hash the files of jobs, for `reinit --checksum`
  std::string script_template;  // a file or a name; empty: it is looked for
  std::string workdir;          // where jobs run; empty: here
  bool no_slurm = false;        // Slurm is not asked about the scripts
  bool crontab = false;         // prints a line for it
  bool json = false;
};

void print_made(const App& app, const workflow::MadeStore& made,
                const workflow::LoadedSpec& loaded) {
  const store::Identity& identity = made.store->identity();
  const std::string store = workflow::shown_path(app, made.store->directory());
  say(app.out, "made {}: workflow '{}', {}, engine {}\n", store, printable(loaded.workflow->name),
      plural(loaded.expansion->jobs, "job"),
      identity.engine == store::Engine::lmdb ? "lmdb (this host only)" : "journal (any host)");
  if (!loaded.yaml.empty())
    say(app.out, "what the script stands for, as a workflow file, is {}\n",
        workflow::shown_path(app, workflow::spec_copy_in(app, made.store->directory())));
  if (!made.moved.empty())
    say(app.out, "the store that was there is now {}\n", workflow::shown_path(app, made.moved));
  if (!made.scripts.made_of.empty()) {
    say(app.out, "its batch scripts are made of {}\n",
        workflow::shown_path(app, made.scripts.made_of));
  }
}

// What `torc status` recommends last. Without a mark it does not know.
void mark_refused(const App& app, const SlurmAnswers& slurm) {
  for (std::size_t i = 0; slurm.answers && i < slurm.scripts.size(); ++i) {
    const slurm::Answer& answer = slurm.answers->at(i);
    if (answer.verdict != slurm::Verdict::refused) continue;
    (void)store::write_file(app.world.disk, report::mark_of_refusal(slurm.scripts[i].file),
                            fmt::format("{}\n", fmt::join(answer.words, "\n")), store::Durable::no);
  }
}

// Of all jobs, also of those that have to wait for others.
std::vector<report::HandStart> starts_of(const workflow::MadeStore& made,
                                         const std::string& store) {
  std::vector<claim::JobClass> classes;
  const auto read = [&](const claim::Reader& reader) -> Result<void> {
    classes.clear();
    return claim::scan_classes(reader, [&](const claim::JobClass& c) {
      classes.push_back(c);
      return classes.size() < kMostClasses;
    });
  };
  // For advice alone: what is wrong with the store is told by what needs it.
  if (!made.store->view(store::Freshness::cached, read).ok()) classes.clear();
  return report::hand_starts(store, classes);
}

void print_next_steps(const App& app, const workflow::MadeStore& made) {
  const store::Identity& identity = made.store->identity();
  const std::string store = workflow::shown_path(app, made.store->directory());
  const auto& scripts = made.scripts.all;
  const bool is_slurms = made.scripts.definition.empty();
  say(app.out, "\nnext:\n");
  if (identity.engine == store::Engine::journal) {
    if (!scripts.empty())
      say(app.out, "  torc submit {}   # allocations come and go as jobs need them{}\n",
          shell_word(store), is_slurms ? "; or by hand:" : "");
    for (const workflow::BatchScript& script : scripts) {
      if (is_slurms) say(app.out, "  sbatch {}\n", workflow::shown_path(app, script.file));
    }
  }
  auto lines = starts_of(made, store);
  lines.push_back({"torc status " + store, "how far it is"});
  std::size_t width = 0;
  for (const report::HandStart& one : lines) width = std::max(width, one.command.size());
  for (const report::HandStart& one : lines) {
    say(app.out, "  {:{}}   # {}\n", one.command, width,
        one.where.empty() ? "work here" : one.where);
  }
  if (identity.engine == store::Engine::lmdb && !scripts.empty()) {
    say(app.out,
        "\nThis directory is on a local filesystem, so only this host can use the store. "
        "For batch jobs on\n"
        "other nodes make it on a shared filesystem, or with --engine journal if this one "
        "is shared after all.\n");
  }
}

void print_crontab_of(const App& app, const workflow::MadeStore& made) {
  if (made.scripts.all.empty()) {
    say(app.err,
        "torc: note: the workflow has no slurm_schedulers, so there is nothing for cron to "
        "submit\n");
  } else if (const auto shared = expect_shared(app, *made.store); !shared) {
    say(app.err, "torc: warning: there is no line for cron: {}\n", shared.error().text());
  } else {
    print_crontab(app, made.store->directory());
  }
}

Result<Exit> run(const App& app, const InitOptions& options) {
  TORC_ASSIGN(const Path workdir, named_workdir(app, options.workdir));
  TORC_ASSIGN(auto loaded, load_spec_for(app, options.spec, workdir));
  if (!loaded.expansion) return refuse_spec(app, loaded, options.json, "nothing was made");
  TORC_TRY(note_missing_inputs(app, loaded));
  if (!options.json) print_diagnostics(app, loaded, "nothing was made");
  TORC_ASSIGN(const auto engine, workflow::parse_engine(options.engine));
  const Path directory = options.store.empty() ? workflow::default_store(app, loaded)
                                               : (app.directory / options.store).lexically_normal();
  std::optional<std::uint32_t> group;
  if (!options.group.empty()) {
    TORC_ASSIGN(group, workflow::group_number(options.group));
  }
  if (const auto& asked = loaded.workflow->lease.ttl; asked) {
    const std::string note =
        worker::too_short(*asked, store::facts_of(app.world.disk, directory.parent_path()));
    if (!note.empty() && !options.json) say(app.err, "torc: warning: {}\n", note);
  }
  TORC_ASSIGN(const auto made,
              workflow::make_store(
                  app, loaded, directory, engine,
                  options.force ? workflow::Existing::move_aside : workflow::Existing::refuse,
                  {group, options.checksum ? workflow::Sums::yes : workflow::Sums::no,
                   options.retention, options.script_template, workdir}));
  if (!options.script_template.empty() && made.scripts.all.empty()) {
    say(app.err,
        "torc: note: the workflow has no slurm_schedulers: no batch script was made of --template "
        "{}\n",
        shell_word(options.script_template));
  }
  SlurmAnswers slurm{made.scripts.all, workflow::ReadFrom::its_file};
  if (!options.json) print_made(app, made, loaded);
  const bool is_slurms = made.scripts.definition.empty();
  if (is_slurms && !options.no_slurm && workflow::can_ask_slurm(app))
    slurm.answers = workflow::ask_slurm(app, slurm.scripts, slurm.from);
  mark_refused(app, slurm);
  if (options.json) {
    nlohmann::ordered_json scripts = nlohmann::ordered_json::array();
    for (const workflow::BatchScript& script : slurm.scripts)
      scripts.push_back(script.file.string());
    const nlohmann::ordered_json out = {{"workflow", loaded.workflow->name},
                                        {"store", made.store->directory().string()},
                                        {"store_id", made.store->identity().id_hex()},
                                        {"engine", to_string(made.store->identity().engine)},
                                        {"jobs", loaded.expansion->jobs},
                                        {"scripts", std::move(scripts)},
                                        {"slurm", to_json(slurm)}};
    say(app.out, "{}\n", report::json_text(out));
  } else {
    print(app, loaded, slurm);
    print_next_steps(app, made);
    if (options.crontab) print_crontab_of(app, made);
  }
  return Exit::ok;
}

}  // namespace

void add_init(Command& c) {
  auto& o = c.options<InitOptions>();
  c.about("Make a store and batch scripts from a workflow file");
  c.argument("SPEC", o.spec, "workflow file").required();
  c.option("--store", o.store, "directory of the store (default: NAME.torc here)").value("DIR");
  c.option("--engine", o.engine, "lmdb: one host; journal: any shared filesystem")
      .value("ENGINE")
      .choices({"auto", "lmdb", "journal"})
      .shows_default();
  c.option("--group", o.group, "share the store with the members of this group").value("GROUP");
  c.option("--retention", o.retention, parse_duration,
           "how old a listing of a directory may be on any host that works on the store (default: "
           "by what is known of the filesystem here)")
      .value("TIME");
  c.flag("--checksum", o.checksum,
         "workers hash the files that jobs name, for `torc reinit --checksum`");
  c.flag("--force", o.force, "move an existing store aside (it is kept, under another name)");
  c.option("--template", o.script_template,
           "template of the batch scripts (default: worker, looked for in ~/.config/torc/templates "
           "and beside the program)")
      .value("FILE|NAME");
  c.flag("--crontab", o.crontab,
         "print a line for crontab or scrontab that looks after allocations when no worker does");
  add_workdir(c, o.workdir,
              "where jobs run, and where the file's patterns find files (default: here)");
  c.flag("--no-slurm", o.no_slurm,
         "do not ask Slurm whether it takes the batch scripts (sbatch --test-only)");
  c.flag("--json", o.json, "machine-readable output");
  c.run([&o](const App& app) { return run(app, o); });
}

}  // namespace torc::cli
