#include "lib/claim/rules/job.h"

namespace torc::claim {

std::vector<JobState> states_with(unsigned trait) {
  std::vector<JobState> states;
  for (std::size_t s = 0; s < kJobStates; ++s) {
    if (has(static_cast<JobState>(s), trait)) states.push_back(static_cast<JobState>(s));
  }
  return states;
}

std::vector<JobState> all_states() {
  return states_with(~0U);
}

std::optional<JobState> state_named(std::string_view name) {
  for (std::size_t s = 0; s < kJobStates; ++s) {
    if (kStates[s].name == name) return static_cast<JobState>(s);
  }
  return std::nullopt;
}

std::string_view to_string(EndCause cause) {
  switch (cause) {
    case EndCause::none:
      return "none";
    case EndCause::exited:
      return "exited";
    case EndCause::signaled:
      return "signaled";
    case EndCause::timed_out:
      return "timed_out";
    case EndCause::out_of_memory:
      return "out_of_memory";
    case EndCause::not_started:
      return "not_started";
    case EndCause::worker_lost:
      return "worker_lost";
    case EndCause::stopped:
      return "stopped";
    case EndCause::canceled:
      return "canceled";
    case EndCause::unmet:
      return "unmet";
    case EndCause::upstream_failed:
      return "upstream_failed";
    case EndCause::allocation_ended:
      return "allocation_ended";
    case EndCause::lease_lost:
      return "lease_lost";
  }
  return "?";
}

}  // namespace torc::claim
