#include "lib/claim/queries/workers.h"

#include "lib/claim/rules/plan.h"
#include "lib/claim/rules/transition.h"
#include "lib/claim/tables/state.h"

namespace torc::claim {
namespace {

// Fills in what the lease of a live worker says.
Worker with_lease(Worker worker, const std::optional<Lease>& lease) {
  if (!lease) return worker;
  worker.renewals = lease->renewals;
  worker.last_seen = lease->last_seen;
  worker.finished = lease->finished;
  worker.held = lease->held.size();
  worker.ttl = lease->ttl;
  worker.ending = lease->ending.size();
  worker.barred = lease->barred;
  worker.acting = lease->actions.size();
  worker.in_gang = lease->gang.has_value();
  worker.reserved = lease->reserved;
  worker.used_core_ms = lease->used_core_ms.value_or(0);
  return worker;
}

// From that key of the table on.
Result<void> scan_from(const Reader& reader, Table table, std::string from,
                       const std::function<bool(const Worker&)>& visit) {
  State state(reader);
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

}  // namespace

Key host_key(std::string_view host, WorkerEpoch epoch) {
  return Key(Table::host, name_hash(host)).be64(raw(epoch));
}

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
  return WorkerEpoch{number_at(entry->key, std::string_view(prefix).size(), 8)};
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

Result<void> scan_workers(const Reader& reader, bool live_only,
                          const std::function<bool(const Worker&)>& visit) {
  const Table table = live_only ? Table::lease : Table::worker;
  return scan_from(reader, table, std::string(1, static_cast<char>(table)), visit);
}

Result<void> scan_live_from(const Reader& reader, WorkerEpoch first,
                            const std::function<bool(const Worker&)>& visit) {
  const Key from(Table::lease, raw(first));
  return scan_from(reader, Table::lease, std::string(std::string_view(from)), visit);
}

Result<WorkflowLoad> read_load(const Reader& reader) {
  State state(reader);
  const Tally tally = state.tally();
  TORC_TRY(state.sound());
  return WorkflowLoad{tally.live_workers, tally.hosts, tally.job_time, tally.of(JobState::ready)};
}

Result<std::optional<Worker>> newest_worker(const Reader& reader) {
  State state(reader);
  const auto epoch = state.id_of(Table::lease, last_of(reader, Table::lease));
  TORC_TRY(state.sound());
  if (!epoch) return std::optional<Worker>();
  return find_worker(reader, WorkerEpoch{*epoch});
}

Result<std::optional<Worker>> last_registered(const Reader& reader) {
  State state(reader);
  const auto epoch = state.id_of(Table::worker, last_of(reader, Table::worker));
  TORC_TRY(state.sound());
  if (!epoch) return std::optional<Worker>();
  return find_worker(reader, WorkerEpoch{*epoch});
}

store::HeartbeatPlace heartbeat_place(const Worker& worker) {
  return {raw(worker.epoch), worker.info.own_heartbeat_file ? store::HeartbeatFile::own
                                                            : store::HeartbeatFile::shared};
}

store::HeartbeatPlace heartbeat_place(const Reader& reader, WorkerEpoch worker) {
  const auto known = read_worker(reader, worker);
  return known ? heartbeat_place(*known)
               : store::HeartbeatPlace{raw(worker), store::HeartbeatFile::own};
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
  const auto lease = state.lease(worker);
  return lease ? tokens_of(state, lease->ending) : std::vector<ClaimToken>();
}

std::vector<ClaimToken> tokens_of(State& state, const std::vector<std::uint64_t>& jobs) {
  std::vector<ClaimToken> tokens;
  for (std::uint64_t id : jobs) {
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
