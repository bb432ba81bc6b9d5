// What travels with a claimed job through the state machine, which does not look at it.
#pragma once

#include <string>

#include "lib/worker/jobs/job_command.h"
#include "lib/worker/jobs/output_keeper.h"
#include "lib/worker/machine/claimed_job.h"

namespace torc::worker {

struct Load {
  PreparedJob job;
  HeldOutput output;
  std::string label;  // of whoever wants to hear of its end
};

// The job as the state machine has it.
[[nodiscard]] ClaimedJob claimed(PreparedJob job);

}  // namespace torc::worker
