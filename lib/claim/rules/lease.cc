#include "lib/claim/rules/lease.h"

#include <algorithm>

namespace torc::claim {
namespace {

constexpr std::uint64_t kHeartbeatsPerSecond = 5;  // of the whole workflow
constexpr int kHeartbeatsPerLease = 5;
constexpr std::uint32_t kLooks = 3;
// Looks closer together than this part of the healthy gap are one look.
constexpr int kSpacing = 8;
// Of what a forged record asks for: in nanoseconds it fits.
constexpr std::chrono::duration<double> kFurthest{8e9};

}  // namespace

std::chrono::nanoseconds heartbeat_interval(std::chrono::nanoseconds ttl, std::uint64_t workers,
                                            std::chrono::nanoseconds heartbeat) {
  const std::chrono::nanoseconds together = std::chrono::seconds(1) *
                                            static_cast<std::int64_t>(workers) /
                                            static_cast<std::int64_t>(kHeartbeatsPerSecond);
  return std::max(heartbeat.count() > 0 ? heartbeat : ttl / kHeartbeatsPerLease, together);
}

std::chrono::seconds lease_ttl(std::chrono::seconds asked, std::uint64_t workers,
                               std::chrono::seconds heartbeat) {
  const std::chrono::nanoseconds interval = heartbeat_interval(asked, workers, heartbeat);
  if (heartbeat.count() == 0)
    return std::chrono::ceil<std::chrono::seconds>(kHeartbeatsPerLease * interval);
  if (interval == heartbeat) return asked;
  const auto wanted = std::chrono::duration<double>(interval) *
                      (static_cast<double>(asked.count()) / static_cast<double>(heartbeat.count()));
  return std::chrono::ceil<std::chrono::seconds>(std::min(wanted, kFurthest));
}

std::chrono::nanoseconds heartbeat_of(std::chrono::seconds said, std::chrono::seconds asked,
                                      std::chrono::seconds heartbeat) {
  if (heartbeat.count() == 0 || asked.count() == 0) return heartbeat_interval(said, 1);
  const auto wanted = std::chrono::duration<double>(said) / static_cast<double>(asked.count()) *
                      static_cast<double>(heartbeat.count());
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::min(wanted, kFurthest));
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

std::chrono::seconds promised_ttl(std::chrono::seconds wanted, BootTime fenced_at, BootTime now) {
  return std::max(wanted, std::chrono::ceil<std::chrono::seconds>((fenced_at - now) * 10 / 6));
}

}  // namespace torc::claim
