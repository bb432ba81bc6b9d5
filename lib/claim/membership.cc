#include <fmt/format.h>

#include "lib/claim/claimer.h"
#include "lib/claim/firing.h"
#include "lib/claim/lease.h"
#include "lib/claim/ledger.h"
#include "lib/claim/retry.h"
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
  worker.ttl = lease->ttl;
  worker.ending = lease->ending.size();
  worker.barred = lease->barred;
  return worker;
}

Key host_key(std::string_view host, WorkerEpoch epoch) {
  return Key(Table::host, name_hash(host)).be64(raw(epoch));
}

// The first living worker on the host with an epoch of at least `from`.
std::optional<WorkerEpoch> first_on(State& state, std::string_view host, std::uint64_t from) {
  const Key prefix(Table::host, name_hash(host));
  const Key at = host_key(host, WorkerEpoch{from});
  const auto entry = state.reader().seek(at);
  if (!entry || !entry->key.starts_with(std::string_view(prefix))) return std::nullopt;
  // A key of another length would give an epoch below `from`, and whoever asks on no end.
  if (entry->key.size() != std::string_view(at).size()) {
    state.damaged(entry->key);
    return std::nullopt;
  }
  std::uint64_t epoch = 0;
  for (const char c : entry->key.substr(std::string_view(prefix).size())) {
    epoch = (epoch << 8) | static_cast<std::uint8_t>(c);
  }
  return WorkerEpoch{epoch};
}

// Takes the worker off the list of the living and keeps its last words.
void bury(Ledger& ledger, WorkerEpoch epoch, WorkerStatus status, const Lease& lease,
          WallTime now) {
  const Key key(Table::worker, raw(epoch));
  ledger.tx().erase(Key(Table::lease, raw(epoch)));
  --ledger.tally().living;
  const auto worker = ledger.state().worker(epoch);
  if (!worker) return ledger.state().damaged(key);
  ledger.tx().put(key, encode_worker(worker->info, status, lease, now));
  const Key at_host = host_key(worker->info.host, epoch);
  if (!ledger.tx().get(at_host)) return ledger.state().damaged(at_host);
  ledger.tx().erase(at_host);
  if (!first_on(ledger.state(), worker->info.host, 0)) --ledger.tally().hosts;
}

// The job of `id` that the worker's lease says it holds.
std::optional<Job> held_job(Ledger& ledger, std::uint64_t id, WorkerEpoch worker) {
  auto job = ledger.state().record(id);
  if (job && is_live(job->state) && job->worker == worker) return job;
  ledger.state().damaged(Key(Table::job, id));
  return std::nullopt;
}

// Of the suspects that the worker holds, the one that it was granted last: the others had outlived
// their probation before. 0: it holds none.
std::uint64_t newest_suspect(Ledger& ledger, const Lease& lease) {
  std::uint64_t newest = 0;
  std::uint64_t claim = 0;
  for (std::uint64_t id : lease.held) {
    const auto job = ledger.state().record(id);
    if (!job || !is_suspect(*job) || job->claim < claim) continue;
    claim = job->claim;
    newest = id;
  }
  return newest;
}

// Nothing runs any more of what was canceled while the worker held it.
void conclude_revoked(Ledger& ledger, const Lease& lease, WorkerEpoch worker) {
  for (std::uint64_t id : lease.ending) {
    const auto job = ledger.state().record(id);
    if (!job || job->revoked == Revoked::no || job->worker != worker) {
      return ledger.state().damaged(Key(Table::job, id));
    }
    ledger.change(id, *job, ended(*job, nullptr));
  }
}

}  // namespace

Error fenced(WorkerEpoch epoch) {
  return Error{ErrorKind::fenced,
               fmt::format("worker {} is no longer one of the living: its lease expired or it left",
                           raw(epoch)),
               "stop its jobs; they are given to others. A new worker may be started"};
}

Result<WorkerEpoch> register_worker(Transaction& tx, WorkerInfo info) {
  const WorkerEpoch epoch{tx.sequence()};
  Ledger ledger(tx, info.registered_at);
  if (raw(epoch) == 0 || ledger.state().worker(epoch)) {
    return Error{ErrorKind::invalid,
                 fmt::format("commit {} cannot register a worker: its number is taken", raw(epoch)),
                 "register one worker in a commit"};
  }
  Lease lease;
  lease.renewals = 1;
  lease.last_seen = info.registered_at;
  lease.ttl = lease_ttl(info.lease_ttl, ledger.tally().living + 1, info.lease_beat);
  info.own_beat_file = ledger.tally().living < store::kOwnBeatFiles;
  if (!first_on(ledger.state(), info.host, 0)) ++ledger.tally().hosts;
  tx.put(host_key(info.host, epoch), {});
  tx.put(Key(Table::worker, raw(epoch)), encode_worker(info, WorkerStatus::living, Lease{}, {}));
  tx.put(Key(Table::lease, raw(epoch)), encode(lease));
  ++ledger.tally().living;
  TORC_TRY(ledger.close());
  return epoch;
}

Result<void> release_worker(Transaction& tx, WorkerEpoch worker, WallTime now) {
  Ledger ledger(tx, now);
  auto lease = ledger.state().lease(worker);
  TORC_TRY(ledger.state().sound());
  if (!lease || lease->barred) return fenced(worker);
  for (std::uint64_t id : lease->held) {
    const auto job = held_job(ledger, id, worker);
    if (!job) break;
    const Decision decision = give_back(*job, worker, token_of(JobId{id}, *job), now);
    if (const auto* after = std::get_if<Job>(&decision)) ledger.change(id, *job, *after);
  }
  conclude_revoked(ledger, *lease, worker);
  drop_runs(tx, ledger.state(), worker, *lease, {EndCause::stopped, Charge::no, now});
  lease->ending.clear();
  lease->actions.clear();
  ++lease->renewals;
  lease->last_seen = now;
  bury(ledger, worker, WorkerStatus::released, *lease, now);
  return ledger.close();
}

Result<bool> bar_worker(Transaction& tx, WorkerEpoch worker, std::uint64_t observed) {
  State state(tx);
  auto lease = state.lease(worker);
  TORC_TRY(state.sound());
  if (!lease || lease->renewals != observed) return false;
  if (lease->barred) return true;
  lease->barred = true;
  tx.put(Key(Table::lease, raw(worker)), encode(*lease));
  return true;
}

Result<bool> expire_worker(Transaction& tx, WorkerEpoch worker, std::uint64_t observed,
                           WallTime now, std::uint32_t crash_limit, EndCause why, WallTime alive_at,
                           Charge charge) {
  Ledger ledger(tx, now);
  const auto lease = ledger.state().lease(worker);
  TORC_TRY(ledger.state().sound());
  if (!lease || lease->renewals != observed) return false;
  const WallTime end = alive_at.count() != 0 ? alive_at : lease->last_seen;
  Retries retries(ledger);
  const Retries::Loss loss{crash_limit, now, end, why, charge, newest_suspect(ledger, *lease)};
  for (std::uint64_t id : lease->held) {
    const auto job = held_job(ledger, id, worker);
    if (!job) break;
    ledger.change(id, *job, retries.after_loss(id, *job, loss));
  }
  conclude_revoked(ledger, *lease, worker);
  drop_runs(tx, ledger.state(), worker, *lease, {why, charge, now});
  bury(ledger, worker, WorkerStatus::expired, *lease, now);
  TORC_TRY(ledger.close());
  return true;
}

Result<std::optional<Worker>> find_worker(const Reader& reader, WorkerEpoch epoch) {
  State state(reader);
  auto worker = state.worker(epoch);
  const auto lease = state.lease(epoch);
  TORC_TRY(state.sound());
  if (!worker) return std::optional<Worker>();
  return std::optional(with_lease(*std::move(worker), lease));
}

std::optional<Worker> read_worker(const Reader& reader, WorkerEpoch epoch) {
  auto found = find_worker(reader, epoch);
  return found.ok() ? *std::move(found) : std::nullopt;
}

Result<void> scan_workers(const Reader& reader, bool living_only,
                          const std::function<bool(const Worker&)>& visit) {
  const Table table = living_only ? Table::lease : Table::worker;
  State state(reader);
  std::string from(1, static_cast<char>(table));
  while (const auto entry = reader.seek(from)) {
    const auto epoch = state.id_of(table, entry);
    if (!epoch) break;
    from.assign(entry->key).push_back('\0');  // a key that is one byte longer is not passed over
    auto worker = state.worker(WorkerEpoch{*epoch});
    if (!worker) state.damaged(Key(Table::worker, *epoch));
    const auto lease = state.lease(WorkerEpoch{*epoch});
    TORC_TRY(state.sound());
    if (!visit(with_lease(*std::move(worker), lease))) break;
  }
  return state.sound();
}

Result<Crowd> read_crowd(const Reader& reader) {
  State state(reader);
  const Tally tally = state.tally();
  TORC_TRY(state.sound());
  return Crowd{tally.living, tally.hosts, tally.job_time, tally.of(JobState::ready)};
}

Result<std::optional<Worker>> newest_worker(const Reader& reader) {
  const char after_all = static_cast<char>(static_cast<char>(Table::lease) + 1);
  State state(reader);
  const auto epoch = state.id_of(Table::lease, reader.seek_before({&after_all, 1}));
  TORC_TRY(state.sound());
  if (!epoch) return std::optional<Worker>();
  return find_worker(reader, WorkerEpoch{*epoch});
}

store::BeatPlace beat_place(const Worker& worker) {
  return {raw(worker.epoch),
          worker.info.own_beat_file ? store::BeatFile::own : store::BeatFile::shared};
}

store::BeatPlace beat_place(const Reader& reader, WorkerEpoch worker) {
  const auto known = read_worker(reader, worker);
  return known ? beat_place(*known) : store::BeatPlace{raw(worker), store::BeatFile::own};
}

Result<bool> is_anybody_of(const Reader& reader, std::uint64_t first, std::uint64_t last) {
  State state(reader);
  const auto epoch = state.id_of(Table::lease, reader.seek(Key(Table::lease, first)));
  TORC_TRY(state.sound());
  return epoch && *epoch <= last;
}

Result<std::vector<WorkerEpoch>> workers_on(const Reader& reader, std::string_view host) {
  State state(reader);
  std::vector<WorkerEpoch> found;
  for (auto epoch = first_on(state, host, 0); epoch;
       epoch = first_on(state, host, raw(*epoch) + 1)) {
    found.push_back(*epoch);
    if (raw(*epoch) == UINT64_MAX) break;
  }
  TORC_TRY(state.sound());
  return found;
}

std::vector<ClaimToken> read_revoked(const Reader& reader, WorkerEpoch worker) {
  State state(reader);
  std::vector<ClaimToken> tokens;
  const auto lease = state.lease(worker);
  if (!lease) return tokens;
  for (std::uint64_t id : lease->ending) {
    if (const auto job = state.open_record(id)) tokens.push_back(token_of(JobId{id}, *job));
  }
  return tokens;
}

Result<std::vector<WorkerEpoch>> successors(const Reader& reader, WorkerEpoch self,
                                            std::size_t count) {
  State state(reader);
  std::vector<WorkerEpoch> ring;
  const auto collect = [&](std::uint64_t from, std::uint64_t to) {  // [from, to)
    while (ring.size() < count && from < to) {
      const auto epoch = state.id_of(Table::lease, reader.seek(Key(Table::lease, from)));
      if (!epoch || *epoch >= to) return;
      ring.push_back(WorkerEpoch{*epoch});
      from = *epoch + 1;
    }
  };
  collect(raw(self) + 1, UINT64_MAX);
  collect(0, raw(self));
  TORC_TRY(state.sound());
  return ring;
}

}  // namespace torc::claim
