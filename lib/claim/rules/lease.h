// Judging from outside whether a worker is alive, without comparing clocks between hosts and
// without believing a file's time stamp: an observer watches whether a counter changes, on its own
// boot-time clock, and counts only the time in which its own I/O worked.
#pragma once

#include <chrono>
#include <cstdint>

#include "lib/base/clock.h"

namespace torc::claim {

// How often an idle worker says that it lives: every 10 s, more often where leases are short (ttl /
// 5), or as `heartbeat` asks (0: it does not); but at least so long that `workers` of them together
// write at most 5 heartbeats a second.
[[nodiscard]] std::chrono::nanoseconds heartbeat_interval(std::chrono::nanoseconds ttl,
                                                          std::uint64_t workers,
                                                          std::chrono::nanoseconds heartbeat = {});

// The lease that goes with it: `asked`, or, among many workers, so long that it has as many
// heartbeats as among few, 5 where no `heartbeat` is asked for. As workers come and go, each of
// them says anew with every renewal how long it may be silent; observers go by what it said, never
// by the number that they count themselves.
[[nodiscard]] std::chrono::seconds lease_ttl(std::chrono::seconds asked, std::uint64_t workers,
                                             std::chrono::seconds heartbeat = {});
// The heartbeats, among `workers`, of one who has said that it may be silent for `said`, where a
// lease of `asked` goes with `heartbeat`: never fewer than go with what it said.
[[nodiscard]] std::chrono::nanoseconds heartbeat_of(std::chrono::seconds said,
                                                    std::chrono::seconds asked,
                                                    std::chrono::seconds heartbeat,
                                                    std::uint64_t workers);
// Between two looks at others of one who writes a heartbeat every `heartbeat`: half of that, but
// `workers` of them together look no more than 5 times a second, or as often as they write.
[[nodiscard]] std::chrono::nanoseconds look_interval(std::chrono::nanoseconds heartbeat,
                                                     std::uint64_t workers);
// While somebody is late.
[[nodiscard]] std::chrono::nanoseconds closer_look(std::chrono::nanoseconds heartbeat);
// A commit this long ago makes a heartbeat superfluous: signs of life are at most one and a half
// intervals apart.
[[nodiscard]] std::chrono::nanoseconds counts_as_heartbeat(std::chrono::nanoseconds heartbeat);
// So long is nobody silent who lives and writes: a heartbeat was missed.
[[nodiscard]] std::chrono::nanoseconds missed_heartbeat(std::chrono::nanoseconds heartbeat);

// What one observer knows of one worker. A value: observe() returns the next one.
struct Observation {
  std::uint64_t renewals = 0;  // the counters last seen
  std::uint64_t heartbeats = 0;
  BootTime last_look{};
  std::chrono::nanoseconds silent{};  // healthy time since a counter last changed
  std::uint32_t looks = 0;            // spaced looks since then
};

// `healthy_gap`: the longest gap between two looks that counts as healthy; of a longer gap (this
// process was frozen, its filesystem hung) nothing counts.
[[nodiscard]] Observation first_look(std::uint64_t renewals, std::uint64_t heartbeats,
                                     BootTime now);
[[nodiscard]] Observation observe(Observation before, std::uint64_t renewals,
                                  std::uint64_t heartbeats, BootTime now,
                                  std::chrono::nanoseconds healthy_gap);

// At least ttl of silent healthy time and at least three spaced looks.
[[nodiscard]] bool is_expired(const Observation& observation, std::chrono::nanoseconds ttl);

// A worker whose last confirmed renewal is older than this, 0.6 x ttl, must have stopped its jobs:
// others take them over after the whole of it.
[[nodiscard]] std::chrono::nanoseconds fencing_limit(std::chrono::nanoseconds ttl);

// When a worker that cannot renew a lease of `ttl` stops its jobs, to go on with them when it can:
// at its fencing_limit(), or, where the batch system gives up a node that it does not hear of for
// `node_timeout` (0: not known), by then, lest others run its jobs beside it; but never before
// two and a half heartbeat intervals have passed, of which the longest that is usual has one and a
// half. Nobody believes the batch system that such a worker is gone before it has been silent for
// as long.
[[nodiscard]] std::chrono::nanoseconds pause_limit(std::chrono::nanoseconds ttl,
                                                   std::chrono::nanoseconds heartbeat,
                                                   std::chrono::nanoseconds node_timeout);

// What a worker says at `now` of the silence that it may keep. The number of workers allows
// `wanted`; but what it does in the name of an earlier renewal goes on until `fenced_at`, so it
// says no less than goes with that: the moment at which it must stop its jobs never moves back.
[[nodiscard]] std::chrono::seconds promised_ttl(std::chrono::seconds wanted, BootTime fenced_at,
                                                BootTime now);

}  // namespace torc::claim
