// Which partitions can hold a job or an allocation, and which of them is the best for it. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/units.h"
#include "lib/cluster/cluster.h"

namespace torc::cluster {

// Of each of `nodes` nodes.
struct Need {
  std::uint32_t nodes = 1;
  std::uint32_t cpus = 1;
  ByteCount memory = {};
  std::uint32_t gpus = 0;
  std::string gpu_type = {};  // empty: any
  std::optional<std::chrono::seconds> walltime = {};
  std::string account = {};  // empty: any of the user's
};

struct Fit {
  std::size_t partition = 0;               // its place in the cluster
  std::string why_not = {};                // a clause; empty: it fits
  std::size_t kind = 0;                    // the smallest of its nodes that hold it
  std::uint64_t nodes = 0;                 // of all kinds that do
  std::optional<std::uint64_t> idle = {};  // of these
  std::uint32_t at_once = 0;               // so many fit on one of the smallest beside each other
  std::string advantage = {};              // of the first alone: what speaks for it, a clause
};

// One for each partition: those that fit first, the best of them first, by these rules in turn:
// names with "debug" or "test" in them last; no GPUs idle beside a need that has none; no whole
// node for less than half of one; as many idle nodes as are needed; less memory a node, then fewer
// CPUs; the shorter longest walltime, since partitions for short jobs are served sooner as a rule;
// the default partition; the order of Slurm. Then those that do not, in the order of Slurm.
[[nodiscard]] std::vector<Fit> match(const Cluster& cluster, const Need& need);

// By which of the user's accounts it runs there: of those that may use the partition one that
// allows the longest time, of these the first. nullptr: none is known.
[[nodiscard]] const Association* association_for(const Cluster& cluster, const Partition& partition,
                                                 const Need& need);
// Its account; else the one that is needed, or empty.
[[nodiscard]] std::string account_for(const Cluster& cluster, const Partition& partition,
                                      const Need& need);

// Of allocations by the association (nullptr: none is known) and a QOS (empty: its usual one). Of a
// limit that both have Slurm takes that of the QOS.
[[nodiscard]] Limits limits_of(const Cluster& cluster, const Association* association,
                               const std::string& qos);

}  // namespace torc::cluster
