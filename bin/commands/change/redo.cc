// torc redo: jobs, and everything built on them, run again, and here.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "bin/commands/change/confirm.h"
#include "bin/commands/change/reset_jobs.h"
#include "bin/commands/commands.h"
#include "bin/commands/input_check.h"
#include "bin/commands/run/run_store.h"
#include "bin/commands/workdir.h"
#include "bin/flags.h"
#include "bin/guard.h"
#include "lib/base/text/quote.h"

namespace torc::cli {
namespace {

// Jobs that completed and would lose their results, as of now.
std::uint64_t completed_of(const ChangeReport& report) {
  return report.change.lost_results();
}

// What could not run again, since an input file is not there, would only lose its result.
Result<void> require_inputs_of(const App& app, store::Store& store, const Selection& selection,
                               ResetOptions options, const Path& workdir) {
  bool any = false;
  TORC_TRY(store.view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
    TORC_ASSIGN(any, workflow::takes_files(reader));
    return {};
  }));
  if (!any) return {};
  options.dry_run = true;
  std::optional<NeededInputs> needed;
  TORC_TRY(reset_jobs(app, store, selection, options, [&](store::Transaction& tx) -> Result<void> {
    TORC_ASSIGN(needed, NeededInputs::of(tx, workdir, nullptr));
    return {};
  }));
  std::string again = "torc redo";
  for (const std::string& word : options.jobs.words) again += " " + shell_word(word);
  return needed->require(app, "nothing was changed or started", again);
}

// The store is closed again before anything runs. False: a person said no.
Result<bool> reset_what_was_named(const App& app, ResetOptions options, const Path& directory,
                                  const Selection& selection) {
  TORC_ASSIGN(const auto store, store::Store::open(app.world, directory, store::Tuning{}));
  // What cannot run here is to keep its results.
  TORC_ASSIGN(const auto settings, workflow::read_settings(*store));
  TORC_ASSIGN(const Path workdir, workdir_of(app, "", settings, directory));
  TORC_TRY(require_inputs_of(app, *store, selection, options, workdir));
  if (!options.dry_run && !options.yes && can_ask(app)) {
    ResetOptions planned = options;
    planned.dry_run = true;
    TORC_ASSIGN(const auto plan, reset_jobs(app, *store, selection, planned));
    if (completed_of(plan) > 0) {
      print_change(app, plan, "would run again:", true, directory);
      if (!confirms_redoing(app, completed_of(plan))) {
        say(app.err,
            "torc: not confirmed: nothing was changed and nothing was run; --yes does not ask\n");
        return false;
      }
      options.yes = true;
    }
  }
  TORC_ASSIGN(const auto done, reset_jobs(app, *store, selection, options));
  print_change(app, done, options.dry_run ? "would run again:" : "to run again:", options.dry_run,
               directory);
  return true;
}

Result<Exit> redo(const App& app, const ResetOptions& options) {
  TORC_ASSIGN(auto where, locate_store_and_names(app, options.jobs.words));
  const auto reset =
      reset_what_was_named(app, options, where.store, selection_of(options, where.names));
  if (!reset) return report_reset(app, reset.error());
  if (!*reset) return Exit::failed;
  if (options.dry_run) return Exit::ok;
  return run_store(app, where.store, options.jobs.words.empty() ? "" : options.jobs.words.front());
}

}  // namespace

void add_redo(Command& c) {
  auto& o = c.options<ResetOptions>();
  c.about("Run jobs, and everything that depends on them, again here: torc reset and torc run");
  add_reset_flags(c, o);
  c.run([&o](const App& app) {
    return under_watchdog(app, "torc run", [&](const App& guarded) { return redo(guarded, o); });
  });
}

}  // namespace torc::cli
