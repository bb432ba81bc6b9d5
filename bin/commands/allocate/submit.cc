// torc submit: from a workflow file, or a store, to allocations that come and go by themselves.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "bin/commands/allocate/passes.h"
#include "bin/commands/commands.h"
#include "bin/commands/input_check.h"
#include "bin/commands/spec_report.h"
#include "bin/commands/workdir.h"
#include "bin/flags.h"
#include "bin/locate.h"
#include "lib/base/plural.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/claim/queries/allocations.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/transactions/allocations.h"
#include "lib/report/job_view.h"
#include "lib/store/disk/disk.h"
#include "lib/store/mount/mount_facts.h"
#include "lib/workflow/plan/make_store.h"

namespace torc::cli {
namespace {

struct SubmitOptions {
  std::string what;   // a workflow file or a store; empty: the store here
  std::string store;  // of a workflow file: where its store is made
  std::string engine = "auto";
  std::string workdir;   // of a workflow file: where its jobs run; empty: here
  bool crontab = false;  // prints a line for it
  bool json = false;
};

Result<bool> is_store(const App& app, const Path& path) {
  TORC_ASSIGN(const auto about, app.world.disk.status(path));
  return about.kind == store::FileKind::directory;
}

Error not_shared(const App& app, const Path& store) {
  return {ErrorKind::unsupported,
          fmt::format("{} is on a local filesystem, as far as this host can tell: workers on other "
                      "nodes cannot open it",
                      workflow::shown_path(app, store)),
          "make it on a filesystem that all nodes share (--store DIR), or say --engine journal if "
          "this one is; `torc run` works here"};
}

Error has_its_own_place(const App& app, const Path& store) {
  const std::string shown = workflow::shown_path(app, store);
  return invalid(fmt::format("--workdir is for a new store, and {} exists already", shown),
                 fmt::format("`torc set {} --workdir DIR` says where its jobs run", shown));
}

// The store of a workflow file, which is made where there is none yet. nullptr: the file is wrong,
// which was said.
Result<std::unique_ptr<store::Store>> store_of_file(const App& app, const SubmitOptions& options) {
  TORC_ASSIGN(const Path workdir, named_workdir(app, options.workdir));
  TORC_ASSIGN(auto loaded, load_spec_for(app, options.what, workdir));
  if (!loaded.expansion) {
    (void)refuse_spec(app, loaded, options.json, "nothing was submitted");
    return std::unique_ptr<store::Store>();
  }
  if (!options.json) print_diagnostics(app, loaded, "nothing was submitted");
  if (loaded.workflow->slurm_schedulers.empty()) {
    return invalid(
        fmt::format("{} has no slurm_schedulers: nothing says what to ask the batch system for",
                    printable(options.what)),
        "name one with its account, nodes and walltime, or have it written by `torc plan --write "
        "--account NAME`; `torc run` works here, without a batch system");
  }
  const Path directory = options.store.empty() ? workflow::default_store(app, loaded)
                                               : (app.directory / options.store).lexically_normal();
  const auto there = app.world.disk.status(directory);
  if (there.ok()) {
    if (!options.workdir.empty()) return has_its_own_place(app, directory);
    if (!options.json) {
      say(app.err,
          "torc: note: {} exists; its workflow goes on as it was stored (`torc apply` takes over "
          "what has changed in the file)\n",
          workflow::shown_path(app, directory));
    }
    return open_store(app, directory.string());
  }
  TORC_ASSIGN(const auto engine, workflow::parse_engine(options.engine));
  if (engine == store::Engine::automatic) {
    const auto type = store::facts_of(app.world.disk, directory.parent_path()).type;
    if (type.sharing != store::Sharing::shared) return not_shared(app, directory);
  }
  workflow::StoreWishes wishes;
  wishes.workdir = workdir;
  TORC_ASSIGN(auto made, workflow::make_store(app, loaded, directory, engine,
                                              workflow::Existing::refuse, wishes));
  if (!options.json) {
    say(app.out, "made {}: workflow '{}', {}\n", workflow::shown_path(app, directory),
        printable(loaded.workflow->name), plural(loaded.expansion->jobs, "job"));
  }
  return open_store(app, directory.string());
}

Result<std::unique_ptr<store::Store>> store_of(const App& app, const SubmitOptions& options) {
  if (options.what.empty()) return open_store(app, "");
  TORC_ASSIGN(const bool stored, is_store(app, (app.directory / options.what).lexically_normal()));
  if (stored && !options.workdir.empty())
    return has_its_own_place(app, (app.directory / options.what).lexically_normal());
  return stored ? open_store(app, options.what) : store_of_file(app, options);
}

// What is asked for would only find that out, node by node.
Result<Path> find_workdir(const App& app, store::Store& store) {
  TORC_ASSIGN(const workflow::WorkflowSettings settings, workflow::read_settings(store));
  return workdir_of(app, "", settings, store.directory());
}

// From here on allocations are asked for as jobs need them, but for schedulers whose allocations
// actions of the workflow ask for. What had stopped begins anew.
Result<void> begin_to_ask(store::Store& store) {
  TORC_TRY(store.commit(0, [&](claim::Transaction& tx) -> Result<void> {
    TORC_ASSIGN(const auto schedulers, claim::read_schedulers(tx));
    if (schedulers.empty()) {
      return invalid("the workflow has no slurm_schedulers",
                     "name one in its file and make the store anew; sbatch and torc worker work "
                     "with any batch script");
    }
    TORC_ASSIGN(const auto actions, claim::read_actions(tx));
    std::vector<bool> by_action(schedulers.size() + 1);
    for (const claim::Action& action : actions) {
      if (action.schedule && action.schedule->scheduler <= schedulers.size())
        by_action[action.schedule->scheduler] = true;
    }
    for (std::uint32_t s = 1; s <= schedulers.size(); ++s) {
      const bool is_managed = schedulers[s - 1].is_managed || !by_action[s];
      if (auto done = claim::manage(tx, s, is_managed); !done) return done;
    }
    return {};
  }));
  return {};
}

// It goes on without a person as soon as anything is there, or may be.
void say_what_is_next(const App& app, const store::Store& store, const allocate::PassReport& pass,
                      const report::AllocationList& list) {
  if (list.rows.empty() && pass.refused > 0) return;  // which was said
  if (list.rows.empty()) {
    say(app.out,
        "no allocation is needed: no waiting job could run on the workers of a scheduler\n");
    return;
  }
  const bool is_there = std::ranges::any_of(list.rows, [](const report::AllocationRow& row) {
    return claim::may_be_there(row.allocation);
  });
  const std::string shown = shell_word(workflow::shown_path(app, store.directory()));
  if (!is_there) {
    say(app.out,
        "no allocation is at the batch system, and no worker will try again; try again with\n  "
        "torc submit {}   # --crontab prints a line that does so\n",
        shown);
    return;
  }
  say(app.out,
      "nothing has to be kept running: workers ask for further allocations, and cancel what is "
      "not needed\n  torc status {}   # how far it is\n",
      shown);
}

Result<Exit> run(const App& app, const SubmitOptions& options) {
  TORC_ASSIGN(auto store, store_of(app, options));
  if (!store) return Exit::usage;
  TORC_TRY(expect_shared(app, *store));
  TORC_ASSIGN(const Path workdir, find_workdir(app, *store));
  const std::string shown = shell_word(workflow::shown_path(app, store->directory()));
  TORC_TRY(require_inputs(app, *store, workdir, "nothing was submitted", "torc submit " + shown));
  TORC_TRY(begin_to_ask(*store));
  TORC_ASSIGN(const auto pass, pass_here(app, *store, allocate::Turn::now));
  TORC_ASSIGN(const Exit exit, tell_pass(app, *store, pass, options.json));
  if (options.json) return exit;
  TORC_ASSIGN(const auto list, read_list(*store, report::Which::live));
  say_what_is_next(app, *store, pass, list);
  if (options.crontab) print_crontab(app, store->directory());
  return exit;
}

}  // namespace

void add_submit(Command& c) {
  auto& o = c.options<SubmitOptions>();
  c.about("Submit a workflow: its allocations come and go as its jobs need them");
  c.argument("WORKFLOW", o.what, "workflow file, whose store is made here, or a store");
  c.option("--store", o.store, "where the store of a workflow file is made").value("DIR");
  c.option("--engine", o.engine, "of that store; journal: any shared filesystem")
      .value("ENGINE")
      .choices({"auto", "journal"})
      .shows_default();
  add_workdir(c, o.workdir, "where jobs of that store run (default: here)");
  c.flag("--crontab", o.crontab,
         "print a line for crontab or scrontab that looks after allocations when no worker does");
  c.flag("--json", o.json, "machine-readable output");
  c.shows_tables();
  c.run([&o](const App& app) { return run(app, o); });
}

}  // namespace torc::cli
