#include "lib/exec/process/lease_pause.h"

#include <signal.h>

#include <algorithm>

namespace torc::exec {
namespace {

// Nothing is on time to the millisecond.
constexpr std::chrono::nanoseconds kPunctual = std::chrono::seconds(1);
// Between two tries to stop what could not be looked at.
constexpr std::chrono::nanoseconds kStopAgain = std::chrono::seconds(1);

}  // namespace

bool LeasePause::follow() {
  if (lease_ == nullptr) return false;
  lease_->look(clock_.boot_now());
  const bool before = on_;
  on_ = lease_->paused();
  if (on_) {
    stop_commands();
  } else if (before && lease_->fenced()) {
    // Also what a slot of the lane is just starting, and waits for.
    stopped_.end_children_of(process_);
    stopped_.forget();
  } else if (before) {
    trees_.runs().shift_deadlines(clock_.boot_now() - lease_->paused_since());
    stopped_.go_on();
    // What was told to end meanwhile, and had been stopped by somebody else.
    for (auto& [key, run] : trees_.runs().all()) {
      if (run.phase == Phase::terminating) trees_.signal(key, SIGCONT);
    }
  }
  return on_ != before;
}

// What was missed is looked for again: the watchdog does so too, where there is one.
void LeasePause::stop_commands() {
  const Told told = stopped_.stop_below(process_);
  next_stop_ = told == Told::all ? std::nullopt : std::optional(clock_.boot_now() + kStopAgain);
}

std::chrono::nanoseconds LeasePause::note_lost_time(std::optional<BootTime> alarm) {
  if (!alarm) return {};
  BootTime now = clock_.boot_now();
  if (on_) now = std::min(now, lease_->paused_since());
  if (now <= *alarm + kPunctual) return {};
  trees_.runs().shift_deadlines(now - *alarm);
  return now - *alarm;
}

}  // namespace torc::exec
