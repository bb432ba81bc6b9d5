// torc worker: one worker of an allocation (or started by hand), until the workflow is done.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "bin/commands/allocate/passes.h"
#include "bin/commands/commands.h"
#include "bin/commands/run/supervise.h"
#include "bin/commands/run/working.h"
#include "bin/commands/workdir.h"
#include "bin/flags.h"
#include "bin/guard.h"
#include "bin/locate.h"
#include "lib/allocate/pass.h"
#include "lib/base/end_margins.h"
#include "lib/base/number.h"
#include "lib/base/plural.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/transactions/allocations.h"
#include "lib/exec/machine/procfs.h"
#include "lib/report/job_view.h"
#include "lib/report/worker_places.h"
#include "lib/worker/loop/last_worker.h"
#include "lib/worker/loop/lives.h"
#include "lib/worker/loop/worker.h"
#include "lib/worker/setup/worker_setup.h"
#include "lib/workflow/plan/make_store.h"
#include "lib/workflow/plan/slurm_question.h"

namespace torc::cli {
namespace {

constexpr std::chrono::minutes kPassLimit{3};
constexpr std::chrono::seconds kLastPassLimit{20};  // the allocation is paid for meanwhile
constexpr std::chrono::seconds kEndLimit{5};        // squeue and scancel, of this allocation's end

// ", until 2026-05-01 12:00:00"
std::string show_end(const worker::WorkerSetup& setup) {
  if (setup.ends_at) {
    return ", until " + show_time(*setup.ends_at) +
           (setup.end_is_assumed ? " (from the script's walltime: Slurm did not say)" : "");
  }
  if (setup.is_of_launcher) return ", without a known end";
  return setup.allocation.empty() ? "" : ", without a known end (Slurm did not say)";
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
  say(app.out, "{} worker on {} for {}: {} ({}), {} ({}), {}{}{}{}\n",
      show_time(app.clock.wall_now()), m.host, store.string(), plural(m.cpus, "CPU"), m.cpus_from,
      show_bytes(m.memory), m.memory_from, plural(m.gpus.size(), "GPU"),
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

// The number in the store's ledger of the allocation that this worker is in; 0: it was not
// submitted for that. nullopt: another one of the same intent is there, and this one leaves.
Result<std::optional<std::uint32_t>> admit(const App& app, store::Store& store,
                                           const worker::WorkerSetup& setup) {
  const std::string name = app.env(allocate::kIntentVariable).value_or("");
  const auto intent = claim::read_intent_name(name, allocate::mark_of(store));
  if (!intent || setup.allocation.empty()) return std::optional(0U);
  claim::Binding binding{*intent, setup.cluster, setup.allocation, setup.allocation_start,
                         no_resources()};
  binding.node.cpus = setup.machine.cpus;
  binding.node.memory = setup.machine.memory;
  binding.node.gpus = static_cast<std::uint32_t>(setup.machine.gpus.size());
  binding.node.named = exec::named_of(setup.machine);
  auto admission = claim::Admission::yes;
  TORC_TRY(store.commit(0, [&](claim::Transaction& tx) -> Result<void> {
    TORC_ASSIGN(admission, claim::bind_allocation(tx, binding, app.clock.wall_now()));
    return {};
  }));
  if (admission != claim::Admission::yes) return std::optional<std::uint32_t>();
  return std::optional(intent->number);
}

// Makes passes over the ledger of allocations in processes of their own, one at a time.
std::function<void()> pass_starter(const App& app, const Path& store) {
  const auto run = worker::query_program(app, kPassLimit);
  const std::vector<std::string> command{app.program.string(), "allocations", "tick", "--begun",
                                         store.string()};
  const auto under_way = std::make_shared<std::atomic<bool>>(false);
  return [run, command, under_way] {
    if (under_way->exchange(true)) return;
    std::thread([run, command, under_way] {
      (void)run(command);
      *under_way = false;
    }).detach();
  };
}

struct Whereabouts {
  std::string node;  // as its batch system calls it; empty: none
  std::string cluster;
  bool in_allocation = false;
  Path directory = {};  // of its jobs; empty: not found
};
Whereabouts whereabouts_of(const worker::WorkerSetup& setup) {
  return {setup.is_of_launcher ? setup.machine.host : setup.slurm_node, setup.cluster,
          !setup.allocation.empty()};
}

// Whatever its jobs came to. Whose batch system tells it to leave has done what it was there for:
// an allocation that ends like that has not failed, and its supervisor is to start no other worker.
Exit exit_of_worker(const App& app, const worker::WorkerSummary& summary,
                    const Whereabouts& where) {
  if (summary.end == worker::WorkerEnd::broken) return Exit::store;
  if (summary.end == worker::WorkerEnd::lease_lost && summary.interrupted_by == 0)
    return Exit::store;
  const bool by_hand = !where.in_allocation && !is_supervised(app);
  return by_hand && was_interrupted(summary) ? exit_by_signal(summary.interrupted_by) : Exit::ok;
}

// Further allocations are asked for without it.
void leave_out_node(const App& app, const Path& path, const Whereabouts& where) {
  if (where.node.empty()) return;
  auto store = store::Store::open(app.world, path, workflow::worker_tuning());
  if (!store) return;
  (void)(*store)->commit(0, [&](claim::Transaction& tx) -> Result<void> {
    const auto noted = claim::note_left_node(tx, {where.node, where.cluster, app.clock.wall_now()});
    return noted ? Result<void>() : Result<void>(noted.error());
  });
}

// Nobody else is there to ask for what is left to do.
void pass_last(const App& app, const Path& store) {
  (void)worker::query_program(app, kLastPassLimit)(
      {app.program.string(), "allocations", "tick", "--if-nobody-works", store.string()});
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
  std::optional<std::uint32_t> entry = 0U;
  bool makes_passes = false;
  Whereabouts where;
  const auto summary = live(app.clock, events, [&](int life) -> Result<worker::WorkerSummary> {
    TORC_ASSIGN(auto store, store::Store::open(app.world, path, workflow::worker_tuning()));
    app.world.disk.keep(path);
    TORC_ASSIGN(const workflow::WorkflowSettings settings, workflow::read_settings(*store));
    TORC_ASSIGN(
        worker::WorkerSetup setup,
        worker::make_worker_setup(app, options, path, worker::Place::allocation, settings.run));
    where = whereabouts_of(setup);
    TORC_ASSIGN(setup.directory, workdir_of(app, options.workdir, settings, path));
    where.directory = setup.directory;
    warn(app, setup);
    if (life == 1) {
      TORC_ASSIGN(entry, admit(app, *store, setup));
      if (!entry) return worker::WorkerSummary{};
      unsetenv(allocate::kIntentVariable);  // what a job submits is none of this intent
    }
    setup.ledger_entry = *entry;
    makes_passes = has_batch_system(app, *store);
    if (makes_passes) setup.slurm.start_pass = pass_starter(app, path);
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
  if (!summary) {
    // Others of the allocation's system may have the directory.
    if (where.in_allocation && where.directory.empty() &&
        summary.error().kind != ErrorKind::invalid)
      leave_out_node(app, path, where);
    return summary.error();
  }
  if (!entry) {
    events.asked(
        "this allocation was asked for by a try that was given up, or is not needed any more: its "
        "worker leaves");
    return Exit::ok;
  }
  if (summary->end == worker::WorkerEnd::broken) leave_out_node(app, path, where);
  if (makes_passes) pass_last(app, path);
  const bool left_by_itself = summary->interrupted_by == 0 &&
                              summary->end != worker::WorkerEnd::interrupted &&
                              summary->end != worker::WorkerEnd::lease_lost;
  const auto since = whole_number<std::uint32_t>(app.env(kSupervised).value_or(""));
  if (since && left_by_itself) {
    worker::see_to_end_of_allocation(app, path, claim::WorkerEpoch{summary->epoch},
                                     std::chrono::seconds(*since),
                                     worker::query_program(app, kEndLimit), events.asked);
  }
  TORC_TRY(explain_broken(*summary, where.directory, path));
  return exit_of_worker(app, *summary, where);
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
  c.about("Work for a store until its workflow is done (batch scripts use this)");
  c.argument("STORE", o.store, "store");
  add_worker_flags(c, o);
  const Flag idle = c.option("--workers-idle", o.workers_idle, parse_duration,
                             "leave when no worker of this allocation has had anything to do for "
                             "this time, e.g. 30s")
                        .value("TIME");
  c.flag("--node-is-shared", o.node_is_shared,
         "with --workers-idle: do not wait for the others, since other jobs may use what this "
         "worker leaves of its node")
      .needs(idle);
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
