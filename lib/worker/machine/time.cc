// What a worker does because of the time, and when the next such moment is.
#include "lib/worker/machine/parts.h"

namespace torc::worker {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

bool must_stop(const State& w, BootTime now) {
  return w.orders.stop_at && w.phase != Phase::stopping && now >= *w.orders.stop_at;
}

bool is_out_of_time(const State& w, BootTime now) {
  return w.terms.ends_at && w.phase != Phase::stopping && now + term_lead(w) >= *w.terms.ends_at;
}

}  // namespace

bool check_time(const Step& s) {
  State& w = s.w;
  if (!w.lost_lease() && (must_stop(w, s.now) || is_out_of_time(w, s.now)) && !settle_lane(s))
    return false;
  conclude_suspects(s);
  look_for_outputs(s);
  if (w.lost_lease()) return true;
  if (w.talk.nothing_claimable && s.now >= w.talk.next_poll) w.talk.nothing_claimable = false;
  if (must_stop(w, s.now)) {
    if (!w.is_quiet()) s.tell({.what = Notice::What::no_time_left, .count = w.running_count()});
    stop_running(s, *w.orders.drain_until - s.now, claim::EndCause::stopped);
  }
  if (is_out_of_time(w, s.now)) {
    finish(s, WorkerEnd::time_up);
    stop_running(s, term_lead(w), claim::EndCause::allocation_ended);
  }
  if (w.terms.idle_timeout && is_idle(w) && s.now >= w.idle_since + *w.terms.idle_timeout)
    finish(s, WorkerEnd::idle);
  follow_allocation(s);
  return true;
}

// Nor did anything that it runs. Of its allocation that is Slurm's doing, so that its time goes on
// as much longer; should it have been another's, Slurm says so when it is asked next.
void stand_still(State& w, nanoseconds time) {
  for (auto& [run, job] : w.running) job.started += time;
  // What a signal before that brought about is no later for it.
  if (w.orders.terminated_at) *w.orders.terminated_at += time;
  if (w.terms.ends_at && w.terms.in_allocation) *w.terms.ends_at += time;
}

void move_end(State& w, BootTime ends_at) {
  const bool longer = w.terms.ends_at && ends_at > *w.terms.ends_at;
  w.terms.ends_at = ends_at;
  if (longer) w.talk.nothing_claimable = false;  // more may fit now
}

void finish(const Step& s, WorkerEnd end) {
  State& w = s.w;
  if (!w.end) w.end = end;
  if (w.phase == Phase::working) w.phase = Phase::draining;
  return_queue(s);
}

void stop_running(const Step& s, nanoseconds lead, claim::EndCause why) {
  State& w = s.w;
  lead = std::max(lead, 0ns);
  if (w.phase != Phase::stopping) w.quiet_since = s.now;
  w.phase = Phase::stopping;
  hurry(s);
  w.stop_cause = why;
  for (const auto& [run, job] : w.running) {
    if (!goes_on_for_gang(w, job) || w.gang->may_save) s.order(command::StopRun{run, lead});
  }
  for (const auto& [run, job] : w.lane.armed) s.order(command::StopRun{run, lead});  // just begun
  if (!w.actions.asked_farewell) stop_actions(s, lead);
}

// Who has asked for jobs and has no answer yet may have some in a moment: the store is slow, or
// cannot be asked now.
bool is_idle(const State& w) {
  const bool asks = !w.talk.was_answered || (w.talk.busy && w.talk.in_flight.offer) ||
                    w.talk.retry_delay != kFirstRetry;
  return w.is_quiet() && w.queue.empty() && !w.has_reports() && !w.actions.active() && !asks &&
         !w.gang && !w.end;
}

BootTime wake_at(const State& w, BootTime now) {
  const Talk& talk = w.talk;
  // Often enough to show that the loop turns.
  BootTime at = now + w.terms.lease_ttl / 5;
  const auto by = [&at](std::optional<BootTime> moment) {
    if (moment) at = std::min(at, *moment);
  };
  const auto if_later = [&](BootTime moment) {
    if (moment > now) by(moment);
  };
  if (w.leaving.begun) {
    by(w.leaving.again);
    return at;
  }
  if (!w.lost_lease()) {
    if (w.lease.fenced) by(now);
    by(w.lease.due);
    if (!w.doubt.asking) by(w.doubt.ask_at);
  }
  if (w.phase != Phase::stopping) {
    by(w.orders.stop_at);
    if (w.terms.ends_at) by(*w.terms.ends_at - term_lead(w));
  }
  if (w.lease.paused && !w.lost_lease()) return at;  // all else waits
  if (!talk.busy &&
      (w.has_reports() || wants_jobs(w, now) || wants_welcome(w) || wants_farewell(w)))
    by(due_at(w));
  if (!w.queue.empty()) if_later(talk.not_before);
  if_later(w.no_start_before);
  for (const ClaimedJob& job : w.queue) if_later(job.not_before);
  if (w.alone) if_later(w.alone->until);
  if (!w.suspects.empty()) by(w.suspects.front().until);
  if (!w.queue.empty() && w.phase == Phase::working && !talk.busy)
    by(std::max({w.pace.queue_stands_at(), window_end(w), talk.not_before}));
  by(next_output_look(w));
  by(next_unfit(w));
  by(gang_wake(w, now));
  if (talk.nothing_claimable && w.phase == Phase::working) by(talk.next_poll);
  if (talk.busy && talk.in_flight.offer) if_later(talk.last_sent + kShareInFlight);
  if (w.phase == Phase::working) by(w.share.wake_at());
  if (w.terms.idle_timeout && is_idle(w)) by(w.idle_since + *w.terms.idle_timeout);
  by(allocation_wake(w, now));
  return at;
}

}  // namespace torc::worker
