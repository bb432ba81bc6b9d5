#include "bin/commands/change/reset_jobs.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "bin/commands/change/confirm.h"
#include "bin/commands/ringing.h"
#include "bin/flags.h"
#include "lib/base/plural.h"
#include "lib/base/quantities.h"
#include "lib/claim/transactions/reset.h"
#include "lib/claim/transactions/user_data.h"

namespace torc::cli {
namespace {

using claim::JobState;

Error would_discard(std::uint64_t results) {
  return Error{ErrorKind::invalid,
               fmt::format("{} would lose {} and run again", plural(results, "completed job"),
                           results == 1 ? "its result" : "their results"),
               "--dry-run shows which; --yes does it"};
}

}  // namespace

void add_reset_flags(Command& c, ResetOptions& o) {
  add_names(c, o.jobs);
  c.flag("-n,--dry-run", o.dry_run, "say what would change and change nothing");
  add_all(c, o.jobs, "all jobs");
  add_state(c, o.jobs, claim::states_with(claim::trait::kResettable));
  c.flag("--yes", o.yes, "even if completed jobs lose their results");
}

Selection selection_of(const ResetOptions& options, std::vector<std::string> names) {
  const SelectOptions& o = options.jobs;
  Selection selection;
  selection.names = std::move(names);
  selection.regex = o.name;
  selection.all = o.all;
  selection.states = states_of(o);
  return selection;
}

namespace {

// `results`: so many are lost by it, or would be.
Result<ChangeReport> reset(const App& app, store::Store& store, const Selection& selection,
                           const ResetOptions& o, const store::Store::Body& then,
                           std::uint64_t& results) {
  claim::Change change;
  const claim::Force force = o.force ? claim::Force::yes : claim::Force::no;
  // The question whether results may be lost and the reset itself are one transaction: nothing can
  // complete in between.
  const auto body = [&](store::Transaction& tx) -> Result<void> {
    TORC_ASSIGN(const auto named, select_jobs(tx, selection));
    claim::Change left;
    TORC_ASSIGN(const auto jobs, claim::in_the_file(tx, named, left));
    TORC_ASSIGN(change, claim::reset_jobs(tx, jobs, force, app.clock.wall_now()));
    change.add(left);
    // With the whole workflow also what none of its jobs makes goes back to the start.
    if (selection.all) TORC_TRY(claim::clear_ephemeral(tx, {JobId{0}, 1}));
    results = change.lost_results();
    if (results > o.confirmed && !o.yes && !o.dry_run) return would_discard(results);
    return then ? then(tx) : Result<void>();
  };
  TORC_TRY(change_and_ring(app, store, o.dry_run, body));
  return report_of(store, std::move(change));
}

}  // namespace

Result<ChangeReport> reset_jobs(const App& app, store::Store& store, const Selection& selection,
                                const ResetOptions& options, const store::Store::Body& then) {
  std::uint64_t results = 0;
  return reset(app, store, selection, options, then, results);
}

Result<std::optional<ChangeReport>> reset_when_confirmed(const App& app, store::Store& store,
                                                         const Selection& selection,
                                                         ResetOptions options, bool asks) {
  std::uint64_t by_now = 0;
  if (asks) {
    ResetOptions planned = options;
    planned.dry_run = true;
    TORC_ASSIGN(const auto plan, reset_jobs(app, store, selection, planned));
    options.confirmed = plan.change.lost_results();
    if (options.confirmed > 0) {
      print_change(app, plan, "would run again:", true, store.directory());
      if (!confirms_redoing(app, options.confirmed)) return std::optional<ChangeReport>();
    }
  }
  auto done = reset(app, store, selection, options, {}, by_now);
  if (done) return std::optional(*std::move(done));
  if (options.confirmed == 0 || by_now <= options.confirmed) return std::move(done).error();
  say_more_than_confirmed(app, options.confirmed, by_now);
  return std::optional<ChangeReport>();
}

Exit report_reset(const App& app, const Error& error) {
  (void)report(app, error);
  const bool is_in_the_way = error.kind == ErrorKind::busy || error.kind == ErrorKind::invalid;
  return is_in_the_way ? Exit::usage : Exit::store;
}

}  // namespace torc::cli
