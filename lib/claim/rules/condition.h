// What the state of a job means to those that depend on it, as pure functions.
#pragma once

#include <cstdint>

#include "lib/claim/rules/job.h"
#include "lib/claim/rules/plan.h"

namespace torc::claim {

// As much of a job as conditions look at. A canceled one is over when its worker has ended it.
enum class Signal : std::uint8_t { waits, runs, completed, failed, unmet };
inline constexpr std::size_t kSignals = 5;
[[nodiscard]] Signal signal_of(const Job& job);

enum class Edge : std::uint8_t {
  pending,  // not yet as the condition says
  met,
  unmet,  // can no longer be met
  failed  // the same, since the job ended otherwise: what waits for it is to be canceled
};
[[nodiscard]] Edge judge(Signal signal, Condition condition, bool cancels);

// What a change of one job's signal does to a countdown that has one edge from it.
struct EdgeChange {
  std::int64_t left = 0;
  std::int64_t unmet = 0;
  std::int64_t failed = 0;
  void add(Edge before, Edge after, std::int64_t times);
  [[nodiscard]] bool is_nothing() const { return left == 0 && unmet == 0 && failed == 0; }
};

// The signals that no barrier of a workflow with these rules tells apart are one.
[[nodiscard]] Signal as_seen_by(Signal signal, std::uint8_t rules);

}  // namespace torc::claim
