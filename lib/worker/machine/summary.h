// What became of a worker.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/claim/rules/workflow_state.h"

namespace torc::worker {

enum class WorkerEnd : std::uint8_t {
  workflow_finished,
  nothing_fits,  // jobs are left, but none that this worker could ever run
  time_up,       // its walltime
  idle,          // its idle timeout, or nothing of its allocation was used for long
  interrupted,   // by a signal
  broken,        // this node's directories cannot be used
  lease_lost,    // others took its jobs over
  chosen_over    // of the jobs that it takes alone none may yet run
};

struct WorkerSummary {
  WorkerEnd end = WorkerEnd::workflow_finished;
  int interrupted_by = 0;  // the first signal that told it to stop, whatever it ended by; 0: none
  std::uint64_t epoch = 0;
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;
  std::uint64_t given_back = 0;  // that it had begun, and others are to run again
  // Told to stop, it could not say its last words, or go on until it had: its lease was not
  // released. Or the store is gone for good.
  std::optional<Error> failure;
  claim::WorkflowState workflow;  // as last seen
  // nothing_fits: of the first ready jobs, why it cannot take them.
  std::vector<std::string> mismatches;
};

}  // namespace torc::worker
