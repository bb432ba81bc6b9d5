// How long jobs take on the nodes of some allocations, and how long these are held for it: list
// scheduling by stages. Pure.
//
// The rule is Graham's (Bounds on multiprocessing timing anomalies, 1969), the longest jobs first,
// for jobs that share nodes: of a stage each job in turn, those of more nodes first, of these those
// that run longer, begins on the first node that has room for it; when something ends, what waits
// is looked through again. A stage begins when the one before it has ended. So the workflow of
// which these are the stages can run in that time; it may run in less, since its jobs wait only for
// what they depend on.
//
//   - A job of several nodes has whole nodes of one allocation; while one waits, no other job of
//     its stage begins.
//   - A job begins only where it ends within its allocation's time. An allocation that has no job
//     that runs, and too little time for what waits, is over, and another one follows at once.
//   - An allocation begins with its first job, at its start or later, and is over with the last job
//     of the last stage that uses it; one that a stage does not use is over before it.
//
// Of jobs of one kind that take turns more than kTurns times, several turns are taken as one job,
// so that millions cost no more than thousands; the end of a stage is later by 1/kTurns at most.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/units.h"

namespace torc::cluster {

inline constexpr std::uint64_t kTurns = 64;

// Jobs that are alike.
struct Batch {
  std::size_t stage = 0;
  std::uint64_t jobs = 1;
  std::uint32_t nodes = 1;  // several: whole ones
  std::uint32_t cpus = 1;   // of each node, as the next two
  ByteCount memory = {};
  std::uint32_t gpus = 0;
  std::chrono::seconds runtime{0};
};

// What an allocation has of each of its nodes.
struct NodeShape {
  std::uint32_t cpus = 1;
  ByteCount memory = {};
  std::uint32_t gpus = 0;
  bool operator==(const NodeShape&) const = default;
};

struct Pool {
  NodeShape node = {};
  std::uint32_t nodes = 1;  // of each allocation
  // When each of those that there are at a time can begin; of several that can, the first is used.
  std::vector<std::chrono::seconds> starts = {};
  std::optional<std::chrono::seconds> time = {};  // that each has for jobs; nullopt: no limit
};

struct Packing {
  std::chrono::seconds start{0};    // of the first job
  std::chrono::seconds end{0};      // of the last one
  std::uint64_t allocations = 0;    // that began
  std::uint32_t at_once = 0;        // of these, the most at a time
  std::uint32_t nodes = 0;          // that were used, of all at a time
  double node_seconds = 0;          // that the allocations were held
  double busy_node_seconds = 0;     // the jobs' shares of these: see share_of()
  std::chrono::seconds longest{0};  // of one allocation
};

// A clause: why a job of that kind can never begin there; empty: it can.
[[nodiscard]] std::string why_never(const Pool& pool, const Batch& batch);

// The part of a node that a job takes, of what it takes most of there; of several nodes, whole
// ones.
[[nodiscard]] double share_of(const NodeShape& node, const Batch& batch);

// Precondition: there are batches, and why_never() is empty for each.
[[nodiscard]] Packing pack(const Pool& pool, const std::vector<Batch>& batches);

}  // namespace torc::cluster
