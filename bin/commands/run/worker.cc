// torc worker: one worker of an allocation (or started by hand), until the workflow is done.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "bin/commands/commands.h"
#include "bin/commands/run/supervise.h"
#include "bin/commands/run/working.h"
#include "bin/flags.h"
#include "bin/guard.h"
#include "bin/locate.h"
#include "lib/base/end_margins.h"
#include "lib/base/number.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/claim/queries/queries.h"
#include "lib/exec/machine/procfs.h"
#include "lib/report/job_view.h"
#include "lib/report/worker_places.h"
#include "lib/worker/loop/last_worker.h"
#include "lib/worker/loop/lives.h"
#include "lib/worker/loop/worker.h"
#include "lib/worker/setup/worker_setup.h"
#include "lib/workflow/plan/make_store.h"

namespace torc::cli {
namespace {

constexpr std::chrono::seconds kEndLimit{5};  // squeue and scancel, of this allocation's end

// ", until 2026-05-01 12:00:00"
std::string show_end(const worker::WorkerSetup& setup) {
  if (setup.ends_at) {
    return ", until " + show_time(*setup.ends_at) +
           (setup.end_is_assumed ? " (by the script's walltime: Slurm told no end)" : "");
  }
  return setup.allocation.empty() ? "" : ", without a known end (Slurm told none)";
}

// "; group nodes; label gpu; 2 fpga; as node n1": what it serves and has beside CPUs and memory.
std::string show_kind(const worker::WorkerSetup& setup) {
  claim::WorkerInfo info;
  info.allocation = setup.allocation;
  info.group = setup.group;
  info.labels = setup.labels;
  info.also_unlabelled = setup.also_unlabelled;
  info.scheduler = setup.scheduler;
  info.more.named = exec::named_of(setup.machine);
  const std::string kind = report::say_kind(info);
  const bool is_named = !setup.group.empty() && setup.allocation.empty();
  return fmt::format("{}{}{}", kind.empty() ? "" : "; ", kind,
                     is_named ? fmt::format("; as node {}", setup.node_name) : "");
}

void announce(const App& app, const worker::WorkerSetup& setup, const Path& store) {
  const exec::Machine& m = setup.machine;
  say(app.out, "{} worker on {} for {}: {} CPU(s) ({}), {} ({}), {} GPU(s){}{}{}\n",
      show_time(app.clock.wall_now()), m.host, store.string(), m.cpus, m.cpus_from,
      show_bytes(m.memory), m.memory_from, m.gpus.size(),
      setup.allocation.empty() ? "" : ", allocation " + setup.allocation, show_end(setup),
      show_kind(setup));
  std::fflush(app.out);
}

void tell_end(const App& app, const worker::WorkerSummary& summary) {
  say(app.out, "{} worker {} leaves: {}; {} completed, {} failed{}\n",
      show_time(app.clock.wall_now()), summary.epoch,
      summary.failure ? "its store is gone" : words_of(summary.end).sentence, summary.completed,
      summary.failed,
      summary.given_back == 0 ? "" : fmt::format(", {} given back", summary.given_back));
  for (const std::string& line : summary.mismatches) say(app.out, "  {}\n", line);
  if (const std::string left = report::show_left(summary.workflow); !left.empty())
    say(app.out, "  {}\n", left);
  std::fflush(app.out);
}

Result<Exit> run(const App& app, const worker::WorkerOptions& options) {
  TORC_ASSIGN(auto path, locate_store(app, options.store));
  worker::WorkerEvents events;
  events.asked = [&](const std::string& line) {
    say(app.out, "{} {}\n", show_time(app.clock.wall_now()), line);
    std::fflush(app.out);
  };
  if (!options.quiet) {
    events.notice = events.asked;
    events.failure = [&](const std::string& name, const std::string& how) {
      events.asked(fmt::format("failed: {}: {}", printable(name), how));
    };
  }
  std::optional<EndMargins> margins;  // of the first life
  const auto summary = live(app.clock, events, [&](int life) -> Result<worker::WorkerSummary> {
    TORC_ASSIGN(auto store, store::Store::open(app.world, path, workflow::worker_tuning()));
    app.world.disk.keep(path);
    TORC_ASSIGN(const workflow::WorkflowSettings settings, workflow::read_settings(*store));
    TORC_ASSIGN(
        worker::WorkerSetup setup,
        worker::make_worker_setup(app, options, path, worker::Place::allocation, settings.run));
    warn(app, setup);
    if (margins) worker::go_on_by(*margins, setup);
    margins = setup.slurm.margins;
    if (life == 1) {
      TORC_TRY(note_unknown_bindings(app, *store, options));
      if (!options.quiet) announce(app, setup, path);
    }
    TORC_ASSIGN(worker::WorkerSummary ended, work(app, std::move(store), setup, events));
    if (!options.quiet) tell_end(app, ended);
    return ended;
  });
  if (!summary) return summary.error();
  const bool left_by_itself = !summary->interrupted &&
                              summary->end != worker::WorkerEnd::interrupted &&
                              summary->end != worker::WorkerEnd::lease_lost;
  const auto since = whole_number<std::uint32_t>(app.env(kSupervised).value_or(""));
  if (since && left_by_itself) {
    worker::see_to_end_of_allocation(app, path, claim::WorkerEpoch{summary->epoch},
                                     std::chrono::seconds(*since),
                                     worker::query_program(app, kEndLimit), events.asked);
  }
  if (summary->end == worker::WorkerEnd::broken) return Exit::store;
  return summary->end == worker::WorkerEnd::lease_lost && !summary->interrupted ? Exit::store
                                                                                : Exit::ok;
}

// Of a store that is opened by a process of its own: what one has opened does not outlive the fork
// of the watchdog. False also where it cannot be read: the worker says why.
bool has_mode_slurm(const App& app, const worker::WorkerOptions& options) {
  const auto read = [&]() -> Result<bool> {
    TORC_ASSIGN(const auto path, locate_store(app, options.store));
    TORC_ASSIGN(const auto store, store::Store::open(app.world, path, store::Tuning{}));
    TORC_ASSIGN(const workflow::WorkflowSettings settings, workflow::read_settings(*store));
    return settings.run.execution.mode == spec::ExecutionMode::slurm;
  };
  const pid_t reader = fork();
  if (reader == 0) {
    const auto is_so = read();
    _exit(is_so.ok() && *is_so ? 0 : 1);
  }
  int status = 1;
  while (reader > 0 && waitpid(reader, &status, 0) < 0 && errno == EINTR) {
  }
  return reader > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// In mode slurm an allocation has a worker on each node, whoever starts it: this process starts
// them all where it is not one of them. nullopt: it is the worker itself.
Result<std::optional<Exit>> work_on_all_nodes(const App& app,
                                              const worker::WorkerOptions& options) {
  std::vector<std::string> words;
  const auto line = exec::read_small_file("/proc/self/cmdline");
  if (!line) return std::optional<Exit>();
  for (std::size_t at = 0; at < line->size(); at += words.back().size() + 1)
    words.emplace_back(line->c_str() + at);
  if (words.size() < 2) return std::optional<Exit>();
  words.front() = app.program.string();
  const auto argv = srun_of_workers(app, words);
  if (!argv) return std::optional<Exit>();
  if (!has_mode_slurm(app, options)) return std::optional<Exit>();
  TORC_ASSIGN(const Exit exit, supervise(app, *argv));
  return std::optional<Exit>(exit);
}

}  // namespace

void add_worker(Command& c) {
  auto& o = c.options<worker::WorkerOptions>();
  c.about("Work for a store until its workflow is done (started by the batch scripts)");
  c.argument("STORE", o.store, "store");
  add_worker_flags(c, o);
  c.option("--group", o.group,
           "workers with the same name run jobs of several nodes (default: those of an allocation)")
      .value("NAME");
  c.option("--node-name", o.node_name,
           "how the others of its group reach this node; two of one host count as two nodes "
           "(default: Slurm's name, the host's)")
      .value("NAME");
  c.run([&o](const App& app) -> Result<Exit> {
    TORC_ASSIGN(const std::optional<Exit> done, work_on_all_nodes(app, o));
    if (done) return *done;
    const RunCommand watched = [&o](const App& one) -> Result<Exit> {
      return under_watchdog(one, "", [&o](const App& guarded) { return run(guarded, o); });
    };
    if (is_supervised(app)) return replaced_when_killed(app, watched);
    return watched(app);
  });
}

}  // namespace torc::cli
