// What a worker makes of the store's answers.
#include <iterator>
#include <set>
#include <utility>

#include "lib/worker/machine/parts.h"

namespace torc::worker {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr nanoseconds kPatience = 10min;  // for a worker that can run what this one cannot

void keep_for_later(const Step& s, const Error& error) {
  State& w = s.w;
  Talk& talk = w.talk;
  const auto put_back = [](auto& now, auto& before) {
    before.insert(before.end(), std::make_move_iterator(now.begin()),
                  std::make_move_iterator(now.end()));
    now = std::move(before);
  };
  put_back(talk.starts, talk.in_flight.starts);
  put_back(talk.finishes, talk.in_flight.finishes);
  put_back(talk.returns, talk.in_flight.returns);
  put_back(talk.gang, talk.in_flight.gang);
  put_back(w.actions.reports, talk.in_flight.actions);
  if (talk.in_flight.wish.worker_start) w.actions.asked_welcome = false;
  if (talk.in_flight.wish.worker_complete) w.actions.asked_farewell = false;
  talk.unsaid.completed += std::exchange(talk.in_flight_tally.completed, 0);
  talk.unsaid.failed += std::exchange(talk.in_flight_tally.failed, 0);
  if (gives_up(w, s.now)) return stop_trying(s);
  if (talk.retry_delay == kFirstRetry)
    s.tell({.what = Notice::What::cannot_write, .text = error.text()});
  const bool hurries = w.phase == Phase::stopping || w.orders.drain_until;
  const nanoseconds longest = hurries ? kRetryLeaving : kLastRetry;
  talk.not_before = s.now + std::min(talk.retry_delay, longest);
  talk.retry_delay = std::min(2 * talk.retry_delay, longest);
}

// The workflow is finished: whether jobs that somebody adds are waited for.
bool waits_for_new_jobs(const Step& s) {
  State& w = s.w;
  const nanoseconds patience = w.terms.wait_for_new_jobs;
  if (!w.finished_since) {
    w.finished_since = s.now;
    if (patience > 0s) s.tell({.what = Notice::What::waits_for_new_jobs, .time = patience});
  }
  const BootTime until = *w.finished_since + patience;
  if (s.now >= until) return false;
  w.talk.next_poll = std::min(w.talk.next_poll, until);
  return true;
}

// Work that no job in a state of work tells of. Whoever has it may be dead: this worker stays, so
// that somebody is there to see the lease run out.
void tell_whom_it_awaits(const Step& s, const claim::WorkflowState& workflow) {
  State& w = s.w;
  const std::uint64_t held =
      workflow.of(claim::JobState::claimed) + workflow.of(claim::JobState::running);
  const std::uint64_t actions = w.actions.active() ? 0 : workflow.actions.running;
  if (held > 0 || workflow.ending + actions == 0) {
    w.told_awaited = false;
    return;
  }
  if (std::exchange(w.told_awaited, true)) return;
  s.tell({.what = Notice::What::awaits_others, .count = workflow.ending, .other = actions});
}

// Whether its node may yet be a part of what waits. Those of an allocation that have gone do not
// come back, and others do not come: what it lacks must be among those that have not been seen yet.
bool may_be_part(const State& w) {
  if (!w.could_be_part) return false;
  const std::uint32_t most = w.terms.most_nodes;
  return most == 0 || w.could_be_part->lacks <= most - std::min(most, w.nodes_seen);
}

// The jobs that it takes alone are over for it, whatever is left of the workflow.
void check_chosen(const Step& s, const claim::OpenJobs& open,
                  const claim::WorkflowState& workflow) {
  if (s.w.terms.stays) return;
  if (open.ready + open.delayed + open.at_work == 0) return finish(s, WorkerEnd::chosen_over);
  // What others have of the workflow may hold what these need.
  const bool others = open.at_work + open.delayed + workflow.of(claim::JobState::claimed) +
                          workflow.of(claim::JobState::running) + workflow.ending >
                      0;
  if (!others && !s.w.terms.idle_timeout && !s.w.share.is_limited())
    finish(s, WorkerEnd::nothing_fits);
}

void check_done(const Step& s, const claim::Answer& answer) {
  State& w = s.w;
  const claim::WorkflowState& workflow = answer.workflow;
  if (!w.is_quiet() || !w.queue.empty() || w.has_reports() || w.gang) return;
  if (!workflow.jobs_over()) {
    w.finished_since.reset();
    w.actions.workflow_over = false;
  }
  if (answer.open && !workflow.jobs_over()) return check_chosen(s, *answer.open, workflow);
  tell_whom_it_awaits(s, workflow);
  if (w.terms.stays) {
    if (workflow.jobs_over() && !awaits_actions(s, workflow) && !w.finished_since) {
      w.finished_since = s.now;
      s.tell({.what = Notice::What::stays});
    }
  } else if (workflow.jobs_over()) {
    if (!waits_for_new_jobs(s) && !awaits_actions(s, workflow))
      finish(s, WorkerEnd::workflow_finished);
  } else if (workflow.of(claim::JobState::claimed) + workflow.of(claim::JobState::running) +
                     workflow.of(claim::JobState::delayed) + workflow.ending ==
                 0 &&
             !w.terms.idle_timeout && !w.share.is_limited() && !awaits_actions(s, workflow)) {
    // Ready jobs are left, nobody runs them, none fits here. Where later jobs may be for this
    // worker, or its node a part of what waits for more nodes, it waits a while for others.
    const bool more =
        (workflow.of(claim::JobState::blocked) > 0 && !w.terms.any_scheduler) || may_be_part(w);
    if (!more || s.now - w.idle_since >= kPatience) finish(s, WorkerEnd::nothing_fits);
  }
}

// The answer to an offer for which there was no job.
void take_nothing(const Step& s, const claim::Answer& answer) {
  State& w = s.w;
  Talk& talk = w.talk;
  talk.nothing_claimable = true;
  if (answer.workflow.of(claim::JobState::ready) > 0) w.share.wait_for_more(s.now, s.out);
  // Its bell may have rung while this answer was awaited.
  if (std::exchange(talk.heard_bell, false)) w.share.look_soon(s.now);
  talk.next_poll = s.now + w.pace.next_poll(roll(w));
  if (answer.next_due) {
    // A job comes back then; workers do not all ask for it at once.
    const auto spread = nanoseconds(50ms) * static_cast<std::int64_t>(answer.live_workers);
    const auto share = static_cast<std::int64_t>(static_cast<double>(spread.count()) * roll(w));
    talk.next_poll = std::min(talk.next_poll, s.now + *answer.next_due + nanoseconds(share));
  }
  if (const auto bell = talk.bells.due()) talk.next_poll = std::min(talk.next_poll, *bell);
  check_done(s, answer);
}

}  // namespace

bool ends_something(const State& w, const event::Answered& answer) {
  return w.end || w.phase != Phase::working || !answer.answer.revoked.empty() ||
         !w.talk.unplaced.empty() || answer.answer.workflow.halted();
}

void take_answer(const Step& s, event::Answered& answered) {
  State& w = s.w;
  Talk& talk = w.talk;
  talk.busy = false;
  // What it grants is of a lease that was lost, and what it refuses is nobody's to say again.
  if (w.lost_lease()) return;
  // What was offered as spare and not taken stays, whatever came of the exchange.
  if (answered.error || !answered.answer.took_spares) {
    for (ClaimedJob& job : talk.offered) w.queue.push_back(std::move(job));
  }
  talk.offered.clear();
  if (answered.error) {
    if (may_pass(*answered.error)) return keep_for_later(s, *answered.error);
    return lose_lease(s, *answered.error);
  }
  const claim::Answer& answer = answered.answer;
  if (talk.retry_delay != kFirstRetry) s.tell({.what = Notice::What::can_write_again});
  talk.retry_delay = kFirstRetry;
  talk.in_flight_tally = {};
  w.live_workers = answer.live_workers;
  if (answered.wrote) talk.last_written = s.now;
  talk.bells.saw(answered.newest);
  w.pace.saw({s.now, answered.newest, answer.live_workers, answered.wrote ? answered.cost : 0ns,
              answer.job_time, answer.workflow.of(claim::JobState::ready), roll(w)});
  tell_refused(s, answer.refused);
  w.summary.workflow = answer.workflow;
  s.order(command::ShowProgress{});
  take_actions(s, answer.actions);
  if (w.waiting() == 0) w.pace.queue_moves(s.now);
  const bool got_jobs = !answered.jobs.empty();
  w.reserved = answer.reserved;
  w.could_be_part = answer.could_be_part;
  if (w.could_be_part) w.nodes_seen = std::max(w.nodes_seen, w.could_be_part->nodes);
  std::optional<ClaimedJob> gang_job = std::move(answered.gang_job);
  for (ClaimedJob& job : answered.jobs) {
    if (job.grant.gang) {
      gang_job = std::move(job);
      continue;
    }
    job.queued_at = s.now;
    w.queue.push_back(std::move(job));
  }
  see_gang(s, answered.newest, answer.gang, std::move(gang_job));
  end_revoked(s, answer.revoked);
  if (w.summary.workflow.halted()) return_queue(s);  // should it go on, anybody may have them
  if (w.end || w.phase != Phase::working) return return_queue(s);
  if (!talk.in_flight.offer) return;
  // Until now there may have been work for it all the time.
  if (!std::exchange(talk.was_answered, true)) w.idle_since = s.now;
  talk.bells.found(got_jobs, s.now);
  if (!got_jobs && !w.gang) return take_nothing(s, answer);
  talk.nothing_claimable = false;
  w.finished_since.reset();
  w.actions.workflow_over = false;
  w.pace.found_work();
}

void tell_refused(const Step& s, const std::vector<claim::Refused>& refused) {
  for (const claim::Refused& r : refused) {
    if (r.why == claim::Refusal::canceled) continue;  // who canceled it knows
    s.tell({.what = Notice::What::result_refused, .refused = r});
  }
}

// Jobs that somebody canceled while this worker had them.
void end_revoked(const Step& s, std::vector<claim::ClaimToken> tokens) {
  State& w = s.w;
  Talk& talk = w.talk;
  tokens.insert(tokens.end(), talk.unplaced.begin(), talk.unplaced.end());
  talk.unplaced.clear();
  if (tokens.empty() || w.lost_lease()) return;
  std::set<claim::ClaimToken> told(tokens.begin(), tokens.end());
  std::erase_if(w.queue, [&](const ClaimedJob& job) {
    if (told.erase(job.grant.token) == 0) return false;
    talk.returns.push_back(job.grant.token);
    return true;
  });
  std::erase_if(told, [&](const claim::ClaimToken& token) { return revoke_gang(s, token); });
  for (auto& [run, job] : w.running) {
    if (told.erase(job.token()) == 0 || job.revoked) continue;
    job.revoked = true;
    if (!job.ended)
      s.order(
          command::StopRun{run, job.of_gang ? std::min(term_lead(w), kGangLead) : term_lead(w)});
    s.tell({.what = Notice::What::job_canceled, .job = job.job.load});
  }
  for (auto& [run, armed] : w.lane.armed) {  // begun just now
    if (told.erase(armed.job.grant.token) == 0) continue;
    armed.revoked = true;
    s.order(command::StopRun{run, term_lead(w)});
  }
  // What is about to be reported anyway.
  for (const claim::Finished& f : talk.in_flight.finishes) told.erase(f.token);
  for (const claim::ClaimToken& t : talk.in_flight.returns) told.erase(t);
  for (const claim::ClaimToken& t : talk.in_flight.spares) told.erase(t);  // its answer tells again
  for (const claim::Finished& f : talk.finishes) told.erase(f.token);
  for (const claim::ClaimToken& t : talk.returns) told.erase(t);
  // A job that the answer under way grants is not known here yet: to say that it never ran, and to
  // start it then, would let it run beside its next attempt.
  if (talk.busy) {
    talk.unplaced.assign(told.begin(), told.end());
    return;
  }
  // Nothing of these is here: say so.
  talk.returns.insert(talk.returns.end(), told.begin(), told.end());
}

}  // namespace torc::worker
