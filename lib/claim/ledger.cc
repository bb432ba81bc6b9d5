#include "lib/claim/ledger.h"

#include <algorithm>
#include <iterator>

#include "lib/claim/barrier.h"

namespace torc::claim {
namespace {

// The record says no more than its absence would.
bool is_default(const Job& job) {
  return job.state == JobState::ready && job.attempt == 0 && job.lost == 0 && job.stopped == 0 &&
         job.revoked == Revoked::no && job.outcome == Outcome{};
}

}  // namespace

Ledger::Ledger(Transaction& tx) : tx_(tx), state_(tx), stored_(state_.tally()), tally_(stored_) {}

void Ledger::change(std::uint64_t id, JobState before, const Job& after) {
  if (before == JobState::delayed) {
    const auto job = state_.open_record(id);
    if (!job) return state_.damaged(Key(Table::job, id));
    tx_.erase(delayed_key(job->not_before, id));
  }
  if (is_default(after)) {
    tx_.erase(Key(Table::job, id));
  } else {
    tx_.put(Key(Table::job, id), encode(after));
  }
  const JobState now = after.state == JobState::ready ? state_.waiting_state(id) : after.state;
  tally_.move(before, now);
  if (now == JobState::completed) completed_.push_back(id);
  if (is_live(before) && now == JobState::canceled) revoked_[after.worker].push_back(id);
  if (now == JobState::delayed) tx_.put(delayed_key(after.not_before, id), {});
  if (is_set_aside(now)) {
    tx_.put(Key(Table::set_aside, id), {});
  } else if (is_set_aside(before)) {
    tx_.erase(Key(Table::set_aside, id));
  }
  const bool joins = now == JobState::ready && before != JobState::ready;
  const bool leaves = before == JobState::ready && now != JobState::ready && !is_live(now);
  if (!joins && !leaves) return;
  const auto rank = state_.rank_of(id);
  if (!rank) return state_.damaged(Key(Table::span, id));
  (joins ? ready_again_ : withdrawn_).push_back({rank->job_class, rank->priority, id});
}

void Ledger::change_rank(std::uint64_t id, JobState state, const Rank& from, const Rank& to) {
  if (state != JobState::ready) return;
  withdrawn_.push_back({from.job_class, from.priority, id});
  ready_again_.push_back({to.job_class, to.priority, id});
}

void Ledger::settle() {
  withdraw(tx_, state_, withdrawn_);
  put_ready_again(tx_, ready_again_);
  count_down(tx_, state_, tally_, completed_);
}

// Their renewals stay as they are: nothing here is a sign of life of theirs.
void Ledger::tell_workers() {
  for (auto& [worker, ids] : revoked_) {
    const Key key(Table::lease, raw(worker));
    auto lease = state_.lease(worker);
    if (!lease) return state_.damaged(key);
    std::sort(ids.begin(), ids.end());
    std::vector<std::uint64_t> held;
    std::set_difference(lease->held.begin(), lease->held.end(), ids.begin(), ids.end(),
                        std::back_inserter(held));
    lease->held = std::move(held);
    std::vector<std::uint64_t> ending;
    std::merge(lease->ending.begin(), lease->ending.end(), ids.begin(), ids.end(),
               std::back_inserter(ending));
    lease->ending = std::move(ending);
    tx_.put(key, encode(*lease));
  }
  revoked_.clear();
}

Result<void> Ledger::close() {
  settle();
  tell_workers();
  if (tally_ != stored_) tx_.put(Key(Table::tally), encode(tally_));
  return state_.sound();
}

}  // namespace torc::claim
