// torc worker: one worker of an allocation (or started by hand), until the workflow is done.
#include <fmt/format.h>

#include "bin/commands.h"
#include "bin/locate.h"
#include "bin/quantities.h"
#include "bin/quote.h"
#include "bin/worker.h"
#include "bin/worker_setup.h"

namespace torc::cli {
namespace {

// A worker that lost its lease comes back as a new one, but a filesystem that hangs again and again
// is left alone.
constexpr int kMostLives = 3;

std::string_view to_string(WorkerEnd end) {
  switch (end) {
    case WorkerEnd::workflow_finished:
      return "the workflow is finished";
    case WorkerEnd::nothing_fits:
      return "the jobs that are left do not fit this worker";
    case WorkerEnd::time_up:
      return "its time is up";
    case WorkerEnd::idle:
      return "idle for too long";
    case WorkerEnd::interrupted:
      return "told to stop";
    case WorkerEnd::broken:
      return "this node cannot run jobs";
    case WorkerEnd::lease_lost:
      return "its lease was lost";
  }
  return "?";
}

void announce(const App& app, const WorkerSetup& setup, const Path& store) {
  const exec::Machine& m = setup.machine;
  say(app.out, "{} worker on {} for {}: {} CPU(s) ({}), {} ({}), {} GPU(s){}{}\n",
      show_time(app.clock.wall_now()), m.host, store.string(), m.cpus, m.cpus_from,
      show_bytes(m.memory), m.memory_from, m.gpus.size(),
      setup.allocation.empty() ? "" : ", allocation " + setup.allocation,
      setup.ends_at ? ", until " + show_time(*setup.ends_at) : "");
  std::fflush(app.out);
}

}  // namespace

Exit run_worker(const App& app, const WorkerOptions& options) {
  auto path = locate_store(app, options.store);
  if (!path) return report(app, path.error());
  WorkerEvents events;
  if (!options.quiet) {
    events.notice = [&](const std::string& line) {
      say(app.out, "{} {}\n", show_time(app.clock.wall_now()), line);
      std::fflush(app.out);
    };
    events.failure = [&](const std::string& name, const claim::Outcome& outcome) {
      say(app.out, "{} failed: {}: {}\n", show_time(app.clock.wall_now()), printable(name),
          show_outcome(outcome));
      std::fflush(app.out);
    };
  }
  std::optional<WallTime> ends_at;  // decided once, whatever lives follow
  for (int life = 1;; ++life) {
    auto store = store::Store::open(app.world, *path, store::Tuning{});
    if (!store) return report(app, store.error());
    auto settings = read_settings(**store);
    if (!settings) return report(app, settings.error());
    auto setup = make_worker_setup(app, options, *path, Place::allocation,
                                   settings->run.execution.sigkill_headroom);
    if (!setup) return report(app, setup.error());
    if (life == 1) ends_at = setup->ends_at;
    setup->ends_at = ends_at;
    if (!options.quiet && life == 1) announce(app, *setup, *path);
    auto summary = work(app, *std::move(store), *setup, events);
    if (!summary) return report(app, summary.error());
    if (!options.quiet) {
      say(app.out, "{} worker {} leaves: {}; {} completed, {} failed\n",
          show_time(app.clock.wall_now()), summary->epoch, to_string(summary->end),
          summary->completed, summary->failed);
      std::fflush(app.out);
    }
    if (summary->end == WorkerEnd::broken) return Exit::store;
    if (summary->end != WorkerEnd::lease_lost || summary->interrupted) return Exit::ok;
    if (life == kMostLives) return Exit::store;
  }
}

}  // namespace torc::cli
