// Commands stop and go on with the lease in whose name they run. Time in which they could not run
// does not count against their limits.
#include <signal.h>

#include <algorithm>

#include "lib/exec/process/host.h"

namespace torc::exec {
namespace {

// Nothing is on time to the millisecond.
constexpr std::chrono::nanoseconds kPunctual = std::chrono::seconds(1);
// Between two tries to stop what could not be looked at.
constexpr std::chrono::nanoseconds kStopAgain = std::chrono::seconds(1);

}  // namespace

// Whether it was paused or goes on since the last look. The watchdog stops and continues the
// commands by itself: whoever is first, and each continues those that it stopped.
bool Host::follow_lease() {
  if (lease_ == nullptr) return false;
  lease_->look(clock_.boot_now());
  const bool before = paused_;
  paused_ = lease_->paused();
  if (paused_) {
    stop_commands();
  } else if (before && lease_->fenced()) {
    // Also what a slot of the lane is just starting, and waits for.
    stopped_.end_children_of(process_);
    stopped_.forget();
  } else if (before) {
    shift_deadlines(clock_.boot_now() - lease_->paused_since());
    stopped_.go_on();
    // What was told to end meanwhile, and had been stopped by somebody else.
    for (auto& [key, run] : runs_.all()) {
      if (run.phase == Phase::terminating) signal_run(key, SIGCONT);
    }
  }
  return paused_ != before;
}

// What was missed is looked for again: the watchdog does so too, where there is one.
void Host::stop_commands() {
  const Told told = stopped_.stop_below(process_);
  next_stop_ = told == Told::all ? std::nullopt : std::optional(clock_.boot_now() + kStopAgain);
}

// After a sleep until `alarm`, if nothing came before. Of a pause only the time before it is noted
// here, the rest when it is over.
void Host::note_lost_time(std::optional<BootTime> alarm) {
  if (!alarm) return;
  BootTime now = clock_.boot_now();
  if (paused_) now = std::min(now, lease_->paused_since());
  if (now <= *alarm + kPunctual) return;
  shift_deadlines(now - *alarm);
  stood_still_ += now - *alarm;
}

void Host::shift_deadlines(std::chrono::nanoseconds by) {
  for (auto& [key, run] : runs_.all()) {
    if (run.deadline && *run.deadline < BootTime::max() - by)
      runs_.set_deadline(key, *run.deadline + by);
  }
}

}  // namespace torc::exec
