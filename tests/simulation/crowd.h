// A crowd of workers with which nothing goes wrong: what it asks of the shared filesystem, and how
// much of it works.
#pragma once

#include "lib/base/path.h"
#include "lib/base/result.h"
#include "tests/simulation/scenario.h"
#include "tests/simulation/store_cost.h"

namespace torc::simulation {

struct CrowdScenario {
  std::uint64_t workers = 10;
  std::uint32_t slots = 16;  // jobs at once on each
  double job_seconds = 10;   // of a job, +-50 %
  std::chrono::seconds measured_from{0};
  std::chrono::seconds ends{600};
  std::chrono::seconds lease{300};
  std::uint64_t seed = 1;
  // A graph of so many jobs beside each other, each of which waits for two, and nothing else; 0:
  // chains beside more jobs than can be done.
  std::uint64_t width = 0;
  bool bells = true;
  int bell_trouble = 0;  // of 100 datagrams
};

// Means over the measured time.
struct CrowdFigures {
  double commits = 0;   // a second, as the next
  double requests = 0;  // to the shared filesystem
  double heartbeats = 0;
  double starts = 0;        // of jobs
  double most_commits = 0;  // a second, in the worst minute of the whole run
  double busy = 0;          // part of the slots that runs a job
  // s: from the end of the last job that one waited for to its own start.
  double dependent = 0;  // on average
  // The same from the commit that told of that end.
  struct Spread {
    double median = 0, mean = 0, late = 0;  // of 20 one is later
  };
  Spread ready;
  double bells = 0;  // datagrams a second
  std::uint64_t conflicts = 0;
  std::uint64_t heartbeat_files = 0;
};

// An Error: the claims contradicted themselves. `scratch`: a directory in memory.
Result<CrowdFigures> live_together(const CrowdScenario& scenario, const StoreCost& cost,
                                   const Path& scratch);

}  // namespace torc::simulation
