// torc reset: jobs, and everything built on them, back to the start.
#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

#include "bin/commands/change/change_report.h"
#include "bin/commands/commands.h"
#include "bin/commands/ringing.h"
#include "bin/commands/selection.h"
#include "bin/flags.h"
#include "lib/base/quantities.h"
#include "lib/claim/transactions/reset.h"
#include "lib/claim/transactions/user_data.h"

namespace torc::cli {
namespace {

struct ResetOptions {
  SelectOptions jobs;
  bool yes = false;    // accepted results may be discarded
  bool force = false;  // what runs is canceled
  bool dry_run = false;
  bool json = false;
};

using claim::JobState;

Selection selection_of(const SelectOptions& o, std::vector<std::string> names) {
  Selection selection;
  selection.names = std::move(names);
  selection.regex = o.name;
  selection.all = o.all;
  if (const auto state = claim::state_named(o.state)) selection.states = {*state};
  return selection;
}

Error would_discard(std::uint64_t results) {
  return Error{ErrorKind::invalid,
               fmt::format("{} completed job(s) would lose their results and run again",
                           show_count(results)),
               "--dry-run shows which; --yes does it"};
}

Result<ChangeReport> reset(const App& app, store::Store& store, const Selection& selection,
                           const ResetOptions& o) {
  claim::Change change;
  const claim::Force force = o.force ? claim::Force::yes : claim::Force::no;
  // The question whether results may be lost and the reset itself are one transaction: nothing can
  // complete in between.
  const auto body = [&](store::Transaction& tx) -> Result<void> {
    TORC_ASSIGN(const auto jobs, select_jobs(tx, selection));
    TORC_ASSIGN(change, claim::reset_jobs(tx, jobs, force, app.clock.wall_now()));
    // With the whole workflow also what none of its jobs makes goes back to the start.
    if (selection.all) TORC_TRY(claim::clear_ephemeral(tx, {JobId{0}, 1}));
    const auto results = change.changed[static_cast<std::size_t>(JobState::completed)];
    if (results > 0 && !o.yes && !o.dry_run) return would_discard(results);
    return {};
  };
  TORC_TRY(change_and_ring(app, store, o.dry_run, body));
  return report_of(store, std::move(change));
}

Result<Exit> run(const App& app, const ResetOptions& options) {
  TORC_ASSIGN(auto where, locate_store_and_names(app, options.jobs.words));
  const Selection selection = selection_of(options.jobs, where.names);
  TORC_ASSIGN(const auto store, store::Store::open(app.world, where.store, store::Tuning{}));
  const auto done = reset(app, *store, selection, options);
  if (!done) {
    // What runs is in the way, not the store.
    const bool busy = done.error().kind == ErrorKind::busy;
    (void)report(app, done.error());
    return busy || done.error().kind == ErrorKind::invalid ? Exit::usage : Exit::store;
  }
  if (options.json) {
    print_change_json(app, *store, *done, options.dry_run);
    return Exit::ok;
  }
  print_change(app, *done, options.dry_run ? "would reset" : "reset", options.dry_run, where.store);
  if (!options.dry_run && done->change.total() > 0) say_presence(app, *store);
  return Exit::ok;
}

}  // namespace

void add_reset(Command& c) {
  auto& o = c.options<ResetOptions>();
  c.about("Take jobs, and everything built on them, back to the start");
  add_names(c, o.jobs);
  c.flag("--dry-run", o.dry_run, "say what would change and change nothing");
  c.flag("--json", o.json, "machine-readable output");
  add_all(c, o.jobs, "all jobs");
  add_state(c, o.jobs, claim::states_with(claim::trait::kResettable));
  c.flag("--yes", o.yes, "also when completed jobs lose their results by it");
  c.flag("--force", o.force, "also when some of them run: these are canceled");
  c.run([&o](const App& app) { return run(app, o); });
}

}  // namespace torc::cli
