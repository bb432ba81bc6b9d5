// What a worker says to the store, and when.
#include "lib/base/end_margins.h"
#include "lib/worker/machine/parts.h"

namespace torc::worker {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

// Jobs of the queue that nothing but room keeps from being started.
std::size_t startable(const State& w) {
  return static_cast<std::size_t>(std::count_if(
      w.queue.begin(), w.queue.end(), [](const ClaimedJob& job) { return job.refusals == 0; }));
}

// What is offered to others with the next exchange, taken off the queue until the answer is here.
std::vector<claim::ClaimToken> spare_jobs(const Step& s) {
  State& w = s.w;
  // On a node that is kept for a gang nothing waits for others to end.
  const std::uint64_t kept = w.reserved ? 0 : w.pace.keep(w.waiting(), slots(w), s.now);
  std::vector<claim::ClaimToken> spares;
  for (; !w.queue.empty() && w.waiting() > kept; w.queue.pop_back()) {
    spares.push_back(w.queue.back().grant.token);
    w.talk.offered.push_front(std::move(w.queue.back()));
  }
  return spares;
}

// Of what is queued nothing is known but that the slots share it.
std::optional<std::chrono::seconds> busy_for(const State& w, BootTime now) {
  nanoseconds running{};
  nanoseconds queued{};
  nanoseconds longest{};
  bool known = true;
  const auto wait_for = [&](const ClaimedJob& job) {
    known = known && job.grant.runtime.count() > 0;
    queued += job.grant.runtime;
    longest = std::max<nanoseconds>(longest, job.grant.runtime);
  };
  for (const auto& [run, job] : w.running) {
    const std::chrono::seconds runtime = job.job.grant.runtime;
    known = known && runtime.count() > 0;
    running = std::max(running, std::max<nanoseconds>(job.started + runtime - now, 1s));
  }
  for (const auto& [run, armed] : w.lane.armed) wait_for(armed.job);
  for (const ClaimedJob& job : w.queue) wait_for(job);
  for (const ClaimedJob& job : w.talk.offered) wait_for(job);
  if (!known) return std::nullopt;
  const auto many = static_cast<std::int64_t>(std::max<std::uint64_t>(slots(w), 1));
  return std::chrono::ceil<std::chrono::seconds>(running + std::max(queued / many, longest));
}

// Time between two commits: short while a slot is idle, longer while every slot has work.
nanoseconds window(const State& w) {
  const bool waits = idle_slot(w) || (!w.queue.empty() && may_be_halted(w));
  return w.pace.window(waits ? claim::Pace::Need::work : claim::Pace::Need::report);
}

void set_aside(claim::Capacity& room, const claim::Requirement& need, const claim::Offer& offer) {
  Resources& left = room.left;
  if (need.cpus > left.cpus || need.memory > left.memory || need.gpus > left.gpus) return;
  if (need.named.empty() && (need.gpus == 0 || room.pieces.empty())) {
    left.cpus -= need.cpus;
    left.memory = left.memory - need.memory;
    left.gpus -= need.gpus;
    return;
  }
  claim::JobClass one{need, {}, {}};
  one.need.nodes = 1;
  if (claim::how_many_fit(one, room, offer) > 0) claim::occupy(room, one, 1, offer);
}

}  // namespace

claim::Offer offer_of(const State& w, BootTime now) {
  const Terms& terms = w.terms;
  claim::Offer o;
  o.total_cpus = terms.machine.cpus;
  o.total_gpus = static_cast<std::uint32_t>(terms.machine.gpus.size());
  o.total_memory = terms.machine.memory;
  o.total_more.named = w.share.use().named_total();
  const ShareUse::Free free = w.share.use().free();
  o.cpus = free.cpus;
  o.memory = free.memory;
  o.gpus = free.gpus;
  o.more.named = w.share.use().named_free();
  o.pieces = w.share.use().pieces();
  // What does not fit keeps nothing from what does.
  claim::Capacity room = claim::free_capacity(o);
  for (const ClaimedJob& job : w.queue) {
    if (job.refusals > 0) continue;
    set_aside(room, job.need, o);
  }
  o.cpus = room.left.cpus;
  o.memory = room.left.memory;
  o.gpus = room.left.gpus;
  o.more.named = std::move(room.left.named);
  o.pieces = std::move(room.pieces);
  narrow(w, now, o);
  o.scheduler = terms.scheduler;
  o.labels = terms.labels;
  o.also_unlabelled = terms.also_unlabelled;
  o.any_binding = terms.any_scheduler;
  o.only = terms.only;
  if (terms.ends_at) {
    // Jobs get their termination signal before the end, so that much is not for them.
    const auto left =
        std::chrono::duration_cast<std::chrono::seconds>(*terms.ends_at - term_lead(w) - now);
    o.remaining = std::max(left, 0s);
  }
  if (terms.max_parallel_jobs) {
    o.ignore_resources = true;
    const std::uint64_t used = w.running_count() + startable(w);
    o.max_jobs = *terms.max_parallel_jobs > used ? *terms.max_parallel_jobs - used : 0;
  } else {
    o.max_jobs = o.cpus;
  }
  const std::uint64_t wanted = w.pace.prefetch(slots(w), now);
  o.prefetch = wanted > w.waiting() ? wanted - w.waiting() : 0;
  if ((w.share.use().cpus() == 0 && !terms.max_parallel_jobs) || w.reserved) o.prefetch = 0;
  o.busy_for = busy_for(w, now);
  return o;
}

// Jobs that run here at once when there are enough.
std::uint64_t slots(const State& w) {
  if (w.terms.max_parallel_jobs) return *w.terms.max_parallel_jobs;
  const std::size_t in_lane = running_in_lane(w);
  const std::uint64_t running =
      w.running.size() - in_lane + std::max<std::uint64_t>(w.lane.held, in_lane);
  if (w.waiting() > 0) return std::max<std::uint64_t>(1, running);
  const std::uint64_t cpus = w.share.is_limited() ? w.share.use().cpus() : w.terms.machine.cpus;
  if (running == 0) return cpus;
  return running * cpus / std::max<std::uint64_t>(1, w.share.use().used_cpus());
}

bool queue_stands(const State& w, BootTime now) {
  return !w.queue.empty() && w.phase == Phase::working && now >= w.pace.queue_stands_at();
}

bool idle_slot(const State& w) {
  if (w.terms.max_parallel_jobs)
    return w.running_count() + startable(w) < *w.terms.max_parallel_jobs;
  if (startable(w) > 0) return room_for_more(w);
  // One that has nothing asks all the same now and then: the workflow may be finished.
  return w.share.use().free().cpus > 0 || w.share.may_grow() || w.share.use().cpus() == 0;
}

// Whether failures that the store has not counted yet may be those after which nothing more is
// started (max_failures). It decides, since a failure handler may let them run again; until it has,
// what was prefetched waits.
bool may_be_halted(const State& w) {
  const claim::WorkflowState& workflow = w.summary.workflow;
  if (workflow.max_failures == 0) return false;
  std::uint64_t most =
      workflow.of(claim::JobState::failed) + workflow.of(claim::JobState::terminated);
  const auto add = [&most](const std::vector<claim::Finished>& ends) {
    most += static_cast<std::uint64_t>(
        std::count_if(ends.begin(), ends.end(), [](const claim::Finished& f) {
          return f.state == claim::JobState::failed || f.state == claim::JobState::terminated;
        }));
  };
  const std::size_t in_flight = w.talk.busy ? w.talk.in_flight.finishes.size() : 0;
  if (most + w.talk.finishes.size() + in_flight < workflow.max_failures) return false;
  add(w.talk.finishes);
  if (in_flight > 0) add(w.talk.in_flight.finishes);
  return most >= workflow.max_failures;
}

// A job that was lost with an earlier worker has this one to itself.
bool runs_alone(const State& w, BootTime now) {
  if (!w.queue.empty() && w.queue.front().grant.alone) return true;
  return w.alone && now < w.alone->until;
}

bool wants_jobs(const State& w, BootTime now) {
  if (w.phase != Phase::working || w.end || is_starting(w) || w.gang) return false;
  if (w.talk.nothing_claimable || runs_alone(w, now) || now < w.no_start_before) return false;
  if (idle_slot(w)) return true;
  // Others have everything.
  if (w.share.use().cpus() == 0 && !w.terms.max_parallel_jobs) return false;
  return w.waiting() < w.pace.next_window(slots(w), now);
}

nanoseconds term_lead(const State& w) {
  const nanoseconds lead = w.terms.sigterm_lead;
  return w.terms.ends_at ? lead_within(lead, *w.terms.ends_at - w.terms.begun) : lead;
}

BootTime window_end(const State& w) {
  return w.talk.last_sent + window(w);
}

// Who knows of nothing to do, and is rung, does not wait for the rest of its window: as long as
// many come it may be minutes. What rings keeps the budget (BellHearing::kBetweenPlaces).
BootTime due_at(const State& w) {
  BootTime usual = window_end(w);
  const bool has_nothing = w.is_quiet() && w.queue.empty() && !w.has_reports();
  if (const auto bell = w.talk.bells.due(); bell && has_nothing) usual = std::min(usual, *bell);
  return std::max(w.talk.speak_by ? std::min(usual, *w.talk.speak_by) : usual, w.talk.not_before);
}

// One that has no room looks as soon as it has some.
void hear_bell(const Step& s, const event::Bell& bell) {
  Talk& talk = s.w.talk;
  talk.bells.heard(bell.commit, bell.place, s.now);
  if (const auto due = talk.bells.due(); due && talk.nothing_claimable)
    talk.next_poll = std::min(talk.next_poll, *due);
}

bool send_if_due(const Step& s) {
  State& w = s.w;
  Talk& talk = w.talk;
  if (talk.busy || w.lease.paused) return true;
  // The rest goes with the release.
  if (is_over(w) && talk.retry_delay == kFirstRetry) return true;
  // What it was given of its node for the exchange may be enough for a job of the queue. Who thinks
  // again then, and gives it back, does that without end where the lane keeps that job waiting.
  if (!std::exchange(talk.took_share, false)) {
    const bool greets = wants_welcome(w) || wants_farewell(w);
    if (!asks_of_gang(w, s.now)) {
      if (!w.has_reports() && !wants_jobs(w, s.now) && !queue_stands(w, s.now) && !greets)
        return true;
      if (s.now < due_at(w)) return true;
    }
  }
  // Whoever is part of a gang has no other job beside it.
  const bool offers = w.phase == Phase::working && !w.end && !runs_alone(w, s.now) &&
                      s.now >= w.no_start_before && !w.gang;
  // Always: what ends with this exchange may make anything ready.
  if (offers && !w.terms.max_parallel_jobs && !std::exchange(w.share_asked, true) &&
      w.share.grow(s.out)) {
    talk.took_share = true;
    w.awaited = Awaited::share;
    return false;
  }
  claim::Exchange exchange;
  // What is to be alone and cannot be started here is for somebody else.
  if (runs_alone(w, s.now)) {
    if (queue_stands(w, s.now)) return_queue(s);
  } else {
    exchange.spares = spare_jobs(s);
  }
  exchange.worker = w.terms.self;
  exchange.now = s.wall;
  exchange.starts = std::exchange(talk.starts, {});
  exchange.finishes = std::exchange(talk.finishes, {});
  exchange.returns = std::exchange(talk.returns, {});
  if (offers) {
    exchange.offer = offer_of(w, s.now);
    talk.bells.looks(s.now);
  }
  exchange.gang = std::exchange(talk.gang, {});
  if (w.gang) {
    talk.bells.looks(s.now);
    w.gang->look_at = s.now + kGangLook;
  }
  if (!exchange.finishes.empty()) exchange.job_time = w.pace.job_time();
  ask_for_actions(s, exchange);
  talk.last_sent = s.now;
  talk.speak_by.reset();
  talk.in_flight_tally = std::exchange(talk.unsaid, {});
  talk.in_flight = exchange;
  talk.busy = true;
  s.order(command::Submit{std::move(exchange)});
  return true;
}

}  // namespace torc::worker
