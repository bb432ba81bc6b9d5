// The rules of a job's life as pure functions: a job and an event make the job after it, or a
// refusal. No storage, no clock. Everything that changes a job's state goes through here.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "lib/claim/rules/job.h"

namespace torc::claim {

// What a worker tells of an attempt.
struct Started {
  ClaimToken token;
  WallTime at{};
};
struct Finished {
  ClaimToken token;
  // completed, failed, terminated; `ready`: run again, attempt used up
  JobState state = JobState::completed;
  Outcome outcome;
  // The recovery script of the rule that is for this end was run, and succeeded (retry.h).
  bool recovered = false;
  // Why it failed, by its output and its exit code (lib/report/diagnosis); asked for only where the
  // workflow recovers by itself.
  Trouble said = Trouble::unknown;
  // The job saved its state and is to go on: `state` is ready, and limits on attempts start anew.
  bool checkpointed = false;
  // Encoded Signature (signature.h) of what it took and made, kept when the job is over; empty: it
  // has neither files nor user data.
  std::string signature = {};
};

enum class Refusal : std::uint8_t { superseded, finished, no_such_job, canceled };

// The event is right but there is nothing to record: a start that is known already, or one of an
// attempt whose end was reported in the same commit.
struct Unchanged {};

// The job after the event, or why the event does not count.
using Decision = std::variant<Job, Unchanged, Refusal>;

// Attempts cut off by the end of an allocation or by a signal, or that could not start, before a
// job is given up.
inline constexpr std::uint32_t kMostStops = 5;

// Grants a ready job: its next attempt, by that alternative of its class. The outcome of the
// attempt before stays until the start. Precondition: job.state == ready.
[[nodiscard]] Job claim(Job job, WorkerEpoch worker, std::uint64_t sequence, WallTime now,
                        std::uint32_t alternative = 0);

// The token of the newest attempt of `job`.
[[nodiscard]] ClaimToken token_of(JobId id, const Job& job);

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
// The workflow file has it no more. One that has completed stays as it is.
[[nodiscard]] Job remove(Job job, WallTime now);
// What spawned it, `spawner`, goes back to the start: what it may have done counts no more.
[[nodiscard]] Job withdraw(Job job, JobId spawner, WallTime now);
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
// it has now taken `crash_limit` workers (0: no limit) with it. That is said of an attempt that had
// started when its worker's process was found gone (worker_lost) or its allocation (by others:
// allocation_ended), and of a suspect's, which was started alone, in any case, from its claim on. A
// worker that merely fell silent (lease_lost) may have been suspended: no crash of the job. One
// that was only claimed is not charged, but its attempt is used up, since its start may not have
// been told, and it is a suspect from then on. Whatever is counted, one that has had kUnheard x
// `crash_limit` attempts fails at the next loss. Precondition: is_live(job.state).
inline constexpr std::uint32_t kUnheard = 10;
[[nodiscard]] Job lose(Job job, std::uint32_t crash_limit, WallTime alive_at,
                       EndCause why = EndCause::worker_lost);

// What the loss of a worker says of the jobs that it ran.
enum class Charge : std::uint8_t {
  no,    // the worker itself says that it lives, and only lost its lease
  stop,  // its allocation was ended, and not by them: see cut_off()
  yes    // they may have taken it with them
};

// Its allocation was ended by its time limit or on somebody's word, and its worker did not come to
// say so. Nobody died of the job: it ends as if its worker had ended it (allocation_ended,
// `stopped`
// + 1 when it had started), and is given up (terminated) at the kMostStops-th time, lest a job that
// fits into no allocation goes on for ever. What lose() says of unheard attempts holds here for one
// that was only claimed.
// Precondition: is_live(job.state).
[[nodiscard]] Job cut_off(Job job, std::uint32_t crash_limit, WallTime alive_at);

}  // namespace torc::claim
