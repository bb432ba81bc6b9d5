// The workers as the tables have them: who lives, on which host, and how they are. Read without
// changing anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "lib/base/result.h"
#include "lib/claim/rules/job.h"
#include "lib/claim/rules/worker.h"
#include "lib/claim/tables/tables.h"
#include "lib/claim/tables/transaction.h"
#include "lib/store/engine/heartbeat.h"

namespace torc::claim {

class State;

[[nodiscard]] Result<WorkflowLoad> read_load(const Reader& reader);

// For decisions. nullopt: it never registered; Error corrupt: its record or lease cannot be read.
[[nodiscard]] Result<std::optional<Worker>> find_worker(const Reader& reader, WorkerEpoch epoch);
// For what is shown: nullopt also where its record cannot be read.
[[nodiscard]] std::optional<Worker> read_worker(const Reader& reader, WorkerEpoch epoch);
// In the order of their epochs. This and what follows: Error corrupt when a record cannot be read.
Result<void> scan_workers(const Reader& reader, bool live_only,
                          const std::function<bool(const Worker&)>& visit);
// The live ones with an epoch of at least `first`: those that came since an earlier look.
Result<void> scan_live_from(const Reader& reader, WorkerEpoch first,
                            const std::function<bool(const Worker&)>& visit);
// The live worker that registered last.
Result<std::optional<Worker>> newest_worker(const Reader& reader);
// The worker that registered last, whether it lives or not.
Result<std::optional<Worker>> last_registered(const Reader& reader);
// Where the worker's heartbeats are; they stay there for as long as it lives.
[[nodiscard]] store::HeartbeatPlace heartbeat_place(const Worker& worker);
[[nodiscard]] store::HeartbeatPlace heartbeat_place(const Reader& reader, WorkerEpoch worker);
// Whether a live worker has an epoch in [first, last]. One seek.
Result<bool> is_anybody_of(const Reader& reader, std::uint64_t first, std::uint64_t last);
// The live workers on a host of this name, a seek each.
Result<std::vector<WorkerEpoch>> workers_on(const Reader& reader, std::string_view host);
// The next `count` live workers after `self` in the ring of epochs, `self` excluded; all others
// when fewer.
Result<std::vector<WorkerEpoch>> successors(const Reader& reader, WorkerEpoch self,
                                            std::size_t count);

// What `worker` has to end, as in Answer::revoked: for one that has nothing to say for a while.
[[nodiscard]] std::vector<ClaimToken> read_revoked(const Reader& reader, WorkerEpoch worker);

// Of the newest attempts of these jobs.
[[nodiscard]] std::vector<ClaimToken> tokens_of(State& state,
                                                const std::vector<std::uint64_t>& jobs);

// --- by host, as listed ---

[[nodiscard]] Key host_key(std::string_view host, WorkerEpoch epoch);
// The first live worker on the host with an epoch of at least `from`.
[[nodiscard]] std::optional<WorkerEpoch> first_on(State& state, std::string_view host,
                                                  std::uint64_t from);

}  // namespace torc::claim
