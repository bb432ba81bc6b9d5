// Whole lives of a workflow from one seed each, and the shortest that still breaks a promise.
#pragma once

#include <string>
#include <vector>

#include "lib/base/path.h"
#include "tests/simulation/cluster.h"

namespace torc::simulation {

struct Lived {
  std::string violation;  // empty: every promise was kept
  std::vector<std::string> history;
  Figures figures;
};

// `scratch`: a directory in memory, empty before and after. `tells`: keep the history.
[[nodiscard]] Lived live(const Scenario& scenario, const Path& scratch, bool tells);

// A smaller scenario that still breaks a promise, where one is found: faults are left out, workers
// and jobs taken away, as long as something is violated.
[[nodiscard]] Scenario shrink(Scenario scenario, const Path& scratch);

}  // namespace torc::simulation
