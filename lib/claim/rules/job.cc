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
  static constexpr std::array<std::string_view, static_cast<std::size_t>(kLastEndCause) + 1> kNames{
      "none",        "exited",  "signaled",      "timed_out", "out_of_memory",   "not_started",
      "worker_lost", "stopped", "canceled",      "unmet",     "upstream_failed", "allocation_ended",
      "lease_lost",  "removed", "output_missing"};
  const auto at = static_cast<std::size_t>(cause);
  return at < kNames.size() ? kNames[at] : "?";
}

}  // namespace torc::claim
