// What workers say of the gangs that they are part of, and how gangs form and are left.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "lib/claim/rules/request.h"
#include "lib/claim/rules/transition.h"
#include "lib/claim/scheduling/ledger.h"
#include "lib/claim/tables/tables.h"

namespace torc::claim {

// The nodes of all `members` are taken for the attempt that `grant` is; the first of them is the
// head, whose `lease` is for the caller to write, as are those of the others to this. They are
// expected to be free when a job that begins `now` and takes Grant::runtime ends.
void form_gang(Ledger& ledger, Lease& lease, const Grant& grant, std::vector<GangMember> members,
               WallTime now);

// Says the words of one exchange, in their order. Those that name no gang of the worker, or come
// too late, change nothing. Whether the worker declined for its own sake: its node cannot be had
// now.
bool say_gang_words(Ledger& ledger, Lease& lease, const Exchange& request);

// What the worker's leaving makes of the job that its gang is an attempt of.
using JobRule = std::function<std::optional<Job>(std::uint64_t id, const Job& job)>;
// It is given back: unstarted, or stopped where its head may have started it. Until the head says
// so only the head itself knows: the attempt, by whose number its files are named, is used up.
[[nodiscard]] JobRule given_back(Ledger& ledger, const Lease& lease, WorkerEpoch worker,
                                 WallTime now);
// If the worker's gang is not over, its attempt ends by `rule`; the worker stays part of it.
void end_gang(Ledger& ledger, Lease& lease, WorkerEpoch worker, const JobRule& rule);
// The same, and the worker is no longer part of it. To be called when what the worker itself held
// was dealt with.
void leave_gang(Ledger& ledger, Lease& lease, WorkerEpoch worker, const JobRule& rule);

}  // namespace torc::claim
