#include <fmt/format.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "bin/quantities.h"
#include "bin/worker_session.h"
#include "lib/claim/lease.h"

namespace torc::cli {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr nanoseconds kTermLead = 15s;  // SIGTERM of the batch system: KillWait is 30 s by default

constexpr std::size_t kMostShown = 20;
constexpr const char* kTooLate =
    "this worker could not renew its lease in time (frozen, or its filesystem hangs)";

std::optional<BootTime> earlier(std::optional<BootTime> a, BootTime b) {
  return a ? std::min(*a, b) : b;
}

}  // namespace

std::optional<BootTime> Session::wake_at() const {
  const BootTime now = clock_.boot_now();
  // Often enough to show the committer that this thread lives.
  std::optional<BootTime> at = now + lease_ttl_ / 5;
  if (end_ != WorkerEnd::lease_lost) {
    at = earlier(at, lease_.fenced()
                         ? now
                         : committer_->last_confirmed() + claim::fencing_limit(lease_ttl_));
  }
  if (!committer_->busy() &&
      (has_reports() || wants_jobs() || wants_welcome() || wants_farewell())) {
    at = earlier(at, std::max(last_sent_ + window(), not_before_));
  }
  if (!queue_.empty() && not_before_ > now) at = earlier(at, not_before_);
  if (!suspects_.empty()) at = earlier(at, suspects_.front().until);
  if (!queue_.empty() && phase_ == Phase::working && !committer_->busy()) {
    at = earlier(at, std::max({pace_.queue_stands_at(), last_sent_ + window(), not_before_}));
  }
  if (const auto unfit = next_unfit()) at = earlier(at, *unfit);
  if (nothing_claimable_ && phase_ == Phase::working) at = earlier(at, next_poll_);
  if (committer_->busy() && in_flight_.offer && now < last_sent_ + kShareInFlight)
    at = earlier(at, last_sent_ + kShareInFlight);
  if (const auto look = share_.wake_at(); look && phase_ == Phase::working) at = earlier(at, *look);
  if (const auto show = events_.show_at ? events_.show_at() : std::nullopt) at = earlier(at, *show);
  if (setup_.idle_timeout && is_idle()) at = earlier(at, idle_since_ + *setup_.idle_timeout);
  if (ends_at_ && phase_ != Phase::stopping) {
    at = earlier(at, *ends_at_ - term_lead());
  }
  return at;
}

bool Session::is_idle() const {
  return running_.empty() && queue_.empty() && !has_reports() && !acts() && !end_;
}

Result<void> Session::wait() {
  committer_->turn(clock_.boot_now());
  TORC_ASSIGN(exec::ProcessHost::Wakeup wakeup, host_.wait(wake_at()));
  // First what this worker was told, then what became of its jobs: the one explains the other.
  for (const int fd : wakeup.readable) {
    if (fd == signal_fd_) handle_signals();
    if (fd == share_.fd()) look_at_share();
  }
  // Jobs that the watchdog ended have not failed.
  if (lease_.fenced() && end_ != WorkerEnd::lease_lost) lose_lease(kTooLate);
  keep_samples(wakeup.samples);
  for (const exec::Ended& ended : wakeup.ended) job_ended(ended);
  for (const int fd : wakeup.readable) {
    if (fd == committer_->fd()) {
      committer_->clear_fd();
      if (committer_->take_changed()) nothing_claimable_ = false;
      take_reply();
      end_revoked(committer_->take_revoked());
      if (auto lost = committer_->lost(); lost && end_ != WorkerEnd::lease_lost)
        lose_lease(lost->text());
    }
  }
  return {};
}

void Session::check_time() {
  const BootTime now = clock_.boot_now();
  conclude_suspects();
  share_.check();
  if (const auto at = share_.wake_at(); at && now >= *at) look_at_share();
  if (const auto at = events_.show_at ? events_.show_at() : std::nullopt; at && now >= *at)
    events_.show();
  if (end_ != WorkerEnd::lease_lost &&
      (lease_.fenced() || claim::must_fence(committer_->last_confirmed(), now, lease_ttl_))) {
    lose_lease(kTooLate);
    return;
  }
  if (nothing_claimable_ && now >= next_poll_) nothing_claimable_ = false;
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

void Session::handle_signals() {
  signalfd_siginfo info{};
  while (read(signal_fd_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    const int number = static_cast<int>(info.ssi_signo);
    if (!repeated_.is_new(number, clock_.boot_now())) continue;
    if (number == SIGUSR1) {
      tell_what_goes_on();
      continue;
    }
    ++interrupts_;
    summary_.interrupted = true;
    finish(WorkerEnd::interrupted);
    const nanoseconds lead = term_lead();
    if (interrupts_ == 1 && number == SIGINT) {
      if (!running_.empty()) {
        notice(fmt::format("finishing {} running job(s); press Ctrl-C again to stop them",
                           running_.size()));
      }
    } else if (phase_ != Phase::stopping) {
      stop_running(number == SIGINT ? lead : std::min(lead, kTermLead), claim::EndCause::stopped);
    } else {
      for (const auto& [id, job] : running_) host_.kill(exec::RunId{id});
      if (actions_ != nullptr) actions_->kill();
    }
  }
}

// What a person asks by SIGUSR1. Long lists are cut: this is for a log.
void Session::tell_what_goes_on() const {
  const BootTime now = clock_.boot_now();
  const auto ago = [&](BootTime then) {
    return show_duration(std::chrono::duration_cast<WallTime>(now - then));
  };
  notice(fmt::format("running {}, waiting here {}, done {}, failed {}{}", running_.size(),
                     queue_.size(), summary_.completed, summary_.failed,
                     phase_ == Phase::working    ? ""
                     : phase_ == Phase::draining ? ", claims no more"
                                                 : ", ends its jobs"));
  const BootTime fenced = committer_->last_confirmed() + claim::fencing_limit(lease_ttl_);
  notice(fmt::format("worker {}: last commit {}; its lease, not renewed, ends its jobs in {}",
                     summary_.epoch, last_written_ ? ago(*last_written_) + " ago" : "not yet made",
                     show_duration(std::chrono::duration_cast<WallTime>(fenced - now))));
  std::size_t shown = 0;
  for (const auto& [id, job] : running_) {
    if (shown++ == kMostShown) {
      notice(fmt::format("  and {} more", running_.size() - kMostShown));
      return;
    }
    notice(fmt::format("  '{}', attempt {}, for {}, process {}", job.name, job.token.attempt,
                       ago(job.started), host_.leader(exec::RunId{id})));
  }
}

void Session::finish(WorkerEnd end) {
  if (!end_) end_ = end;
  if (phase_ == Phase::working) phase_ = Phase::draining;
  return_queue();
}

void Session::return_queue() {
  for (const PreparedJob& job : queue_) returns_.push_back(job.grant.token);
  queue_.clear();
}

void Session::stop_running(nanoseconds lead, claim::EndCause why) {
  phase_ = Phase::stopping;
  stop_cause_ = why;
  for (const auto& [id, job] : running_) host_.stop(exec::RunId{id}, lead);
  if (actions_ != nullptr && !asked_farewell_) actions_->stop(lead);
}

void Session::lose_lease(std::string why) {
  end_ = WorkerEnd::lease_lost;
  phase_ = Phase::stopping;
  lease_.lose();
  host_.kill_all();
  // Whatever happened to these jobs, it is not this worker's to say any more.
  running_.clear();
  suspects_.clear();
  queue_.clear();
  offered_.clear();
  starts_.clear();
  finishes_.clear();
  returns_.clear();
  if (actions_ != nullptr) actions_->forget();
  notice(std::move(why));
}

Result<WorkerSummary> Session::leave() {
  host_.unwatch(committer_->fd());
  host_.unwatch(signal_fd_);
  if (watched_share_ >= 0) host_.unwatch(watched_share_);
  std::unique_ptr<store::Store> store = committer_->stop();
  summary_.end = *end_;
  if (summary_.end == WorkerEnd::lease_lost) return summary_;
  output_->tidy();
  lease_.let_go();
  const bool budget_holds = summary_.workflow.budget_holds;  // told by an exchange only
  bool last = false;                                         // nobody else beats in its file
  auto left = store->commit(claim::raw(self_), [&](claim::Transaction& tx) -> Result<void> {
    TORC_TRY(claim::release_worker(tx, self_, clock_.wall_now()));
    TORC_ASSIGN(summary_.workflow, claim::read_workflow(tx));
    summary_.workflow.budget_holds = budget_holds;
    const store::EpochRange beside = store::epochs_beside(claim::raw(self_));
    last = !claim::is_anybody_of(tx, beside.first, beside.last);
    return {};
  });
  if (last) (void)store::remove_beats(app_.world, store->state_directory(), claim::raw(self_));
  if (!left && left.error().kind != ErrorKind::fenced) return std::move(left).error();
  if (summary_.end == WorkerEnd::workflow_finished) store->forget_copy();
  return summary_;
}

}  // namespace torc::cli
