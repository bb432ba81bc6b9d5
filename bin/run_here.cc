#include "bin/run_here.h"

#include <utility>

#include "bin/lives.h"
#include "bin/worker_setup.h"

namespace torc::cli {

Result<WorkerSummary> work_here(const App& app, std::unique_ptr<store::Store> store,
                                const WorkerSetup& setup, const WorkerEvents& events) {
  const Path directory = store->directory();
  app.world.disk.keep(directory);
  return live(app.clock, events, [&](int life) -> Result<WorkerSummary> {
    if (life > 1) {
      TORC_ASSIGN(store, store::Store::open(app.world, directory, worker_tuning()));
    }
    return work(app, std::move(store), setup, events);
  });
}

Exit exit_of(const WorkerSummary& summary) {
  if (summary.end == WorkerEnd::lease_lost || summary.end == WorkerEnd::broken) return Exit::store;
  const claim::WorkflowState& w = summary.workflow;
  return w.all_completed() && w.finished() ? Exit::ok : Exit::unfinished;
}

}  // namespace torc::cli
