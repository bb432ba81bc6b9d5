// The actions that a worker runs: which it asks for, and when they keep it from claiming jobs or
// from leaving.
#include "lib/base/dead_mount.h"
#include "lib/worker/machine/parts.h"

namespace torc::worker {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using ReportKind = claim::ActionReport::What;

// For what follows a signal: whoever sent it will not wait for long.
constexpr nanoseconds kFarewell = 15s;

bool has(const State& w, claim::Trigger trigger) {
  return std::any_of(w.terms.actions.begin(), w.terms.actions.end(),
                     [&](const Terms::Action& a) { return a.trigger == trigger; });
}

bool has_any_of_workflow(const State& w) {
  return std::any_of(w.terms.actions.begin(), w.terms.actions.end(),
                     [](const Terms::Action& a) { return !claim::is_of_worker(a.trigger); });
}

std::size_t commands_of(const State& w, const claim::ActionGrant& grant) {
  return w.terms.actions[grant.action - 1].commands;
}

claim::Outcome outcome_of(const exec::Ended& ended) {
  claim::Outcome o;
  o.exit_code = ended.exit_code;
  o.signal = ended.signal;
  o.os_errno = ended.os_errno;
  o.ended_at = ended.ended_at;
  switch (ended.how) {
    case exec::Ending::exited:
      o.cause = claim::EndCause::exited;
      break;
    case exec::Ending::signaled:
      o.cause = claim::EndCause::signaled;
      break;
    case exec::Ending::timed_out:
      o.cause = claim::EndCause::timed_out;
      break;
    case exec::Ending::stopped:
      o.cause = claim::EndCause::stopped;
      break;
    case exec::Ending::not_started:
      o.cause = claim::EndCause::not_started;
      break;
    case exec::Ending::out_of_memory:
      o.cause = claim::EndCause::out_of_memory;
      break;
  }
  return o;
}

claim::Outcome of_cause(claim::EndCause cause) {
  claim::Outcome outcome;
  outcome.cause = cause;
  return outcome;
}

void report(State& w, const claim::ActionGrant& grant, ReportKind what, claim::Outcome outcome) {
  w.actions.reports.push_back({grant.action, grant.claim, what, grant.done, std::move(outcome)});
}

// How long the next command may take; 0: no limit.
nanoseconds limit_now(const State& w, BootTime now) {
  nanoseconds limit = 0ns;
  if (!w.actions.asked_farewell) return limit;
  if (w.orders.asked != Asked::nothing) limit = kFarewell;
  if (w.orders.drain_until && w.terms.in_allocation)
    limit = std::clamp<nanoseconds>(*w.orders.drain_until - now, 1s, kFarewell);
  if (w.terms.ends_at) {
    const nanoseconds left = std::max<nanoseconds>(*w.terms.ends_at - now, 1s);
    limit = limit > 0ns ? std::min(limit, left) : left;
  }
  return limit;
}

// What begins next, if nothing runs. False: an answer is awaited.
bool start_next(const Step& s) {
  State& w = s.w;
  Actions& actions = w.actions;
  while (!actions.current && !actions.waiting.empty()) {
    const claim::ActionGrant grant = actions.waiting.front();
    actions.waiting.pop_front();
    if (grant.done < commands_of(w, grant)) {
      actions.current = grant;
      actions.between = true;
      continue;
    }
    // All of it had run before; only its end was not told.
    claim::Outcome outcome = of_cause(claim::EndCause::exited);
    outcome.exit_code = 0;
    report(w, grant, ReportKind::ended, outcome);
  }
  if (!actions.current || !actions.between) return true;
  w.starting = next_run(w);
  w.awaited = Awaited::start;
  s.order(command::StartAction{w.starting, *actions.current, limit_now(w, s.now)});
  return false;
}

}  // namespace

// Its own actions come before its first job.
bool is_starting(const State& w) {
  return w.actions.any && (!w.actions.asked_welcome || w.actions.welcoming);
}

bool wants_welcome(const State& w) {
  return w.actions.any && !w.actions.asked_welcome && w.phase == Phase::working && !w.end;
}

bool wants_farewell(const State& w) {
  return w.actions.any && w.end && !w.lost_lease() && !w.actions.asked_farewell &&
         w.actions.asked_welcome && w.orders.asked < Asked::to_stop && w.is_quiet() &&
         w.queue.empty() && !w.gang && !w.actions.busy() && has(w, claim::Trigger::worker_complete);
}

void ask_for_actions(const Step& s, claim::Exchange& exchange) {
  State& w = s.w;
  if (!w.actions.any) return;
  exchange.actions = std::exchange(w.actions.reports, {});
  claim::ActionWish& wish = exchange.wish;
  if (wants_welcome(w)) {
    wish.worker_start = true;
    w.actions.asked_welcome = true;
    w.actions.welcoming = true;
    exchange.offer.reset();
    return;
  }
  if (is_starting(w)) exchange.offer.reset();
  if (wants_farewell(w)) {
    wish.worker_complete = true;
    w.actions.asked_farewell = true;
  }
  if (!exchange.offer || w.actions.busy() || !has_any_of_workflow(w)) return;
  wish.due = true;
  wish.workflow_over = w.actions.workflow_over || w.terms.wait_for_new_jobs == 0s;
}

void take_actions(const Step& s, const std::vector<claim::ActionGrant>& grants) {
  State& w = s.w;
  Actions& actions = w.actions;
  if (!actions.any) return;
  if (w.talk.in_flight.wish.worker_start && grants.empty()) actions.welcoming = false;
  actions.stopping = false;
  actions.waiting.insert(actions.waiting.end(), grants.begin(), grants.end());
  if (actions.asked_farewell) return;
  if (w.phase == Phase::stopping) stop_actions(s, term_lead(w));
  if (w.orders.drain_until) drain_actions(w);
}

bool run_actions(const Step& s) {
  State& w = s.w;
  Actions& actions = w.actions;
  if (!actions.any || w.lease.fenced || w.lease.paused) return true;
  if (s.now < std::max(w.talk.not_before, w.no_start_before)) return true;
  if (!start_next(s)) return false;
  if (!actions.busy() && actions.welcoming &&
      !(w.talk.busy && w.talk.in_flight.wish.worker_start)) {
    actions.welcoming = false;
    w.talk.nothing_claimable = false;
  }
  return true;
}

void take_action_start(const Step& s, const event::StartAnswer& answer) {
  State& w = s.w;
  Actions& actions = w.actions;
  using Start = event::StartAnswer::What;
  // A filesystem that does not answer says nothing of the action either.
  const bool unanswered = answer.fault && torc::is_of_dead_mount(answer.fault->os_errno);
  if (answer.what == Start::started && !unanswered) {
    actions.run = answer.run;
    actions.between = false;
    return;
  }
  w.no_start_before = s.now + kFirstRetry;
  if (answer.what == Start::postponed) return;
  if (unanswered) s.order(command::ForgetRun{answer.run});
  s.tell({.what = Notice::What::action_not_started,
          .number = unanswered ? answer.fault->os_errno : 0,
          .text = answer.why,
          .action = *actions.current});
  report(w, *actions.current, ReportKind::returned, of_cause(claim::EndCause::stopped));
  actions.current.reset();
  actions.between = false;
}

bool action_ended(const Step& s, const event::Ended& ended, bool told) {
  State& w = s.w;
  Actions& actions = w.actions;
  if (!actions.current || actions.between || actions.run != ended.run) return false;
  claim::ActionGrant& grant = *actions.current;
  claim::Outcome outcome = outcome_of(ended.how);
  if (told) outcome.cause = claim::EndCause::stopped;
  if (outcome.cause == claim::EndCause::exited && outcome.exit_code == 0) {
    const bool more = ++grant.done < commands_of(w, grant);
    if (more && !actions.stopping) {
      report(w, grant, ReportKind::went_on, {});
      actions.between = true;
      return true;
    }
    report(w, grant, more ? ReportKind::returned : ReportKind::ended, outcome);
  } else if (outcome.cause == claim::EndCause::stopped) {
    report(w, grant, ReportKind::returned, outcome);
  } else {
    s.tell({.what = Notice::What::action_failed, .outcome = outcome, .action = grant});
    report(w, grant, ReportKind::ended, outcome);
  }
  actions.current.reset();
  return true;
}

// Others have to end theirs first, also those that may be dead: then their runs come back when
// their leases have run out. Or the workflow's last actions are still to come.
bool awaits_actions(const Step& s, const claim::WorkflowState& workflow) {
  State& w = s.w;
  if (!w.actions.any) return false;
  if (w.actions.busy()) return true;
  const claim::ActionTally& t = workflow.actions;
  if (t.due + t.running > 0) return true;
  if (workflow.jobs_over() && t.armed > 0 && !w.talk.in_flight.wish.workflow_over) {
    w.actions.workflow_over = true;  // it has waited for new jobs long enough
    w.talk.nothing_claimable = false;
    return true;
  }
  return false;
}

void drain_actions(State& w) {
  Actions& actions = w.actions;
  actions.stopping = true;
  const claim::Outcome stopped = of_cause(claim::EndCause::stopped);
  for (const claim::ActionGrant& grant : std::exchange(actions.waiting, {}))
    report(w, grant, ReportKind::returned, stopped);
  if (!actions.current || !actions.between) return;
  report(w, *actions.current, ReportKind::returned, stopped);
  actions.current.reset();
  actions.between = false;
}

void stop_actions(const Step& s, nanoseconds lead) {
  drain_actions(s.w);
  if (s.w.actions.current) s.order(command::StopRun{s.w.actions.run, lead});
}

void kill_actions(const Step& s) {
  const Actions& actions = s.w.actions;
  if (actions.current && !actions.between) s.order(command::KillRun{actions.run});
}

void forget_actions(State& w) {
  w.actions.waiting.clear();
  w.actions.current.reset();
  w.actions.between = false;
  w.actions.reports.clear();
}

}  // namespace torc::worker
