// Jobs that are added to a workflow in a store, by a person or by a job of it. One transaction,
// which costs what is added and what that waits for, however large the workflow is.
#pragma once

#include "lib/base/result.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/tables/origin.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

// `addition` is a plan of further jobs: its templates begin at the next job, its classes are its
// own numbering, members of its dependency sets are its own jobs, and upstream may be any job
// whatever its state: the barrier starts with what has not completed. Its name, settings and sort
// method count for nothing; a definition takes the place of one with the same key.
// `origin.jobs` is filled in. Nothing is written on an Error (invalid: the plan is none).
Result<JobRange> add_jobs(Transaction& tx, Plan addition, Origin origin);

}  // namespace torc::claim
