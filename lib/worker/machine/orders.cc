// What a worker does when somebody tells it to leave: how long its jobs may go on, and whose end a
// signal was.
#include <signal.h>

#include <utility>

#include "lib/worker/machine/parts.h"

namespace torc::worker {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr nanoseconds kTermLead = 15s;  // who sends SIGTERM will not wait for long
// Slurm sends SIGTERM to every process of a step, and srun passes its own on: one request.
constexpr nanoseconds kStepEcho = 5s;
// An end may come before the worker's own signal, or its SIGKILL. Slurm tells the processes of a
// step one by one; outside of it the kernel does it for a whole control group, or somebody for all
// processes of a user.
constexpr nanoseconds kExplanationOfSlurm = 1s;
constexpr nanoseconds kExplanation = 200ms;
// With a store that cannot be written, of one told to leave.
constexpr nanoseconds kReportPatience = 20s;

// SIGINT is a person who can press again; SIGTERM and SIGHUP come before a SIGKILL.
Asked next(Asked before, int request) {
  if (request == SIGINT && before == Asked::nothing) return Asked::to_drain;
  if (request != SIGINT && before < Asked::to_end_in_time) return Asked::to_end_in_time;
  return before < Asked::to_stop ? Asked::to_stop : Asked::to_kill;
}

// Jobs may go on while there is time, but those that have something to save, or cannot end in it,
// are told at once.
void end_in_time(const Step& s) {
  State& w = s.w;
  Orders& orders = w.orders;
  BootTime until = s.now + w.terms.grace;
  if (w.terms.ends_at) until = std::max(s.now, std::min(until, *w.terms.ends_at));
  const nanoseconds left = until - s.now;
  orders.drain_until = until;
  if (w.phase == Phase::stopping) return stop_running(s, left, w.stop_cause);
  const nanoseconds lead = std::min({term_lead(w), kTermLead, left / 2});
  orders.stop_at = until - lead;
  hurry(s);
  if (!w.actions.asked_farewell) drain_actions(w);
  std::size_t told = 0;
  const auto tell_job = [&](Run run, const ClaimedJob& job, BootTime started) {
    const auto expected = expected_time(job.need);
    const bool endless = expected > 0s && started + expected > until;
    if (job.checkpoint_exit_code == 0 && !endless) return;
    s.order(command::StopRun{run, left});
    ++told;
  };
  for (const auto& [run, job] : w.running) {
    const bool goes_on = goes_on_for_gang(w, job) && job.job.checkpoint_exit_code == 0;
    if (!job.failed && !goes_on) tell_job(run, job.job, job.started);
  }
  for (const auto& [run, armed] : w.lane.armed) tell_job(run, armed.job, s.now);
  if (w.is_quiet()) return;
  s.tell({.what = Notice::What::told_to_leave,
          .count = told,
          .other = w.running_count() - told,
          .time = left,
          .lead = lead});
}

void stop_now(const Step& s, int request) {
  State& w = s.w;
  nanoseconds lead = term_lead(w);
  if (request != SIGINT) lead = std::min(lead, kTermLead);
  if (w.orders.drain_until) lead = std::clamp(*w.orders.drain_until - s.now, 0ns, lead);
  if (!w.is_quiet())
    s.tell({.what = Notice::What::stops_jobs,
            .count = w.running_count(),
            .lead = lead,
            .number = request});
  else if (!w.talk.finishes.empty())
    s.tell({.what = Notice::What::results_left,
            .count = w.talk.finishes.size(),
            .lead = kReportPatience,
            .number = request});
  stop_running(s, lead, claim::EndCause::stopped);
}

void kill_now(const Step& s) {
  State& w = s.w;
  if (!w.is_quiet()) s.tell({.what = Notice::What::kills_jobs, .count = w.running_count()});
  for (const auto& [run, job] : w.running) s.order(command::KillRun{run});
  for (const auto& [run, job] : w.lane.armed) s.order(command::KillRun{run});
  kill_actions(s);
  hurry(s);
}

void tell_that_gang_stays(const Step& s, int request) {
  const State& w = s.w;
  if (w.orders.asked > Asked::to_end_in_time || !w.gang || w.gang->is_head()) return;
  s.tell({.what = Notice::What::gang_stays,
          .job = w.gang->job ? w.gang->job->load : nullptr,
          .number = request});
}

}  // namespace

void take_signal(const Step& s, int number) {
  State& w = s.w;
  Orders& orders = w.orders;
  // A session that ends sends both SIGTERM and SIGHUP.
  const int request = number == SIGHUP ? SIGTERM : number;
  if (request == SIGTERM) orders.terminated_at = s.now;
  const bool of_step = request == SIGTERM && w.terms.in_allocation;
  if (!orders.repeated.is_new(request, s.now, of_step ? kStepEcho : RepeatedSignals::kEcho)) return;
  if (w.summary.interrupted_by == 0) w.summary.interrupted_by = number;
  orders.asked = next(orders.asked, request);
  finish(s, WorkerEnd::interrupted);
  tell_that_gang_stays(s, request);
  switch (orders.asked) {
    case Asked::nothing:
      break;
    case Asked::to_drain:
      if (!w.is_quiet() && w.phase != Phase::stopping)
        s.tell({.what = Notice::What::finishes_jobs, .count = w.running_count()});
      break;
    case Asked::to_end_in_time:
      end_in_time(s);
      break;
    case Asked::to_stop:
      stop_now(s, request);
      break;
    case Asked::to_kill:
      kill_now(s);
      break;
  }
}

// No signal has come, so that what is said of one is not.
void take_halt(const Step& s, bool now) {
  State& w = s.w;
  finish(s, WorkerEnd::interrupted);
  if (now && !w.is_quiet() && w.phase != Phase::stopping)
    stop_running(s, term_lead(w), claim::EndCause::stopped);
}

bool is_explained(const State& w, BootTime now) {
  return w.orders.terminated_at && now < *w.orders.terminated_at + kExplains;
}

// How long the end of a job waits for an explanation.
nanoseconds patience_with(const State& w, const exec::Ended& ended, BootTime now) {
  if (!ended_of_signal(ended) || is_explained(w, now)) return 0ns;
  return w.terms.in_allocation ? kExplanationOfSlurm : kExplanation;
}

// Those who told this worker to leave may have told a crowd, and will not wait.
void hurry(const Step& s) {
  State& w = s.w;
  BootTime until = s.now + kReportPatience;
  if (w.orders.drain_until)
    until = *w.orders.drain_until + w.terms.reserve;
  else if (w.terms.ends_at)
    until = std::max(s.now, *w.terms.ends_at) + w.terms.reserve;
  w.talk.speak_by = s.now + claim::departure_delay(w.live_workers, until - s.now, roll(w));
  w.talk.not_before = std::min(w.talk.not_before, s.now + kFirstRetry);
}

// Told to leave, it does not try for ever to say how jobs ended.
bool gives_up(const State& w, BootTime now) {
  if (w.summary.interrupted_by == 0 || w.phase != Phase::stopping || !w.is_quiet()) return false;
  return w.orders.asked == Asked::to_kill || now >= w.quiet_since + kReportPatience;
}

}  // namespace torc::worker
