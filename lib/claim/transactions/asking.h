// The record by which the workers of a workflow ask the batch system one after the other, and tell
// each other what it said (inquiry.h).
#pragma once

#include "lib/base/result.h"
#include "lib/claim/rules/inquiry.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

// A record that cannot be read is as none: the next question writes it anew.
[[nodiscard]] Inquiry read_inquiry(const Reader& reader);

// Notes that the caller is about to ask, unless somebody has since it saw `asked`. False: nothing
// was changed.
bool begin_inquiry(Transaction& tx, std::uint64_t asked);

// Adds what the batch system said to the question of that number (`asked` after begin_inquiry()):
// facts of live workers (others are dropped, and what was known of them), and, in the place of
// those of the same cluster, the ends; but not where a later question was answered before.
Result<void> note_answer(Transaction& tx, std::uint64_t asked,
                         const std::map<WorkerEpoch, Gone>& gone, const std::vector<RunEnd>& ends);

// The end of the walltime of a live worker, which its registration tells, as the batch system told
// it, and the start of its allocation where that was not known. False: it told the same, or the
// worker is none.
Result<bool> move_end(Transaction& tx, WorkerEpoch worker, WallTime ends_at, WallTime start);

}  // namespace torc::claim
