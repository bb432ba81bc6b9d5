// Jobs that a worker starts one by one, and starts that come to nothing.
#include "lib/worker/machine/parts.h"

namespace torc::worker {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

// What kills its worker for the way in which it begins has done so by then. One whose next loss
// would be its last runs alone to its end: no job fails for what another one did.
constexpr nanoseconds kProbation = 10s;
constexpr std::chrono::minutes kMountPatience{10};  // then this node cannot run jobs
// Failures so far apart are not one that lasts: it is tried again within kLastRetry.
constexpr nanoseconds kMostBetween = 4 * kLastRetry;

exec::CpuSet set_of(const exec::CpuList& cpus) {
  exec::CpuSet out;
  for (const std::uint32_t cpu : cpus) out.add(cpu);
  return out;
}

// Beside what runs here. The store grants nothing else; what it does not know yet counts, too.
bool may_start_beside(const State& w, const ClaimedJob& job, BootTime now) {
  if (w.running.empty()) return true;
  if (w.alone && now < w.alone->until) return false;
  if (!job.grant.alone) return true;
  return std::all_of(w.running.begin(), w.running.end(),
                     [](const auto& r) { return r.second.job.grant.alone; });
}

// Whether what it has of its node has room for it. What the answer to a question says is seen when
// it is looked at again.
bool share_gives(const Step& s, const ClaimedJob& job) {
  State& w = s.w;
  if (w.terms.max_parallel_jobs) return w.running.size() < *w.terms.max_parallel_jobs;
  if (w.share.use().fits(job.need)) return true;
  if (!w.share_asked && w.share.grow_for(job.need, s.out)) {
    w.share_asked = true;
    w.awaited = Awaited::share;
  }
  return false;
}

// This host cannot start anything just now: try again soon, but do not keep from others what it
// cannot run.
void take_refusal(const Step& s, ClaimedJob job, const event::StartAnswer& answer, Blame whose) {
  State& w = s.w;
  Notice notice{.what = Notice::What::cannot_start, .job = job.load, .text = answer.why};
  if (answer.fault) {
    notice.what = Notice::What::cannot_start_mount;
    notice.step = answer.fault->step;
    notice.number = answer.fault->os_errno;
  }
  if (w.refused_starts++ == 0) s.tell(notice);
  w.no_start_before = s.now + std::min(w.refused_starts * nanoseconds(1s), kLastRetry);
  // Where it may be the fault of its own files others are asked for and tried first.
  if (whose == Blame::unknown) {
    job.not_before = w.no_start_before + std::min(++job.refusals * nanoseconds(1s), kLastRetry);
    w.queue.push_back(std::move(job));
  } else {
    w.queue.push_front(std::move(job));
  }
  if (w.refused_starts % 5 == 0) return return_queue(s);
  if (whose == Blame::unknown) leave_dead_mount(s, notice);
}

// It is no job's fault, and counts for none: the worker says so and leaves.
void leave_without_directory(const Step& s, ClaimedJob job, const event::Fault& fault) {
  s.tell({.what = Notice::What::node_cannot_run,
          .job = job.load,
          .number = fault.os_errno,
          .step = fault.step});
  s.w.queue.push_front(std::move(job));
  finish(s, WorkerEnd::broken);
}

}  // namespace

bool is_prevented_by_mount(const Step& s, JobId job) {
  DeadMount& mount = s.w.dead_mount;
  auto& of_job = mount.of_jobs.try_emplace(job, DeadMount::Failures{s.now, s.now}).first->second;
  of_job.add(s.now, kMountPatience);  // it may have been elsewhere meanwhile
  if (mount.last_start > of_job.first && s.now >= of_job.first + kMountPatience) {
    mount.of_jobs.erase(job);
    return false;
  }
  if (!mount.here) mount.here = {s.now, s.now};
  mount.here->add(s.now, kMostBetween);
  return true;
}

// Others may have mounts that answer: what was claimed here is theirs. What runs may end here.
void leave_dead_mount(const Step& s, const Notice& obstacle) {
  const auto& here = s.w.dead_mount.here;
  if (s.w.end || !here || here->last < here->first + kMountPatience) return;
  Notice notice = obstacle;
  notice.what = Notice::What::mount_stays_dead;
  notice.time = kMountPatience;
  s.tell(std::move(notice));
  finish(s, WorkerEnd::broken);
}

exec::CpuList take_cpus(State& w, const ClaimedJob& job) {
  if (!w.cpu_pool) return {};
  if (!w.share.has_ledger()) return w.cpu_pool->take(job.need.cpus).value_or(exec::CpuList{});
  const exec::CpuSet mine = w.share.use().unpinned_cpus();
  const auto taken =
      w.cpu_pool->take(job.need.cpus, [&](std::uint32_t cpu) { return mine.has(cpu); });
  if (!taken) return {};
  w.share.use().pin(set_of(*taken));
  return *taken;
}

// In the order of the grants, but a job that does not fit yet does not keep smaller ones behind it
// waiting.
bool start_jobs(const Step& s) {
  State& w = s.w;
  if (w.phase != Phase::working || s.now < std::max(w.talk.not_before, w.no_start_before) ||
      may_be_halted(w))
    return true;
  while (w.scan < w.queue.size()) {
    const ClaimedJob& job = w.queue[w.scan];
    if (w.lease.paused || w.lease.fenced || !may_start_beside(w, job, s.now)) return true;
    if (job.not_before <= s.now) {
      if (!w.terms.max_parallel_jobs && w.share.use().free().cpus == 0 && !w.share.may_grow())
        return true;
      const bool given = share_gives(s, job);
      if (w.awaited != Awaited::nothing) return false;
      if (given) break;
    }
    ++w.scan;
    w.share_asked = false;
  }
  if (w.scan >= w.queue.size()) return true;
  for (std::size_t i = 0; i < w.scan; ++i) w.queue[i].passed_over = true;
  const ClaimedJob& job = w.queue[w.scan];
  w.starting = next_run(w);
  w.awaited = Awaited::start;
  Running& next = w.running[w.starting];
  if (!w.terms.max_parallel_jobs) next.pieces = w.share.use().take(job.need);
  next.cpus = take_cpus(w, job);
  command::StartJob start{w.starting, job.load, w.share.use().gpus_in(next.pieces), next.cpus};
  if (!job.need.named.empty() && !w.terms.max_parallel_jobs)
    start.named = w.share.use().named_in(job.need, next.pieces);
  s.order(std::move(start));
  return false;
}

void take_start(const Step& s, const event::StartAnswer& answer) {
  State& w = s.w;
  auto node = w.running.extract(answer.run);
  Running started = std::move(node.mapped());
  started.job = std::move(w.queue[w.scan]);
  w.queue.erase(w.queue.begin() + static_cast<std::ptrdiff_t>(w.scan));
  w.share_asked = false;
  const Blame whose = answer.fault ? answer.fault->blame : Blame::job;
  const JobId id = started.job.grant.token.job;
  bool came_to_nothing = answer.what != event::StartAnswer::What::started;
  if (!came_to_nothing && whose == Blame::unknown && is_prevented_by_mount(s, id)) {
    came_to_nothing = true;
    s.order(command::ForgetRun{answer.run});
  }
  if (!came_to_nothing && whose == Blame::workflow) {
    came_to_nothing = true;
    s.order(command::ForgetRun{answer.run});
  }
  if (came_to_nothing) {
    release(w, started);
    w.scan = SIZE_MAX;  // nothing more in this turn
    if (answer.what == event::StartAnswer::What::postponed) {
      w.queue.push_front(std::move(started.job));  // it was before all that could be started
      return;
    }
    if (whose == Blame::workflow)
      return leave_without_directory(s, std::move(started.job), *answer.fault);
    return take_refusal(s, std::move(started.job), answer, whose);
  }
  w.refused_starts = 0;
  if (whose != Blame::unknown) note_start(s, id);
  if (started.job.grant.alone) {
    const ClaimedJob& job = started.job;
    const bool to_its_end = job.crash_limit != 0 && job.grant.lost + 1 >= job.crash_limit;
    w.alone = {job.grant.token, to_its_end ? BootTime::max() : s.now + kProbation};
    s.tell({.what = Notice::What::runs_alone, .job = job.load, .flag = to_its_end});
  }
  if (answer.fault) started.fault = *answer.fault;
  ClaimedJob job = std::move(started.job);
  begin(s, answer.run, std::move(job), std::move(started), answer.at, s.now);
}

void begin(const Step& s, Run run, ClaimedJob job, Running with, WallTime at, BootTime since) {
  s.w.pace.job_started(since);
  s.w.talk.starts.push_back({job.grant.token, at});
  with.started = since;
  with.job = std::move(job);
  s.w.running.insert_or_assign(run, std::move(with));
}

void note_start(const Step& s, JobId job) {
  s.w.dead_mount.here.reset();
  s.w.dead_mount.of_jobs.erase(job);
  s.w.dead_mount.last_start = s.now;
}

void release(State& w, const Running& job) {
  if (w.cpu_pool) {
    w.cpu_pool->give_back(job.cpus);
    w.share.use().unpin(set_of(job.cpus));
  }
  if (!w.terms.max_parallel_jobs && !job.of_gang) w.share.use().put_back(job.job.need, job.pieces);
}

}  // namespace torc::worker
