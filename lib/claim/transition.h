// The rules of a job's life as pure functions: a job and an event make the job after it, or a
// refusal. No storage, no clock. Everything that changes a job's state goes through here.
#pragma once

#include <cstdint>
#include <variant>

#include "lib/claim/claimer.h"
#include "lib/claim/job.h"

namespace torc::claim {

// The event is right but there is nothing to record: a start that is known already, or one of an
// attempt whose end was reported in the same commit.
struct Unchanged {};

// The job after the event, or why the event does not count.
using Decision = std::variant<Job, Unchanged, Refusal>;

// Grants a ready job: its next attempt. The outcome of the attempt before stays until the start.
// Precondition: job.state == ready.
[[nodiscard]] Job claim(Job job, WorkerEpoch worker, std::uint64_t sequence, WallTime now);

// The token of the newest attempt of `job`.
[[nodiscard]] ClaimToken token_of(JobId id, const Job& job);

// Whether `worker` holds `job` by `token`; else why not.
[[nodiscard]] std::variant<Unchanged, Refusal> check_token(const Job& job, const ClaimToken& token,
                                                           WorkerEpoch worker);

[[nodiscard]] Decision start(const Job& job, WorkerEpoch worker, const Started& event);

// Precondition: event.state is completed, failed, terminated or ready.
[[nodiscard]] Decision finish(const Job& job, WorkerEpoch worker, const Finished& event);

// A claimed job becomes as if this claim had never been. One that was started is run again with its
// attempt used up: nobody can take back what it has done.
[[nodiscard]] Decision give_back(const Job& job, WorkerEpoch worker, const ClaimToken& token,
                                 WallTime now);

// Whether `worker` has by this token an attempt that was canceled and not yet reported as ended.
[[nodiscard]] bool is_revoked(const Job& job, const ClaimToken& token, WorkerEpoch worker);

// The worker of a canceled job said that it ended it, or is gone: its outcome, when there is one,
// is kept, and it waits again if it is to run again. Precondition: job.revoked != Revoked::no.
[[nodiscard]] Job ended(Job job, const Outcome* outcome);

// --- on request of a person ---
// Of these, `ready` in the result means: it waits, and is ready or blocked as its dependencies are.

// Precondition: not terminal, or waiting to run again after it was canceled.
[[nodiscard]] Job cancel(Job job, WallTime now);
// As if no attempt had counted yet. Precondition: terminal, pending_failed or delayed.
[[nodiscard]] Job retry(Job job);
// Its failure stands. Precondition: pending_failed.
[[nodiscard]] Job confirm(Job job);
// Precondition of hold: blocked, ready or delayed; of release: held.
[[nodiscard]] Job hold(Job job);
[[nodiscard]] Job release(Job job);

// It will not run, for what became of `because`. Precondition: it waits behind a closed barrier, or
// was passed over for another reason.
[[nodiscard]] Job pass_over(Job job, EndCause why, JobId because, WallTime now);
// It may run after all. Precondition: is_passed_over(job).
[[nodiscard]] Job wait_again(Job job);

// Its worker is gone, `why` says how, and was last alive at `alive_at`: run again, or failed when
// it has now lost `crash_limit` workers (0: no limit) while it ran. A job that was only claimed is
// not charged, but its attempt is used up: its start may not have been told yet. Lest a job that
// takes its worker with it before anybody hears of its start goes on for ever, one that has had
// kUnheard x `crash_limit` attempts fails too. Precondition: is_live(job.state).
inline constexpr std::uint32_t kUnheard = 10;
[[nodiscard]] Job lose(Job job, std::uint32_t crash_limit, WallTime alive_at,
                       EndCause why = EndCause::worker_lost);

}  // namespace torc::claim
