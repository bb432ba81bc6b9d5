#include <fmt/format.h>

#include "lib/claim/claimer.h"
#include "lib/claim/ledger.h"
#include "lib/claim/tables.h"
#include "lib/claim/transition.h"

namespace torc::claim {
namespace {

// Fills in what the lease of a living worker says.
Worker with_lease(Worker worker, const std::optional<Lease>& lease) {
  if (!lease) return worker;
  worker.renewals = lease->renewals;
  worker.last_seen = lease->last_seen;
  worker.finished = lease->finished;
  worker.held = lease->held.size();
  return worker;
}

// Takes the worker off the list of the living and keeps its last words.
void bury(Ledger& ledger, WorkerEpoch epoch, WorkerStatus status, const Lease& lease) {
  const Key key(Table::worker, raw(epoch));
  ledger.tx().erase(Key(Table::lease, raw(epoch)));
  --ledger.tally().living;
  const auto worker = ledger.state().worker(epoch);
  if (!worker) return ledger.state().damaged(key);
  ledger.tx().put(key, encode_worker(worker->info, status, lease));
}

// The job of `id` that the worker's lease says it holds.
std::optional<Job> held_job(Ledger& ledger, std::uint64_t id, WorkerEpoch worker) {
  auto job = ledger.state().record(id);
  if (job && is_live(job->state) && job->worker == worker) return job;
  ledger.state().damaged(Key(Table::job, id));
  return std::nullopt;
}

}  // namespace

Error fenced(WorkerEpoch epoch) {
  return Error{ErrorKind::fenced,
               fmt::format("worker {} is no longer one of the living: its lease expired or it left",
                           raw(epoch)),
               "stop its jobs; they are given to others. A new worker may be started"};
}

std::string_view to_string(WorkerStatus status) {
  switch (status) {
    case WorkerStatus::living:
      return "living";
    case WorkerStatus::released:
      return "released";
    case WorkerStatus::expired:
      return "expired";
  }
  return "?";
}

Result<WorkerEpoch> register_worker(Transaction& tx, const WorkerInfo& info) {
  const WorkerEpoch epoch{tx.sequence()};
  Ledger ledger(tx);
  if (raw(epoch) == 0 || ledger.state().worker(epoch)) {
    return Error{ErrorKind::invalid,
                 fmt::format("commit {} cannot register a worker: its number is taken", raw(epoch)),
                 "register one worker in a commit"};
  }
  Lease lease;
  lease.renewals = 1;
  lease.last_seen = info.registered_at;
  tx.put(Key(Table::worker, raw(epoch)), encode_worker(info, WorkerStatus::living, Lease{}));
  tx.put(Key(Table::lease, raw(epoch)), encode(lease));
  ++ledger.tally().living;
  TORC_TRY(ledger.close());
  return epoch;
}

Result<void> release_worker(Transaction& tx, WorkerEpoch worker, WallTime now) {
  Ledger ledger(tx);
  auto lease = ledger.state().lease(worker);
  TORC_TRY(ledger.state().sound());
  if (!lease) return fenced(worker);
  for (std::uint64_t id : lease->held) {
    const auto job = held_job(ledger, id, worker);
    if (!job) break;
    const Decision decision = give_back(*job, worker, token_of(JobId{id}, *job), now);
    if (const auto* after = std::get_if<Job>(&decision)) ledger.change(id, job->state, *after);
  }
  ++lease->renewals;
  lease->last_seen = now;
  bury(ledger, worker, WorkerStatus::released, *lease);
  return ledger.close();
}

Result<bool> expire_worker(Transaction& tx, WorkerEpoch worker, std::uint64_t observed,
                           WallTime now, std::uint32_t crash_limit) {
  Ledger ledger(tx);
  const auto lease = ledger.state().lease(worker);
  TORC_TRY(ledger.state().sound());
  if (!lease || lease->renewals != observed) return false;
  for (std::uint64_t id : lease->held) {
    const auto job = held_job(ledger, id, worker);
    if (!job) break;
    ledger.change(id, job->state, lose(*job, crash_limit, now));
  }
  bury(ledger, worker, WorkerStatus::expired, *lease);
  TORC_TRY(ledger.close());
  return true;
}

std::optional<Worker> read_worker(const Reader& reader, WorkerEpoch epoch) {
  State state(reader);
  auto worker = state.worker(epoch);
  if (!worker) return std::nullopt;
  return with_lease(*std::move(worker), state.lease(epoch));
}

void scan_workers(const Reader& reader, bool living_only,
                  const std::function<bool(const Worker&)>& visit) {
  const Table table = living_only ? Table::lease : Table::worker;
  Key from(table);
  while (const auto entry = reader.seek(from)) {
    const auto epoch = id_in(table, entry->key);
    if (!epoch) return;
    const auto worker = read_worker(reader, WorkerEpoch{*epoch});
    if (worker && !visit(*worker)) return;
    if (*epoch == UINT64_MAX) return;
    from = Key(table, *epoch + 1);
  }
}

std::vector<WorkerEpoch> successors(const Reader& reader, WorkerEpoch self, std::size_t count) {
  std::vector<WorkerEpoch> ring;
  const auto collect = [&](std::uint64_t from, std::uint64_t to) {  // [from, to)
    while (ring.size() < count && from < to) {
      const auto entry = reader.seek(Key(Table::lease, from));
      const auto epoch = entry ? id_in(Table::lease, entry->key) : std::nullopt;
      if (!epoch || *epoch >= to) return;
      ring.push_back(WorkerEpoch{*epoch});
      from = *epoch + 1;
    }
  };
  collect(raw(self) + 1, UINT64_MAX);
  collect(0, raw(self));
  return ring;
}

}  // namespace torc::claim
