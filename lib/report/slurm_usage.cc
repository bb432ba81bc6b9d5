#include "lib/report/slurm_usage.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "lib/base/json_value.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/base/text/table.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/queries/workers.h"
#include "lib/worker/setup/worker_setup.h"
#include "lib/workflow/plan/slurm_question.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::report {
namespace {

using nlohmann::ordered_json;
using std::chrono::seconds;

seconds between(WallTime from, WallTime to) {
  return std::max(std::chrono::duration_cast<seconds>(to - from), seconds{0});
}

// Of one run of an allocation, as its workers tell it.
struct Seen {
  AllocationUse use;
  std::map<std::string, std::uint64_t> cpus;  // of each node, the most that a worker handed out
  WallTime last{};
  bool lives = false;
};

void add(Seen& seen, const claim::Worker& worker, WallTime now) {
  const claim::WorkerInfo& info = worker.info;
  AllocationUse& use = seen.use;
  const WallTime began =
      info.allocation_start.count() != 0 ? info.allocation_start : info.registered_at;
  if (use.start.count() == 0 || began < use.start) use.start = began;
  if (!info.scheduler.empty()) use.scheduler = info.scheduler;
  std::uint64_t& cpus = seen.cpus[info.node.empty() ? info.host : info.node];
  cpus = std::max<std::uint64_t>(cpus, info.cpus);
  const bool lives = worker.status == claim::WorkerStatus::registered;
  // One that was lost did nothing after its last words; others find that later.
  const WallTime gone =
      worker.status == claim::WorkerStatus::released ? worker.gone_at : worker.last_seen;
  seen.last = std::max({seen.last, info.registered_at, lives ? now : gone});
  seen.lives = seen.lives || lives;
}

// That sacct tells of is the one that torc knows.
bool is_same(const AllocationUse& known, const slurm::Accounted& told) {
  return known.allocation == told.allocation &&
         (known.cluster.empty() || known.cluster == told.cluster);
}

bool is_same_run(const AllocationUse& known, const slurm::Accounted& told) {
  // Where Slurm told no start the first registration stands for it, which comes within the run.
  const bool began = known.start >= told.start;
  return is_same(known, told) && began && (told.end.count() == 0 || known.start <= told.end);
}

AllocationUse use_of(const slurm::Accounted& told, std::string scheduler) {
  return {Source::sacct, told.allocation, told.cluster, std::move(scheduler), told.state,
          told.start,    told.end,        told.elapsed, told.nodes,           told.cpus};
}

std::string show_hours(seconds time) {
  return fmt::format("{:.3f} h", static_cast<double>(time.count()) / 3600);
}

std::string dash(const std::string& text) {
  return text.empty() ? "-" : printable(text);
}

std::string show_ending(const slurm::Accounted& step) {
  if (!step.exit_code) return "-";
  return step.signal.value_or(0) == 0 ? fmt::format("{}", *step.exit_code)
                                      : fmt::format("{}:{}", *step.exit_code, *step.signal);
}

seconds total(const SlurmUsage& usage, seconds (AllocationUse::*time)() const) {
  seconds sum{0};
  for (const AllocationUse& use : usage.allocations) sum += (use.*time)();
  return sum;
}

}  // namespace

std::string_view to_string(Source source) {
  return source == Source::sacct ? "sacct" : "torc";
}

seconds AllocationUse::node_time() const {
  return elapsed * static_cast<std::int64_t>(nodes);
}

seconds AllocationUse::core_time() const {
  return elapsed * static_cast<std::int64_t>(cpus);
}

std::vector<AllocationUse> use_by_workers(const std::vector<claim::Worker>& workers, WallTime now) {
  std::map<std::tuple<std::string, std::string, WallTime>, Seen> runs;
  for (const claim::Worker& worker : workers) {
    const claim::WorkerInfo& info = worker.info;
    if (info.allocation.empty()) continue;
    add(runs[{info.cluster, info.allocation, info.allocation_start}], worker, now);
  }
  std::vector<AllocationUse> all;
  for (auto& [name, seen] : runs) {
    AllocationUse use = std::move(seen.use);
    std::tie(use.cluster, use.allocation, std::ignore) = name;
    use.state = seen.lives ? "workers" : "ended";
    if (!seen.lives) use.end = seen.last;
    use.elapsed = between(use.start, seen.last);
    use.nodes = seen.cpus.size();
    for (const auto& [node, cpus] : seen.cpus) use.cpus += cpus;
    all.push_back(std::move(use));
  }
  std::ranges::stable_sort(all, {}, &AllocationUse::start);
  return all;
}

std::vector<AllocationUse> with_accounting(std::vector<AllocationUse> known,
                                           const std::vector<slurm::Accounted>& told) {
  std::vector<AllocationUse> all;
  for (const slurm::Accounted& run : told) {
    if (!run.step.empty() || run.start.count() == 0) continue;  // one that waits has used nothing
    const auto same = std::ranges::find_if(known, [&](const auto& k) { return is_same(k, run); });
    if (same != known.end()) all.push_back(use_of(run, same->scheduler));
  }
  for (AllocationUse& use : known) {
    const bool is_told = std::ranges::any_of(told, [&](const slurm::Accounted& run) {
      return run.step.empty() && run.start.count() != 0 && is_same_run(use, run);
    });
    if (!is_told) all.push_back(std::move(use));
  }
  std::ranges::stable_sort(all, {}, &AllocationUse::start);
  return all;
}

std::vector<slurm::Accounted> steps_of(const std::vector<AllocationUse>& known,
                                       const std::vector<slurm::Accounted>& told) {
  std::vector<slurm::Accounted> steps;
  std::ranges::copy_if(told, std::back_inserter(steps), [&](const slurm::Accounted& step) {
    return !step.step.empty() &&
           std::ranges::any_of(known, [&](const auto& k) { return is_same(k, step); });
  });
  return steps;
}

Result<SlurmUsage> look_at_usage(const workflow::Context& context, store::Store& store) {
  SlurmUsage usage;
  std::vector<claim::Worker> workers;
  TORC_TRY(store.view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
    TORC_ASSIGN(const auto workflow, claim::read_workflow(reader));
    if (const auto settings = workflow::decode_workflow_settings(workflow.settings))
      usage.workflow = settings->run.name;
    return claim::scan_workers(reader, false, [&](const claim::Worker& worker) {
      if (!worker.info.allocation.empty()) workers.push_back(worker);
      return true;
    });
  }));
  usage.allocations = use_by_workers(workers, context.clock.wall_now());
  if (usage.allocations.empty()) return usage;
  if (!workflow::can_ask_slurm(context, "sacct")) {
    usage.failure = "there is no sacct on PATH";
    return usage;
  }
  std::vector<std::string> ids;
  for (const AllocationUse& use : usage.allocations) ids.push_back(use.allocation);
  const BootTime deadline = context.clock.boot_now() + kAccountingLimit;
  const slurm::RunProgram run =
      [&](const std::vector<std::string>& argv) -> Result<slurm::CommandOutput> {
    const std::chrono::nanoseconds left = deadline - context.clock.boot_now();
    if (left.count() <= 0) return slurm::CommandOutput{-1, {}, {}};  // as one that took too long
    return worker::query_program(context, left)(argv);
  };
  const slurm::Accounting told = slurm::ask_accounting(run, ids);
  usage.failure = told.failure;
  usage.answered = told.failure.empty();
  usage.steps = steps_of(usage.allocations, told.rows);
  usage.allocations = with_accounting(std::move(usage.allocations), told.rows);
  return usage;
}

std::string show_silence(const SlurmUsage& usage) {
  if (usage.failure.empty()) return {};
  return fmt::format("sacct does not tell all: {}; `from` says whose each figure is",
                     printable(usage.failure));
}

std::string to_text(const SlurmUsage& usage, std::optional<std::size_t> most) {
  if (usage.allocations.empty()) return "no worker of this workflow was in an allocation\n";
  torc::Table table({{"allocation"},
                     {"scheduler", Align::left, Shorten::yes},
                     {"state"},
                     {"start"},
                     {"time", Align::right},
                     {"nodes", Align::right},
                     {"CPUs", Align::right},
                     {"node time", Align::right},
                     {"core time", Align::right},
                     {"from"}});
  for (const AllocationUse& use : usage.allocations) {
    table.add({printable(use.allocation), dash(use.scheduler), dash(use.state),
               show_time(use.start), show_duration(use.elapsed), std::to_string(use.nodes),
               std::to_string(use.cpus), show_hours(use.node_time()), show_hours(use.core_time()),
               std::string(to_string(use.from))});
  }
  return fmt::format("{}{} of nodes, {} of cores in {}\n", table.text(most),
                     show_hours(total(usage, &AllocationUse::node_time)),
                     show_hours(total(usage, &AllocationUse::core_time)),
                     usage.allocations.size() == 1
                         ? "1 allocation"
                         : show_count(usage.allocations.size()) + " allocations");
}

std::string steps_text(const SlurmUsage& usage, std::optional<std::size_t> most) {
  if (usage.steps.empty()) return {};
  torc::Table table({{"step"},
                     {"name", Align::left, Shorten::yes},
                     {"state"},
                     {"exit", Align::right},
                     {"time", Align::right},
                     {"CPU time", Align::right},
                     {"peak memory", Align::right},
                     {"nodes", Align::left, Shorten::yes},
                     {"from"}});
  for (const slurm::Accounted& step : usage.steps) {
    table.add({printable(step.allocation + "." + step.step), dash(step.name), dash(step.state),
               show_ending(step), show_duration(step.elapsed),
               step.ave_cpu ? show_duration(*step.ave_cpu) : "-",
               step.max_rss ? show_bytes(*step.max_rss) : "-", dash(step.node_list), "sacct"});
  }
  return table.text(most);
}

ordered_json accounting_json(const SlurmUsage& usage) {
  return {{"answered", usage.answered}, {"failure", json_or_null(usage.failure)}};
}

ordered_json step_json(const slurm::Accounted& step) {
  ordered_json out;
  out["step"] = step.allocation + "." + step.step;
  out["allocation"] = step.allocation;
  out["step_name"] = step.name;
  out["slurm_state"] = step.state;
  out["exit_code"] = json_if(step.exit_code.has_value(), step.exit_code.value_or(0));
  out["signal"] = json_or_null(step.signal.value_or(0));
  out["started_at"] = json_time(step.start);
  out["ended_at"] = json_time(step.end);
  out["elapsed_seconds"] = step.elapsed.count();
  out["nodes"] = json_or_null(step.nodes);
  out["node_list"] = json_or_null(step.node_list);
  out["cpus"] = json_or_null(step.cpus);
  out["mean_cpu_seconds"] =
      json_if(step.ave_cpu.has_value(), step.ave_cpu.value_or(seconds{}).count());
  out["peak_memory_bytes"] =
      json_if(step.max_rss.has_value(), step.max_rss.value_or(ByteCount{}).value);
  out["told_by"] = to_string(Source::sacct);
  return out;
}

ordered_json to_json(const SlurmUsage& usage) {
  ordered_json out;
  out["workflow"] = usage.workflow;
  out["accounting"] = accounting_json(usage);
  out["node_seconds"] = total(usage, &AllocationUse::node_time).count();
  out["core_seconds"] = total(usage, &AllocationUse::core_time).count();
  out["allocation_runs"] = ordered_json::array();
  for (const AllocationUse& use : usage.allocations) {
    ordered_json one;
    one["allocation"] = use.allocation;
    one["cluster"] = json_or_null(use.cluster);
    one["scheduler"] = json_or_null(use.scheduler);
    one["slurm_state"] = use.state;
    one["started_at"] = json_time(use.start);
    one["ended_at"] = json_time(use.end);
    one["elapsed_seconds"] = use.elapsed.count();
    one["nodes"] = use.nodes;
    one["cpus"] = use.cpus;
    one["node_seconds"] = use.node_time().count();
    one["core_seconds"] = use.core_time().count();
    one["told_by"] = to_string(use.from);
    out["allocation_runs"].push_back(std::move(one));
  }
  return out;
}

}  // namespace torc::report
