#include <sys/epoll.h>
#include <unistd.h>

#include <utility>

#include "lib/exec/process/host.h"

namespace torc::exec {

void Host::stop(RunId id, std::chrono::nanoseconds lead) {
  if (ask_later(id, lead)) return;
  const auto key = static_cast<RunKey>(id);
  Run* run = runs_.find(key);
  if (run == nullptr || run->phase == Phase::killed) return;
  if (run->phase == Phase::running) {
    if (!has_ended(*run)) terminate(key, Ending::stopped, lead);
    return;
  }
  const BootTime sooner = clock_.boot_now() + lead;
  if (run->deadline && sooner < *run->deadline) runs_.set_deadline(key, sooner);
}

void Host::kill(RunId id) {
  if (ask_later(id, std::nullopt)) return;
  const auto key = static_cast<RunKey>(id);
  Run* run = runs_.find(key);
  if (run == nullptr || run->phase == Phase::killed) return;
  if (!run->cause && !run->leader_gone && !has_ended(*run)) run->cause = Ending::stopped;
  kill_run(key);
}

// Its leader has ended by itself; wait() has not come to it yet, and will tell how.
bool Host::has_ended(const Run& run) {
  return !run.leader_gone && is_dead_child(run.group);
}

// Also what left the groups, without waiting until it is orphaned: the caller may be about to end.
void Host::kill_all() {
  (void)take_back();
  look_at_lane();
  know_leaders(std::chrono::nanoseconds(0));
  for (const auto& [key, terms] : lane_terms_) (void)ask_later(RunId{key}, std::nullopt);
  adopt();
  std::vector<pid_t> outside;
  for (auto& [key, run] : runs_.all()) {
    const auto found = outside_group(key, run);
    outside.insert(outside.end(), found.begin(), found.end());
  }
  for (auto& [key, run] : runs_.all()) kill(RunId{key});
  for (const pid_t pid : outside) ::kill(pid, SIGKILL);
  for (const auto& [pid, stray] : strays_) ::kill(pid, SIGKILL);
}

// Also what left the group. SIGCONT, because a stopped process gets no other signal than SIGKILL.
// What was stopped with a lease that is lost by now must not go on: the job may be another's.
void Host::terminate(RunKey key, Ending cause, std::chrono::nanoseconds lead) {
  Run& run = *runs_.find(key);
  run.cause = cause;
  if (lead.count() <= 0 || (lease_ != nullptr && lease_->fenced())) {
    kill_run(key);
    return;
  }
  // Thousands may be told to end one after the other: once is enough for all.
  if (!std::exchange(adopted_, true)) adopt();
  run.phase = Phase::terminating;
  const BootTime now = clock_.boot_now();
  runs_.set_deadline(key, lead > BootTime::max() - now ? BootTime::max() : now + lead);
  signal_run(key, run.termination_signal);
  if (!paused_) signal_run(key, SIGCONT);  // else when it is over
}

void Host::signal_run(RunKey key, int signal) {
  Run& run = *runs_.find(key);
  const std::vector<pid_t> outside = outside_group(key, run);
  signal_group(run, signal);
  for (const pid_t pid : outside) ::kill(pid, signal);
}

void Host::kill_run(RunKey key) {
  Run& run = *runs_.find(key);
  run.phase = Phase::killed;
  runs_.set_deadline(key, std::nullopt);
  signal_group(run, SIGKILL);
  if (run.limits != nullptr) run.limits->kill();
  kill_strays(key);
  unsettled_ = unsettled_ || run.leader_gone;
}

void Host::signal_group(Run& run, int signal) {
  if (run.group_gone) return;
  // A process of the group's number, though the leader is reaped: the number is another's now.
  if (run.leader_gone && ::kill(run.group, 0) == 0) {
    run.group_gone = true;
    return;
  }
  ::kill(-run.group, signal);
}

// Strays are children of this process: their numbers are theirs until it reaps them. One that may
// not be killed (it runs as another user) is given up.
void Host::kill_strays(RunKey key) {
  Run& run = *runs_.find(key);
  if (run.strays == 0) return;
  for (auto it = strays_.begin(); it != strays_.end();) {
    const bool given_up = it->second.owner == key && ::kill(it->first, SIGKILL) != 0;
    if (given_up) {
      --run.strays;
      earlier_children_.insert(it->first);
    }
    it = given_up ? strays_.erase(it) : std::next(it);
  }
}

std::vector<pid_t> Host::outside_group(RunKey key, const Run& run) const {
  std::vector<pid_t> found;
  const auto add_below = [&](pid_t top) {
    for (const pid_t pid : descendants_of(top).pids) {
      if (getpgid(pid) != run.group) found.push_back(pid);
    }
  };
  if (!run.leader_gone) add_below(run.group);
  for (const auto& [pid, stray] : strays_) {
    if (stray.owner != key) continue;
    if (getpgid(pid) != run.group) found.push_back(pid);
    add_below(pid);
  }
  return found;
}

// Kills and waits for everything that came from this host. What cannot die (it waits for a disk
// that does not answer) is left to the kernel after five seconds.
void Host::end_everything() {
  for (int idle = 0; idle < 50;) {
    kill_all();
    if (unsettled_) look_after_children();
    if (running() == 0 && strays_.empty()) return;
    epoll_event event{};
    if (epoll_wait(epoll_, &event, 1, 100) <= 0) ++idle;
    Wakeup ignored;
    if (!sleep_for_events(true, ignored)) return;
  }
}

}  // namespace torc::exec
