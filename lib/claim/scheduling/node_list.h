// The nodes of each group, in the order in which they are expected to be free (Table::node). Where
// a worker stands is in its lease, too.
#pragma once

#include "lib/claim/tables/gang_record.h"
#include "lib/claim/tables/state.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

// Lists the worker's node there. The lease is for the caller to write.
void list_node(Transaction& tx, WorkerEpoch worker, Lease& lease, const NodePlace& place);
// The worker leaves: what its group keeps nodes for is looked at anew.
void unlist_node(Transaction& tx, State& state, WorkerEpoch worker, const Lease& lease);

// The job of several nodes that the group keeps nodes for; nullopt: none.
[[nodiscard]] std::optional<Keep> keep_of(State& state, std::uint64_t group);
// The group that keeps nodes for the job; nullopt: none.
[[nodiscard]] std::optional<std::uint64_t> keeper_of(State& state, std::uint64_t job);
// The group keeps nodes for this, and for nothing else; another group no longer does.
void keep_nodes(Transaction& tx, State& state, std::uint64_t group, const Keep& keep);
void keep_no_nodes(Transaction& tx, State& state, std::uint64_t group);

}  // namespace torc::claim
