#include "bin/commands/run/working.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bin/commands/workdir.h"
#include "lib/base/labels.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/claim/queries/queries.h"
#include "lib/report/job_view.h"
#include "lib/spec/text/diagnostic.h"
#include "lib/worker/loop/lives.h"
#include "lib/workflow/plan/make_store.h"

namespace torc::cli {

void add_worker_flags(Command& c, worker::WorkerOptions& o) {
  constexpr std::uint64_t kMostCpus = 1 << 20;
  c.option("--num-cpus", o.cpus, "CPUs to use instead of those granted")
      .value("N")
      .between(std::uint64_t{1}, kMostCpus);
  c.option("--memory", o.memory, parse_memory, "memory to use, e.g. 16g").value("SIZE");
  c.option("--num-gpus", o.gpus, "GPUs to use, at most those found").value("N");
  c.option("--resource", o.resources,
           "what this node has besides: an amount (scratch_gb=500), pieces (port=8000-8009, "
           "fpga=[a,b]), or what its GPUs are (gpus/a100=2)")
      .value("NAME=…")
      .one_at_a_time();
  c.option("-j,--max-parallel-jobs", o.max_parallel_jobs,
           "run at most N jobs at a time, whatever they need")
      .value("N")
      .at_least_one();
  c.flag("--overcommit", o.overcommit,
         "take no notice of other workers on this node, and let them take none of this one");
  c.option("--scheduler", o.scheduler, "serve jobs bound to this scheduler (and unbound ones)")
      .value("NAME");
  const Flag label =
      c.option(
           "--label", o.labels,
           "serve jobs whose labels are all among those given: --label gpu --label ssd, or gpu,ssd")
          .value("NAME")
          .one_at_a_time();
  c.flag("--also-unlabelled", o.also_unlabelled, "with --label: jobs that ask for no label, too")
      .needs(label);
  c.option("--time-limit", o.time_limit, parse_duration, "end all jobs within this time, e.g. 4h")
      .value("TIME");
  c.option("--idle-timeout", o.idle_timeout, parse_duration,
           "leave after this time without a job (default: stay until the workflow is done)")
      .value("TIME");
  c.option(
       "--grace", o.grace, parse_duration,
       "after SIGTERM all jobs end within this time (default 30s; under Slurm KillWait less 5s)")
      .value("TIME");
  c.option(
       "--lease-ttl", o.lease_ttl, parse_duration,
       "silence after which other workers take over this worker's jobs (default 5m, at least 10s)")
      .value("TIME");
  c.flag("--no-bell", o.no_bell,
         "use no UDP messages between workers, by which they hear of work at once");
  c.option("--bell-interface", o.bell_interface,
           "interface or address for these messages (default: what this host's name stands for)")
      .value("NAME|ADDRESS");
  c.option("--output-dir", o.output_dir, "where job output goes (default: STORE/logs/jobs)")
      .value("DIR");
  add_workdir(c, o.workdir, "where its jobs run (default: the working directory of the workflow)");
  c.flag("-q,--quiet", o.quiet, "print nothing but errors");
}

Result<worker::WorkerSummary> work_here(const App& app, std::unique_ptr<store::Store> store,
                                        const worker::WorkerSetup& setup,
                                        const worker::WorkerEvents& events) {
  const Path directory = store->directory();
  app.world.disk.keep(directory);
  TORC_ASSIGN(const auto seen, store::LastSeen::of(app.world, *store));
  return worker::live(app.clock, events, [&](int life) -> Result<worker::WorkerSummary> {
    if (life > 1) {
      auto opened = store::Store::open(app.world, directory, workflow::worker_tuning());
      if (!opened) {
        const auto there = seen.check_still_there();
        return !there && store::is_gone(there.error()) ? there.error() : opened.error();
      }
      store = *std::move(opened);
    }
    return worker::work(app, std::move(store), setup, events);
  });
}

void warn(const App& app, const worker::WorkerSetup& setup) {
  if (!setup.warning.empty()) say(app.err, "torc: warning: {}\n", setup.warning);
}

Result<void> note_unknown_bindings(const App& app, store::Store& store,
                                   const worker::WorkerOptions& options) {
  std::vector<std::string> schedulers;
  std::vector<std::string> labels;
  std::vector<std::string> resources;  // without their types
  bool unbound = false;
  TORC_TRY(store.view(store::Freshness::cached, [&](const claim::Reader& reader) -> Result<void> {
    schedulers.clear();
    labels.clear();
    resources.clear();
    unbound = false;
    return claim::scan_classes(reader, [&](const claim::JobClass& c) {
      if (!c.scheduler.empty()) schedulers.push_back(c.scheduler);
      for (const std::string_view label : labels_of(c.labels)) labels.emplace_back(label);
      for (std::uint32_t a = 0; a < c.alternatives(); ++a) {
        for (const Amount& need : c.need_of(a).named) resources.emplace_back(base_name(need.name));
      }
      unbound = unbound || (c.scheduler.empty() && c.labels.empty());
      return true;
    });
  }));
  const auto note = [&](const char* flag, const std::string& name,
                        const std::vector<std::string>& known) {
    if (name.empty() || std::find(known.begin(), known.end(), name) != known.end()) return;
    const std::string near = spec::nearest(name, known);
    if (near.empty() && unbound) return;
    say(app.err, "torc: note: no job asks for {} {}{}\n", flag, shell_word(name),
        near.empty() ? ", and all ask for one"
                     : fmt::format("; did you mean {}?", shell_word(near)));
  };
  note("--scheduler", options.scheduler, schedulers);
  for (const std::string& some : options.labels) {
    for (const std::string_view label : labels_of(some))
      note("--label", std::string(label), labels);
  }
  for (const std::string& told : options.resources) {
    const std::string whole = resource_name(told.substr(0, told.find('='))).value_or("");
    const std::string name(base_name(whole));
    if (name.empty() || std::ranges::find(resources, name) != resources.end()) continue;
    const std::string near = spec::nearest(name, resources);
    if (!near.empty())
      say(app.err, "torc: note: no job asks for --resource {}; did you mean {}?\n", name, near);
  }
  return {};
}

Exit exit_of(const worker::WorkerSummary& summary) {
  if (summary.end == worker::WorkerEnd::lease_lost || summary.end == worker::WorkerEnd::broken)
    return Exit::store;
  if (was_interrupted(summary)) return exit_by_signal(summary.interrupted_by);
  return exit_of(summary.workflow);
}

Exit exit_of(const claim::WorkflowState& workflow) {
  if (workflow.all_completed() && workflow.finished())
    return workflow.outdated > 0 ? Exit::unfinished : Exit::ok;
  const bool is_left = !workflow.finished() || workflow.of(claim::JobState::held) > 0;
  const std::uint64_t bad =
      report::failures(workflow) + workflow.of(claim::JobState::pending_failed);
  return bad == 0 && is_left ? Exit::unfinished : Exit::failed;
}

bool was_interrupted(const worker::WorkerSummary& summary) {
  return summary.interrupted_by != 0 && !summary.workflow.finished() &&
         summary.end != worker::WorkerEnd::chosen_over;
}

Exit exit_by_signal(int signal) {
  constexpr int kSignals = 128;
  return static_cast<Exit>(kSignals + signal);
}

std::string signal_name(int signal) {
  switch (signal) {
    case SIGINT:
      return "SIGINT";
    case SIGTERM:
      return "SIGTERM";
    case SIGHUP:
      return "SIGHUP";
    case SIGPIPE:
      return "SIGPIPE";
    default:
      return fmt::format("signal {}", signal);
  }
}

Result<void> explain_broken(const worker::WorkerSummary& summary, const Path& directory,
                            const Path& store) {
  if (summary.end != worker::WorkerEnd::broken) return {};
  Result<void> there = workflow::expect_directory(directory, store);
  // Of what does not answer the worker has said so.
  return there || there.error().kind != ErrorKind::not_found ? Result<void>() : there;
}

const EndWords& words_of(worker::WorkerEnd end) {
  static constexpr std::array<EndWords, 8> kWords = {
      {{"workflow_finished", "the workflow is finished"},
       {"nothing_fits", "the jobs that are left do not fit this worker"},
       {"time_up", "its time is up"},
       {"idle", "idle for too long"},
       {"interrupted", "told to stop"},
       {"broken", "this node cannot run jobs"},
       {"lease_lost", "its lease was lost"},
       {"chosen_over", "the jobs that were asked for have ended"}}};
  return kWords.at(static_cast<std::size_t>(end));
}

}  // namespace torc::cli
