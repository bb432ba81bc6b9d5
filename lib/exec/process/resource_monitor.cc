#include "lib/exec/process/resource_monitor.h"

#include <time.h>

#include <algorithm>
#include <utility>

#include "lib/exec/machine/memory_use.h"
#include "lib/exec/machine/procfs.h"

namespace torc::exec {
namespace {

using std::chrono::nanoseconds;

// Those due within this time of each other are looked at together.
constexpr nanoseconds kTogether = std::chrono::milliseconds(50);

nanoseconds thread_time() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + nanoseconds(now.tv_nsec);
}

// Keeps the peak. What the quick look says is never too little. The exact one is dear: it is asked
// when it could matter to the limit, and for the peak each time that the quick one has grown by a
// sixteenth.
ByteCount count_memory(MemoryWatch& watch, const MemoryUse& use,
                       const std::vector<pid_t>& processes) {
  ByteCount counted = use.now;
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
  return counted;
}

// Of what is adopted and gone the reaped part tells.
void look_at_io(Run& run, const std::vector<pid_t>& processes) {
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

Sample sample_of(RunKey key, const Run& run, const std::vector<pid_t>& processes, ByteCount memory,
                 WallTime at) {
  Sample taken;
  taken.id = RunId{key};
  taken.at = at;
  taken.memory = memory;
  taken.cpu_time = run.cpu_time;  // of what was reaped here
  for (const pid_t pid : processes) {
    if (const auto stat = read_stat(pid)) taken.cpu_time += stat->cpu_time;
  }
  taken.io = run.io_seen;
  taken.processes = static_cast<std::uint32_t>(processes.size());
  return taken;
}

}  // namespace

std::vector<Sample> ResourceMonitor::look() {
  std::vector<Sample> samples;
  RunTable& runs = trees_.runs();
  const BootTime now = clock_.boot_now();
  if (!runs.next_look() || now < *runs.next_look()) return samples;
  const nanoseconds begun = thread_time();
  bool adopted = false;
  oom_kills_.look(now);
  runs.set_next_look(std::nullopt);
  for (auto& [key, run] : runs.all()) {
    if (run.phase == Phase::killed) continue;
    if (run.memory.next <= now + kTogether) {
      if (!std::exchange(adopted, true)) trees_.adopt();
      look_at(key, run, now, samples);
    }
    if (run.phase != Phase::killed) runs.want_look(run.memory.next);
  }
  budget_.pay(now, thread_time() - begun);
  if (runs.next_look()) runs.set_next_look(std::max(*runs.next_look(), budget_.earliest()));
  return samples;
}

void ResourceMonitor::look_at(RunKey key, Run& run, BootTime now, std::vector<Sample>& samples) {
  MemoryWatch& watch = run.memory;
  const std::vector<pid_t> processes = trees_.processes_of(key);
  const MemoryUse use = quick_memory_use(processes);
  const ByteCount counted = count_memory(watch, use, processes);
  look_at_io(run, processes);
  const bool sampled = run.sample_every.count() > 0;
  if (sampled && now + kTogether >= run.next_sample) {
    samples.push_back(sample_of(key, run, processes, counted, clock_.wall_now()));
    run.next_sample = now + run.sample_every;
  }
  if (watch.limit.value != 0 && counted > watch.limit) {
    termination_.kill(key, Ending::out_of_memory);
    return;
  }
  watch.next = now + time_to_next_look(watch, use.now, now,
                                       sampled ? std::optional(run.next_sample) : std::nullopt);
  watch.before = use.now;
  watch.last = now;
}

}  // namespace torc::exec
