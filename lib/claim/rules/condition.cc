#include "lib/claim/rules/condition.h"

namespace torc::claim {

Signal signal_of(const Job& job) {
  // Its worker has not ended it yet.
  if (job.revoked != Revoked::no)
    return job.outcome.started_at == WallTime{} ? Signal::waits : Signal::runs;
  if (job.state == JobState::running) return Signal::runs;
  if (job.state == JobState::completed) return Signal::completed;
  if (is_withdrawn(job)) return Signal::waits;  // it may be spawned again
  if (is_unmet(job) && !is_removed(job)) return Signal::unmet;
  if (is_terminal(job.state)) return Signal::failed;
  return Signal::waits;
}

Edge judge(Signal signal, Condition condition, bool cancels) {
  const bool over = signal != Signal::waits && signal != Signal::runs;
  switch (condition) {
    case Condition::afterok:
      if (signal == Signal::completed) return Edge::met;
      if (signal == Signal::unmet) return Edge::unmet;
      return cancels && signal == Signal::failed ? Edge::failed : Edge::pending;
    case Condition::afternotok:
      if (signal == Signal::failed) return Edge::met;
      return over ? Edge::unmet : Edge::pending;
    case Condition::afterany:
      return over ? Edge::met : Edge::pending;
    case Condition::after:
      return signal == Signal::waits ? Edge::pending : Edge::met;
  }
  return Edge::pending;
}

void EdgeChange::add(Edge before, Edge after, std::int64_t times) {
  const auto one = [&](Edge edge, std::int64_t by) {
    if (edge != Edge::met) left += by;
    if (edge == Edge::unmet) unmet += by;
    if (edge == Edge::failed) failed += by;
  };
  one(before, -times);
  one(after, times);
}

Signal as_seen_by(Signal signal, std::uint8_t rules) {
  if (signal == Signal::completed) return signal;
  if (signal == Signal::runs) return (rules & rule::kStarts) != 0 ? signal : Signal::waits;
  return (rules & rule::kEnds) != 0 ? signal : Signal::waits;
}

}  // namespace torc::claim
