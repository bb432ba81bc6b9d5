// torc release: held jobs may be claimed again.
#include "bin/commands/change/change_jobs.h"

namespace torc::cli {

void add_release(Command& c) {
  auto& o = add_change(c, "Let held jobs be claimed again");
  add_all(c, o.jobs, "all held jobs");
  c.run([&o](const App& app) {
    const auto release = [&](claim::Transaction& tx, claim::JobRanges jobs) {
      return claim::release_jobs(tx, jobs, app.clock.wall_now());
    };
    return run_change(app, o,
                      {"released", "would release", {claim::JobState::held}, release, true});
  });
}

}  // namespace torc::cli
