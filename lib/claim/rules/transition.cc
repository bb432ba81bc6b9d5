#include "lib/claim/rules/transition.h"

#include <algorithm>
#include <optional>

namespace torc::claim {
namespace {

bool is_newest(const Job& job, const ClaimToken& token, WorkerEpoch worker) {
  return job.attempt == token.attempt && job.claim == token.claim && job.worker == worker &&
         token.claim != 0;
}

// Of an attempt whose worker cannot say how it ended.
Outcome lost_outcome(const Job& job, WallTime alive_at, EndCause why) {
  Outcome outcome;
  outcome.cause = why;
  if (job.state == JobState::running) outcome.started_at = job.outcome.started_at;
  outcome.ended_at = std::max(alive_at, outcome.started_at);
  return outcome;
}

bool is_unheard_of(const Job& job, std::uint32_t crash_limit) {
  return crash_limit != 0 && job.attempt - job.forgiven >= kUnheard * crash_limit;
}

// Why `worker` does not hold `job` by `token`; nullopt: it does.
std::optional<Refusal> refusal_of(const Job& job, const ClaimToken& token, WorkerEpoch worker) {
  if (!is_newest(job, token, worker)) return Refusal::superseded;
  if (job.state == JobState::canceled) return Refusal::canceled;
  if (is_over(job.state)) return Refusal::finished;
  if (!is_live(job.state)) return Refusal::superseded;
  return std::nullopt;
}

}  // namespace

Job claim(Job job, WorkerEpoch worker, std::uint64_t sequence, WallTime now,
          std::uint32_t alternative) {
  job.state = JobState::claimed;
  ++job.attempt;
  job.claim = sequence;
  job.worker = worker;
  job.claimed_at = now;
  job.alternative = alternative;
  return job;
}

ClaimToken token_of(JobId id, const Job& job) {
  return {id, job.attempt, job.claim};
}

Decision start(const Job& job, WorkerEpoch worker, const Started& event) {
  if (!is_newest(job, event.token, worker)) return Refusal::superseded;
  if (job.state == JobState::canceled) return Refusal::canceled;
  if (job.state != JobState::claimed) return Unchanged{};
  Job after = job;
  after.state = JobState::running;
  after.outcome = Outcome{};
  after.outcome.started_at = event.at;
  return after;
}

Decision finish(const Job& job, WorkerEpoch worker, const Finished& event) {
  if (const auto refusal = refusal_of(job, event.token, worker)) return *refusal;
  Job after = job;
  after.state = event.state;
  after.outcome = event.outcome;
  if (after.outcome.started_at == WallTime{} && job.state == JobState::running) {
    after.outcome.started_at = job.outcome.started_at;
  }
  const EndCause why = event.outcome.cause;
  // Its worker outlived it: what it is suspected of, and was charged with, was not its doing. What
  // did not start has shown nothing.
  if (why != EndCause::not_started) {
    after.suspicion = Suspicion::none;
    after.lost = 0;
  }
  // By itself, and yet to run again: it says that it can go on, but nobody had asked it to stop.
  const bool unasked = why == EndCause::exited && !event.checkpointed;
  if (after.state == JobState::ready &&
      (is_interruption(why) || why == EndCause::not_started || unasked)) {
    ++after.stopped;
  }
  if (event.checkpointed) {
    after.forgiven = after.attempt;
    after.stopped = 0;
  }
  return after;
}

Decision give_back(const Job& job, WorkerEpoch worker, const ClaimToken& token, WallTime now) {
  if (const auto refusal = refusal_of(job, token, worker)) return *refusal;
  Job after = job;
  after.state = JobState::ready;
  if (job.state == JobState::running) {
    after.outcome = Outcome{};
    after.outcome.cause = EndCause::stopped;
    after.outcome.started_at = job.outcome.started_at;
    after.outcome.ended_at = now;
    ++after.stopped;
    return after;
  }
  --after.attempt;
  after.claim = 0;
  after.worker = WorkerEpoch{};
  after.claimed_at = WallTime{};
  after.alternative = 0;
  return after;
}

bool is_revoked(const Job& job, const ClaimToken& token, WorkerEpoch worker) {
  return job.revoked != Revoked::no && is_newest(job, token, worker);
}

Job ended(Job job, const Outcome* outcome) {
  if (outcome != nullptr) {
    const WallTime started = job.outcome.started_at;
    const bool removed = is_removed(job);
    const JobId spawner = job.outcome.because;
    job.outcome = *outcome;
    job.outcome.cause = removed ? EndCause::removed : EndCause::canceled;
    if (removed) job.outcome.because = spawner;
    if (job.outcome.started_at == WallTime{}) job.outcome.started_at = started;
  }
  if (job.revoked == Revoked::ending_then_again) job.state = JobState::ready;
  job.revoked = Revoked::no;
  return job;
}

Job cancel(Job job, WallTime now) {
  if (job.state == JobState::canceled) {
    job.revoked = Revoked::ending;
    return job;
  }
  if (is_live(job.state)) job.revoked = Revoked::ending;
  Outcome outcome;
  outcome.cause = EndCause::canceled;
  if (job.state == JobState::running) outcome.started_at = job.outcome.started_at;
  outcome.ended_at = now;
  job.outcome = outcome;
  job.state = JobState::canceled;
  return job;
}

Job remove(Job job, WallTime now) {
  const bool comes_back = job.revoked == Revoked::ending_then_again;
  if ((is_removed(job) && !comes_back) || job.state == JobState::completed) return job;
  const bool had_ended = is_over(job.state) && job.revoked == Revoked::no;
  if (!had_ended) job = cancel(job, now);
  job.state = JobState::canceled;
  job.outcome.cause = EndCause::removed;
  job.outcome.because = JobId{};
  return job;
}

Job withdraw(Job job, JobId spawner, WallTime now) {
  if (job.state != JobState::completed) job = remove(job, now);
  job.state = JobState::canceled;
  job.outcome.cause = EndCause::removed;
  job.outcome.because = spawner;
  return job;
}

Job retry(Job job) {
  job.forgiven = job.attempt;
  job.lost = 0;
  job.stopped = 0;
  job.suspicion = Suspicion::none;
  if (is_removed(job)) job.outcome.because = JobId{};  // it is withdrawn no more
  if (job.revoked != Revoked::no) {
    job.revoked = Revoked::ending_then_again;
    return job;
  }
  job.state = JobState::ready;
  if (job.attempt == 0) job.outcome = Outcome{};  // it never began: nothing is left of it
  return job;
}

Job confirm(Job job) {
  const EndCause why = job.outcome.cause;
  job.state =
      why == EndCause::timed_out || is_interruption(why) ? JobState::terminated : JobState::failed;
  return job;
}

Job hold(Job job) {
  job.state = JobState::held;
  return job;
}

Job release(Job job) {
  job.state = JobState::ready;
  return job;
}

Job pass_over(Job job, EndCause why, JobId because, WallTime now) {
  job.state = JobState::canceled;
  job.outcome = Outcome{};
  job.outcome.cause = why;
  job.outcome.because = because;
  job.outcome.ended_at = now;
  return job;
}

Job wait_again(Job job) {
  job.state = JobState::ready;
  job.outcome = Outcome{};
  return job;
}

Job lose(Job job, std::uint32_t crash_limit, WallTime alive_at, EndCause why) {
  job.outcome = lost_outcome(job, alive_at, why);
  const bool died = why != EndCause::lease_lost;
  if (may_have_started(job) && (died || is_suspect(job))) ++job.lost;
  const bool suspect = died || job.suspicion != Suspicion::none;
  job.suspicion = std::max(job.suspicion, suspect ? Suspicion::suspect : Suspicion::silence);
  const bool last_chance = crash_limit != 0 && job.lost + 1 >= crash_limit;
  if (suspect && last_chance) job.suspicion = Suspicion::prime;
  const bool exhausted = crash_limit != 0 && job.lost >= crash_limit;
  job.state = exhausted || is_unheard_of(job, crash_limit) ? JobState::failed : JobState::ready;
  return job;
}

Job cut_off(Job job, std::uint32_t crash_limit, WallTime alive_at) {
  job.outcome = lost_outcome(job, alive_at, EndCause::allocation_ended);
  const bool told = job.state == JobState::running;  // and so it is bounded by its stops
  if (told) ++job.stopped;
  job.state = !told && is_unheard_of(job, crash_limit) ? JobState::failed : JobState::ready;
  if (job.stopped >= kMostStops) job.state = JobState::terminated;
  return job;
}

}  // namespace torc::claim
