// What workers are beside their CPUs: their groups and names of nodes, the jobs that they serve,
// the named resources that they have. Pure.
#pragma once

#include <string>
#include <vector>

#include "lib/claim/rules/worker.h"

namespace torc::report {

// "group nodes; label gpu, and jobs without one; scheduler big; 2 fpga, 3 port". Empty: nothing.
[[nodiscard]] std::string say_kind(const claim::WorkerInfo& info);
// A line for each kind of worker, the first of them: "workers 1 (n1), 2 (n2): group nodes; 2 fpga".
// In brackets is the name of a node where that is not what its host is called. Workers of no
// particular kind have no line.
[[nodiscard]] std::string say_kinds(const std::vector<const claim::Worker*>& workers);

}  // namespace torc::report
