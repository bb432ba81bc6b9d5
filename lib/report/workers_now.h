// The registered workers as one look finds them: when each was heard of last, and whether it is
// still there. For people alone: the clocks of nodes are compared, so nothing is decided by it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "lib/claim/queries/gangs.h"
#include "lib/claim/rules/worker.h"
#include "lib/claim/tables/transaction.h"
#include "lib/store/engine/heartbeat.h"
#include "lib/workflow/context/context.h"

namespace torc::report {

struct WorkerNow {
  claim::Worker worker;
  WallTime heard_at{};                       // its newest heartbeat or commit, by its own clock
  std::chrono::seconds lease{};              // the silence that its newest words allow it
  bool is_gone = false;                      // its process, on this machine, is not there any more
  std::optional<claim::GangPart> gang = {};  // that it is part of; nullopt: none, or not readable
  // Its node is kept for a job of several nodes that waits.
  std::optional<claim::Reservation> reservation = {};
  // So long nothing was heard of it: more than three of its heartbeats. nullopt: less, or unknown.
  std::optional<std::chrono::seconds> silent = {};
  [[nodiscard]] bool is_at_work() const { return !is_gone && !silent; }
  [[nodiscard]] WallTime lease_ends_at() const { return heard_at + lease; }
};

// What a look into its file of heartbeats found.
struct HeartbeatLook {
  bool is_known = false;  // else it could not be read, or an older torc wrote it, without a time
  std::optional<store::Heartbeat> heartbeat = {};  // nullopt: it has written none since it came
};
// `workers`: how many are registered. `age`: so old may be what the look shows.
[[nodiscard]] WorkerNow judge(claim::Worker worker, const HeartbeatLook& look,
                              std::uint64_t workers, std::chrono::nanoseconds age, WallTime now);

// Reads a heartbeat of each that has not committed lately. `state`: Store::state_directory().
Result<std::vector<WorkerNow>> look_at_workers(const workflow::Context& context, const Path& state,
                                               const claim::Reader& reader);

}  // namespace torc::report
