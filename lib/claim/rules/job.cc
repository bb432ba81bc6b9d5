#include "lib/claim/rules/job.h"

namespace torc::claim {

std::string_view to_string(JobState state) {
  switch (state) {
    case JobState::blocked:
      return "blocked";
    case JobState::ready:
      return "ready";
    case JobState::claimed:
      return "claimed";
    case JobState::running:
      return "running";
    case JobState::completed:
      return "completed";
    case JobState::failed:
      return "failed";
    case JobState::canceled:
      return "canceled";
    case JobState::terminated:
      return "terminated";
    case JobState::held:
      return "held";
    case JobState::pending_failed:
      return "pending_failed";
    case JobState::delayed:
      return "delayed";
  }
  return "?";
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
