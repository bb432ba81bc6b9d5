#include "lib/cluster/cluster.h"

#include <algorithm>

namespace torc::cluster {
namespace {

template <class Of>
std::optional<std::uint64_t> sum_if_known(const std::vector<NodeGroup>& kinds, Of of) {
  std::uint64_t sum = 0;
  for (const NodeGroup& kind : kinds) {
    const std::optional<std::uint32_t> one = of(kind);
    if (!one) return std::nullopt;
    sum += *one;
  }
  return sum;
}

}  // namespace

std::uint32_t NodeGroup::all_gpus() const {
  return gpus_of({});
}

std::uint32_t NodeGroup::gpus_of(const std::string& type) const {
  std::uint64_t sum = 0;
  for (const Gpus& some : gpus) {
    if (type.empty() || some.type == type) sum += some.count;
  }
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(sum, UINT32_MAX));
}

std::uint32_t Partition::cpus_of(const NodeGroup& kind) const {
  return std::min(kind.cpus, max_cpus.value_or(kind.cpus));
}

ByteCount Partition::memory_of(const NodeGroup& kind) const {
  return std::min(kind.memory, max_memory.value_or(kind.memory));
}

std::uint64_t Partition::node_count() const {
  std::uint64_t sum = 0;
  for (const NodeGroup& kind : nodes) sum += kind.count;
  return sum;
}

std::optional<std::uint64_t> Partition::usable_nodes() const {
  return sum_if_known(nodes, [](const NodeGroup& kind) { return kind.usable; });
}

std::optional<std::uint64_t> Partition::idle_nodes() const {
  return sum_if_known(nodes, [](const NodeGroup& kind) { return kind.idle; });
}

}  // namespace torc::cluster
