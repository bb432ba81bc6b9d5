#include "lib/claim/ledger.h"

#include "lib/claim/barrier.h"

namespace torc::claim {
namespace {

bool is_unsuccessful(JobState state) {
  return is_terminal(state) && state != JobState::completed;
}

// The record says no more than its absence would.
bool is_default(const Job& job) {
  return job.state == JobState::ready && job.attempt == 0 && job.lost == 0 && job.stopped == 0 &&
         job.outcome == Outcome{};
}

}  // namespace

Ledger::Ledger(Transaction& tx) : tx_(tx), state_(tx), stored_(state_.tally()), tally_(stored_) {}

void Ledger::change(std::uint64_t id, JobState before, const Job& after) {
  if (is_default(after)) {
    tx_.erase(Key(Table::job, id));
  } else {
    tx_.put(Key(Table::job, id), encode(after));
  }
  tally_.move(before, after.state);
  if (after.state == JobState::completed) completed_.push_back(id);
  if (is_unsuccessful(after.state)) tx_.put(Key(Table::unsuccessful, id), {});
  if (after.state == JobState::ready) {
    const Span* span = state_.span_of(id);
    if (span == nullptr) return state_.damaged(Key(Table::span, id));
    ready_again_.push_back({span->job_class, span->priority, id});
  }
}

void Ledger::settle() {
  put_ready_again(tx_, ready_again_);
  count_down(tx_, state_, tally_, completed_);
}

Result<void> Ledger::close() {
  settle();
  if (tally_ != stored_) tx_.put(Key(Table::tally), encode(tally_));
  return state_.sound();
}

}  // namespace torc::claim
