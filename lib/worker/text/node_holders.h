// Who holds what a waiting worker of this node would need, as the node ledger tells.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/exec/node/node_table.h"
#include "lib/workflow/context/context.h"

namespace torc::worker {

// Whether the worker of this watchdog process waits for others and has no CPU meanwhile.
[[nodiscard]] bool waits_for_node(const std::vector<exec::NodeEntry>& workers, std::uint64_t pid);
// "worker 4711 of one.torc (2 CPUs), …": the others that have CPUs, the most first. Empty: nobody.
[[nodiscard]] std::string show_holders(const workflow::Context& context,
                                       const std::vector<exec::NodeEntry>& workers,
                                       std::uint64_t pid);

}  // namespace torc::worker
