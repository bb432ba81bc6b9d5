// Days of a cluster in simulated time in which workflows get their allocations by the rules of the
// claims alone (rules/allocation.h, rules/demand.h), and nobody looks after them: no store, no
// network. Waits in the queue, preemptions, nodes that die, a controller that is away for an hour a
// day, lists that are empty.
#pragma once

#include <chrono>
#include <cstdint>

namespace torc::simulation {

struct WeekScenario {
  std::uint64_t seed = 1;
  std::chrono::hours length{7 * 24};
  std::uint32_t nodes = 200;
  std::uint32_t cpus = 36;  // of a node
  std::uint32_t workflows = 50;
  std::chrono::hours arrivals{3 * 24};  // they come in these
};

struct WeekFigures {
  std::uint32_t finished = 0;  // workflows
  std::uint64_t jobs = 0;      // that completed
  std::uint64_t allocations = 0;
  std::uint64_t surplus = 0;  // canceled or withdrawn before they ran
  std::uint64_t idle = 0;     // ran, and no job did
  std::uint64_t preempted = 0;
  std::uint64_t failed = 0;  // by nodes that died
  double granted = 0;        // core-hours
  double used = 0;
  // Of what was not used: until the last job of an allocation was started there, without the first
  // kStartUp; what is not this is the end of allocations, in which nothing was left to start.
  double avoidable = 0;
  std::chrono::seconds longest_idle{0};  // that an allocation outlived its last job
  std::uint32_t most_for_an_intent = 0;  // allocations that worked at once
};

WeekFigures live_through(const WeekScenario& scenario);

}  // namespace torc::simulation
