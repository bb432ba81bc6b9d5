// How many allocations wait for the partitions of a cluster.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "lib/base/result.h"
#include "lib/slurm/query.h"

namespace torc::cluster {

struct Waiting {
  std::uint64_t allocations = 0;  // elements of arrays one by one
  std::uint64_t nodes = 0;        // that they ask for
  bool operator==(const Waiting&) const = default;
};
using Queue = std::map<std::string, Waiting>;  // by partition; none waits for others

// By one squeue, of all users as far as Slurm shows them. Errors: not_found (there is no squeue
// here), busy (it does not answer), io (its answer is cut off, or not to be understood).
Result<Queue> ask_queue(const slurm::RunProgram& run);

// What `squeue -h -r -t PENDING -o "%P|%D"` prints. One that may have any of several partitions
// waits for each. Errors: io.
Result<Queue> read_queue(std::string_view text);

}  // namespace torc::cluster
