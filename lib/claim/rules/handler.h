// What is to happen when a job fails: rules, the first that is for an end counts. Values and pure
// functions; retry.h applies them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/job_terms.h"
#include "lib/base/units.h"
#include "lib/claim/rules/job.h"

namespace torc::claim {

using torc::FailureCause;
using torc::RetryRule;

struct Handler {
  std::vector<RetryRule> rules;
  // What schedulers offer at most; 0: nobody said.
  ByteCount memory_ceiling;
  std::chrono::seconds runtime_ceiling{0};
  // How often a job is recovered from ends that none of the rules is for (recovery.h); 0: never.
  std::uint32_t recoveries = 0;
  auto operator<=>(const Handler&) const = default;
};
[[nodiscard]] std::string encode(const Handler& handler);
[[nodiscard]] std::optional<Handler> decode_handler(std::string_view value);

// The exit code as a shell would say it: 128 + N for signal N, 127 and 126 for what could not be
// started; 0 for what has none (a lost worker).
[[nodiscard]] int return_code(const Outcome& outcome);

// The rule that is for this end. `exit_codes` and `all_exit_codes` go by return_code(). oom: the
// job was ended for its memory, or by a SIGKILL that torc did not send, as the kernel ends what
// uses too much; an exit code 137 is that of a shell whose child had it. Ends that are none of the
// job's doing (stopped, allocation_ended, canceled) have no rule.
[[nodiscard]] std::optional<std::size_t> rule_for(const Handler& handler, const Outcome& outcome);

// From the failure to the next attempt, for the nth retry by this rule (from 1): twice as long each
// time, at most kLongestBackoff, or `backoff` itself where that is longer.
inline constexpr std::chrono::seconds kLongestBackoff = std::chrono::hours(1);
[[nodiscard]] std::chrono::seconds backoff_of(const RetryRule& rule, std::uint32_t nth);

// `value` times `by`, not above `ceiling`, but never less than `value` for a ceiling; at least 1.
[[nodiscard]] std::uint64_t grown(std::uint64_t value, double by, std::uint64_t ceiling);

}  // namespace torc::claim
