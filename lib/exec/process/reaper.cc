#include "lib/exec/process/reaper.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>

namespace torc::exec {
namespace {

constexpr std::uint64_t kStorageUnit = 512;  // of ru_inblock and ru_oublock

std::chrono::microseconds microseconds_of(const timeval& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
}

std::optional<Traffic> most(const std::optional<Traffic>& a, const std::optional<Traffic>& b) {
  if (!a || !b) return a ? a : b;
  return Traffic{std::max(a->read, b->read), std::max(a->written, b->written)};
}

void account(Run& run, const struct rusage& usage) {
  run.cpu_time += microseconds_of(usage.ru_utime) + microseconds_of(usage.ru_stime);
  const ByteCount rss{static_cast<std::uint64_t>(usage.ru_maxrss) << 10};
  run.max_rss = std::max(run.max_rss, rss);
  const auto bytes = [](long blocks) {
    return ByteCount{static_cast<std::uint64_t>(blocks) * kStorageUnit};
  };
  Activity& activity = run.activity;
  activity.storage = activity.storage + Traffic{bytes(usage.ru_inblock), bytes(usage.ru_oublock)};
  activity.voluntary_switches += static_cast<std::uint64_t>(usage.ru_nvcsw);
  activity.involuntary_switches += static_cast<std::uint64_t>(usage.ru_nivcsw);
}

// Before it is reaped. Short commands are not looked at, and spared the cost.
void account_io(Run& run, pid_t pid, bool is_leader) {
  if (!run.io_file.there()) return;
  const auto io = is_leader ? run.io_file.read() : IoFile(pid).read();
  if (io) run.activity.io = run.activity.io.value_or(Traffic{}) + *io;
}

}  // namespace

std::vector<Ended> Reaper::look() {
  std::vector<Ended> ended;
  const bool reaped = reap();
  RunTable& runs = trees_.runs();
  if (runs.leaderless().empty() || !(reaped || trees_.are_unsettled())) return ended;
  trees_.set_unsettled(false);
  trees_.adopt();
  const std::vector<RunKey> keys = runs.leaderless();
  for (const RunKey key : keys) {
    const Run& run = *runs.find(key);
    // A process that hides whose it is belongs to the last of the commands it can have come from.
    trees_.claim_hidden(key);
    if (run.phase == Phase::killed) trees_.kill_strays(key);
    if (!trees_.is_gone(key)) continue;
    ended.push_back(end_of(key, run, clock_.wall_now()));
    runs.remove(key);
  }
  return ended;
}

bool Reaper::reap() {
  bool any = false;
  while (const pid_t pid = children_.dead_one(trees_.strays())) {
    take(pid);
    any = true;
  }
  return any;
}

void Reaper::take(pid_t pid) {
  RunTable& runs = trees_.runs();
  auto key = runs.by_session(pid);
  Run* run = key ? runs.find(*key) : nullptr;
  const bool is_leader = run != nullptr && !run->leader_gone;
  const bool by_itself = is_leader && run->phase == Phase::running;
  if (by_itself) trees_.kill(*key);
  if (!is_leader) {
    key = trees_.owner_of(pid);
    run = key ? runs.find(*key) : nullptr;
  }
  if (run != nullptr) account_io(*run, pid, is_leader);
  const OwnChildren::Reaped reaped = children_.reap(pid);
  trees_.forget(pid);
  if (run != nullptr) account(*run, reaped.usage);
  if (!is_leader) return;
  runs.lose_leader(*key, reaped.status);
  const bool out_of_memory = killed_in_group(*run) || (by_itself && killed_by_kernel(*run));
  if (!run->cause && by_itself && out_of_memory) run->cause = Ending::out_of_memory;
}

void Reaper::take_over(const LeaderEnd& end) {
  Run& run = *trees_.runs().find(end.leader.key);
  run.phase = Phase::killed;
  run.group_gone = end.group_gone;
  account(run, end.usage);
  trees_.runs().lose_leader(end.leader.key, end.status);
}

Ended Reaper::end_of(const LeaderEnd& end) {
  Run run;
  run.status = end.status;
  run.started_at = end.leader.at;
  account(run, end.usage);
  return end_of(end.leader.key, run, end.ended_at);
}

Ended Reaper::end_of(RunKey key, const Run& run, WallTime ended_at) {
  Ended ended;
  ended.id = RunId{key};
  if (WIFEXITED(run.status)) ended.exit_code = WEXITSTATUS(run.status);
  if (WIFSIGNALED(run.status)) ended.signal = WTERMSIG(run.status);
  ended.how = run.cause.value_or(ended.signal != 0 ? Ending::signaled : Ending::exited);
  ended.started_at = run.started_at;
  ended.ended_at = ended_at;
  ended.max_rss = peak_of(run);
  if (ended.max_rss.value == 0 && run.limits != nullptr)
    ended.max_rss = run.limits->peak().value_or(ByteCount{});
  ended.cpu_time = run.cpu_time;
  ended.activity = run.activity;
  ended.activity.io = most(run.activity.io, run.io_seen);
  return ended;
}

// See Ended::max_rss. The kernel counts the pages of a process only roughly, a MiB more or less.
// This process's own peak never falls, so it is looked at again only where an old one would do.
ByteCount Reaper::peak_of(const Run& run) {
  constexpr ByteCount kRoughly = mebibytes(1);
  if (run.max_rss > own_peak_ + kRoughly) {
    struct rusage own {};
    getrusage(RUSAGE_SELF, &own);
    own_peak_ = ByteCount{static_cast<std::uint64_t>(own.ru_maxrss) << 10};
  }
  const bool told = run.max_rss > own_peak_ + kRoughly;
  return told ? std::max(run.memory.peak, run.max_rss) : run.memory.peak;
}

// By its own group, whose kills are in the count of the worker's group as well.
bool Reaper::killed_in_group(const Run& run) {
  const std::uint64_t kills = run.limits == nullptr ? 0 : run.limits->oom_kills();
  oom_kills_.take(kills, clock_.boot_now());
  return kills > 0;
}

// The kernel's count is of the worker's whole group: a kill that nobody else explains is one of
// those. A shell whose child was killed says so by its exit code.
bool Reaper::killed_by_kernel(const Run& run) {
  constexpr int kShellSays = 128 + SIGKILL;
  const BootTime now = clock_.boot_now();
  const bool killed = WIFSIGNALED(run.status) && WTERMSIG(run.status) == SIGKILL;
  const bool child_killed = WIFEXITED(run.status) && WEXITSTATUS(run.status) == kShellSays;
  if (killed || child_killed) return oom_kills_.take_one(now);
  // It may have outlived a child that was: the next one that is killed shall not be taken for that.
  // Commands that were never looked at are too short to be worth a look.
  if (run.io_file.there()) (void)oom_kills_.take_one(now);
  return false;
}

}  // namespace torc::exec
