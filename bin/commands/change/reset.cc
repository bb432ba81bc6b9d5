// torc reset: jobs, and everything built on them, back to the start.
#include "bin/commands/allocate/passes.h"
#include "bin/commands/change/reset_jobs.h"
#include "bin/commands/commands.h"
#include "bin/flags.h"
#include "lib/base/text/quote.h"
#include "lib/claim/rules/job.h"

namespace torc::cli {
namespace {

Result<Exit> run(const App& app, const ResetOptions& options) {
  TORC_ASSIGN(auto where, locate_store_and_names(app, options.jobs.words));
  TORC_ASSIGN(const auto store, store::Store::open(app.world, where.store, store::Tuning{}));
  const auto done = reset_jobs(app, *store, selection_of(options, where.names), options);
  if (!done) return report_reset(app, done.error());
  if (options.json) {
    print_change_json(app, *store, *done, options.dry_run);
    if (!options.dry_run) settle_allocations(app, *store, Telling::err_alone);
    return Exit::ok;
  }
  print_change(app, *done, options.dry_run ? "would reset" : "reset", options.dry_run, where.store);
  if (!options.dry_run && done->change.total() > 0) {
    if (done->change.changed[static_cast<std::size_t>(claim::JobState::completed)] > 0)
      say(app.out, "before any of them is started, `torc undo {}` takes that back\n",
          shell_word(workflow::shown_path(app, where.store)));
    say_presence(app, *store);
    settle_allocations(app, *store, Telling::out_and_err);
  }
  return Exit::ok;
}

}  // namespace

void add_reset(Command& c) {
  auto& o = c.options<ResetOptions>();
  c.about("Reset jobs, and everything that depends on them, so that they run again");
  add_reset_flags(c, o);
  c.flag("--json", o.json, "machine-readable output");
  c.flag("--force", o.force, "even if some of them are running: these are canceled");
  c.run([&o](const App& app) { return run(app, o); });
}

}  // namespace torc::cli
