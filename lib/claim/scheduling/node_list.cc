#include "lib/claim/scheduling/node_list.h"

namespace torc::claim {

void list_node(Transaction& tx, WorkerEpoch worker, Lease& lease, const NodePlace& place) {
  if (lease.node == place) return;
  if (lease.node) tx.erase(node_key(*lease.node, worker));
  lease.node = place;
  tx.put(node_key(place, worker), {});
}

void unlist_node(Transaction& tx, State& state, WorkerEpoch worker, const Lease& lease) {
  if (!lease.node) return;
  tx.erase(node_key(*lease.node, worker));
  keep_no_nodes(tx, state, lease.node->group);
}

std::optional<Keep> keep_of(State& state, std::uint64_t group) {
  const Key key = keep_key(group);
  const auto value = state.reader().get(key);
  auto keep = value ? decode_keep(*value) : std::nullopt;
  if (value && !keep) state.damaged(key);
  return keep;
}

std::optional<std::uint64_t> keeper_of(State& state, std::uint64_t job) {
  const Key key = kept_key(job);
  const auto value = state.reader().get(key);
  const auto group = value ? decode_kept(*value) : std::nullopt;
  if (value && !group) state.damaged(key);
  return group;
}

void keep_nodes(Transaction& tx, State& state, std::uint64_t group, const Keep& keep) {
  const auto before = keep_of(state, group);
  if (before == keep) return;
  if (before && before->job != keep.job) keep_no_nodes(tx, state, group);
  if (const auto other = keeper_of(state, keep.job); other && *other != group)
    keep_no_nodes(tx, state, *other);
  tx.put(keep_key(group), encode(keep));
  tx.put(kept_key(keep.job), encode_kept(group));
}

void keep_no_nodes(Transaction& tx, State& state, std::uint64_t group) {
  const auto keep = keep_of(state, group);
  if (!keep) return;
  tx.erase(keep_key(group));
  tx.erase(kept_key(keep->job));
}

}  // namespace torc::claim
