// What the jobs that a worker holds need of it, by number: which pieces each of them has only the
// worker knows.
#pragma once

#include "lib/base/resources.h"
#include "lib/base/result.h"
#include "lib/claim/rules/job.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

// Of each kind that jobs share the sum; of what has a name, and in thousandths, all GPUs (kGpus),
// also those of a type. "All there is" stays that. A look at each job that it holds. Error corrupt:
// a record cannot be read.
Result<Resources> used_by_jobs_of(const Reader& reader, WorkerEpoch worker);

}  // namespace torc::claim
