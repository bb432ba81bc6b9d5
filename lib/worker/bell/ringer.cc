#include "lib/worker/bell/ringer.h"

#include <algorithm>
#include <utility>

#include "lib/claim/queries/gangs.h"
#include "lib/claim/queries/workers.h"
#include "lib/claim/tables/state.h"
#include "lib/worker/bell/addresses.h"

namespace torc::worker {
namespace {

WorkSeen seen_in(const claim::Reader& reader) {
  claim::State state(reader);
  const claim::Tally tally = state.tally();
  claim::WorkflowState workflow;
  workflow.counts = tally.counts;
  workflow.ending = tally.ending;
  const auto text = reader.get(claim::Key(claim::Table::workflow));
  const auto record = text ? claim::decode_workflow(*text) : std::nullopt;
  if (record) workflow.max_failures = record->max_failures;
  return {workflow.halted() ? 0 : tally.of(claim::JobState::ready), workflow.jobs_over()};
}

}  // namespace

RingPlan whom_to_ring(const WorkSeen& before, const WorkSeen& after, std::uint64_t anew) {
  if (after.over) return before.over ? RingPlan{} : RingPlan{kMostRungAtEnd, true};
  const std::uint64_t more = after.ready - std::min(after.ready, before.ready);
  const std::uint64_t told = std::max(more, std::min(anew, after.ready));
  return {static_cast<std::size_t>(std::min<std::uint64_t>(told, kMostRung)), false};
}

void Ringer::before(const claim::Reader& reader) {
  idle_.clear();
  concerned_.clear();
  if (datagrams_ == nullptr) return;
  before_ = seen_in(reader);
  taken_before_ = claim::slots_taken(reader);
}

void Ringer::after(const claim::Reader& reader, std::uint64_t anew, WallTime now) {
  if (datagrams_ == nullptr) return;
  const std::uint64_t let = claim::let_by_limits(reader, taken_before_);
  const RingPlan plan = whom_to_ring(before_, seen_in(reader), std::max(anew, let));
  if (plan.most == 0) return;
  auto found =
      claim::find_idle_workers(reader, {self_, plan.most, reader.sequence(), !plan.at_end, now});
  if (found) idle_ = *std::move(found);
}

void Ringer::concern(const claim::Reader& reader, std::span<const claim::WorkerEpoch> workers) {
  if (datagrams_ == nullptr) return;
  for (const claim::WorkerEpoch epoch : workers) {
    const bool known =
        std::any_of(concerned_.begin(), concerned_.end(),
                    [&](const claim::IdleWorker& other) { return other.epoch == epoch; });
    if (epoch == self_ || known) continue;
    auto worker = claim::read_worker(reader, epoch);
    if (!worker || worker->status != claim::WorkerStatus::registered || !worker->info.bell)
      continue;
    concerned_.push_back({epoch, *std::move(worker->info.bell), std::move(worker->info.boot_id)});
  }
}

void Ringer::concern_changed(const claim::Transaction& tx) {
  if (datagrams_ != nullptr) concern(tx, claim::concerned_by(tx));
}

void Ringer::ring(const claim::IdleWorker& worker, std::uint32_t place, std::uint64_t commit,
                  const StoreInstance& store) {
  const std::string bell = render_bell({commit, place}, store, worker.bell.key);
  for (const claim::BellAddress& to : worker.bell.addresses) {
    if (!may_be_rung(to)) continue;
    // That of another host is this one's.
    if (!is_loopback(to) || worker.boot_id == boot_id_) datagrams_->send(to, bell);
  }
}

void Ringer::ring(std::uint64_t commit, const StoreInstance& store) {
  const auto concerned = std::exchange(concerned_, {});
  for (const claim::IdleWorker& worker : concerned) ring(worker, 0, commit, store);
  std::uint32_t place = 0;
  for (const claim::IdleWorker& worker : std::exchange(idle_, {})) {
    const bool was_rung =
        std::any_of(concerned.begin(), concerned.end(),
                    [&](const claim::IdleWorker& other) { return other.epoch == worker.epoch; });
    if (!was_rung) ring(worker, place++, commit, store);
  }
}

}  // namespace torc::worker
