#include "lib/claim/scheduling/measured_times.h"

namespace torc::claim {

void MeasuredTimes::note(std::uint64_t id, const Job& job) {
  const Outcome& end = job.outcome;
  if (end.started_at == WallTime{} || end.ended_at < end.started_at) return;
  const auto rank = state_.rank_of(id);
  if (!rank) return state_.damaged(Key(Table::span, id));
  const auto [of, unknown] = templates_.try_emplace(rank->job_class);
  if (unknown) of->second = state_.job_class(rank->job_class).learns_from;
  if (of->second == 0) return;
  const auto [time, unread] = times_.try_emplace({of->second, job.alternative});
  if (unread) {
    const Key key = learned_key(of->second, job.alternative);
    if (const auto value = tx_.get(key)) {
      auto known = LearnedTime::decode(*value);
      if (!known) return state_.damaged(key);
      time->second = *std::move(known);
    }
  }
  time->second.add(end.ended_at - end.started_at);
}

void MeasuredTimes::store() {
  for (const auto& [of, time] : times_) {
    if (time.count() > 0) tx_.put(learned_key(of.first, of.alternative), time.encode());
  }
  times_.clear();
}

}  // namespace torc::claim
