// torc retry: jobs that failed, were terminated or canceled run again.
#include "bin/commands/change/change_jobs.h"

namespace torc::cli {

void add_retry(Command& c) {
  auto& o = add_change(c, "Let jobs that failed, were terminated or canceled run again");
  c.flag("--failed", o.failed,
         "all that failed or were terminated, also those that wait for a decision");
  c.flag("--canceled", o.canceled, "all that were canceled");
  c.run([&o](const App& app) {
    return run_change(app, o, {"to run again:", "would run again:", {}, claim::retry_jobs, true});
  });
}

}  // namespace torc::cli
