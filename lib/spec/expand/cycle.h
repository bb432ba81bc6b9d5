// Jobs that wait for each other, and what a person is told of them.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/spec/expand/expansion.h"
#include "lib/spec/language/workflow.h"
#include "lib/spec/sweep/families.h"
#include "lib/spec/text/source.h"

namespace torc::spec {

// At least one cycle of each group of jobs that wait for each other, in the order of their first
// jobs; no two share a job. A cycle is its jobs, each waiting for the next and the last for the
// first, beginning with the lowest number. Works on the ranges: time and memory grow with jobs plus
// ranges, not with edges, and nothing recurses.
[[nodiscard]] std::vector<std::vector<std::uint64_t>> find_cycles(
    std::uint64_t jobs, const std::vector<DependencySet>& sets);

// Reports the circles among the dependencies of `expansion`, of which those through the same
// entries are one mistake. `jobs`: the families of workflow.jobs.
void report_cycles(const Workflow& workflow, const Families& jobs, const Expansion& expansion,
                   Report& report);

}  // namespace torc::spec
