#include "bin/run_here.h"

#include "bin/worker_setup.h"

namespace torc::cli {
namespace {

constexpr int kMostLives = 3;

}  // namespace

Result<WorkerSummary> work_here(const App& app, std::unique_ptr<store::Store> store,
                                const WorkerSetup& setup, const WorkerEvents& events) {
  const Path directory = store->directory();
  auto summary = work(app, std::move(store), setup, events);
  for (int life = 2; summary && summary->end == WorkerEnd::lease_lost && !summary->interrupted &&
                     life <= kMostLives;
       ++life) {
    TORC_ASSIGN(auto again, store::Store::open(app.world, directory, worker_tuning()));
    summary = work(app, std::move(again), setup, events);
  }
  return summary;
}

Exit exit_of(const WorkerSummary& summary) {
  if (summary.end == WorkerEnd::lease_lost || summary.end == WorkerEnd::broken) return Exit::store;
  return summary.workflow.all_completed() ? Exit::ok : Exit::unfinished;
}

}  // namespace torc::cli
