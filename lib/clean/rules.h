// What of a workflow nobody needs any more. Pure: of what the store says of a job, a worker, a
// time. Only what is surely over is; what the store does not know stays.
#pragma once

#include <optional>
#include <vector>

#include "lib/base/clock.h"
#include "lib/claim/rules/job.h"
#include "lib/claim/rules/worker.h"
#include "lib/clean/names.h"

namespace torc::clean {

struct Wishes {
  bool completed = false;          // also the output of jobs that have completed
  std::optional<WallTime> before;  // only what ended before this moment
};

// `job`: as the store has it. Nothing of a job that a worker holds, or has not yet said to have
// ended. The newest attempt keeps its directory as long as another attempt may go on from it.
[[nodiscard]] bool may_go(const claim::Job& job, const AttemptName& name, const Wishes& wishes);
// The newest output of the job, in the file of a worker that others share.
[[nodiscard]] bool may_go_packed(const claim::Job& job, const Wishes& wishes);
// What only this worker wrote to.
[[nodiscard]] bool is_gone(const claim::Worker& worker, const Wishes& wishes);
// The log of an allocation: `workers` are all that the store has of it. All have left by their own
// word, or their allocation's time is up: others may be started in it otherwise.
[[nodiscard]] bool may_go(const std::vector<claim::Worker>& workers, const LogName& name,
                          WallTime now, const Wishes& wishes);

}  // namespace torc::clean
