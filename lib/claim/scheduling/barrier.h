// Barriers: jobs with the same dependencies wait behind one counter of upstream jobs that are not
// yet as their condition says. A condition that can no longer be met is counted too: then the
// members are passed over. A job that fails leaves the barriers closed that wait for its
// completion.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "lib/claim/rules/condition.h"
#include "lib/claim/scheduling/ready_queue.h"
#include "lib/claim/tables/state.h"
#include "lib/claim/tables/tables.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

// What a change of a job means to the barriers that wait for it.
struct Move {
  std::uint64_t job = 0;
  Signal before = Signal::waits;
  Signal after = Signal::waits;
};

// Members of a barrier that are to be passed over, may wait again, or both in one for another
// reason.
struct Turn {
  std::uint64_t barrier = 0;
  EndCause before = EndCause::none;  // Countdown::doom()
  EndCause after = EndCause::none;
  JobId because{};  // one that makes it so; 0: ask culprit()
};

// Jobs whose state changed with that of others: their barrier opened, closed or became impossible.
struct Followers {
  JobRange jobs;
  JobState before{};
  JobState after{};
};
// Adds them, joined with what was added last where that fits.
void note_followers(std::vector<Followers>& all, const Followers& more);

// Whether a barrier that was open closes when one of its conditions is no longer met.
enum class Reopen : std::uint8_t { stays_open, closes };

// Counts `moves` (any order; emptied). Barriers with nothing left open: their members become ready,
// with this transaction's sequence number as their age. Those that close block what is ready of
// theirs. `touched` are looked at too, whether they must close. One seek for each run of jobs with
// the same barriers, one write for each barrier, however many jobs moved. What becomes ready or
// blocked by it is added to `followers`.
std::vector<Turn> count_moves(Transaction& tx, State& state, ReadyQueues& queues, Tally& tally,
                              std::vector<Move>& moves, Reopen reopen,
                              const std::vector<std::uint64_t>& touched,
                              std::vector<Followers>* followers = nullptr);

// The lowest job that makes the barrier impossible for this reason.
[[nodiscard]] JobId culprit(State& state, std::uint64_t barrier, EndCause why);

// Members that wait behind the barrier, and those that were passed over. The visitor may change
// them.
using VisitMember = std::function<void(std::uint64_t id, const Job& job)>;
void each_blocked_member(State& state, std::uint64_t barrier, const VisitMember& visit);
void each_passed_over_member(State& state, std::uint64_t barrier, const VisitMember& visit);

}  // namespace torc::claim
