// torc apply: the store becomes what its workflow file says now.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bin/commands/allocate/passes.h"
#include "bin/commands/change/apply_file.h"
#include "bin/commands/change/change_report.h"
#include "bin/commands/commands.h"
#include "bin/commands/spec_report.h"
#include "bin/flags.h"
#include "bin/locate.h"
#include "bin/trust.h"
#include "lib/report/job_view.h"
#include "lib/store/engine/store.h"
#include "lib/workflow/context/sharing.h"
#include "lib/workflow/plan/make_store.h"

namespace torc::cli {
namespace {

struct ApplyOptions {
  std::string file;
  std::string store;
  workflow::ApplyTerms terms;
  bool dry_run = false;
  bool json = false;
};

Result<Exit> run(const App& app, const ApplyOptions& options) {
  TORC_ASSIGN(auto loaded, workflow::load_spec(app, options.file));
  if (!loaded.expansion) return refuse_spec(app, loaded, options.json, "nothing was changed");
  if (!options.json) print_diagnostics(app, loaded);
  Path path = workflow::default_store(app, loaded);
  if (!options.store.empty()) {
    TORC_ASSIGN(path, locate_store(app, options.store));
  } else {
    TORC_TRY(check_found_store(app, path));
    workflow::write_for_group_of(app, path);
  }
  TORC_ASSIGN(const auto store, store::Store::open(app.world, path, store::Tuning{}));
  if (options.store.empty()) TORC_TRY(refuse_other_file(app, *store, loaded));
  TORC_ASSIGN(const workflow::Applied applied,
              apply_file(app, *store, loaded, options.terms, options.dry_run));
  if (options.json) {
    say(app.out, "{}\n", report::json_text(applied_json(*store, applied, options.dry_run)));
    if (!options.dry_run) settle_allocations(app, *store, Telling::err_alone);
    return Exit::ok;
  }
  if (applied.nothing()) {
    say(app.out, "nothing differs: the store is what {} says\n", options.file);
    return Exit::ok;
  }
  print_applied(app, applied, options.dry_run);
  if (options.dry_run) {
    say(app.out, "nothing was changed (--dry-run)\n");
    return Exit::ok;
  }
  say_presence(app, *store);
  settle_allocations(app, *store, Telling::out_and_err);
  return Exit::ok;
}

}  // namespace

void add_apply(Command& c) {
  auto& o = c.options<ApplyOptions>();
  c.about("Make a store what its workflow file says now, also while workers run");
  c.argument("FILE", o.file, "workflow file").required();
  c.option("--store", o.store, "the store (default: the one that `torc run FILE` would use)")
      .value("DIR");
  c.flag("--dry-run", o.dry_run, "say what differs and what would run again, and change nothing");
  c.flag("--checksum", o.terms.checksum,
         "contents decide, not times, where workers hashed them (`torc init --checksum`)");
  c.flag("--restart-running", o.terms.restarts_running,
         "also end jobs at work whose result will not count, and run them again at once");
  c.flag("--json", o.json, "machine-readable output");
  c.footer(
      R"(
Jobs are matched by their names. One runs again when its command, environment, files, user data or
what it waits for changed, and with it what depends on it. Resources, priorities, labels and retries
count for what has not run yet. A job at work whose definition changes ends by what it was; say it
again then. Jobs that the file has no more are canceled; their results stay.

Examples:
  torc apply wf.yaml --dry-run    what would change
  torc apply wf.yaml              change it; `torc run wf.yaml` does so by itself)");
  c.run([&o](const App& app) { return run(app, o); });
}

}  // namespace torc::cli
