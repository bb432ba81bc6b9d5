// What travels with a claimed job through the state machine, which does not look at it.
#pragma once

#include <cstdint>
#include <string>

#include "lib/worker/jobs/job_command.h"
#include "lib/worker/jobs/output_keeper.h"
#include "lib/worker/machine/claimed_job.h"

namespace torc::worker {

struct Load {
  PreparedJob job;
  HeldOutput output;
  bool may_be_recovered = false;  // should it fail; what its output says then counts
  std::string label;              // of whoever wants to hear of its end
  std::uint32_t slot = 0;         // WorkerSetup::numbers_slots; 0: none
};

// The job as the state machine has it.
[[nodiscard]] ClaimedJob claimed(PreparedJob job);

}  // namespace torc::worker
