// torc retry: jobs that failed, were terminated or canceled run again.
#include "bin/commands/change/change.h"
#include "bin/commands/commands.h"

namespace torc::cli {
namespace {

Result<Exit> run_retry(const App& app, const ChangeOptions& options) {
  const ChangeKind kind{"to run again:", "would run again:", {}, claim::retry_jobs};
  return run_change(app, options, kind, [&](const ChangeReport& done, const Path& store) {
    say_without_workers(app, done, store);
  });
}

}  // namespace

void add_retry(Command& c) {
  auto& o = add_change(c, "Let jobs that failed, were terminated or canceled run again");
  c.flag("--failed", o.failed,
         "all that failed or were terminated, also those that wait for a decision");
  c.flag("--canceled", o.canceled, "all that were canceled");
  c.run([&o](const App& app) { return run_retry(app, o); });
}

}  // namespace torc::cli
