// Short jobs without a moment between them: the first of the queue are handed to the host, whose
// threads begin the next one when one has ended. What they are told by their ends is heard of a
// little later, in batches (exec/process/lane_runs.h). All of them need the same, so that each
// fits where another one was; and nothing but their order decides which is next, as without a lane.
#include "lib/worker/machine/parts.h"

namespace torc::worker {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

// Of jobs that run for longer, a moment between two is not felt.
constexpr nanoseconds kShort = 100ms;
// For which what is handed over lasts, several times as long as the host keeps its news.
constexpr nanoseconds kPrefetch = 40ms;
constexpr std::size_t kDeepest = 128;
// After a start that failed: what it fails for is looked at one by one.
constexpr nanoseconds kOneByOne = 2s;

bool runs_script(const claim::Handler& handler) {
  return std::any_of(handler.rules.begin(), handler.rules.end(),
                     [](const claim::RetryRule& rule) { return !rule.script.empty(); });
}

bool lane_pays(const State& w, BootTime now) {
  if (w.phase != Phase::working || w.end || is_starting(w) || runs_alone(w, now) || w.cpu_pool ||
      w.terms.starts_one_by_one)
    return false;
  if (w.lease.paused || w.lease.fenced || w.summary.workflow.max_failures != 0) return false;
  // A lane is not for more at a time; beside it nothing is started.
  if (w.terms.max_parallel_jobs.value_or(w.terms.machine.cpus) > kDeepest) return false;
  const nanoseconds job_time = w.pace.run_time();
  return job_time > 0ns && job_time <= kShort && now >= w.lane.not_before &&
         !w.share.use().is_overdrawn() && !w.share.is_doubtful() && w.owed_to_others == 0;
}

bool lane_serves(const Lane& lane, const ClaimedJob& job) {
  if (job.grant.alone || job.refusals > 0 || job.need.gpus > 0 || job.has_inputs ||
      !job.need.named.empty())
    return false;
  if (job.handler != nullptr && runs_script(*job.handler)) return false;
  return lane.held == 0 || job.need == lane.need;
}

std::size_t lane_depth(const State& w) {
  const std::size_t held = w.lane.held;
  const auto each =
      static_cast<std::size_t>(kPrefetch / std::max<nanoseconds>(w.pace.run_time(), 1us));
  return std::min(held * (2 + each), std::max(2 * held, kDeepest));
}

// What is free goes to the lane, as long as there are jobs for it. False: an answer is awaited.
bool widen_lane(const Step& s) {
  State& w = s.w;
  Lane& lane = w.lane;
  std::size_t most = std::min(lane.armed.size() + running_in_lane(w) + w.queue.size(), kDeepest);
  if (w.terms.max_parallel_jobs) {
    const std::size_t others = w.running.size() - running_in_lane(w);
    most = std::min<std::size_t>(
        most, *w.terms.max_parallel_jobs > others ? *w.terms.max_parallel_jobs - others : 0);
    lane.held = std::max(lane.held, most);
    return true;
  }
  for (; lane.held < most && w.share.use().fits(lane.need); ++lane.held)
    (void)w.share.use().take(lane.need);
  if (lane.held >= most || w.share_asked || !w.share.grow_for(lane.need, s.out)) return true;
  w.share_asked = true;
  w.awaited = Awaited::share;
  return false;
}

// Back to the queue, as if it had never left it. Precondition: those behind it are there already.
void disarm(State& w, Run run) {
  auto found = w.lane.armed.extract(run);
  if (found.empty()) return;
  ArmedJob& armed = found.mapped();
  if (armed.revoked) {
    w.talk.returns.push_back(armed.job.grant.token);
  } else {
    w.queue.push_front(std::move(armed.job));
  }
}

}  // namespace

std::size_t running_in_lane(const State& w) {
  return static_cast<std::size_t>(std::count_if(w.running.begin(), w.running.end(),
                                                [](const auto& r) { return r.second.in_lane; }));
}

// What it begins next. False: an answer is awaited.
bool fill_lane(const Step& s) {
  State& w = s.w;
  Lane& lane = w.lane;
  narrow_lane(s);
  if (w.phase != Phase::working || (w.queue.empty() && lane.armed.empty())) return true;
  if (s.now < std::max(w.talk.not_before, w.no_start_before) || may_be_halted(w)) return true;
  const bool pays = lane_pays(w, s.now);
  if (!pays && !settle_lane(s)) return false;
  if (pays && !w.queue.empty() && lane_serves(lane, w.queue.front())) {
    lane.need = w.queue.front().need;
    if (!widen_lane(s)) return false;
    command::ArmJobs batch;
    while (lane.held > 0 && lane.armed.size() < lane_depth(w) && !w.queue.empty() &&
           lane_serves(lane, w.queue.front())) {
      const Run run = next_run(w);
      batch.jobs.emplace_back(run, w.queue.front().load);
      lane.armed.emplace(run, ArmedJob{std::move(w.queue.front())});
      w.queue.pop_front();
    }
    if (!batch.jobs.empty()) {
      narrow_lane(s);
      s.order(std::move(batch));
      w.lane_settled = false;
      w.awaited = Awaited::armed;
      return false;
    }
  }
  narrow_lane(s);
  return true;
}

void narrow_lane(const Step& s) {
  State& w = s.w;
  Lane& lane = w.lane;
  const std::size_t used =
      lane.held == 0 ? 0 : std::min(lane.held, lane.armed.size() + running_in_lane(w));
  for (; lane.held > used; --lane.held) {
    if (!w.terms.max_parallel_jobs) w.share.use().put_back(lane.need, {});
  }
  if (std::exchange(lane.let_run, lane.held) != lane.held) s.order(command::LetRun{lane.held});
}

bool settle_lane(const Step& s) {
  if (s.w.lane.armed.empty() || s.w.lane_settled) return true;
  s.order(command::TakeBack{});
  s.w.awaited = Awaited::taken_back;
  return false;
}

// Of what it does not name it will be told that it has begun.
void take_back(const Step& s, const event::TakenBack& answer) {
  State& w = s.w;
  for (auto run = answer.runs.rbegin(); run != answer.runs.rend(); ++run) disarm(w, *run);
  w.lane_settled = true;
  if (std::exchange(w.lane.returning, false)) return_queue(s);
}

// This host begins them only by a start of their own.
void take_armed(const Step& s, const event::Armed& answer) {
  if (answer.refused.empty()) return;
  for (auto run = answer.refused.rbegin(); run != answer.refused.rend(); ++run) disarm(s.w, *run);
  s.w.lane.not_before = s.now + kOneByOne;
}

void take_begun(const Step& s, const event::Begun& begun) {
  State& w = s.w;
  auto found = w.lane.armed.extract(begun.run);
  if (found.empty()) return;  // the lease was lost
  Running running;
  running.in_lane = true;
  running.revoked = found.mapped().revoked;
  note_start(s, found.mapped().job.grant.token.job);
  begin(s, begun.run, std::move(found.mapped().job), std::move(running), begun.at, begun.since);
}

void take_declined(const Step& s, const event::Declined& declined) {
  State& w = s.w;
  std::vector<Run> runs = declined.runs;
  std::sort(runs.begin(), runs.end());  // as they were handed over
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) disarm(w, *run);
  w.lane.not_before = s.now + kOneByOne;
  // A slot had it when all others were taken back, for good.
  if (w.phase != Phase::working) return_queue(s);
}

}  // namespace torc::worker
