// How well the rules of the claims alone fill the nodes of one allocation with jobs of one and of
// several nodes: no store, no network, commits take no time. Beside it what a list scheduler would
// reach that knows every runtime beforehand.
#pragma once

#include <chrono>
#include <cstdint>

#include "lib/base/result.h"

namespace torc::simulation {

struct PackingScenario {
  std::uint64_t seed = 1;
  std::uint32_t nodes = 256;
  std::uint32_t cpus = 16;  // of a node
  std::uint64_t jobs = 10'000;
  double gangs = 0.2;          // so much of the jobs, of 2 to `widest` nodes
  std::uint32_t widest = 64;   // nodes, a power of two
  double shortest_part = 0.5;  // jobs run for that part of their declared runtime to all of it
  std::chrono::seconds longest{3600};  // declared runtime; from a 32nd of it on
  std::chrono::seconds poll{30};       // after which an idle worker looks again
};

struct PackingFigures {
  double makespan = 0;       // s
  double utilisation = 0;    // part of the node-seconds until then in which something ran
  double list_makespan = 0;  // s: the best list scheduler's
  // s: from the moment in which a gang was the first of those that wait, in their order, until it
  // started.
  double longest_at_head = 0;
  std::uint64_t gangs = 0;
  std::uint64_t commits = 0;
  double claim_cost = 0;  // mean µs of the processor for an exchange
};

// Error: the claims contradicted themselves, a node was given twice, or jobs were left.
Result<PackingFigures> pack(const PackingScenario& scenario);

}  // namespace torc::simulation
