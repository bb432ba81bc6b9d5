// How workers come and go: registration, release, and the end of those that others found gone.
#pragma once

#include <cstdint>

#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/claim/rules/job.h"
#include "lib/claim/rules/transition.h"
#include "lib/claim/rules/worker.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

// The epoch is tx.sequence(): one registration a commit. Its lease is the one asked for, or longer
// among many workers (lease_ttl() of lease.h).
Result<WorkerEpoch> register_worker(Transaction& tx, WorkerInfo info);
// Gives back the jobs that it holds, and leaves: claimed ones as never started; one that it
// reported as running will run again with its attempt used up (EndCause::stopped). Refused (fenced)
// after its expiry. Precondition: each start was reported, at the latest in this transaction; a
// worker that cannot say what it started leaves without a release, and its lease runs out.
Result<void> release_worker(Transaction& tx, WorkerEpoch worker, WallTime now);

// Before anything of `worker` is ended from outside, because its process was found gone: from here
// on nothing that it says counts. Its exchanges and its release are refused (fenced); what it holds
// it still holds, so that nobody begins it before it has surely ended here, until its expiry. Who
// kills says so first: should the worker live after all, it does not take the SIGKILL of a job for
// the job's own end. false: it renewed since it was `observed`, or is gone already. True as well
// when it was barred before.
Result<bool> bar_worker(Transaction& tx, WorkerEpoch worker, std::uint64_t observed);

// Expires `worker` if its renewal counter is still `observed`: requeues its jobs with their attempt
// used up; see lose() for what counts, and for `crash_limit`, which holds for templates
// that have none of their own. Failure handlers are asked about those that had started. `why` is
// how the caller knows that it is gone: worker_lost, lease_lost or allocation_ended. `alive_at` is
// the last sign of life that the caller knows of, 0: its newest commit; its attempts end then, lest
// time is counted in which nothing ran. `charge` no: `lost` stays, no limit ends a job, no handler
// is asked; stop: cut_off(), with allocation_ended. Of the suspects that it held the one that was
// granted last is the prime one afterwards. false: it renewed meanwhile or is gone already. (The
// heartbeat counter is compared by the caller just before, in the same body.)
Result<bool> expire_worker(Transaction& tx, WorkerEpoch worker, std::uint64_t observed,
                           WallTime now, std::uint32_t crash_limit,
                           EndCause why = EndCause::worker_lost, WallTime alive_at = {},
                           Charge charge = Charge::yes);

}  // namespace torc::claim
