// How far a workflow is: what its counters say, and what follows from them. A value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "lib/claim/rules/action.h"
#include "lib/claim/rules/job.h"

namespace torc::claim {

struct WorkflowState {
  std::string name;
  std::string settings;
  std::uint64_t jobs = 0;
  Counts counts{};
  // Of the canceled: never needed, since the condition on which they start cannot come true.
  std::uint64_t unmet = 0;
  // Of the canceled: not yet ended by the worker that had them, which may be gone. They hold what
  // they were granted, slots and budget too, and may be to run again.
  std::uint64_t ending = 0;
  // Jobs that a worker had when the workflow file was applied, so that they go by what it said
  // before, until it is applied again; of these those whose result is not what the file says.
  std::uint64_t behind = 0;
  std::uint64_t outdated = 0;
  // Of an answer: the budget kept jobs from being granted.
  bool budget_holds = false;
  bool limits_hold = false;  // the same of a limit
  [[nodiscard]] std::uint64_t of(JobState s) const { return counts[static_cast<std::size_t>(s)]; }
  std::uint32_t max_failures = 0;  // 0: as many as there are
  ActionTally actions;             // zeros where there are none
  // So many jobs have failed that nothing more is claimed.
  [[nodiscard]] bool halted() const {
    return max_failures != 0 && of(JobState::failed) + of(JobState::terminated) >= max_failures;
  }
  // No job runs or is being ended, and nothing more will be claimed. Jobs that remain blocked or
  // held run only if a person changes something.
  [[nodiscard]] bool jobs_over() const {
    const std::uint64_t waiting = of(JobState::ready) + of(JobState::delayed);
    return of(JobState::claimed) + of(JobState::running) + ending == 0 &&
           (halted() || waiting == 0);
  }
  // Nor is there an action that runs, or that was set off and nobody runs yet.
  [[nodiscard]] bool finished() const { return jobs_over() && actions.due + actions.running == 0; }
  // Everything that was needed.
  [[nodiscard]] bool all_completed() const { return of(JobState::completed) + unmet == jobs; }
};

}  // namespace torc::claim
