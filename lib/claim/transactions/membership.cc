#include "lib/claim/transactions/membership.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/claim/queries/workers.h"
#include "lib/claim/rules/lease.h"
#include "lib/claim/rules/transition.h"
#include "lib/claim/scheduling/firing.h"
#include "lib/claim/scheduling/ledger.h"
#include "lib/claim/scheduling/node_list.h"
#include "lib/claim/scheduling/retry.h"
#include "lib/claim/tables/allocation_record.h"
#include "lib/claim/tables/tables.h"
#include "lib/claim/transactions/gang_words.h"

namespace torc::claim {
namespace {

// For people: a record that cannot be read keeps nobody from leaving.
void note_use(Transaction& tx, std::uint32_t number, std::uint64_t core_ms) {
  const Key key = allocation_key(number);
  const auto value = tx.get(key);
  auto allocation = value ? decode_allocation(*value) : std::nullopt;
  if (!allocation) return;
  allocation->used_core_ms += std::min(core_ms, UINT64_MAX - allocation->used_core_ms);
  tx.put(key, encode(*allocation));
}

// Takes the worker off the list of the live workers and keeps its last words.
void end_registration(Ledger& ledger, WorkerEpoch epoch, WorkerStatus status, const Lease& lease,
                      WallTime now) {
  const Key key(Table::worker, raw(epoch));
  ledger.tx().erase(Key(Table::lease, raw(epoch)));
  if (lease.idle) ledger.tx().erase(Key(Table::idle, raw(epoch)));
  unlist_node(ledger.tx(), ledger.state(), epoch, lease);
  --ledger.tally().live_workers;
  auto worker = ledger.state().worker(epoch);
  if (!worker) return ledger.state().damaged(key);
  if (lease.used_core_ms.value_or(0) > 0)
    note_use(ledger.tx(), worker->info.ledger_entry, *lease.used_core_ms);
  worker->info.bell.reset();
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
  lease.ttl = lease_ttl(info.lease_ttl, ledger.tally().live_workers + 1, info.lease_heartbeat);
  info.own_heartbeat_file = ledger.tally().live_workers < store::kOwnHeartbeatFiles;
  if (!first_on(ledger.state(), info.host, 0)) ++ledger.tally().hosts;
  tx.put(host_key(info.host, epoch), {});
  tx.put(Key(Table::worker, raw(epoch)),
         encode_worker(info, WorkerStatus::registered, Lease{}, {}));
  if (info.ledger_entry != 0) lease.used_core_ms = 0;
  lease.has_bell = lease.idle = info.bell.has_value();  // it has had no job yet
  if (lease.idle) tx.put(Key(Table::idle, raw(epoch)), {});
  if ((ledger.tally().rules & rule::kGangs) != 0 && !info.group.empty())
    list_node(tx, epoch, lease, {hash_of_group(info.group)});
  tx.put(Key(Table::lease, raw(epoch)), encode(lease));
  ++ledger.tally().live_workers;
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
  leave_gang(ledger, *lease, worker, given_back(ledger, *lease, worker, now));
  conclude_revoked(ledger, *lease, worker);
  drop_runs(tx, ledger.state(), worker, *lease, {EndCause::stopped, Charge::no, now});
  lease->ending.clear();
  lease->actions.clear();
  ++lease->renewals;
  lease->last_seen = now;
  end_registration(ledger, worker, WorkerStatus::released, *lease, now);
  return ledger.close();
}

Result<bool> bar_worker(Transaction& tx, WorkerEpoch worker, std::uint64_t observed) {
  State state(tx);
  auto lease = state.lease(worker);
  TORC_TRY(state.sound());
  if (!lease || lease->renewals != observed) return false;
  if (lease->barred) return true;
  lease->barred = true;
  if (lease->node) list_node(tx, worker, *lease, {lease->node->group, NodePlace::kUnknown});
  tx.put(Key(Table::lease, raw(worker)), encode(*lease));
  return true;
}

Result<bool> expire_worker(Transaction& tx, WorkerEpoch worker, std::uint64_t observed,
                           WallTime now, std::uint32_t crash_limit, EndCause why, WallTime alive_at,
                           Charge charge) {
  Ledger ledger(tx, now);
  auto lease = ledger.state().lease(worker);
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
  // A job of several nodes that another one holds: its head lived on until now.
  leave_gang(ledger, *lease, worker, [&](std::uint64_t id, const Job& job) {
    Retries::Loss of_a_member = loss;
    of_a_member.alive_at = now;
    of_a_member.prime = is_suspect(job) ? id : 0;
    return std::optional(retries.after_loss(id, job, of_a_member));
  });
  retries.teach();
  conclude_revoked(ledger, *lease, worker);
  drop_runs(tx, ledger.state(), worker, *lease, {why, charge, now});
  end_registration(ledger, worker, WorkerStatus::expired, *lease, now);
  TORC_TRY(ledger.close());
  return true;
}

}  // namespace torc::claim
