#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "lib/base/quantities.h"
#include "lib/worker/worker_session.h"

namespace torc::worker {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr nanoseconds kPatience = 10min;  // for a worker that can run what this one cannot

}  // namespace

claim::Offer Session::offer() const {
  claim::Offer o;
  o.total_cpus = setup_.machine.cpus;
  o.total_gpus = static_cast<std::uint32_t>(setup_.machine.gpus.size());
  o.total_memory = setup_.machine.memory;
  o.cpus = share_.free_cpus();
  o.memory = share_.free_memory();
  o.gpus = share_.free_gpus();
  // What does not fit keeps nothing from what does.
  for (const PreparedJob& job : queue_) {
    if (job.refusals > 0) continue;
    if (job.need.cpus > o.cpus || job.need.memory > o.memory || job.need.gpus > o.gpus) continue;
    o.cpus -= job.need.cpus;
    o.memory = o.memory - job.need.memory;
    o.gpus -= job.need.gpus;
  }
  narrow(o);
  o.scheduler = setup_.scheduler;
  o.label = setup_.label;
  o.any_binding = setup_.any_scheduler;
  if (ends_at_) {
    // Jobs get their termination signal before the end, so that much is not for them.
    const auto left = std::chrono::duration_cast<std::chrono::seconds>(*ends_at_ - term_lead() -
                                                                       clock_.boot_now());
    o.remaining = std::max(left, 0s);
  }
  if (setup_.max_parallel_jobs) {
    o.ignore_resources = true;
    const std::uint64_t used = running_.size() + armed_.size() + startable();
    o.max_jobs = *setup_.max_parallel_jobs > used ? *setup_.max_parallel_jobs - used : 0;
  } else {
    o.max_jobs = o.cpus;
  }
  const std::uint64_t wanted = pace_.ahead(slots(), clock_.boot_now());
  o.ahead = wanted > waiting() ? wanted - waiting() : 0;
  if (share_.cpus() == 0 && !setup_.max_parallel_jobs) o.ahead = 0;
  return o;
}

// Jobs that run here at once when there are enough.
std::uint64_t Session::slots() const {
  if (setup_.max_parallel_jobs) return *setup_.max_parallel_jobs;
  const std::uint64_t running =
      running_.size() - running_in_lane() + std::max<std::uint64_t>(lane_held_, running_in_lane());
  if (waiting() > 0) return std::max<std::uint64_t>(1, running);
  const std::uint64_t cpus = share_.is_limited() ? share_.cpus() : setup_.machine.cpus;
  if (running == 0) return cpus;
  return running * cpus / std::max<std::uint64_t>(1, share_.used_cpus());
}

bool Session::queue_stands() const {
  return !queue_.empty() && phase_ == Phase::working &&
         clock_.boot_now() >= pace_.queue_stands_at();
}

// What is offered to others with the next exchange, taken off the queue until the answer is here.
std::vector<claim::ClaimToken> Session::spare_jobs() {
  const std::uint64_t kept = pace_.keep(waiting(), slots(), clock_.boot_now());
  std::vector<claim::ClaimToken> spares;
  for (; !queue_.empty() && waiting() > kept; queue_.pop_back()) {
    spares.push_back(queue_.back().grant.token);
    offered_.push_front(std::move(queue_.back()));
  }
  return spares;
}

// Jobs of the queue that nothing but room keeps from being started.
std::size_t Session::startable() const {
  return static_cast<std::size_t>(std::count_if(
      queue_.begin(), queue_.end(), [](const PreparedJob& job) { return job.refusals == 0; }));
}

bool Session::idle_slot() const {
  if (setup_.max_parallel_jobs)
    return running_.size() + armed_.size() + startable() < *setup_.max_parallel_jobs;
  if (startable() > 0) return room_for_more();
  // One that has nothing asks all the same now and then: the workflow may be finished.
  return share_.free_cpus() > 0 || share_.may_grow() || share_.cpus() == 0;
}

// Whether failures that the store has not counted yet may be those after which nothing more is
// started (max_failures). It decides, since a failure handler may let them run again; until it has,
// what was claimed ahead waits.
bool Session::may_be_halted() const {
  const claim::WorkflowState& w = summary_.workflow;
  if (w.max_failures == 0) return false;
  std::uint64_t most = w.of(claim::JobState::failed) + w.of(claim::JobState::terminated);
  const auto add = [&most](const std::vector<claim::Finished>& ends) {
    most += static_cast<std::uint64_t>(
        std::count_if(ends.begin(), ends.end(), [](const claim::Finished& f) {
          return f.state == claim::JobState::failed || f.state == claim::JobState::terminated;
        }));
  };
  const std::size_t in_flight = committer_->busy() ? in_flight_.finishes.size() : 0;
  if (most + finishes_.size() + in_flight < w.max_failures) return false;
  add(finishes_);
  if (in_flight > 0) add(in_flight_.finishes);
  return most >= w.max_failures;
}

// A job that was lost with an earlier worker has this one to itself.
bool Session::runs_alone() const {
  if (!queue_.empty() && queue_.front().grant.alone) return true;
  return alone_ && clock_.boot_now() < alone_->until;
}

bool Session::wants_jobs() const {
  if (phase_ != Phase::working || end_ || is_starting()) return false;
  if (nothing_claimable_ || runs_alone() || clock_.boot_now() < no_start_before_) return false;
  if (idle_slot()) return true;
  if (share_.cpus() == 0 && !setup_.max_parallel_jobs) return false;  // others have everything
  return waiting() < pace_.next_window(slots(), clock_.boot_now());
}

// Time between two commits: short while a slot is idle, longer while every slot has work.
nanoseconds Session::window() const {
  const bool waits = idle_slot() || (!queue_.empty() && may_be_halted());
  return pace_.window(waits ? claim::Pace::Need::work : claim::Pace::Need::report);
}

// From the termination signal to SIGKILL; a worker with little time keeps most of it for work.
nanoseconds Session::term_lead() const {
  const nanoseconds lead = preparer_->settings().run.execution.sigterm_lead;
  return ends_at_ ? std::min(lead, (*ends_at_ - begun_) / 4) : lead;
}

BootTime Session::due_at() const {
  const BootTime usual = last_sent_ + window();
  return std::max(speak_by_ ? std::min(usual, *speak_by_) : usual, not_before_);
}

void Session::send_if_due() {
  if (committer_->busy() || lease_.paused()) return;
  if (is_over() && retry_delay_ == kFirstRetry) return;  // the rest goes with the release
  const bool greets = wants_welcome() || wants_farewell();
  if (!has_reports() && !wants_jobs() && !queue_stands() && !greets) return;
  const BootTime now = clock_.boot_now();
  if (now < due_at()) return;
  const bool offers = phase_ == Phase::working && !end_ && !runs_alone() && now >= no_start_before_;
  // Always: what ends with this exchange may make anything ready.
  if (offers && !setup_.max_parallel_jobs) share_.grow();
  claim::Exchange exchange;
  // What is to be alone and cannot be started here is for somebody else.
  if (runs_alone()) {
    if (queue_stands()) return_queue();
  } else {
    exchange.spares = spare_jobs();
  }
  exchange.worker = self_;
  exchange.now = clock_.wall_now();
  exchange.starts = std::move(starts_);
  exchange.finishes = std::move(finishes_);
  exchange.returns = std::move(returns_);
  starts_.clear();
  finishes_.clear();
  returns_.clear();
  if (offers) exchange.offer = offer();
  if (!exchange.finishes.empty()) exchange.job_time = pace_.job_time();
  ask_for_actions(exchange);
  last_sent_ = now;
  speak_by_.reset();
  in_flight_tally_ = std::exchange(unsaid_, {});
  in_flight_ = exchange;
  committer_->submit(std::move(exchange));
}

void Session::take_reply() {
  auto reply = committer_->take_reply();
  // What it grants is of a lease that was lost, and what it refuses is nobody's to say again.
  if (!reply || end_ == WorkerEnd::lease_lost) return;
  // What was offered as spare and not taken stays, whatever came of the exchange.
  if (reply->error || !reply->answer.took_spares) {
    for (PreparedJob& job : offered_) queue_.push_back(std::move(job));
  }
  offered_.clear();
  if (reply->error) {
    if (may_pass(*reply->error)) {
      keep_for_later(*reply->error);
    } else {
      lose_lease(reply->error->text());
    }
    return;
  }
  if (retry_delay_ != kFirstRetry) notice("the store can be written again");
  retry_delay_ = kFirstRetry;
  in_flight_tally_ = {};
  living_ = reply->answer.living;
  if (reply->commit.wrote) last_written_ = clock_.boot_now();
  const claim::WorkflowState& workflow = reply->answer.workflow;
  pace_.saw({clock_.boot_now(), reply->newest, reply->answer.living,
             reply->commit.wrote ? reply->commit.cost : 0ns, reply->answer.job_time,
             workflow.of(claim::JobState::ready)});
  tell_refused(reply->refused);
  summary_.workflow = reply->answer.workflow;
  if (events_.progress) events_.progress(summary_.workflow);
  take_actions(reply->answer.actions);
  if (waiting() == 0) pace_.queue_moves(clock_.boot_now());
  for (PreparedJob& job : reply->jobs) {
    job.queued_at = clock_.boot_now();
    queue_.push_back(std::move(job));
  }
  end_revoked(reply->answer.revoked);
  if (summary_.workflow.halted()) return_queue();  // should it go on, anybody may have them
  if (end_ || phase_ != Phase::working) {
    return_queue();
    return;
  }
  if (!in_flight_.offer) return;
  if (reply->jobs.empty()) {
    nothing_claimable_ = true;
    if (workflow.of(claim::JobState::ready) > 0) share_.wait_for_more();
    // Its bell may have rung while this answer was awaited.
    const bool missed = std::exchange(heard_bell_, false) && share_.look();
    if (missed) nothing_claimable_ = false;
    next_poll_ = clock_.boot_now() + pace_.next_poll(dice());
    if (reply->answer.next_due) {
      // A job comes back then; a crowd does not ask for it all at once.
      const auto spread = nanoseconds(50ms) * static_cast<std::int64_t>(reply->answer.living);
      const auto share = static_cast<std::int64_t>(static_cast<double>(spread.count()) * dice());
      next_poll_ =
          std::min(next_poll_, clock_.boot_now() + *reply->answer.next_due + nanoseconds(share));
    }
    check_done(reply->answer);
  } else {
    nothing_claimable_ = false;
    finished_since_.reset();
    workflow_over_ = false;
    pace_.found_work();
  }
}

void Session::tell_refused(const std::vector<claim::Refused>& refused) const {
  for (const claim::Refused& r : refused) {
    if (r.why == claim::Refusal::canceled) continue;  // who canceled it knows
    notice(fmt::format("the result of job #{} (attempt {}) was discarded: {}", raw(r.token.job),
                       r.token.attempt,
                       r.why == claim::Refusal::superseded
                           ? fmt::format("worker {} has the job now", claim::raw(r.holder))
                           : "the job has ended already"));
  }
}

void Session::keep_for_later(const Error& error) {
  const auto put_back = [](auto& now, auto& before) {
    before.insert(before.end(), std::make_move_iterator(now.begin()),
                  std::make_move_iterator(now.end()));
    now = std::move(before);
  };
  put_back(starts_, in_flight_.starts);
  put_back(finishes_, in_flight_.finishes);
  put_back(returns_, in_flight_.returns);
  if (actions_ != nullptr) {
    actions_->put_back(std::move(in_flight_.actions));
    if (in_flight_.wish.worker_start) asked_welcome_ = false;
    if (in_flight_.wish.worker_complete) asked_farewell_ = false;
  }
  unsaid_.completed += std::exchange(in_flight_tally_.completed, 0);
  unsaid_.failed += std::exchange(in_flight_tally_.failed, 0);
  if (gives_up()) return stop_trying();
  if (retry_delay_ == kFirstRetry) {
    notice(fmt::format("the store cannot be written now, trying again: {}", error.text()));
  }
  const bool hurries = phase_ == Phase::stopping || drain_until_;
  const nanoseconds longest = hurries ? kRetryLeaving : kLastRetry;
  not_before_ = clock_.boot_now() + std::min(retry_delay_, longest);
  retry_delay_ = std::min(2 * retry_delay_, longest);
}

// The workflow is finished: whether jobs that somebody adds are waited for.
bool Session::waits_for_new_jobs() {
  const nanoseconds patience = preparer_->settings().run.wait_for_new_jobs;
  const BootTime now = clock_.boot_now();
  if (!finished_since_) {
    finished_since_ = now;
    if (patience > 0s) {
      notice(fmt::format("nothing is left to do; waiting {} for new jobs",
                         show_duration(std::chrono::duration_cast<WallTime>(patience))));
    }
  }
  const BootTime until = *finished_since_ + patience;
  if (now >= until) return false;
  next_poll_ = std::min(next_poll_, until);
  return true;
}

void Session::tell_it_stays() {
  if (finished_since_) return;
  finished_since_ = clock_.boot_now();
  notice(
      "nothing is left to do; this worker stays until its time is up or it is told to stop "
      "(compute_node_ignore_workflow_completion)");
}

// Work that no job in a state of work tells of. Whoever has it may be dead: this worker stays, so
// that somebody is there to see the lease run out.
void Session::tell_whom_it_awaits(const claim::WorkflowState& w) {
  const std::uint64_t held = w.of(claim::JobState::claimed) + w.of(claim::JobState::running);
  const std::uint64_t actions = acts() ? 0 : w.actions.running;
  if (held > 0 || w.ending + actions == 0) {
    told_awaited_ = false;
    return;
  }
  if (std::exchange(told_awaited_, true)) return;
  std::string what;
  if (w.ending > 0)
    what = fmt::format("{} canceled job(s) that another worker has to end", w.ending);
  if (actions > 0)
    what += fmt::format("{}{} action(s) that another worker runs", what.empty() ? "" : " and ",
                        actions);
  notice(fmt::format("waiting for {}, or for the end of its lease", what));
}

void Session::check_done(const claim::Answer& answer) {
  if (!is_quiet() || !queue_.empty() || has_reports()) return;
  const claim::WorkflowState& w = answer.workflow;
  if (!w.jobs_over()) {
    finished_since_.reset();
    workflow_over_ = false;
  }
  tell_whom_it_awaits(w);
  if (setup_.stays) {
    if (w.jobs_over() && !awaits_actions(w)) tell_it_stays();
  } else if (w.jobs_over()) {
    if (!waits_for_new_jobs() && !awaits_actions(w)) finish(WorkerEnd::workflow_finished);
  } else if (w.of(claim::JobState::claimed) + w.of(claim::JobState::running) +
                     w.of(claim::JobState::delayed) + w.ending ==
                 0 &&
             !setup_.idle_timeout && !share_.is_limited() && !awaits_actions(w)) {
    // Ready jobs are left, nobody runs them, none fits here. Where later jobs may be for this
    // worker, it waits a while for somebody who can run these.
    const bool more = w.of(claim::JobState::blocked) > 0 && !setup_.any_scheduler;
    if (!more || clock_.boot_now() - idle_since_ >= kPatience) finish(WorkerEnd::nothing_fits);
  }
}

}  // namespace torc::worker
