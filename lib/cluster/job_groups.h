// Which jobs of a workflow are for which allocations: those of a scheduler of its file, or, where
// it has none, those that one kind of nodes of a partition holds best. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/end_margins.h"
#include "lib/cluster/cluster.h"
#include "lib/cluster/match.h"
#include "lib/cluster/packing.h"
#include "lib/spec/expand/expansion.h"
#include "lib/spec/language/workflow.h"
#include "lib/spec/load/outline.h"

namespace torc::cluster {

// Of the allocations of a group.
struct AllocationBounds {
  std::uint32_t least_nodes = 1;  // of one, as the next
  std::uint32_t most_nodes = 1;
  std::uint32_t all_nodes = 1;                        // that there are
  std::optional<std::chrono::seconds> walltime = {};  // nullopt: no limit is known
  std::optional<std::uint32_t> running = {};          // at a time
  KeptFree kept = {};                                 // of their time

  // What an allocation of the longest walltime has for a job.
  [[nodiscard]] std::optional<std::chrono::seconds> time() const;
};

struct JobGroup {
  std::string scheduler;                   // of the file; empty: none
  std::size_t partition = 0;               // its place in the cluster
  NodeShape node;                          // that an allocation has of each node
  std::string gpu_type;                    // that they need; empty: any
  std::optional<std::uint64_t> idle = {};  // nodes
  AllocationBounds bounds;
  std::vector<Batch> batches;
  std::vector<std::size_t> entries = {};  // their places in Expansion::entries
  // Jobs that declare no runtime, and count as long as the longest of the others.
  std::uint64_t guessed = 0;
  std::string why_none = {};  // there is nothing to choose: a clause; else empty
};

struct LeftOut {
  std::size_t entry = 0;     // its place in Expansion::entries
  bool wants_label = false;  // which its workers are given by hand
  std::string why;           // a clause
};

struct JobGroups {
  std::vector<JobGroup> groups;
  std::vector<LeftOut> left_out;  // no allocation of these is for them
};

// One group for each scheduler of the file, in their order. Jobs that any worker may run are those
// of the first scheduler that can hold them.
[[nodiscard]] JobGroups group_by_scheduler(const spec::Workflow& workflow,
                                           const spec::Expansion& expansion,
                                           const spec::Outline& outline, const Cluster& cluster);

// Each job by the best partition for it, and the smallest nodes there that hold it, which an
// allocation has whole. `account`: empty: any of the user's. What the file says of schedulers does
// not count.
[[nodiscard]] JobGroups group_by_partition(const spec::Workflow& workflow,
                                           const spec::Expansion& expansion,
                                           const spec::Outline& outline, const Cluster& cluster,
                                           const std::string& account);

}  // namespace torc::cluster
