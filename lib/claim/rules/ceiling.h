// How far what a job is given can grow from one attempt to the next: pure.
#pragma once

#include <chrono>
#include <cstdint>

#include "lib/base/units.h"
#include "lib/claim/rules/handler.h"
#include "lib/claim/rules/job.h"
#include "lib/claim/rules/plan.h"

namespace torc::claim {

// Nothing grows beyond what schedulers offer or, where nobody said, beyond the largest live
// worker and this.
inline constexpr std::chrono::seconds kLongestRuntime = std::chrono::hours(30 * 24);

// What the next attempt of a job that had so much gets by `rule`; `most`: memory_ceiling(). What is
// counted for a job that declares none is no limit of it, and must not become one.
[[nodiscard]] ByteCount grown_memory(const RetryRule& rule, ByteCount had, ByteCount most);
[[nodiscard]] std::chrono::seconds grown_runtime(const Handler& handler, const RetryRule& rule,
                                                 std::chrono::seconds had);

enum class Ceiling : std::uint8_t { none, memory, runtime };
// What a job ran out of that `rule` of `handler` is to give it more of, but cannot: another attempt
// would end as this one did. `had`: what it was given; `most`: memory_ceiling().
[[nodiscard]] Ceiling ceiling_reached(const Handler& handler, const RetryRule& rule,
                                      const Outcome& outcome, const Requirement& had,
                                      ByteCount most);

}  // namespace torc::claim
