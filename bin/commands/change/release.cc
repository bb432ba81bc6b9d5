// torc release: held jobs may be claimed again.
#include "bin/commands/change/change.h"
#include "bin/commands/commands.h"

namespace torc::cli {
namespace {

using claim::JobState;

Result<Exit> run_release(const App& app, const ChangeOptions& options) {
  const ChangeKind kind{"released",
                        "would release",
                        {JobState::held},
                        [&](claim::Transaction& tx, claim::JobRanges jobs) {
                          return claim::release_jobs(tx, jobs, app.clock.wall_now());
                        }};
  return run_change(app, options, kind, {});
}

}  // namespace

void add_release(Command& c) {
  auto& o = add_change(c, "Let held jobs be claimed again");
  add_all(c, o.jobs, "all held jobs");
  c.run([&o](const App& app) { return run_release(app, o); });
}

}  // namespace torc::cli
