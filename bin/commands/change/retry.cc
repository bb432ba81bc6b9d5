// torc retry: jobs that failed, were terminated or canceled run again.
#include "bin/commands/change/change_jobs.h"
#include "bin/commands/run/run_store.h"
#include "bin/flags.h"
#include "bin/guard.h"

namespace torc::cli {
namespace {

Result<Exit> retry(const App& app, const ChangeOptions& options) {
  return run_change(app, options,
                    {"to run again:", "would run again:", {}, claim::retry_jobs, true});
}

Result<Exit> retry_and_run(const App& app, const ChangeOptions& options) {
  TORC_ASSIGN(const auto where, locate_store_and_names(app, options.jobs.words));
  TORC_ASSIGN(const Exit changed, retry(app, options));
  if (changed != Exit::ok) return changed;
  return run_store(app, where.store, options.jobs.words.empty() ? "" : options.jobs.words.front());
}

}  // namespace

void add_retry(Command& c) {
  auto& o = add_change(c, "Let jobs that failed, were terminated or canceled run again");
  c.flag("--failed", o.failed,
         "all that failed or were terminated, also those that wait for a decision");
  c.flag("--canceled", o.canceled, "all that were canceled");
  c.flag("--run", o.run, "then run them here, as torc run STORE does");
  c.run([&o](const App& app) -> Result<Exit> {
    if (!o.run) return retry(app, o);
    if (o.dry_run || o.json)
      return Error{ErrorKind::invalid, "--run cannot be combined with --dry-run or --json",
                   "leave --run out, and run with `torc run STORE` afterwards"};
    return under_watchdog(app, "torc run",
                          [&](const App& guarded) { return retry_and_run(guarded, o); });
  });
}

}  // namespace torc::cli
