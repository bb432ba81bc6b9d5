// A later attempt of a job spawns jobs that are there, as it says them now.
#pragma once

#include "lib/base/result.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/tables/origin.h"
#include "lib/claim/tables/transaction.h"
#include "lib/claim/transactions/reshape.h"

namespace torc::claim {

// Whether `spawner`, an attempt that has its job, may say anew what the job is. That is of no use
// to a worker at work on it. Else it was spawned by an earlier attempt of the same job, or it was
// added, and nobody has it in the workflow any more: withdrawn, or removed by a person or with who
// spawned it. Never one from which the spawner comes. Error corrupt.
[[nodiscard]] Result<bool> can_be_spawned_again(const Reader& reader, JobId id,
                                                const Origin& spawner);

// As add_jobs(), but those templates of the addition that begin at jobs that are there say what
// these are from now on; all of them can be spawned again. In id order. They come back if they were
// out of the workflow. What had ended runs again, and with it what was built on it, since its
// result is of another definition. They are of the spawner's newest attempt from now on. The answer
// is the jobs that are new. Nothing may be committed after an Error (invalid: the plan is none, or
// a job would wait for itself).
Result<JobRange> spawn_again(Transaction& tx, Plan addition, const PartOf& part_of,
                             const Origin& origin);

// The jobs, which were added, are `now`'s from here on; of what was added with them the rest stays
// as it was. Error corrupt.
Result<void> change_origin(Transaction& tx, const JobRange& jobs, const Origin& now);

}  // namespace torc::claim
