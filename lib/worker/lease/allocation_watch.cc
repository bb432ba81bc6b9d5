#include "lib/worker/lease/allocation_watch.h"

#include <algorithm>
#include <utility>

#include "lib/claim/queries/workers.h"

namespace torc::worker {
namespace {

bool holds(const claim::Worker& worker) {
  return worker.held + worker.ending + worker.acting > 0 || worker.in_gang;
}

}  // namespace

Result<AllocationUse> AllocationWatch::look(const claim::Reader& reader) {
  AllocationUse use;
  TORC_ASSIGN(const auto own, claim::find_worker(reader, self_));
  if (!own || own->status != claim::WorkerStatus::registered) {
    return Error{ErrorKind::fenced, "this worker is not registered any more",
                 "its jobs were handed on"};
  }
  std::map<claim::WorkerEpoch, std::uint64_t> renewals;
  std::uint64_t passed = passed_;
  const auto add = [&](const claim::Worker& worker) {
    if (worker.status != claim::WorkerStatus::registered) return;
    if (!claim::are_of_one_allocation(worker.info, own->info)) return;
    use.is_busy = use.is_busy || holds(worker);
    use.is_kept = use.is_kept || worker.reserved;
    if (worker.epoch == self_) return;
    const auto before = renewals_.find(worker.epoch);
    const bool same = before != renewals_.end() && before->second == worker.renewals;
    use.was_active = use.was_active || !same;
    renewals.emplace(worker.epoch, worker.renewals);
  };
  for (const auto& [epoch, known] : renewals_) {
    TORC_ASSIGN(const auto worker, claim::find_worker(reader, epoch));
    if (worker) add(*worker);
  }
  TORC_TRY(claim::scan_live_from(reader, claim::WorkerEpoch{passed + 1},
                                 [&](const claim::Worker& worker) {
                                   passed = claim::raw(worker.epoch);
                                   add(worker);
                                   return true;
                                 }));
  if (claim::raw(self_) <= passed_) add(*own);
  TORC_TRY(look_at_others(reader, own->info));
  use.others_hold = !others_.empty();
  renewals_ = std::move(renewals);
  passed_ = passed;
  return use;
}

// They are looked for anew only when none of those that are known holds anything any more.
Result<void> AllocationWatch::look_at_others(const claim::Reader& reader,
                                             const claim::WorkerInfo& own) {
  std::map<claim::WorkerEpoch, Other> others;
  for (auto& [epoch, other] : others_) {
    TORC_ASSIGN(auto worker, claim::find_worker(reader, epoch));
    if (!worker || worker->status != claim::WorkerStatus::registered || !holds(*worker)) continue;
    const bool lives = worker->renewals != other.worker.renewals;
    others.emplace(epoch, Other{*std::move(worker), other.heartbeats, lives});
  }
  if (others.empty()) {
    TORC_TRY(claim::scan_workers(reader, true, [&](const claim::Worker& worker) {
      if (holds(worker) && !claim::are_of_one_allocation(worker.info, own))
        others.emplace(worker.epoch, Other{worker, {}, false});
      return others.size() < kMostOthers;
    }));
  }
  others_ = std::move(others);
  return {};
}

bool AllocationWatch::others_live(const ReadHeartbeat& heartbeat) {
  bool live = false;
  for (auto& [epoch, other] : others_) {
    const auto counter = heartbeat(other.worker);
    // The first that is read says nothing of when it was written.
    live = live || other.lives || (counter && other.heartbeats && *counter != *other.heartbeats);
    if (counter) other.heartbeats = counter;
  }
  return live;
}

}  // namespace torc::worker
