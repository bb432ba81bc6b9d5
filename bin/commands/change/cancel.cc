// torc cancel: jobs that are not over are canceled; what runs is ended by its worker.
#include "bin/commands/change/change_jobs.h"
#include "lib/base/quantities.h"

namespace torc::cli {
namespace {

Result<Exit> run_cancel(const App& app, const ChangeOptions& options) {
  const ChangeKind kind{"canceled", "would cancel", claim::states_with(claim::trait::kCancelable),
                        [&](claim::Transaction& tx, claim::JobRanges jobs) {
                          return claim::cancel_jobs(tx, jobs, app.clock.wall_now());
                        }};
  return run_change(app, options, kind, [&](const ChangeReport& done, const Path&) {
    const auto n = done.change.changed[static_cast<std::size_t>(claim::JobState::pending_failed)];
    if (n > 0) {
      say(app.out, "of those that were pending_failed ({}), the failure stands\n", show_count(n));
    }
  });
}

}  // namespace

void add_cancel(Command& c) {
  auto& o = add_change(
      c, "Cancel jobs; running ones are ended by their workers, undecided failures become final");
  add_all(c, o.jobs, "all jobs that have not ended");
  add_state(c, o.jobs, claim::states_with(claim::trait::kCancelable));
  c.run([&o](const App& app) { return run_cancel(app, o); });
}

}  // namespace torc::cli
