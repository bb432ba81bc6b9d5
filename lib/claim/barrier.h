// Barriers: jobs with the same dependencies wait behind one counter of upstream jobs that have not
// completed. A job that fails, is canceled or terminated leaves its barriers closed.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/claim/state.h"
#include "lib/claim/tables.h"
#include "lib/store/transaction.h"

namespace torc::claim {

// Counts `completed` (each job once in its life; any order; emptied) off the barriers that wait for
// them. Those that reach zero open: their members become ready, with this transaction's sequence
// number as their age. One seek for each run of jobs with the same barriers, one write for each
// barrier, however many jobs completed.
void count_down(Transaction& tx, State& state, Tally& tally, std::vector<std::uint64_t>& completed);

// The reverse: `completed` are to run again (each was counted down; ascending). Call it while they
// still count as completed and before anything else is changed. Barriers that were open close, and
// those of their members that are ready are blocked again.
void count_up(Transaction& tx, State& state, Tally& tally,
              const std::vector<std::uint64_t>& completed);

}  // namespace torc::claim
