#include "lib/claim/rules/ceiling.h"

namespace torc::claim {

ByteCount grown_memory(const RetryRule& rule, ByteCount had, ByteCount most) {
  if (rule.memory_multiplier == 1 || had <= Requirement{}.memory) return had;
  return {grown(had.value, rule.memory_multiplier, most.value)};
}

std::chrono::seconds grown_runtime(const Handler& handler, const RetryRule& rule,
                                   std::chrono::seconds had) {
  if (rule.runtime_multiplier == 1 || had.count() <= 0) return had;
  const auto known = handler.runtime_ceiling;
  const auto most = known.count() > 0 ? known : kLongestRuntime;
  return std::chrono::seconds(grown(static_cast<std::uint64_t>(had.count()),
                                    rule.runtime_multiplier,
                                    static_cast<std::uint64_t>(most.count())));
}

Ceiling ceiling_reached(const Handler& handler, const RetryRule& rule, const Outcome& outcome,
                        const Requirement& had, ByteCount most) {
  if (outcome.cause == EndCause::out_of_memory && rule.memory_multiplier > 1 &&
      had.memory > Requirement{}.memory && grown_memory(rule, had.memory, most) == had.memory)
    return Ceiling::memory;
  if (outcome.cause == EndCause::timed_out && rule.runtime_multiplier > 1 &&
      longest_time(had).count() > 0 &&
      grown_runtime(handler, rule, longest_time(had)) == longest_time(had))
    return Ceiling::runtime;
  return Ceiling::none;
}

}  // namespace torc::claim
