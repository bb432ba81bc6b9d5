#include "lib/exec/watchdog/replacements.h"

#include <signal.h>

namespace torc::exec {

std::size_t Replacements::recent(BootTime now) {
  while (!times_.empty() && times_.front() + kReplacementsWithin <= now) times_.pop_front();
  return times_.size();
}

bool Replacements::allow(BootTime now) {
  if (recent(now) >= kMostReplacements) return false;
  times_.push_back(now);
  return true;
}

bool was_killed(const ChildEnd& end, bool told_to_stop) {
  return end.signal == SIGKILL && !told_to_stop;
}

bool step_was_killed(const ChildEnd& srun, bool told_to_stop, Start start) {
  constexpr int kSignals = 128;  // and above: a task ended by a signal
  if (told_to_stop) return false;
  return srun.signal == SIGKILL || srun.exit_code > kSignals ||
         (srun.exit_code == 1 && start == Start::replacement);
}

}  // namespace torc::exec
