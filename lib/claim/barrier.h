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

}  // namespace torc::claim
