#include "lib/claim/rules/lease.h"

#include <algorithm>

namespace torc::claim {
namespace {

constexpr std::uint64_t kBeatsPerSecond = 5;  // of the whole workflow
constexpr int kBeatsPerLease = 5;
constexpr std::uint32_t kLooks = 3;
// Looks closer together than this part of the healthy gap are one look.
constexpr int kSpacing = 8;
// Of what a forged record asks for: in nanoseconds it fits.
constexpr std::chrono::duration<double> kFurthest{8e9};

}  // namespace

std::chrono::nanoseconds beat_interval(std::chrono::nanoseconds ttl, std::uint64_t workers,
                                       std::chrono::nanoseconds beat) {
  const std::chrono::nanoseconds crowd = std::chrono::seconds(1) *
                                         static_cast<std::int64_t>(workers) /
                                         static_cast<std::int64_t>(kBeatsPerSecond);
  return std::max(beat.count() > 0 ? beat : ttl / kBeatsPerLease, crowd);
}

std::chrono::seconds lease_ttl(std::chrono::seconds asked, std::uint64_t workers,
                               std::chrono::seconds beat) {
  const std::chrono::nanoseconds interval = beat_interval(asked, workers, beat);
  if (beat.count() == 0) return std::chrono::ceil<std::chrono::seconds>(kBeatsPerLease * interval);
  if (interval == beat) return asked;
  const auto wanted = std::chrono::duration<double>(interval) *
                      (static_cast<double>(asked.count()) / static_cast<double>(beat.count()));
  return std::chrono::ceil<std::chrono::seconds>(std::min(wanted, kFurthest));
}

std::chrono::nanoseconds beat_of(std::chrono::seconds said, std::chrono::seconds asked,
                                 std::chrono::seconds beat) {
  if (beat.count() == 0 || asked.count() == 0) return beat_interval(said, 1);
  const auto wanted = std::chrono::duration<double>(said) / static_cast<double>(asked.count()) *
                      static_cast<double>(beat.count());
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::min(wanted, kFurthest));
}

Observation first_look(std::uint64_t renewals, std::uint64_t beats, BootTime now) {
  Observation o;
  o.renewals = renewals;
  o.beats = beats;
  o.last_look = now;
  return o;
}

Observation observe(Observation before, std::uint64_t renewals, std::uint64_t beats, BootTime now,
                    std::chrono::nanoseconds healthy_gap) {
  if (renewals != before.renewals || beats != before.beats) return first_look(renewals, beats, now);
  const std::chrono::nanoseconds gap = now - before.last_look;
  if (gap > healthy_gap) return first_look(renewals, beats, now);
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
