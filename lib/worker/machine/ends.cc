// How jobs ended, and what that means for them.
#include <signal.h>

#include "lib/worker/machine/parts.h"

namespace torc::worker {
namespace {

// Starts in a row that fail for reasons of this node, before the worker leaves it to others.
constexpr int kMostFaults = 3;

claim::StartFault fault_at(exec::StartStep step) {
  switch (step) {
    case exec::StartStep::none:
      return claim::StartFault::unknown;
    case exec::StartStep::directory:
      return claim::StartFault::directory;
    case exec::StartStep::stdout_file:
      return claim::StartFault::stdout_file;
    case exec::StartStep::stderr_file:
      return claim::StartFault::stderr_file;
    case exec::StartStep::cpus:
      return claim::StartFault::cpus;
    case exec::StartStep::execute:
      return claim::StartFault::program;
  }
  return claim::StartFault::unknown;
}

// As with srun --signal: the signal comes before the time is up, and who has ended with 0 by then
// was not cut off. Who is told to stop for another reason was.
bool heeded_warning(const State& w, const exec::Ended& ended) {
  const bool for_time =
      ended.how == exec::Ending::timed_out ||
      (ended.how == exec::Ending::stopped && w.stop_cause == claim::EndCause::allocation_ended);
  return w.terms.signal_is_warning && for_time && ended.exit_code == 0 && ended.signal == 0;
}

exec::Ending way_of_ending(const State& w, const exec::Ended& ended, BootTime now) {
  if (was_meant_for_worker(w, ended, now)) return exec::Ending::stopped;
  return heeded_warning(w, ended) ? exec::Ending::exited : ended.how;
}

claim::Finished verdict(const Step& s, const Running& job, const event::Ended& event) {
  const State& w = s.w;
  const exec::Ended& ended = event.how;
  claim::Finished finished{job.token(), claim::JobState::failed, {}};
  claim::Outcome& o = finished.outcome;
  o.exit_code = ended.exit_code;
  o.signal = ended.signal;
  o.os_errno = ended.os_errno;
  o.started_at = ended.started_at;
  o.ended_at = ended.ended_at;
  o.max_rss = ended.max_rss;
  o.cpu_time = ended.cpu_time;
  o.activity = ended.activity;
  finished.said = event.said;
  if (is_checkpoint(w, job, ended, s.now)) {
    o.cause = claim::EndCause::exited;
    finished.state = claim::JobState::ready;
    finished.checkpointed = true;
    return finished;
  }
  const bool again = job.job.grant.stopped + 1 < claim::kMostStops;
  switch (way_of_ending(w, ended, s.now)) {
    case exec::Ending::exited:
      o.cause = claim::EndCause::exited;
      if (ended.exit_code == 0) finished.state = claim::JobState::completed;
      if (may_be_checkpoint(w, job, ended) && again) finished.state = claim::JobState::ready;
      break;
    case exec::Ending::signaled:
      o.cause = claim::EndCause::signaled;
      break;
    case exec::Ending::not_started:
      o.cause = claim::EndCause::not_started;
      o.fault = fault_at(ended.failed_at);
      if (job.fault.blame != Blame::job && again) finished.state = claim::JobState::ready;
      break;
    case exec::Ending::timed_out:
      o.cause = claim::EndCause::timed_out;
      o.exit_code = w.terms.timeout_exit_code;
      finished.state = claim::JobState::terminated;
      break;
    case exec::Ending::out_of_memory:
      o.cause = claim::EndCause::out_of_memory;
      o.exit_code = w.terms.oom_exit_code;
      break;
    case exec::Ending::stopped:
      // Not the job's fault: it runs again elsewhere, but not for ever.
      o.cause = w.stop_cause;
      finished.state = again ? claim::JobState::ready : claim::JobState::terminated;
      break;
  }
  return finished;
}

// What a lane tells, it tells a little later.
std::chrono::nanoseconds run_time(const Running& job, const claim::Outcome& o, BootTime now) {
  const std::chrono::nanoseconds since = now - job.started;
  if (!job.in_lane) return since;
  return std::clamp<std::chrono::nanoseconds>(o.ended_at - o.started_at, since.zero(), since);
}

}  // namespace

void conclude(const Step& s, const event::Ended& ended) {
  State& w = s.w;
  if (action_ended(s, ended, was_meant_for_worker(w, ended.how, s.now))) {
    if (w.is_quiet()) w.idle_since = s.now;
    return;
  }
  if (await_outputs(s, ended)) return;
  auto found = w.running.extract(ended.run);
  if (found.empty()) return;
  Running job = std::move(found.mapped());
  if (ended.fault) job.fault = *ended.fault;
  if (job.failed) {
    job.failed->signature = ended.outputs.signature;
    return recovered(s, std::move(job), ended.how);
  }
  claim::Finished finished = verdict(s, job, ended);
  if (!job.job.on_each_node) judge_outputs(finished, ended.outputs);
  s.order(command::CloseOutput{ended.run,
                               !job.revoked && finished.state == claim::JobState::completed});
  finished.signature = ended.outputs.signature;
  if (!job.revoked && !job.of_gang && recover(s, job, finished)) return;
  report_end(s, job, std::move(finished));
}

bool ended_of_signal(const exec::Ended& ended) {
  constexpr int kSaysSignal = 128;
  int signal = 0;
  if (ended.how == exec::Ending::signaled) signal = ended.signal;
  if (ended.how == exec::Ending::exited) signal = ended.exit_code - kSaysSignal;
  return signal == SIGTERM || signal == SIGKILL || signal == SIGHUP;
}

// It ended of a signal that its worker got, too.
bool was_meant_for_worker(const State& w, const exec::Ended& ended, BootTime now) {
  return is_explained(w, now) && ended_of_signal(ended);
}

// Whoever stops a worker signals all of its processes, one after the other: a job can end of the
// SIGTERM that was meant for its worker before the worker has its own. Such an end waits a moment
// for its explanation.
void job_ended(const Step& s, const event::Ended& ended) {
  State& w = s.w;
  const std::chrono::nanoseconds patience = patience_with(w, ended.how, s.now);
  // Not while the lease is in doubt either: what follows an end could start something.
  if ((patience.count() > 0 || w.lease.paused) && !w.lost_lease()) {
    w.suspects.push_back({s.now + patience, ended});
  } else {
    conclude(s, ended);
  }
}

void conclude_suspects(const Step& s) {
  State& w = s.w;
  if (w.lease.paused) return;
  while (!w.suspects.empty() && (is_explained(w, s.now) || s.now >= w.suspects.front().until)) {
    const event::Ended ended = std::move(w.suspects.front().ended);
    w.suspects.pop_front();
    conclude(s, ended);
  }
}

void count_start(const Step& s, const Running& job) {
  State& w = s.w;
  if (job.fault.blame == Blame::job) {
    w.faulty_starts = 0;
  } else if (++w.faulty_starts >= kMostFaults && !w.end) {
    s.tell({.what = Notice::What::node_cannot_run,
            .job = job.job.load,
            .number = job.fault.os_errno,
            .step = job.fault.step});
    finish(s, WorkerEnd::broken);
  }
}

void report_end(const Step& s, const Running& job, claim::Finished finished) {
  State& w = s.w;
  if (keep_gang_end(s, job, finished)) return;
  const bool again = finished.state == claim::JobState::ready;
  const bool retried = retry_rule(job, finished) != nullptr || recovery(job, finished).has_value();
  if (!job.revoked && !again && !retried) s.order(command::TellJobOver{job.job.load, finished});
  w.pace.job_ended(run_time(job, finished.outcome, s.now), s.now);
  if (!job.in_lane && !job.of_gang) release(w, job);
  if (w.alone && w.alone->token == job.token()) {
    w.alone.reset();
    w.talk.nothing_claimable = false;
  }
  if (job.revoked) {
    // Whatever it came to: only that it is over counts.
  } else if (finished.state == claim::JobState::completed) {
    ++w.summary.completed;
    ++w.talk.unsaid.completed;
  } else if (retried) {
    tell_retry(s, job, finished);
  } else if (again) {
    ++w.summary.given_back;
  } else {
    ++w.summary.failed;
    ++w.talk.unsaid.failed;
    s.order(command::TellFailure{job.job.load, finished.outcome});
    tell_final(s, job, finished);
  }
  if (!job.of_gang) count_start(s, job);
  if (job.revoked || again) finished.signature.clear();
  w.talk.finishes.push_back(std::move(finished));
  if (!w.is_quiet()) return;
  w.idle_since = w.quiet_since = s.now;
  if (w.end) hurry(s);
}

}  // namespace torc::worker
