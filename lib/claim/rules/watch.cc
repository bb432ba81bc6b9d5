#include "lib/claim/rules/watch.h"

#include <algorithm>

namespace torc::claim {
namespace {

constexpr std::size_t kWatched = 3;
constexpr std::size_t kFurtherForEachSilent = 2;
constexpr int kHealthyIntervals = 3;
constexpr int kSilentIntervals = 2;  // of one that others are to be watched for as well

}  // namespace

std::size_t Watch::wanted(std::chrono::nanoseconds interval) const {
  std::size_t n = kWatched;
  for (const auto& [worker, seen] : seen_)
    n += seen.observation.silent >= kSilentIntervals * interval ? kFurtherForEachSilent : 0;
  return n;
}

Watch::Verdict Watch::look(const Look& look, BootTime asked, std::chrono::nanoseconds interval) {
  const std::uint64_t heartbeats = look.heartbeats.value_or(heartbeats_of(look.worker));
  const auto before = seen_.find(look.worker);
  Seen seen;
  if (before == seen_.end()) {
    seen.observation = first_look(look.renewals, heartbeats, asked);
  } else {
    seen = before->second;
    seen.observation =
        observe(seen.observation, look.renewals, heartbeats, asked, kHealthyIntervals * interval);
    const Observation& was = before->second.observation;
    if (was.renewals != look.renewals || was.heartbeats != heartbeats)
      seen.longest_heartbeat = seen.newest_heartbeat;
  }
  seen.newest_heartbeat = look.heartbeat;
  seen.longest_heartbeat = std::max(seen.longest_heartbeat, look.heartbeat);
  // What a heartbeat allowed stands also while the next one cannot be read.
  if (look.heartbeats) seen.ttl = look.ttl;
  seen.allowed = std::max(look.ttl, seen.ttl);
  seen_.insert_or_assign(look.worker, seen);
  if (is_expired(seen.observation, seen.allowed + look.age)) return Verdict::expired;
  const std::chrono::nanoseconds silent = seen.observation.silent;
  if (silent >= missed_heartbeat(look.heartbeat) + look.age) return Verdict::silent;
  return silent > look.heartbeat / 2 ? Verdict::late : Verdict::lives;
}

std::uint64_t Watch::heartbeats_of(WorkerEpoch worker) const {
  const auto it = seen_.find(worker);
  return it == seen_.end() ? 0 : it->second.observation.heartbeats;
}

std::chrono::seconds Watch::ttl_of(WorkerEpoch worker) const {
  const auto it = seen_.find(worker);
  return it == seen_.end() ? std::chrono::seconds(0) : it->second.allowed;
}

std::chrono::nanoseconds Watch::longest_heartbeat_of(WorkerEpoch worker) const {
  const auto it = seen_.find(worker);
  return it == seen_.end() ? std::chrono::nanoseconds(0) : it->second.longest_heartbeat;
}

std::chrono::nanoseconds Watch::silence_of(WorkerEpoch worker) const {
  const auto it = seen_.find(worker);
  return it == seen_.end() ? std::chrono::nanoseconds(0) : it->second.observation.silent;
}

void Watch::keep_only(const std::vector<WorkerEpoch>& ring) {
  std::erase_if(seen_, [&](const auto& entry) {
    return std::find(ring.begin(), ring.end(), entry.first) == ring.end();
  });
}

}  // namespace torc::claim
