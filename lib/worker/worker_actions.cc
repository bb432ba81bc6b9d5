// What a worker does about actions: which it asks for, and when they keep it from claiming jobs or
// from leaving.
#include <algorithm>

#include "lib/worker/worker_session.h"

namespace torc::worker {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

// For what follows a signal: whoever sent it will not wait for long.
constexpr nanoseconds kFarewell = 15s;

}  // namespace

// Its own actions come before its first job.
bool Session::is_starting() const {
  return actions_ != nullptr && (!asked_welcome_ || welcoming_);
}

bool Session::wants_welcome() const {
  return actions_ != nullptr && !asked_welcome_ && phase_ == Phase::working && !end_;
}

bool Session::wants_farewell() const {
  return actions_ != nullptr && end_ && *end_ != WorkerEnd::lease_lost && !asked_farewell_ &&
         asked_welcome_ && asked_ < Asked::to_stop && is_quiet() && queue_.empty() &&
         !actions_->busy() && actions_->has(claim::Trigger::worker_complete);
}

bool Session::acts() const {
  return actions_ != nullptr && (actions_->busy() || actions_->has_reports());
}

void Session::ask_for_actions(claim::Exchange& exchange) {
  if (actions_ == nullptr) return;
  exchange.actions = actions_->take_reports();
  claim::ActionWish& wish = exchange.wish;
  if (wants_welcome()) {
    wish.worker_start = true;
    asked_welcome_ = true;
    welcoming_ = true;
    exchange.offer.reset();
    return;
  }
  if (is_starting()) exchange.offer.reset();
  if (wants_farewell()) {
    wish.worker_complete = true;
    asked_farewell_ = true;
  }
  if (!exchange.offer || actions_->busy() || !actions_->has_own_of_workflow()) return;
  wish.due = true;
  wish.workflow_over = workflow_over_ || preparer_->settings().run.wait_for_new_jobs == 0s;
}

void Session::take_actions(const std::vector<claim::ActionGrant>& grants) {
  if (actions_ == nullptr) return;
  if (in_flight_.wish.worker_start && grants.empty()) welcoming_ = false;
  actions_->take(grants);
  if (asked_farewell_) return;
  if (phase_ == Phase::stopping) actions_->stop(term_lead());
  if (drain_until_) actions_->drain();
}

void Session::run_actions() {
  if (actions_ == nullptr || lease_.fenced() || lease_.paused()) return;
  if (clock_.boot_now() < std::max(not_before_, no_start_before_)) return;
  nanoseconds limit = 0ns;
  if (asked_farewell_) {
    if (asked_ != Asked::nothing) limit = kFarewell;
    if (drain_until_ && !setup_.allocation.empty())
      limit = std::clamp<nanoseconds>(*drain_until_ - clock_.boot_now(), 1s, kFarewell);
    if (ends_at_) {
      const nanoseconds left = std::max<nanoseconds>(*ends_at_ - clock_.boot_now(), 1s);
      limit = limit > 0ns ? std::min(limit, left) : left;
    }
  }
  committer_->starting(true);
  const bool could = actions_->start_next(limit);
  committer_->starting(false);
  if (!could) no_start_before_ = clock_.boot_now() + kFirstRetry;
  if (!actions_->busy()) {
    if (welcoming_ && !(committer_->busy() && in_flight_.wish.worker_start)) {
      welcoming_ = false;
      nothing_claimable_ = false;
    }
  }
}

// Others have to end theirs first, also those that may be dead: then their runs come back when
// their leases have run out. Or the workflow's last actions are still to come.
bool Session::awaits_actions(const claim::WorkflowState& workflow) {
  if (actions_ == nullptr) return false;
  if (actions_->busy()) return true;
  const claim::ActionTally& t = workflow.actions;
  if (t.due + t.running > 0) return true;
  if (workflow.jobs_over() && t.armed > 0 && !in_flight_.wish.workflow_over) {
    workflow_over_ = true;  // it has waited for new jobs long enough
    nothing_claimable_ = false;
    return true;
  }
  return false;
}

}  // namespace torc::worker
