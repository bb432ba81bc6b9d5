#include "bin/commands/run/run_here.h"

#include <utility>

#include "lib/worker/loop/lives.h"
#include "lib/workflow/make_store.h"

namespace torc::cli {

Result<worker::WorkerSummary> work_here(const App& app, std::unique_ptr<store::Store> store,
                                        const worker::WorkerSetup& setup,
                                        const worker::WorkerEvents& events) {
  const Path directory = store->directory();
  app.world.disk.keep(directory);
  return worker::live(app.clock, events, [&](int life) -> Result<worker::WorkerSummary> {
    if (life > 1) {
      TORC_ASSIGN(store, store::Store::open(app.world, directory, workflow::worker_tuning()));
    }
    return worker::work(app, std::move(store), setup, events);
  });
}

void warn(const App& app, const worker::WorkerSetup& setup) {
  if (!setup.warning.empty()) say(app.err, "torc: warning: {}\n", setup.warning);
}

Exit exit_of(const worker::WorkerSummary& summary) {
  if (summary.end == worker::WorkerEnd::lease_lost || summary.end == worker::WorkerEnd::broken)
    return Exit::store;
  const claim::WorkflowState& w = summary.workflow;
  return w.all_completed() && w.finished() ? Exit::ok : Exit::unfinished;
}

}  // namespace torc::cli
