// What the journal engine asks of a shared filesystem, counted on the real one: two hosts on a
// store in memory, every operation of the Disk is a request.
#pragma once

#include <cstdint>

#include "bench/measure.h"
#include "tests/simulation/store_cost.h"

namespace torc::bench {

struct JournalCost : simulation::StoreCost {
  std::uint64_t most_files =
      0;  // at any time outside logs/, at 20 commits a second for half an hour
};

// What NFS clients send for a commit (lib/store/disk/request_count.h), over many commits of `hosts`
// that commit by turns, 20 a second: learning of the others' commits, segments, snapshots and
// collection are in it.
struct RequestsPerCommit {
  double all = 0;
  double modifying = 0;               // of them
  std::uint64_t least_modifying = 0;  // of one commit alone, without the maintenance of older ones
};
Result<RequestsPerCommit> measure_requests(const Path& scratch, std::uint64_t hosts, int commits);

Result<JournalCost> measure_journal(const Path& scratch);

}  // namespace torc::bench
