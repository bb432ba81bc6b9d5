#include "lib/allocate/demand_input.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "lib/claim/queries/queries.h"
#include "lib/claim/queries/workers.h"
#include "lib/claim/rules/offer.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::allocate {
namespace {

using claim::AllocationStage;
using std::chrono::seconds;

std::uint32_t number_of(const std::vector<claim::Scheduler>& schedulers, const std::string& name) {
  for (std::size_t i = 0; i < schedulers.size(); ++i) {
    if (schedulers[i].name == name) return static_cast<std::uint32_t>(i + 1);
  }
  return 0;
}

seconds time_until(WallTime end, WallTime now) {
  return std::max(seconds{0}, std::chrono::duration_cast<seconds>(end - now));
}

bool is_allocation_of(const claim::WorkerInfo& worker, const claim::Allocation& allocation) {
  return !worker.allocation.empty() && worker.allocation == allocation.id &&
         (worker.cluster.empty() || allocation.cluster.empty() ||
          worker.cluster == allocation.cluster);
}

claim::Place place_of_worker(const claim::Worker& worker,
                             const std::vector<claim::Scheduler>& schedulers, WallTime now) {
  const claim::WorkerInfo& info = worker.info;
  claim::Place place;
  place.scheduler = number_of(schedulers, info.scheduler);
  place.scheduler_name = info.scheduler;
  place.labels = info.labels;
  place.any_binding = info.any_binding;
  place.has_limit = info.ends_at.count() != 0;
  if (place.has_limit) place.left = time_until(info.ends_at, now);
  place.node = claim::total_of(info);
  return place;
}

// Of one without workers: it waits, or has just begun.
claim::Place place_of_allocation(std::uint32_t number, const claim::Allocation& allocation,
                                 const std::vector<claim::Scheduler>& schedulers,
                                 const KeptFree& kept, WallTime now) {
  const claim::Scheduler& scheduler = schedulers[allocation.scheduler - 1];
  claim::Place place;
  place.allocation = number;
  place.scheduler = allocation.scheduler;
  place.scheduler_name = scheduler.name;
  place.is_asked_for = allocation.by != claim::AskedBy::demand;
  place.waits = allocation.stage != AllocationStage::running;
  place.has_limit = allocation.walltime.count() > 0;
  place.left = longest_runtime(allocation.walltime, kept);
  if (!place.waits && allocation.ends_at.count() > 0) {
    const seconds unused = allocation.walltime - place.left;
    place.left = std::max(seconds{0}, time_until(allocation.ends_at, now) - unused);
  }
  place.nodes = allocation.nodes;
  place.node = scheduler.node;
  return place;
}

}  // namespace

std::vector<claim::Place> places_of(const std::vector<claim::Worker>& workers,
                                    const claim::Allocations& live,
                                    const std::vector<claim::Scheduler>& schedulers,
                                    const KeptFree& kept, WallTime now) {
  std::vector<claim::Place> places;
  using Alike = std::tuple<std::uint32_t, std::string, std::string, std::string, std::int64_t>;
  std::map<Alike, std::size_t> by_kind;
  std::map<std::uint32_t, bool> has_workers;
  std::map<std::string, std::uint32_t> by_id;
  for (const auto& [number, allocation] : live) {
    if (!allocation.id.empty()) by_id.emplace(allocation.id, number);
  }
  for (const claim::Worker& worker : workers) {
    if (worker.barred) continue;
    claim::Place place = place_of_worker(worker, schedulers, now);
    const auto its = by_id.find(worker.info.allocation);
    if (its != by_id.end() && is_allocation_of(worker.info, live.at(its->second))) {
      place.allocation = its->second;
      has_workers[its->second] = true;
    }
    const Alike alike{place.allocation, worker.info.allocation + "/" + worker.info.group,
                      place.scheduler_name, place.labels + "/" + show(place.node),
                      place.has_limit ? place.left.count() : -1};
    const auto [at, is_new] = by_kind.try_emplace(alike, places.size());
    if (is_new) {
      places.push_back(std::move(place));
    } else {
      ++places[at->second].nodes;
    }
  }
  for (const auto& [number, allocation] : live) {
    if (has_workers.contains(number) || allocation.is_surplus) continue;
    if (allocation.scheduler == 0 || allocation.scheduler > schedulers.size()) continue;
    places.push_back(place_of_allocation(number, allocation, schedulers, kept, now));
  }
  return places;
}

double granted_node_hours(const claim::Allocation& a) {
  const double told =
      a.cpus > 0 ? static_cast<double>(a.core_seconds) / a.cpus : 0;  // seconds of runs that ended
  double time = told + static_cast<double>(a.walltime.count());
  if (!claim::is_live(a)) {
    const bool ran = a.started_at.count() > 0;
    const seconds last = ran ? time_until(a.ended_at, a.started_at) : seconds{0};
    time = std::max(told, static_cast<double>(last.count()));
  }
  return time / 3600 * a.nodes;
}

Result<claim::DemandInput> read_demand(const claim::Reader& reader, WallTime now) {
  claim::DemandInput input;
  TORC_ASSIGN(input.schedulers, claim::read_schedulers(reader));
  if (input.schedulers.empty()) return input;
  TORC_ASSIGN(const claim::Allocations live, claim::read_live_allocations(reader));
  TORC_ASSIGN(const claim::WorkflowState workflow, claim::read_workflow(reader));
  TORC_ASSIGN(const auto settings, workflow::decode_workflow_settings(workflow.settings));
  input.is_over = workflow.finished();
  const KeptFree kept = settings.run.kept_free();
  // As `torc check` reckons which jobs an allocation has time for.
  for (const claim::Scheduler& scheduler : input.schedulers)
    input.usable.push_back(longest_runtime(scheduler.walltime, kept));
  TORC_ASSIGN(claim::WorkOfStore work, claim::read_work(reader));
  input.work = std::move(work.work);
  if (!work.is_whole && !input.work.empty()) {
    // What was not looked at may be anything: nothing that waits is surplus.
    for (claim::WorkLeft& one : input.work) one.later += UINT32_MAX;
  }
  std::vector<claim::Worker> workers;
  TORC_TRY(claim::scan_workers(reader, true, [&](const claim::Worker& worker) {
    workers.push_back(worker);
    return true;
  }));
  input.places = places_of(workers, live, input.schedulers, kept, now);
  const bool has_budget = std::ranges::any_of(input.schedulers, [](const claim::Scheduler& s) {
    return s.terms.budget_core_hours > 0 || s.terms.budget_node_hours > 0;
  });
  if (!has_budget) return input;
  input.core_hours.resize(input.schedulers.size());
  input.node_hours.resize(input.schedulers.size());
  TORC_ASSIGN(const claim::Allocations all, claim::read_allocations(reader));
  for (const auto& [number, a] : all) {
    if (a.scheduler == 0 || a.scheduler > input.schedulers.size()) continue;
    const double hours = granted_node_hours(a);
    const std::uint32_t cpus = std::max<std::uint32_t>(
        1, a.cpus > 0 ? a.cpus / a.nodes : input.schedulers[a.scheduler - 1].node.cpus);
    input.node_hours[a.scheduler - 1] += hours;
    input.core_hours[a.scheduler - 1] += hours * cpus;
  }
  return input;
}

}  // namespace torc::allocate
