// The workflow of a scenario, and what its jobs, scripts and actions are fated to do.
#pragma once

#include <vector>

#include "lib/claim/rules/plan.h"
#include "tests/simulation/scenario.h"

namespace torc::simulation {

inline constexpr ByteCount kMemoryUnit{std::uint64_t{1} << 30U};

struct JobFate {
  double seconds = 1;
  bool fails_once = false;
  bool crashes = false;
  bool on_each_node = false;  // of several
  claim::Requirement need;
  std::uint32_t licences = 0;
  // Of its recovery script, if it has one.
  double script_seconds = 0;
  bool script_succeeds = true;
};

[[nodiscard]] claim::Plan plan_of(const Scenario& scenario);
// By job number.
[[nodiscard]] std::vector<JobFate> fates_of(const Scenario& scenario);

// What a job of a chain waits for; none: it is the first of its own, or of none.
[[nodiscard]] std::vector<std::uint64_t> upstream_of(const Scenario& scenario, std::uint64_t job);

// Whether the job waits for others before it may run.
[[nodiscard]] bool waits_for_others(const Scenario& scenario, JobId job);

}  // namespace torc::simulation
