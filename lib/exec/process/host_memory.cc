// How much memory the trees use, and which use more than they may. Nothing is looked at before a
// command has run for a while, and then the less often the longer it runs, unless it comes near its
// limit.
#include <time.h>

#include <algorithm>

#include "lib/exec/machine/memory_use.h"
#include "lib/exec/process/host.h"

namespace torc::exec {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr nanoseconds kFirstLook = 100ms;
constexpr nanoseconds kSoonest = 10ms;
constexpr nanoseconds kLatestLimited = 1s;
constexpr nanoseconds kLatest = 10s;
// Those due within this time of each other are looked at together.
constexpr nanoseconds kTogether = 50ms;
// Time that passes for each unit of processor time that looks take: 0.4 % of it. What was not used
// in the last seconds may be used at once, by a command that grows fast.
constexpr int kShare = 250;
constexpr nanoseconds kCredit = 5s;

nanoseconds thread_time() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + nanoseconds(now.tv_nsec);
}

// Half the time in which it reaches its limit, if it goes on growing as since the look before.
nanoseconds time_to_limit(const MemoryWatch& watch, ByteCount now, nanoseconds since) {
  if (now <= watch.before || now >= watch.limit) return kLatest;
  const auto grown = static_cast<double>(now.value - watch.before.value);
  const auto left = static_cast<double>(watch.limit.value - now.value);
  const double time = static_cast<double>(since.count()) * left / grown / 2;
  return time >= static_cast<double>(kLatest.count())
             ? kLatest
             : nanoseconds(static_cast<std::int64_t>(time));
}

}  // namespace

void Host::watch_memory(RunKey key, ByteCount limit) {
  const BootTime now = clock_.boot_now();
  runs_.find(key)->memory = {limit, {}, {}, {}, now, now, now + kFirstLook};
  if (!next_look_ || now + kFirstLook < *next_look_) next_look_ = now + kFirstLook;
}

std::vector<pid_t> Host::processes_of(RunKey key, const Run& run) const {
  std::vector<pid_t> found;
  const auto add = [&](pid_t top) {
    found.push_back(top);
    const auto below = descendants_of(top).pids;
    found.insert(found.end(), below.begin(), below.end());
  };
  if (!run.leader_gone) add(run.group);
  for (const auto& [pid, stray] : strays_) {
    if (stray.owner == key) add(pid);
  }
  return found;
}

void Host::look_at_memory() {
  const BootTime now = clock_.boot_now();
  if (!next_look_ || now < *next_look_) return;
  const nanoseconds begun = thread_time();
  bool adopted = false;
  oom_kills_.look(now);
  next_look_.reset();
  for (auto& [key, run] : runs_.all()) {
    if (run.phase == Phase::killed) continue;
    if (run.memory.next <= now + kTogether) {
      if (!std::exchange(adopted, true)) adopt();
      look_at_memory_of(key, run, now);
    }
    if (run.phase != Phase::killed) {
      next_look_ = next_look_ ? std::min(*next_look_, run.memory.next) : run.memory.next;
    }
  }
  paid_until_ = std::max(paid_until_, now - kCredit) + kShare * (thread_time() - begun);
  if (next_look_) next_look_ = std::max(*next_look_, paid_until_);
}

void Host::look_at_memory_of(RunKey key, Run& run, BootTime now) {
  MemoryWatch& watch = run.memory;
  const std::vector<pid_t> processes = processes_of(key, run);
  const MemoryUse use = quick_memory_use(processes);
  ByteCount counted = use.now;
  // What the quick look says is never too little. The exact one is dear: it is asked when it could
  // matter to the limit, and for the peak each time that the quick one has grown by a sixteenth.
  const bool shared = processes.size() > 1;
  const bool beyond = watch.limit.value != 0 && counted > watch.limit;
  const bool higher = counted.value - counted.value / 16 > watch.exact_at.value;
  if (shared && (beyond || higher)) {
    watch.exact_at = std::max(watch.exact_at, counted);
    counted = std::min(counted, exact_memory_use(processes));
    watch.peak = std::max(watch.peak, counted);
  } else if (!shared) {
    watch.peak = std::max(watch.peak, counted);
  }
  watch.peak = std::max(watch.peak, use.largest_peak);
  look_at_io(run, processes);
  if (run.sample_every.count() > 0 && now + kTogether >= run.next_sample) {
    sample(key, run, processes, counted);
    run.next_sample = now + run.sample_every;
  }
  if (watch.limit.value != 0 && counted > watch.limit) {
    if (!run.cause && !run.leader_gone && !has_ended(run)) run.cause = Ending::out_of_memory;
    kill_run(key);
    return;
  }
  nanoseconds wait = std::max<nanoseconds>(kFirstLook, (now - watch.since) / 8);
  wait = std::min(wait, watch.limit.value != 0 ? kLatestLimited : kLatest);
  if (watch.limit.value != 0)
    wait = std::min(wait, time_to_limit(watch, use.now, now - watch.last));
  if (run.sample_every.count() > 0) wait = std::min(wait, run.next_sample - now);
  watch.before = use.now;
  watch.last = now;
  watch.next = now + std::max(wait, kSoonest);
}

// Of what is adopted and gone the reaped part tells.
void Host::look_at_io(Run& run, const std::vector<pid_t>& processes) {
  if (!run.io_file.there() && !run.leader_gone) run.io_file = IoFile(run.group);
  Traffic sum = run.activity.io.value_or(Traffic{});
  bool any = false;
  for (const pid_t pid : processes) {
    const bool is_leader = pid == run.group && !run.leader_gone;
    const auto io = is_leader ? run.io_file.read() : IoFile(pid).read();
    if (io) sum = sum + *io;
    any = any || io;
  }
  if (any) run.io_seen = sum;
}

void Host::sample(RunKey key, Run& run, const std::vector<pid_t>& processes, ByteCount memory) {
  Sample taken;
  taken.id = RunId{key};
  taken.at = clock_.wall_now();
  taken.memory = memory;
  taken.cpu_time = run.cpu_time;  // of what was reaped here
  for (const pid_t pid : processes) {
    if (const auto stat = read_stat(pid)) taken.cpu_time += stat->cpu_time;
  }
  taken.io = run.io_seen;
  taken.processes = static_cast<std::uint32_t>(processes.size());
  samples_.push_back(taken);
}

// By its own group, whose kills are in the count of the worker's group as well.
bool Host::killed_in_group(const Run& run) {
  const std::uint64_t kills = run.limits == nullptr ? 0 : run.limits->oom_kills();
  oom_kills_.take(kills, clock_.boot_now());
  return kills > 0;
}

// The kernel's count is of the worker's whole group: a kill that nobody else explains is one of
// those. A shell whose child was killed says so by its exit code.
bool Host::killed_by_kernel(const Run& run) {
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
