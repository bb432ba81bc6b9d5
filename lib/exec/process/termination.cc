#include "lib/exec/process/termination.h"

#include <signal.h>

#include <utility>
#include <vector>

namespace torc::exec {

bool Termination::leader_has_ended(const Run& run) {
  return !run.leader_gone && is_dead_child(run.group);
}

void Termination::stop(RunKey key, std::chrono::nanoseconds lead) {
  Run* run = trees_.runs().find(key);
  if (run == nullptr || run->phase == Phase::killed) return;
  if (run->phase == Phase::running) {
    if (!leader_has_ended(*run)) terminate(key, Ending::stopped, lead);
    return;
  }
  const BootTime sooner = clock_.boot_now() + lead;
  if (run->deadline && sooner < *run->deadline) trees_.runs().set_deadline(key, sooner);
}

void Termination::kill(RunKey key, Ending cause) {
  Run* run = trees_.runs().find(key);
  if (run == nullptr || run->phase == Phase::killed) return;
  if (!run->cause && !run->leader_gone && !leader_has_ended(*run)) run->cause = cause;
  trees_.kill(key);
}

void Termination::kill_all() {
  trees_.adopt();
  std::vector<pid_t> outside;
  for (const auto& [key, run] : trees_.runs().all()) {
    const auto found = trees_.outside_group(key);
    outside.insert(outside.end(), found.begin(), found.end());
  }
  for (const auto& [key, run] : trees_.runs().all()) kill(key, Ending::stopped);
  for (const pid_t pid : outside) ::kill(pid, SIGKILL);
  trees_.kill_all_strays();
}

// Also what left the group. SIGCONT, because a stopped process gets no other signal than SIGKILL.
// What was stopped with a lease that is lost by now must not go on: the job may be another's.
void Termination::terminate(RunKey key, Ending cause, std::chrono::nanoseconds lead) {
  Run& run = *trees_.runs().find(key);
  run.cause = cause;
  if (lead.count() <= 0 || pause_.is_lost()) {
    trees_.kill(key);
    return;
  }
  // Thousands may be told to end one after the other: once is enough for all.
  if (!std::exchange(adopted_, true)) trees_.adopt();
  run.phase = Phase::terminating;
  const BootTime now = clock_.boot_now();
  trees_.runs().set_deadline(key, lead > BootTime::max() - now ? BootTime::max() : now + lead);
  trees_.signal(key, run.termination_signal);
  if (!pause_.is_on()) trees_.signal(key, SIGCONT);  // else when it is over
}

void Termination::expire_deadlines() {
  const BootTime now = clock_.boot_now();
  while (const auto key = trees_.runs().due(now)) {
    const Run& run = *trees_.runs().find(*key);
    if (run.phase == Phase::running && leader_has_ended(run)) {
      trees_.runs().set_deadline(*key, std::nullopt);
    } else if (run.phase == Phase::running) {
      terminate(*key, Ending::timed_out, run.lead);
    } else {
      trees_.kill(*key);
    }
  }
}

}  // namespace torc::exec
