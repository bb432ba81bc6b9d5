// What a worker does when somebody tells it to leave: how long its jobs may go on, and whose end a
// signal was.
#include <fmt/format.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>

#include "lib/base/quantities.h"
#include "lib/claim/rules/lease.h"
#include "lib/worker/worker_session.h"

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

constexpr nanoseconds kReportPatience =
    20s;  // with a store that cannot be written, of one told to leave

constexpr std::size_t kMostShown = 20;

// SIGINT is a person who can press again; SIGTERM and SIGHUP come before a SIGKILL.
Asked next(Asked before, int request) {
  if (request == SIGINT && before == Asked::nothing) return Asked::to_drain;
  if (request != SIGINT && before < Asked::to_end_in_time) return Asked::to_end_in_time;
  return before < Asked::to_stop ? Asked::to_stop : Asked::to_kill;
}

std::string show(nanoseconds d) {
  return show_duration(std::chrono::duration_cast<WallTime>(std::max(d, 0ns)));
}

std::string_view again(int number) {
  return number == SIGINT ? "press Ctrl-C again" : "send SIGTERM again";
}

}  // namespace

void Session::handle_signals() {
  signalfd_siginfo info{};
  while (read(signal_fd_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    const int number = static_cast<int>(info.ssi_signo);
    const BootTime now = clock_.boot_now();
    // A session that ends sends both SIGTERM and SIGHUP.
    const int request = number == SIGHUP ? SIGTERM : number;
    if (request == SIGTERM) terminated_at_ = now;
    const bool of_step = request == SIGTERM && !setup_.allocation.empty();
    if (!repeated_.is_new(request, now, of_step ? kStepEcho : RepeatedSignals::kEcho)) continue;
    if (number == SIGUSR1) {
      tell_what_goes_on();
      continue;
    }
    summary_.interrupted = true;
    asked_ = next(asked_, request);
    finish(WorkerEnd::interrupted);
    switch (asked_) {
      case Asked::nothing:
        break;
      case Asked::to_drain:
        if (!is_quiet() && phase_ != Phase::stopping)
          notice(fmt::format("finishing {} running job(s); press Ctrl-C again to stop them",
                             running_count()));
        break;
      case Asked::to_end_in_time:
        end_in_time();
        break;
      case Asked::to_stop:
        stop_now(request);
        break;
      case Asked::to_kill:
        kill_now();
        break;
    }
  }
}

// Jobs may go on while there is time, but those that have something to save, or cannot end in it,
// are told at once.
void Session::end_in_time() {
  const BootTime now = clock_.boot_now();
  BootTime until = now + setup_.grace;
  if (ends_at_) until = std::max(now, std::min(until, *ends_at_));
  const nanoseconds left = until - now;
  drain_until_ = until;
  if (phase_ == Phase::stopping) return stop_running(left, stop_cause_);
  const nanoseconds lead = std::min({term_lead(), kTermLead, left / 2});
  stop_at_ = until - lead;
  hurry();
  if (actions_ != nullptr && !asked_farewell_) actions_->drain();
  std::size_t told = 0;
  for (const auto& [id, job] : running_) {
    const bool endless = job.need.runtime > 0s && job.started + job.need.runtime > until;
    if (job.failed || (job.checkpoint_exit_code == 0 && !endless)) continue;
    host_.stop(exec::RunId{id}, left);
    ++told;
  }
  for (const auto& [id, armed] : armed_) {
    const PreparedJob& job = armed.job;
    const bool endless = job.need.runtime > 0s && now + job.need.runtime > until;
    if (job.checkpoint_exit_code == 0 && !endless) continue;
    host_.stop(exec::RunId{id}, left);
    ++told;
  }
  if (is_quiet()) return;
  std::string what;
  if (told > 0)
    what = fmt::format("{} job(s) have {} to save their work and end", told, show(left));
  if (told < running_count())
    what += fmt::format("{}{} job(s) may go on for {}, and have {} more to end then",
                        what.empty() ? "" : "; ", running_count() - told, show(left - lead),
                        show(lead));
  notice(fmt::format("told to leave: {}; send SIGTERM again to stop them now", what));
}

void Session::stop_now(int request) {
  nanoseconds lead = term_lead();
  if (request != SIGINT) lead = std::min(lead, kTermLead);
  if (drain_until_) lead = std::clamp(*drain_until_ - clock_.boot_now(), 0ns, lead);
  if (!is_quiet())
    notice(fmt::format("stopping {} running job(s), which have {} to end; {} to kill them",
                       running_count(), show(lead), again(request)));
  else if (!finishes_.empty())
    notice(fmt::format("{} result(s) are not reported yet: trying for {} more; {} to give them up",
                       finishes_.size(), show(kReportPatience), again(request)));
  stop_running(lead, claim::EndCause::stopped);
}

void Session::kill_now() {
  if (!is_quiet()) notice(fmt::format("killing {} running job(s)", running_count()));
  for (const auto& [id, job] : running_) host_.kill(exec::RunId{id});
  for (const auto& [id, job] : armed_) host_.kill(exec::RunId{id});
  if (actions_ != nullptr) actions_->kill();
  hurry();
}

// What a person asks by SIGUSR1. Long lists are cut: this is for a log.
void Session::tell_what_goes_on() const {
  const BootTime now = clock_.boot_now();
  const auto tell = [this](const std::string& line) {
    events_.asked ? events_.asked(line) : notice(line);
  };
  std::string phase;
  if (phase_ == Phase::stopping) {
    phase = ", ends its jobs";
  } else if (stop_at_) {
    phase = fmt::format(", claims no more, ends its jobs in {}", show(*stop_at_ - now));
  } else if (phase_ == Phase::draining) {
    phase = ", claims no more";
  }
  tell(fmt::format("running {}, waiting here {}, done {}, failed {}{}", running_.size(), waiting(),
                   summary_.completed, summary_.failed, phase));
  const BootTime fenced = committer_->last_confirmed() + claim::fencing_limit(lease_ttl_);
  tell(fmt::format(
      "worker {}: last commit {}; its lease, not renewed, stops its jobs in {}", summary_.epoch,
      last_written_ ? show(now - *last_written_) + " ago" : "not yet made", show(fenced - now)));
  std::size_t shown = 0;
  for (const auto& [id, job] : running_) {
    if (shown++ == kMostShown) {
      tell(fmt::format("  and {} more", running_.size() - kMostShown));
      return;
    }
    tell(fmt::format("  '{}', attempt {}, for {}, process {}", job.name, job.token.attempt,
                     show(now - job.started), host_.leader(exec::RunId{id})));
  }
}

// --- whose end a signal was ---

bool Session::is_explained() const {
  return terminated_at_ && clock_.boot_now() < *terminated_at_ + kExplains;
}

// It ended of a signal that its worker got, too.
bool Session::was_meant_for_worker(const exec::Ended& ended) const {
  return is_explained() && ended.how == exec::Ending::signaled &&
         (ended.signal == SIGTERM || ended.signal == SIGKILL || ended.signal == SIGHUP);
}

// How long its end waits for an explanation.
nanoseconds Session::patience_with(const exec::Ended& ended) const {
  if (ended.how != exec::Ending::signaled || is_explained()) return 0ns;
  if (ended.signal != SIGTERM && ended.signal != SIGHUP && ended.signal != SIGKILL) return 0ns;
  const bool in_slurm = !setup_.allocation.empty();
  return in_slurm ? kExplanationOfSlurm : kExplanation;
}

void Session::conclude_suspects() {
  const BootTime now = clock_.boot_now();
  if (lease_.paused()) return;
  while (!suspects_.empty() && (is_explained() || now >= suspects_.front().until)) {
    const exec::Ended ended = suspects_.front().ended;
    suspects_.pop_front();
    conclude(ended);
  }
}

// --- the last words ---

// What there is to say is said soon, whatever the window: those who told this worker to leave may
// have told a crowd, and will not wait.
void Session::hurry() {
  const BootTime now = clock_.boot_now();
  BootTime until = now + kReportPatience;
  if (drain_until_)
    until = *drain_until_ + setup_.reserve;
  else if (ends_at_)
    until = std::max(now, *ends_at_) + setup_.reserve;
  speak_by_ = now + claim::parting_delay(living_, until - now, dice());
  not_before_ = std::min(not_before_, now + kFirstRetry);
}

// Told to leave, it does not try for ever to say how jobs ended.
bool Session::gives_up() const {
  if (!summary_.interrupted || phase_ != Phase::stopping || !is_quiet()) return false;
  return asked_ == Asked::to_kill || clock_.boot_now() >= quiet_since_ + kReportPatience;
}

// It keeps what it has not said: the release may not be made without it, since the store would take
// a job whose start it was not told of for one that never started.
void Session::stop_trying() {
  tries_no_more_ = true;
  asked_farewell_ = true;
  if (actions_ == nullptr) return;
  actions_->stop(0ns);
  actions_->kill();
}

// Of all that it could not say nothing is known in the store, and no release was made either: its
// jobs are its own until its lease has run out.
void Session::give_up(const Error& error) {
  const std::size_t results = finishes_.size();
  starts_.clear();
  finishes_.clear();
  returns_.clear();
  forget_unconfirmed();
  if (actions_ != nullptr) actions_->forget();
  asked_farewell_ = true;
  notice(fmt::format("gave up on reporting {} result(s), those jobs will run again: {}", results,
                     error.text()));
}

// What was counted and not committed does not count.
void Session::forget_unconfirmed() {
  for (Tally* tally : {&unsaid_, &in_flight_tally_}) {
    summary_.completed -= tally->completed;
    summary_.failed -= tally->failed;
    *tally = {};
  }
}

}  // namespace torc::worker
