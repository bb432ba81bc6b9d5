// What of Slurm's configuration, and of its user's wishes, the lease and the end of a worker depend
// on.
#pragma once

#include <chrono>
#include <functional>

#include "lib/base/end_margins.h"

namespace torc::worker {

struct SlurmTerms {
  EndMargins margins;  // by which the end of its time is found whenever Slurm moves it
  // After which Slurm gives up a node that it does not hear of (SlurmdTimeout); 0: not known.
  std::chrono::seconds node_timeout{0};
  // The end of its time is what Slurm answered to this worker, not what its variables tell since
  // the allocation began: then nothing that others heard before is newer.
  bool end_was_asked = false;
  // Starts a pass over the ledger of allocations (pass_turn.h); empty: this worker makes none.
  std::function<void()> start_pass = {};
};

}  // namespace torc::worker
