#include "bench/sim_node.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/claim/queries/workers.h"
#include "lib/claim/transactions/exchange.h"
#include "lib/claim/transactions/membership.h"
#include "lib/worker/jobs/job_command.h"

namespace torc::bench {
namespace {

using namespace std::chrono_literals;

constexpr const char* kNothingToDo = "nothing to do";
// Requests from the last listing to the name, and from there to the answer.
constexpr double kToName = 4;
constexpr double kAfter = 2;
// As a worker has it (bin/worker_session.cc).
constexpr auto kProbation = 10s;

double seconds_of(std::chrono::nanoseconds t) {
  return std::chrono::duration<double>(t).count();
}
SimTime sim_time(double seconds) {
  return SimTime(static_cast<std::int64_t>(seconds * 1e9));
}

}  // namespace

SimNode::SimNode(Simulator& simulator, std::uint32_t number)
    : simulator_(simulator),
      number_(number),
      clock_(simulator, number),
      disk_(simulator, number),
      store_(simulator, number),
      world_{disk_, clock_, simulator.entropy(), fmt::format("node{}", number), "a boot", "pid:[1]",
             0,     {}},
      entrance_(claim::Sharing::shared, simulator.scenario().workers),
      slots_(simulator.scenario().slots) {
  info_.host = world_.host;
  info_.pid = 4'000'000 + number;  // beyond every real one
  info_.pid_start = 1;
  info_.boot_id = world_.boot_id;
  info_.pid_namespace = world_.pid_namespace;
  info_.cpus = simulator.scenario().slots;
  info_.lease_ttl = simulator.scenario().lease_ttl;
  simulator_.at(sim_time(seconds_of(entrance_.delay(simulator_.dice()))), number_,
                EventKind::start);
}

void SimNode::handle(const Event& event) {
  if (life_ == Life::left || error_) return;
  switch (event.kind) {
    case EventKind::start:
      return enter();
    case EventKind::turn:
      if (event.at != turn_at_ && turn_at_ > simulator_.now()) return;  // an earlier idea of when
      turn_at_ = SimTime::max();
      if (life_ != Life::working) return;
      if (nothing_claimable_ && boot() >= next_poll_) nothing_claimable_ = false;
      send_if_due();
      return schedule_turn();
    case EventKind::list:
      return list(event.detail);
    case EventKind::publish:
      return publish(event.detail);
    case EventKind::answer:
      return answer(event.detail);
    case EventKind::tick:
      return tick();
    case EventKind::job_end:
      return job_ended(event.detail % slots_.size(), event.detail / slots_.size());
    case EventKind::fence:
      return check_fence();
    case EventKind::trouble: {
      const Trouble& trouble = simulator_.scenario().troubles[event.detail];
      if (trouble.what == Trouble::What::lost_time) clock_.lose(trouble.until - trouble.from);
      if (trouble.what == Trouble::What::dead) leave();
      return;
    }
  }
}

// --- coming and going ---

void SimNode::enter() {
  if (life_ != Life::entering) return;
  const SimTime hangs = simulator_.filesystem_hangs(number_);
  if (hangs > simulator_.now()) return simulator_.at(hangs, number_, EventKind::start);
  simulator_.count_requests(store_.catch_up());
  const std::uint64_t newest = store_.newest();
  claim::Crowd crowd;
  (void)store_.view(store::Freshness::cached, [&](const store::Reader& reader) -> Result<void> {
    TORC_ASSIGN(crowd, claim::read_crowd(reader));
    return {};
  });
  const auto wait = entrance_.wait(boot(), newest, crowd.workers, simulator_.dice());
  if (wait > 0ns) return simulator_.at(simulator_.now() + wait, number_, EventKind::start);
  register_now();
}

void SimNode::register_now() {
  life_ = Life::registering;
  busy_sending_ = true;
  begun_ = boot();
  sent_at_ = simulator_.now();
  simulator_.at(simulator_.now(), number_, EventKind::list, ++attempt_);
}

void SimNode::become(Life life) {
  const SimTime now = std::max<SimTime>(simulator_.now(), simulator_.scenario().measured_from);
  if (life_ == Life::working) present_ += seconds_of(now - std::min(now, present_since_));
  life_ = life;
  present_since_ = now;
}

void SimNode::leave() {
  account();
  become(Life::left);
}

void SimNode::account() {
  const SimTime from = simulator_.scenario().measured_from;
  for (Slot& slot : slots_) {
    if (!slot.taken) continue;
    busy_ += std::max(0.0, seconds_of(simulator_.now() - std::max(slot.started, from)));
    slot.started = simulator_.now();
  }
  if (life_ == Life::working) become(Life::working);
}

// --- jobs ---

double SimNode::job_seconds() {
  return simulator_.scenario().job_seconds * (0.5 + simulator_.dice());
}

void SimNode::start_jobs() {
  while (!free_.empty() && !queue_.empty()) {
    const std::uint32_t index = free_.back();
    free_.pop_back();
    Slot& slot = slots_[index];
    slot = {queue_.front(), simulator_.now(), ++runs_, true};
    queue_.pop_front();
    pace_.job_started(boot());
    starts_.push_back({slot.token, clock_.wall_now()});
    ++simulator_.figures.runs;
    simulator_.at(simulator_.now() + sim_time(job_seconds()), number_, EventKind::job_end,
                  runs_ * slots_.size() + index);
  }
}

void SimNode::job_ended(std::uint64_t index, std::uint64_t run) {
  Slot& slot = slots_[index];
  if (!slot.taken || slot.run != run) return;  // it was killed
  const SimTime from = simulator_.scenario().measured_from;
  busy_ += std::max(0.0, seconds_of(simulator_.now() - std::max(slot.started, from)));
  slot.taken = false;
  if (alone_ && alone_->token == slot.token) {
    alone_.reset();
    nothing_claimable_ = false;
  }
  free_.push_back(static_cast<std::uint32_t>(index));
  pace_.job_ended(simulator_.now() - slot.started, boot());
  claim::Finished finished;
  finished.token = slot.token;
  finished.outcome.cause = claim::EndCause::exited;
  finished.outcome.exit_code = 0;
  finished.outcome.ended_at = clock_.wall_now();
  finishes_.push_back(finished);
  start_jobs();
  schedule_turn();
}

// --- talking ---

std::uint64_t SimNode::slots() const {
  return slots_.size();
}

claim::Offer SimNode::offer() const {
  claim::Offer o;
  o.total_cpus = static_cast<std::uint32_t>(slots_.size());
  o.total_memory = mebibytes(1 << 20);
  o.memory = o.total_memory;
  o.cpus = static_cast<std::uint32_t>(free_.size() - std::min(free_.size(), queue_.size()));
  o.max_jobs = o.cpus;
  const std::uint64_t wanted = pace_.ahead(slots(), boot());
  o.ahead = wanted > queue_.size() ? wanted - queue_.size() : 0;
  return o;
}

bool SimNode::wants_jobs() const {
  if (nothing_claimable_ || runs_alone()) return false;
  return (queue_.empty() && !free_.empty()) || queue_.size() < pace_.next_window(slots(), boot());
}

bool SimNode::queue_stands() const {
  return !queue_.empty() && boot() >= pace_.queue_stands_at();
}

std::chrono::nanoseconds SimNode::window() const {
  using Need = claim::Pace::Need;
  return pace_.window(queue_.empty() && !free_.empty() ? Need::work : Need::report);
}

void SimNode::schedule_turn() {
  if (life_ != Life::working || busy_sending_) return;
  BootTime due = BootTime::max();
  if (has_reports() || wants_jobs()) due = last_sent_ + window();
  if (!queue_.empty())
    due = std::min(due, std::max(pace_.queue_stands_at(), last_sent_ + window()));
  if (nothing_claimable_) due = std::min(due, next_poll_);
  if (runs_alone() && alone_->until != BootTime::max())
    due = std::min(due, std::max(alone_->until, last_sent_ + window()));
  if (due == BootTime::max()) return;
  const SimTime at = std::max(clock_.at(due), simulator_.now());
  if (at >= turn_at_) return;
  turn_at_ = at;
  simulator_.at(at, number_, EventKind::turn);
}

void SimNode::send_if_due() {
  if (busy_sending_) return;
  if (!has_reports() && !wants_jobs() && !queue_stands()) return;
  if (boot() < last_sent_ + window()) return;
  exchange_ = {};
  exchange_.worker = self_;
  exchange_.now = clock_.wall_now();
  exchange_.starts = std::move(starts_);
  exchange_.finishes = std::move(finishes_);
  starts_.clear();
  finishes_.clear();
  if (!runs_alone()) exchange_.offer = offer();
  if (!exchange_.finishes.empty()) exchange_.job_time = pace_.job_time();
  for (const std::uint64_t kept = pace_.keep(queue_.size(), slots(), boot()); queue_.size() > kept;
       queue_.pop_back()) {
    exchange_.spares.push_back(queue_.back());
    offered_.push_back(queue_.back());
  }
  last_sent_ = boot();
  begun_ = boot();
  sent_at_ = simulator_.now();
  busy_sending_ = true;
  simulator_.at(simulator_.now(), number_, EventKind::list, ++attempt_);
}

// Catching up: until a listing shows nothing new. Then the commit's file is made and named.
void SimNode::list(std::uint64_t attempt) {
  if (attempt != attempt_ || !busy_sending_) return;
  const SimTime hangs = simulator_.filesystem_hangs(number_);
  if (hangs > simulator_.now()) return simulator_.at(hangs, number_, EventKind::list, attempt);
  const bool nothing_new = store_.newest() == based_on_;
  based_on_ = store_.newest();
  const double requests = store_.catch_up();
  simulator_.count_requests(requests);
  simulator_.at(simulator_.now() + simulator_.latency(requests + (nothing_new ? kToName : 0)),
                number_, nothing_new ? EventKind::publish : EventKind::list, attempt);
}

// What Committer::process does in the transaction.
Result<void> SimNode::body(store::Transaction& tx) {
  outcome_.reset();
  newest_ = tx.sequence() - 1;
  if (life_ == Life::registering) {
    info_.registered_at = clock_.wall_now();
    TORC_ASSIGN(self_, claim::register_worker(tx, info_));
    info_.own_beat_file = claim::beat_place(tx, self_).file == store::BeatFile::own;
    TORC_ASSIGN(crowd_, claim::read_crowd(tx));
    return {};
  }
  TORC_ASSIGN(answer_, claim::exchange(tx, exchange_));
  if (answer_.grants.empty() && exchange_.starts.empty() && exchange_.finishes.empty() &&
      !answer_.took_spares) {
    return Error{ErrorKind::busy, kNothingToDo, ""};
  }
  return {};
}

void SimNode::publish(std::uint64_t attempt) {
  if (attempt != attempt_ || !busy_sending_) return;
  const SimTime hangs = simulator_.filesystem_hangs(number_);
  if (hangs > simulator_.now() || in_tick_) {
    return simulator_.at(std::max(hangs, simulator_.now() + 1ms), number_, EventKind::publish,
                         attempt);
  }
  if (store_.newest() != based_on_) {
    // Another was first: the file of this commit is made, the number is taken.
    ++simulator_.figures.conflicts;
    simulator_.count_requests(kToName + kAfter);
    return simulator_.at(simulator_.now() + simulator_.latency(kAfter), number_, EventKind::list,
                         attempt);
  }
  exchange_.ttl = keeper_ ? keeper_->ttl(begun_) : std::chrono::seconds(0);
  auto done =
      simulator_.state->commit(raw(self_), [&](store::Transaction& tx) { return body(tx); });
  wrote_ = done.ok() && done->wrote;
  double after = 0;
  if (wrote_) {
    newest_ = done->sequence;
    store_.has_seen(newest_);
    simulator_.count_commit();
    simulator_.count_requests(
        static_cast<double>(simulator_.cost().commit - simulator_.cost().look));
    after = kAfter;
  } else if (!done.ok() && done.error().what != kNothingToDo) {
    outcome_ = std::move(done).error();
  }
  if (wrote_ && life_ == Life::working) {
    simulator_.figures.refused += answer_.refused.size();
    if (simulator_.now() >= simulator_.scenario().measured_from) {
      simulator_.figures.transitions += static_cast<double>(
          answer_.grants.size() + exchange_.finishes.size() - answer_.refused.size());
    }
    simulator_.figures.workflow = answer_.workflow;
    if (answer_.workflow.all_completed()) {
      simulator_.figures.ended_at = seconds_of(simulator_.now());
      simulator_.stop();
    }
  }
  simulator_.at(simulator_.now() + simulator_.latency(after), number_, EventKind::answer, attempt);
}

void SimNode::answer(std::uint64_t attempt) {
  if (attempt != attempt_ || !busy_sending_) return;
  busy_sending_ = false;
  if (outcome_) {
    if (outcome_->kind == ErrorKind::fenced) return lose_lease(false);
    error_ = outcome_;
    return simulator_.stop();
  }
  if (life_ == Life::registering) {
    last_commit_ = begun_;
    keeper_ = std::make_unique<worker::LeaseKeeper>(world_, store_, self_, info_, begun_, nullptr,
                                                    store::mount_facts(store::MountKind::local));
    become(Life::working);
    for (std::uint32_t i = 0; i < slots_.size(); ++i) free_.push_back(i);
    pace_ = claim::Pace(claim::Sharing::shared);
    pace_.saw({boot(), newest_, crowd_.workers, 0ns, crowd_.job_time, crowd_.ready});
    simulator_.at(clock_.at(keeper_->next_tick()), number_, EventKind::tick);
    schedule_fence();
    return schedule_turn();
  }
  if (wrote_) {
    last_commit_ = begun_;
    keeper_->renewed(begun_, answer_.living);
  }
  if (!answer_.took_spares) {
    queue_.insert(queue_.end(), offered_.rbegin(), offered_.rend());
  }
  offered_.clear();
  pace_.saw({boot(), newest_, answer_.living, wrote_ ? simulator_.now() - sent_at_ : 0ns,
             answer_.job_time, answer_.workflow.of(claim::JobState::ready)});
  if (queue_.empty()) pace_.queue_moves(boot());
  for (const claim::Grant& grant : answer_.grants) {
    queue_.push_back(grant.token);
    const bool to_its_end = grant.lost + 1 >= worker::kCrashLimit;
    if (grant.alone) alone_ = {grant.token, to_its_end ? BootTime::max() : boot() + kProbation};
  }
  if (answer_.grants.empty()) {
    nothing_claimable_ = true;
    next_poll_ = boot() + pace_.next_poll(simulator_.dice());
  } else {
    nothing_claimable_ = false;
    pace_.found_work();
  }
  start_jobs();
  schedule_turn();
}

// --- the lease ---

void SimNode::tick() {
  if (life_ != Life::working || boot() < keeper_->next_tick()) return;
  in_tick_ = true;
  const std::uint64_t lease = attempt_;
  const claim::WorkerEpoch self = self_;
  const Result<void> ticked = keeper_->tick(last_commit_, worker::LeaseKeeper::Beat::yes);
  in_tick_ = false;
  (void)lease;
  if (self != self_ || life_ != Life::working) return;
  if (!ticked.ok()) {
    if (ticked.error().kind == ErrorKind::fenced) return lose_lease(false);
    error_ = ticked.error();
    return simulator_.stop();
  }
  simulator_.at(clock_.at(keeper_->next_tick()), number_, EventKind::tick);
}

void SimNode::schedule_fence() {
  simulator_.at(clock_.at(keeper_->fenced_at()), number_, EventKind::fence);
}

void SimNode::check_fence() {
  if (life_ != Life::working || !keeper_) return;
  if (boot() < keeper_->fenced_at()) return schedule_fence();
  lose_lease(true);
}

// Kills what runs and begins a new life as soon as the filesystem answers.
void SimNode::lose_lease(bool by_itself) {
  ++(by_itself ? simulator_.figures.fenced : simulator_.figures.expired);
  account();
  for (Slot& slot : slots_) slot.taken = false;
  alone_.reset();
  free_.clear();
  queue_.clear();
  offered_.clear();
  starts_.clear();
  finishes_.clear();
  busy_sending_ = false;
  ++attempt_;  // whatever is still under way concerns nobody
  become(Life::entering);
  entrance_ = claim::Entrance(claim::Sharing::shared, 1);
  simulator_.at(simulator_.now(), number_, EventKind::start);
}

}  // namespace torc::bench
