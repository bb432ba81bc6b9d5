#include "lib/report/workers_now.h"

#include <algorithm>
#include <utility>

#include "lib/claim/queries/workers.h"
#include "lib/claim/rules/lease.h"
#include "lib/store/mount/mount_facts.h"
#include "lib/workflow/context/live_workers.h"

namespace torc::report {
namespace {

constexpr int kMissed = 3;  // heartbeats
constexpr int kLooks = 3;   // at one that is just being rewritten

std::chrono::nanoseconds quiet_of(const claim::Worker& worker, std::chrono::seconds lease,
                                  std::uint64_t workers) {
  return kMissed *
         claim::heartbeat_of(lease, worker.info.lease_ttl, worker.info.lease_heartbeat, workers);
}

HeartbeatLook look_at(const workflow::Context& context, const Path& state,
                      const claim::Worker& worker, store::Caches caches) {
  const store::HeartbeatPlace place = claim::heartbeat_place(worker);
  for (int looks = 0; looks < kLooks; ++looks) {
    const auto read = store::read_heartbeat(context.world, state, place, caches);
    if (!read.ok()) return {};
    if (*read) return {(*read)->at.count() != 0, *read};
  }
  const auto there = context.world.disk.status(store::heartbeat_path(state, place));
  const bool none = !there.ok() && there.error().kind == ErrorKind::not_found;
  return {none && place.file == store::HeartbeatFile::own};
}

}  // namespace

WorkerNow judge(claim::Worker worker, const HeartbeatLook& look, std::uint64_t workers,
                std::chrono::nanoseconds age, WallTime now) {
  WorkerNow found{std::move(worker)};
  found.heard_at = found.worker.last_seen;
  found.lease = found.worker.ttl;
  if (look.heartbeat && look.heartbeat->at >= found.heard_at) {
    found.heard_at = look.heartbeat->at;
    found.lease = look.heartbeat->ttl;
  }
  const WallTime silent = now - found.heard_at;
  if (look.is_known && silent > quiet_of(found.worker, found.lease, workers) + age)
    found.silent = std::chrono::floor<std::chrono::seconds>(silent);
  return found;
}

Result<std::vector<WorkerNow>> look_at_workers(const workflow::Context& context, const Path& state,
                                               const claim::Reader& reader) {
  std::vector<claim::Worker> workers;
  TORC_TRY(claim::scan_workers(reader, true, [&](const claim::Worker& worker) {
    workers.push_back(worker);
    return true;
  }));
  const WallTime now = context.clock.wall_now();
  std::optional<store::MountFacts> facts;
  std::vector<WorkerNow> found;
  for (claim::Worker& worker : workers) {
    HeartbeatLook look{true};
    std::chrono::nanoseconds age{};
    if (now - worker.last_seen > quiet_of(worker, worker.ttl, workers.size())) {
      if (!facts) facts = store::facts_of(context.world.disk, state);
      look = look_at(context, state, worker, store::heartbeat_caches(facts->kind));
      age = facts->heartbeat_age;
    }
    found.push_back(judge(std::move(worker), look, workers.size(), age, now));
    found.back().is_gone = !workflow::may_live(context, found.back().worker.info);
    if (found.back().worker.info.group.empty()) continue;
    // The worker is shown all the same.
    if (auto gang = claim::read_gang(reader, found.back().worker.epoch); gang.ok())
      found.back().gang = *std::move(gang);
    found.back().reservation = claim::reservation_on(reader, found.back().worker.epoch);
  }
  return found;
}

}  // namespace torc::report
