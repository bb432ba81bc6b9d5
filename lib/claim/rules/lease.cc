#include "lib/claim/rules/lease.h"

#include <algorithm>

namespace torc::claim {
namespace {

constexpr std::uint64_t kHeartbeatsPerSecond = 5;  // of the whole workflow
constexpr int kHeartbeatsPerLease = 5;
constexpr std::uint32_t kLooks = 3;
// Looks closer together than this part of the healthy gap are one look.
constexpr int kSpacing = 16;
constexpr std::chrono::seconds kUsualHeartbeat{10};
// Of what a forged record asks for: in nanoseconds it fits.
constexpr std::chrono::duration<double> kFurthest{8e9};

// Of so many workers together.
std::chrono::nanoseconds at_their_rate(std::uint64_t workers) {
  return std::chrono::seconds(1) * static_cast<std::int64_t>(workers) /
         static_cast<std::int64_t>(kHeartbeatsPerSecond);
}

}  // namespace

std::chrono::nanoseconds heartbeat_interval(std::chrono::nanoseconds ttl, std::uint64_t workers,
                                            std::chrono::nanoseconds heartbeat) {
  const std::chrono::nanoseconds usual =
      std::min<std::chrono::nanoseconds>(ttl / kHeartbeatsPerLease, kUsualHeartbeat);
  return std::max(heartbeat.count() > 0 ? heartbeat : usual, at_their_rate(workers));
}

std::chrono::seconds lease_ttl(std::chrono::seconds asked, std::uint64_t workers,
                               std::chrono::seconds heartbeat) {
  if (heartbeat.count() == 0)
    return std::max(asked, std::chrono::ceil<std::chrono::seconds>(kHeartbeatsPerLease *
                                                                   at_their_rate(workers)));
  const std::chrono::nanoseconds interval = heartbeat_interval(asked, workers, heartbeat);
  if (interval == heartbeat) return asked;
  const auto wanted = std::chrono::duration<double>(interval) *
                      (static_cast<double>(asked.count()) / static_cast<double>(heartbeat.count()));
  return std::chrono::ceil<std::chrono::seconds>(std::min(wanted, kFurthest));
}

std::chrono::nanoseconds heartbeat_of(std::chrono::seconds said, std::chrono::seconds asked,
                                      std::chrono::seconds heartbeat, std::uint64_t workers) {
  if (heartbeat.count() == 0 || asked.count() == 0) {
    const std::chrono::nanoseconds most = said / kHeartbeatsPerLease;
    return std::min(most, heartbeat_interval(said, workers));
  }
  const auto wanted = std::chrono::duration<double>(said) / static_cast<double>(asked.count()) *
                      static_cast<double>(heartbeat.count());
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::min(wanted, kFurthest));
}

std::chrono::nanoseconds look_interval(std::chrono::nanoseconds heartbeat, std::uint64_t workers) {
  return std::clamp(at_their_rate(workers), heartbeat / 2, heartbeat);
}

std::chrono::nanoseconds closer_look(std::chrono::nanoseconds heartbeat) {
  return heartbeat / 4;
}

std::chrono::nanoseconds counts_as_heartbeat(std::chrono::nanoseconds heartbeat) {
  return heartbeat / 4;
}

std::chrono::nanoseconds missed_heartbeat(std::chrono::nanoseconds heartbeat) {
  return heartbeat / 2 * 3;
}

Observation first_look(std::uint64_t renewals, std::uint64_t heartbeats, BootTime now) {
  Observation o;
  o.renewals = renewals;
  o.heartbeats = heartbeats;
  o.last_look = now;
  return o;
}

Observation observe(Observation before, std::uint64_t renewals, std::uint64_t heartbeats,
                    BootTime now, std::chrono::nanoseconds healthy_gap) {
  if (renewals != before.renewals || heartbeats != before.heartbeats)
    return first_look(renewals, heartbeats, now);
  const std::chrono::nanoseconds gap = now - before.last_look;
  if (gap > healthy_gap) return first_look(renewals, heartbeats, now);
  if (gap * kSpacing < healthy_gap) return before;
  before.silent += gap;
  before.last_look = now;
  ++before.looks;
  return before;
}

bool is_expired(const Observation& observation, std::chrono::nanoseconds ttl) {
  return observation.silent >= ttl && observation.looks >= kLooks;
}

std::chrono::nanoseconds fencing_limit(std::chrono::nanoseconds ttl) {
  return ttl / 10 * 6;
}

std::chrono::nanoseconds pause_limit(std::chrono::nanoseconds ttl,
                                     std::chrono::nanoseconds heartbeat,
                                     std::chrono::nanoseconds node_timeout) {
  if (node_timeout.count() <= 0) return fencing_limit(ttl);
  return std::min(fencing_limit(ttl), std::max(node_timeout, heartbeat / 2 * 5));
}

std::chrono::seconds promised_ttl(std::chrono::seconds wanted, BootTime fenced_at, BootTime now) {
  return std::max(wanted, std::chrono::ceil<std::chrono::seconds>((fenced_at - now) * 10 / 6));
}

}  // namespace torc::claim
