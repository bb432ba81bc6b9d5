#include "lib/claim/scheduling/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "lib/claim/rules/transition.h"
#include "lib/claim/scheduling/rank.h"
#include "lib/claim/tables/past_attempts.h"

namespace torc::claim {
namespace {

// The record says no more than its absence would.
bool is_default(const Job& job) {
  return job.state == JobState::ready && job.attempt == 0 && job.lost == 0 && job.stopped == 0 &&
         job.revoked == Revoked::no && job.suspicion == Suspicion::none && job.outcome == Outcome{};
}

}  // namespace

Ledger::Ledger(Transaction& tx, WallTime now, Reopen reopen)
    : tx_(tx),
      now_(now),
      reopen_(reopen),
      state_(tx),
      stored_(state_.tally()),
      tally_(stored_),
      queues_(tx, state_, stored_.ordered),
      quota_(tx, state_, stored_.rules),
      measured_(tx, state_),
      gangs_(tx, state_) {}

// What has changed already may open the barrier again: whether the job is passed over is decided
// when all of it is counted.
JobState Ledger::waiting_state(std::uint64_t id) {
  const JobState state = state_.waiting_state(id);
  if (state == JobState::blocked && (tally_.rules & rule::kEnds) != 0) doubtful_.push_back(id);
  return state;
}

void Ledger::pass_over_doubtful() {
  std::map<std::uint64_t, JobId> culprits;  // of barriers
  for (const std::uint64_t id : std::exchange(doubtful_, {})) {
    const Span* span = state_.span_of(id);
    const std::uint64_t barrier = span == nullptr ? 0 : span->barrier;
    const auto job = state_.job(id);
    if (!job || job->state != JobState::blocked || barrier == 0) continue;
    const EndCause doom = state_.countdown(barrier).doom();
    if (doom == EndCause::none) continue;
    const auto [because, added] = culprits.try_emplace(barrier);
    if (added) because->second = culprit(state_, barrier, doom);
    change_follower(id, *job, pass_over(*job, doom, because->second, now_));
  }
}

void Ledger::note_move(std::uint64_t id, const Job& before, const Job& after) {
  // Every start and claim comes by here: most workflows count nothing but completions.
  if (tally_.rules == 0 && before.state != JobState::completed &&
      after.state != JobState::completed) {
    return;
  }
  const Move move{id, as_seen_by(signal_of(before), tally_.rules),
                  as_seen_by(signal_of(after), tally_.rules)};
  if (move.before != move.after) moves_.push_back(move);
}

std::optional<Rank> Ledger::follow_suspicion(std::uint64_t id, const Job& before,
                                             const Job& after) {
  if (alone(before) == alone(after)) return std::nullopt;
  const auto rank = state_.rank_of(id);
  if (!rank) {
    state_.damaged(Key(Table::span, id));
    return std::nullopt;
  }
  const auto [to, added] = counterparts_.try_emplace({rank->job_class, alone(after)});
  if (added) {
    JobClass job_class = state_.job_class(rank->job_class);
    job_class.alone = alone(after);
    to->second = find_or_add_class(tx_, state_, job_class);
  }
  put_rank(tx_, state_, id, {to->second, rank->priority});
  return rank;
}

void Ledger::change(std::uint64_t id, const Job& before, const Job& after) {
  const JobState now = after.state == JobState::ready ? waiting_state(id) : after.state;
  if (before.state == JobState::delayed) tx_.erase(delayed_key(before.not_before, id));
  keep_attempt(tx_, id, before, after);
  if (is_default(after)) {
    tx_.erase(Key(Table::job, id));
  } else {
    tx_.put(Key(Table::job, id), encode(after));
  }
  tally_.move(before.state, now);
  if (is_unmet(before)) --tally_.unmet;
  if (is_unmet(after)) ++tally_.unmet;
  if (before.revoked != Revoked::no) --tally_.ending;
  if (after.revoked != Revoked::no) ++tally_.ending;
  const auto rank_before = follow_suspicion(id, before, after);
  note_move(id, before, after);
  if ((tally_.rules & (rule::kLimits | rule::kBudget)) != 0) quota_.change(id, before, after);
  if ((tally_.rules & rule::kGangs) != 0) gangs_.follow(id, before, after);
  if ((tally_.rules & rule::kLearns) != 0 && now == JobState::completed &&
      before.state != JobState::completed)
    measured_.note(id, after);
  if (is_live(before.state) && now == JobState::canceled) revoked_[after.worker].push_back(id);
  if (now == JobState::delayed) tx_.put(delayed_key(after.not_before, id), {});
  if (is_set_aside(now)) {
    tx_.put(Key(Table::set_aside, id), {});
  } else if (is_set_aside(before.state)) {
    tx_.erase(Key(Table::set_aside, id));
  }
  const bool moves = rank_before.has_value();
  const bool joins = now == JobState::ready && (before.state != JobState::ready || moves);
  const bool leaves =
      before.state == JobState::ready && !is_live(now) && (now != JobState::ready || moves);
  if (!joins && !leaves) return;
  const auto rank = state_.rank_of(id);
  if (!rank) return state_.damaged(Key(Table::span, id));
  if (leaves) {
    const Rank from = rank_before.value_or(*rank);
    withdrawn_.push_back({from.job_class, from.priority, id});
  }
  if (joins) ready_again_.push_back({rank->job_class, rank->priority, id});
}

void Ledger::change_rank(std::uint64_t id, const Job& job, const Rank& from, const Rank& to) {
  if (is_occupied(job))
    quota_.change_class(job.worker, job.alternative, from.job_class, to.job_class);
  if (job.state != JobState::ready) return;
  withdrawn_.push_back({from.job_class, from.priority, id});
  ready_again_.push_back({to.job_class, to.priority, id});
}

void Ledger::change_follower(std::uint64_t id, const Job& before, const Job& after) {
  change(id, before, after);
  if (followers_ == nullptr) return;
  const JobState now = after.state == JobState::ready ? state_.waiting_state(id) : after.state;
  if (now != before.state) note_followers(*followers_, {{JobId{id}, 1}, before.state, now});
}

// Members of the barrier: their own moves are counted in the next round.
void Ledger::follow(const Turn& turn) {
  JobId because = turn.because;
  if (raw(because) == 0 && turn.after != EndCause::none)
    because = culprit(state_, turn.barrier, turn.after);
  const auto member = [&](std::uint64_t id, const Job& job) {
    change_follower(
        id, job,
        turn.after == EndCause::none ? wait_again(job) : pass_over(job, turn.after, because, now_));
  };
  if (turn.before == EndCause::none) {
    each_blocked_member(state_, turn.barrier, member);
  } else {
    each_passed_over_member(state_, turn.barrier, member);
  }
}

void Ledger::pass_over_members(std::uint64_t barrier) {
  follow({barrier, EndCause::none, state_.countdown(barrier).doom(), JobId{}});
}

// What waits for a barrier that turns may turn the next one, so rounds follow one another as
// barriers do: each has one more behind it that turned, but the first, which may be about jobs that
// were doubtful before. Where more rounds have turned some than there are that turned, a barrier
// waits for its own members, and between forged counters the rounds would have no end.
void Ledger::settle() {
  std::set<std::uint64_t> turned;
  std::size_t rounds = 0;
  while (!moves_.empty() || !touched_.empty() || !withdrawn_.empty() || !ready_again_.empty() ||
         !doubtful_.empty()) {
    queues_.withdraw(withdrawn_);
    queues_.put_again(ready_again_);
    const auto turns =
        count_moves(tx_, state_, queues_, tally_, moves_, reopen_, touched_, followers_);
    touched_.clear();
    for (const Turn& turn : turns) turned.insert(turn.barrier);
    if (!turns.empty() && ++rounds > turned.size() + 1) {
      state_.contradicts(fmt::format("barrier {} waits for its own jobs", turns.front().barrier));
      moves_.clear();
      doubtful_.clear();
      return;
    }
    for (const Turn& turn : turns) follow(turn);
    pass_over_doubtful();
  }
}

namespace {

std::vector<std::uint64_t> without(const std::vector<std::uint64_t>& ids,
                                   std::vector<std::uint64_t>& gone) {
  std::sort(gone.begin(), gone.end());
  std::vector<std::uint64_t> left;
  std::set_difference(ids.begin(), ids.end(), gone.begin(), gone.end(), std::back_inserter(left));
  return left;
}

}  // namespace

// Their renewals stay as they are: nothing here is a sign of life of theirs.
void Ledger::tell_workers() {
  for (auto& [worker, ids] : revoked_) {
    const Key key(Table::lease, raw(worker));
    auto lease = state_.lease(worker);
    if (!lease) return state_.damaged(key);
    lease->held = without(lease->held, ids);
    std::vector<std::uint64_t> ending;
    std::merge(lease->ending.begin(), lease->ending.end(), ids.begin(), ids.end(),
               std::back_inserter(ending));
    lease->ending = std::move(ending);
    tx_.put(key, encode(*lease));
  }
  revoked_.clear();
  for (auto& [worker, ids] : taken_) {
    const Key key(Table::lease, raw(worker));
    auto lease = state_.lease(worker);
    if (!lease) return state_.damaged(key);
    lease->held = without(lease->held, ids);
    tx_.put(key, encode(*lease));
  }
  taken_.clear();
}

Result<void> Ledger::close() {
  settle();
  queues_.store();
  tell_workers();
  quota_.store();
  gangs_.store();
  measured_.store();
  // A queue that holds more jobs than are ready takes a count below zero.
  if (!tally_.is_possible()) state_.damaged(Key(Table::tally));
  if (tally_ != stored_) tx_.put(Key(Table::tally), encode(tally_));
  return state_.sound();
}

Error fenced(WorkerEpoch epoch) {
  return Error{
      ErrorKind::fenced,
      fmt::format("worker {} is no longer registered: its lease expired or it left", raw(epoch)),
      "stop its jobs; they are given to others. A new worker may be started"};
}

}  // namespace torc::claim
