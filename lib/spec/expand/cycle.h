// Finds jobs that wait for each other.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/spec/expand/dependency_sets.h"

namespace torc::spec {

// The jobs of one cycle, each waiting for the next and the last for the first, beginning with the
// lowest number; empty: there is none. Works on the ranges: time and memory grow with jobs plus
// ranges, not with edges, and nothing recurses.
[[nodiscard]] std::vector<std::uint64_t> find_cycle(std::uint64_t jobs,
                                                    const std::vector<DependencySet>& sets);

// At least one cycle of each group of jobs that wait for each other, in the same form and the order
// of their first jobs; no two share a job. Takes longer than find_cycle() where there is one.
[[nodiscard]] std::vector<std::vector<std::uint64_t>> find_cycles(
    std::uint64_t jobs, const std::vector<DependencySet>& sets);

}  // namespace torc::spec
