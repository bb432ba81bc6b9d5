// Short jobs without a moment between them: the first of the queue are handed to the host, whose
// threads begin the next one when one has ended. What they are told by their ends is heard of a
// little later, in batches (host_lane.cc). All of them need the same, so that each fits where
// another one was; and nothing but their order decides which is next, as without a lane.
#include <algorithm>
#include <iterator>
#include <utility>

#include "lib/worker/worker_session.h"

namespace torc::worker {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

// Of jobs that run for longer, a moment between two is not felt.
constexpr nanoseconds kShort = 100ms;
// For which what is handed over lasts, several times as long as the host keeps its news.
constexpr nanoseconds kAhead = 40ms;
constexpr std::size_t kDeepest = 128;
// After a start that failed: what it fails for is looked at one by one.
constexpr nanoseconds kOneByOne = 2s;

bool runs_script(const claim::Handler& handler) {
  return std::any_of(handler.rules.begin(), handler.rules.end(),
                     [](const claim::RetryRule& rule) { return !rule.script.empty(); });
}

}  // namespace

bool Session::lane_pays() const {
  if (phase_ != Phase::working || end_ || is_starting() || runs_alone() || cpu_pool_) return false;
  if (lease_.paused() || lease_.fenced() || summary_.workflow.max_failures != 0) return false;
  // A lane is not for more at a time; beside it nothing is started.
  if (setup_.max_parallel_jobs.value_or(setup_.machine.cpus) > kDeepest) return false;
  const nanoseconds job_time = pace_.run_time();
  return job_time > 0ns && job_time <= kShort && clock_.boot_now() >= no_lane_before_ &&
         !share_.owes();
}

bool Session::lane_serves(const PreparedJob& job) const {
  if (job.grant.alone || job.refusals > 0 || job.need.gpus > 0 || !job.declared.inputs.empty())
    return false;
  if (job.handler != nullptr && runs_script(*job.handler)) return false;
  return lane_held_ == 0 || job.need == lane_need_;
}

std::size_t Session::lane_depth() const {
  const auto each = static_cast<std::size_t>(kAhead / std::max<nanoseconds>(pace_.run_time(), 1us));
  return std::min(lane_held_ * (2 + each), std::max(2 * lane_held_, kDeepest));
}

std::size_t Session::running_in_lane() const {
  return static_cast<std::size_t>(std::count_if(running_.begin(), running_.end(),
                                                [](const auto& r) { return r.second.in_lane; }));
}

// Whether the next jobs are the lane's to begin: nothing else is started then.
bool Session::fill_lane() {
  const bool pays = lane_pays();
  if (!pays && !armed_.empty()) recall();
  if (pays && !queue_.empty() && lane_serves(queue_.front())) {
    lane_need_ = queue_.front().need;
    widen_lane();
    while (lane_held_ > 0 && armed_.size() < lane_depth() && !queue_.empty() &&
           lane_serves(queue_.front())) {
      if (!arm(queue_.front())) break;
      queue_.pop_front();
    }
  }
  narrow_lane();
  return !armed_.empty();
}

// What is free goes to the lane, as long as there are jobs for it.
void Session::widen_lane() {
  std::size_t most = std::min(armed_.size() + running_in_lane() + queue_.size(), kDeepest);
  if (setup_.max_parallel_jobs) {
    const std::size_t others = running_.size() - running_in_lane();
    most = std::min<std::size_t>(
        most, *setup_.max_parallel_jobs > others ? *setup_.max_parallel_jobs - others : 0);
    lane_held_ = std::max(lane_held_, most);
    return;
  }
  while (lane_held_ < most && (share_.fits(lane_need_) || share_.grow_for(lane_need_))) {
    (void)share_.take(lane_need_);
    ++lane_held_;
  }
}

void Session::narrow_lane() {
  const std::size_t used = std::min(lane_held_, armed_.size() + running_in_lane());
  for (; lane_held_ > used; --lane_held_) {
    if (!setup_.max_parallel_jobs) share_.put_back(lane_need_, {});
  }
  host_.let_run(lane_held_);
}

// False: this host begins it only by start().
bool Session::arm(PreparedJob& job) {
  Beginning beginning;
  beginning.in_lane = true;
  put_in_place(job, {});
  job.command.umask = context_.umask;
  beginning.output = output_->open(job);
  auto id = host_.queue(job.command);
  if (!id) {
    output_->close(beginning.output, false);
    job.command.stdout_fd = job.command.stderr_fd = -1;
    no_lane_before_ = clock_.boot_now() + kOneByOne;
    return false;
  }
  if (events_.label) beginning.label = events_.label(job);
  armed_.emplace(static_cast<std::uint64_t>(*id), Armed{std::move(job), std::move(beginning)});
  return true;
}

// Back to the queue, as if it had never left it. Precondition: those behind it are there already.
void Session::disarm(exec::RunId id) {
  const auto found = armed_.find(static_cast<std::uint64_t>(id));
  if (found == armed_.end()) return;
  PreparedJob job = std::move(found->second.job);
  output_->close(found->second.beginning.output, false);
  job.command.stdout_fd = job.command.stderr_fd = -1;
  job.command.stdout_errno = job.command.stderr_errno = 0;
  queue_.push_front(std::move(job));
  armed_.erase(found);
}

// What has not begun; of the rest it will be told.
void Session::recall() {
  const std::vector<exec::RunId> back = host_.take_back();
  for (auto id = back.rbegin(); id != back.rend(); ++id) disarm(*id);
}

void Session::take_lane_news(const exec::ProcessHost::Wakeup& wakeup) {
  for (const exec::ProcessHost::Begun& begun : wakeup.begun) {
    const auto found = armed_.find(static_cast<std::uint64_t>(begun.id));
    if (found == armed_.end()) continue;  // the lease was lost
    Armed armed = std::move(found->second);
    armed_.erase(found);
    armed.beginning.at = begun.at;
    armed.beginning.since = begun.since;
    note_start(armed.job.grant.token.job);
    begin(begun.id, std::move(armed.job), std::move(armed.beginning));
  }
  if (wakeup.declined.empty()) return;
  recall();
  for (auto d = wakeup.declined.rbegin(); d != wakeup.declined.rend(); ++d) disarm(d->id);
  no_lane_before_ = clock_.boot_now() + kOneByOne;
}

}  // namespace torc::worker
