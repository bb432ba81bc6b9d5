#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/claim/queries/queries.h"
#include "lib/claim/queries/workers.h"
#include "lib/claim/rules/lease.h"
#include "lib/claim/transactions/exchange.h"
#include "lib/claim/transactions/membership.h"
#include "lib/store/engine/beat.h"
#include "lib/worker/worker_session.h"

namespace torc::worker {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr nanoseconds kKillPatience = 5s;    // with processes that were killed
constexpr nanoseconds kLeavePatience = 20s;  // with a store that cannot be told of a release

std::optional<BootTime> earlier(std::optional<BootTime> a, BootTime b) {
  return a ? std::min(*a, b) : b;
}

}  // namespace

std::optional<BootTime> Session::wake_at() const {
  const BootTime now = clock_.boot_now();
  // Often enough to show the committer that this thread lives.
  std::optional<BootTime> at = now + lease_ttl_ / 5;
  if (end_ != WorkerEnd::lease_lost) {
    if (lease_.fenced()) at = now;
    if (const auto due = lease_.due()) at = earlier(at, *due);
    if (ask_at_ && !committer_->asking()) at = earlier(at, *ask_at_);
  }
  if (stop_at_ && phase_ != Phase::stopping) at = earlier(at, *stop_at_);
  if (ends_at_ && phase_ != Phase::stopping) at = earlier(at, *ends_at_ - term_lead());
  if (const auto show = events_.show_at ? events_.show_at() : std::nullopt) at = earlier(at, *show);
  if (lease_.paused()) return at;  // all else waits
  if (!committer_->busy() &&
      (has_reports() || wants_jobs() || wants_welcome() || wants_farewell())) {
    at = earlier(at, due_at());
  }
  if (!queue_.empty() && not_before_ > now) at = earlier(at, not_before_);
  if (no_start_before_ > now) at = earlier(at, no_start_before_);
  for (const PreparedJob& job : queue_) {
    if (job.not_before > now) at = earlier(at, job.not_before);
  }
  if (alone_ && alone_->until > now) at = earlier(at, alone_->until);
  if (!suspects_.empty()) at = earlier(at, suspects_.front().until);
  if (!queue_.empty() && phase_ == Phase::working && !committer_->busy()) {
    at = earlier(at, std::max({pace_.queue_stands_at(), last_sent_ + window(), not_before_}));
  }
  if (const auto unfit = next_unfit()) at = earlier(at, *unfit);
  if (nothing_claimable_ && phase_ == Phase::working) at = earlier(at, next_poll_);
  if (committer_->busy() && in_flight_.offer && now < last_sent_ + kShareInFlight)
    at = earlier(at, last_sent_ + kShareInFlight);
  if (const auto look = share_.wake_at(); look && phase_ == Phase::working) at = earlier(at, *look);
  if (setup_.idle_timeout && is_idle()) at = earlier(at, idle_since_ + *setup_.idle_timeout);
  return at;
}

bool Session::is_idle() const {
  return is_quiet() && queue_.empty() && !has_reports() && !acts() && !end_;
}

Result<void> Session::wait() {
  committer_->turn(clock_.boot_now());
  TORC_ASSIGN(exec::ProcessHost::Wakeup wakeup, host_.wait(wake_at()));
  // What runs; then what this worker was told, and what became of its jobs: the one explains the
  // other.
  take_lane_news(wakeup);
  for (const int fd : wakeup.readable) {
    if (fd == signal_fd_) handle_signals();
    if (fd == share_.fd()) look_at_share();
  }
  // Jobs that the watchdog ended, or its end, have not failed. Looked at after they were reaped:
  // who kills them says so before.
  follow_lease();
  keep_samples(wakeup.samples);
  for (const exec::Ended& ended : wakeup.ended) job_ended(ended);
  for (const int fd : wakeup.readable) {
    if (fd == committer_->fd()) {
      committer_->clear_fd();
      // The answer may be older than the change.
      take_reply();
      if (committer_->take_changed()) nothing_claimable_ = false;
      end_revoked(committer_->take_revoked());
      if (auto lost = committer_->lost(); lost && end_ != WorkerEnd::lease_lost)
        lose_lease(lost->text());
    }
  }
  return {};
}

void Session::check_time() {
  const BootTime now = clock_.boot_now();
  follow_lease();  // first: an end that waited for its explanation has it then
  conclude_suspects();
  share_.check();
  if (const auto at = share_.wake_at(); at && now >= *at) look_at_share();
  if (const auto at = events_.show_at ? events_.show_at() : std::nullopt; at && now >= *at)
    events_.show();
  if (end_ == WorkerEnd::lease_lost) return;
  if (nothing_claimable_ && now >= next_poll_) nothing_claimable_ = false;
  if (stop_at_ && phase_ != Phase::stopping && now >= *stop_at_) {
    if (!is_quiet())
      notice(fmt::format("no time is left: stopping {} running job(s)", running_count()));
    stop_running(*drain_until_ - now, claim::EndCause::stopped);
  }
  if (ends_at_ && phase_ != Phase::stopping) {
    const nanoseconds lead = term_lead();
    if (now + lead >= *ends_at_) {
      finish(WorkerEnd::time_up);
      stop_running(lead, claim::EndCause::allocation_ended);
    }
  }
  if (setup_.idle_timeout && is_idle() && now >= idle_since_ + *setup_.idle_timeout) {
    finish(WorkerEnd::idle);
  }
}

void Session::finish(WorkerEnd end) {
  if (!end_) end_ = end;
  if (phase_ == Phase::working) phase_ = Phase::draining;
  return_queue();
}

void Session::return_queue() {
  recall();
  for (const PreparedJob& job : queue_) returns_.push_back(job.grant.token);
  queue_.clear();
}

void Session::stop_running(nanoseconds lead, claim::EndCause why) {
  lead = std::max(lead, 0ns);
  if (phase_ != Phase::stopping) quiet_since_ = clock_.boot_now();
  phase_ = Phase::stopping;
  hurry();
  stop_cause_ = why;
  for (const auto& [id, job] : running_) host_.stop(exec::RunId{id}, lead);
  for (const auto& [id, job] : armed_) host_.stop(exec::RunId{id}, lead);  // begun just now
  if (actions_ != nullptr && !asked_farewell_) actions_->stop(lead);
}

void Session::lose_lease(std::string why) {
  end_ = WorkerEnd::lease_lost;
  phase_ = Phase::stopping;
  lease_.lose();
  recall();
  host_.kill_all();
  // Whatever happened to these jobs, it is not this worker's to say any more.
  for (auto& [id, job] : running_) {
    if (!job.failed) killed_.emplace(id, std::move(job.output));  // else it is closed already
  }
  for (const Suspect& suspect : suspects_) close_killed(suspect.ended.id);
  for (auto& [id, armed] : armed_) killed_.emplace(id, std::move(armed.beginning.output));
  armed_.clear();
  forget_unconfirmed();
  running_.clear();
  alone_.reset();
  suspects_.clear();
  queue_.clear();
  offered_.clear();
  starts_.clear();
  finishes_.clear();
  returns_.clear();
  if (actions_ != nullptr) actions_->forget();
  notice(std::move(why));
}

void Session::close_killed(exec::RunId id) {
  const auto found = killed_.find(static_cast<std::uint64_t>(id));
  if (found == killed_.end()) return;
  output_->close(found->second, false);
  killed_.erase(found);
}

// So that their files can be closed. What waits for a filesystem that hangs cannot die.
void Session::await_killed() {
  const BootTime until = clock_.boot_now() + kKillPatience;
  while (!killed_.empty() && clock_.boot_now() < until) {
    const auto wakeup = host_.wait(until);
    if (!wakeup) break;
    for (const exec::Ended& ended : wakeup->ended) close_killed(ended.id);
  }
  for (const auto& [id, output] : killed_) OutputKeeper::abandon(output);
  killed_.clear();
}

bool Session::is_over() const {
  const bool acting = tries_no_more_ ? actions_ != nullptr && actions_->busy() : acts();
  return end_ && is_quiet() && queue_.empty() && !acting && !wants_farewell() &&
         !committer_->busy();
}

bool Session::may_leave() const {
  if (!is_over()) return false;
  return tries_no_more_ || !has_reports() ||
         (retry_delay_ == kFirstRetry && clock_.boot_now() >= due_at());
}

// Signals are heard meanwhile.
void Session::pause(nanoseconds time) {
  const BootTime until = clock_.boot_now() + time;
  while (clock_.boot_now() < until && !gives_up()) {
    const auto wakeup = host_.wait(until);
    if (!wakeup) return;
    if (!wakeup->readable.empty()) handle_signals();
  }
}

// What is still to be said and the release, in one commit: never the one without the other.
Result<void> Session::say_goodbye(store::Store& store) {
  const bool speaks = has_reports();
  claim::Exchange words;
  words.worker = self_;
  words.now = clock_.wall_now();
  words.starts = starts_;
  words.finishes = finishes_;
  words.returns = returns_;
  if (actions_ != nullptr) words.actions = actions_->take_reports();
  claim::Answer answer;
  claim::WorkflowState workflow;
  bool nobody_beside = false;
  store::BeatPlace beats;
  auto left = store.commit(claim::raw(self_), [&](claim::Transaction& tx) -> Result<void> {
    if (speaks) {
      TORC_ASSIGN(answer, claim::exchange(tx, words));
    }
    if (end_ == WorkerEnd::nothing_fits) summary_.misfits = misfits(tx);
    TORC_TRY(claim::release_worker(tx, self_, words.now));
    TORC_ASSIGN(workflow, claim::read_workflow(tx));
    beats = claim::beat_place(tx, self_);
    const store::EpochRange beside = store::epochs_beside(claim::raw(self_));
    TORC_ASSIGN(const bool anybody, claim::is_anybody_of(tx, beside.first, beside.last));
    nobody_beside = !anybody;
    return {};
  });
  if (!left) {
    if (actions_ != nullptr) actions_->put_back(std::move(words.actions));
    return std::move(left).error();
  }
  (void)store::remove_beats(context_.world, store.state_directory(), beats, nobody_beside);
  tell_refused(answer.refused);
  starts_.clear();
  finishes_.clear();
  returns_.clear();
  unsaid_ = {};
  workflow.budget_holds = summary_.workflow.budget_holds;  // told by an exchange only
  summary_.workflow = std::move(workflow);
  if (speaks && events_.progress) events_.progress(summary_.workflow);
  return {};
}

Result<WorkerSummary> Session::leave() {
  host_.unwatch(committer_->fd());
  if (lease_.news_fd() >= 0) host_.unwatch(lease_.news_fd());
  if (watched_share_ >= 0) host_.unwatch(watched_share_);
  std::unique_ptr<store::Store> store = committer_->stop();
  summary_.end = *end_;
  if (summary_.end == WorkerEnd::lease_lost) {
    host_.unwatch(signal_fd_);
    await_killed();
    output_->tidy();
    return summary_;
  }
  output_->tidy();
  lease_.let_go();
  auto left = say_goodbye(*store);
  BootTime since = clock_.boot_now();
  for (nanoseconds delay = kFirstRetry / 4; !left && may_pass(left.error());
       delay = std::min(2 * delay, kRetryLeaving)) {
    const BootTime now = clock_.boot_now();
    if (gives_up() || (!has_reports() && now >= since + kLeavePatience) ||
        now >= since + lease_ttl_) {
      break;
    }
    if (delay == kFirstRetry / 4 && has_reports())
      notice(fmt::format("the store cannot be written now, trying again: {}", left.error().text()));
    pause(delay);
    const BootTime asked = clock_.boot_now();
    left = say_goodbye(*store);
    since += clock_.boot_now() - asked;  // what hung has not said no
  }
  host_.unwatch(signal_fd_);
  if (!left && has_reports()) give_up(left.error());
  if (!left && left.error().kind != ErrorKind::fenced) return std::move(left).error();
  if (summary_.end == WorkerEnd::workflow_finished) store->forget_copy();
  return summary_;
}

}  // namespace torc::worker
