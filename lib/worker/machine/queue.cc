// Jobs that were prefetched and do not fit into what is free: they must neither keep smaller
// ones from a free slot nor stay here for ever while larger workers could run them.
#include "lib/worker/machine/parts.h"

namespace torc::worker {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr nanoseconds kUnfit = 2s;    // in the queue, beside a free slot
constexpr nanoseconds kPassed = 30s;  // in the queue, while others behind it start
constexpr nanoseconds kNarrow = 60s;  // for which no job so large is prefetched again
constexpr int kPassedWindows = 4;     // or so many windows: a queue is meant to last for two

}  // namespace

// A slot is free and nothing that is queued is for it.
bool room_for_more(const State& w) {
  if (w.share.use().free().cpus == 0) return false;
  return std::none_of(w.queue.begin(), w.queue.end(), [&](const ClaimedJob& job) {
    return job.refusals == 0 && w.share.use().fits(job.need);
  });
}

// When something in the queue has not fitted for long. Nothing while nothing runs: what is queued
// then waits for other workers of the node.
std::optional<BootTime> next_unfit(const State& w) {
  if (w.phase != Phase::working || w.terms.max_parallel_jobs || w.running.empty() ||
      w.queue.empty())
    return std::nullopt;
  const nanoseconds passed =
      std::max<nanoseconds>(kPassed, kPassedWindows * w.pace.window(claim::Pace::Need::report));
  // What is passed over gathers at the front.
  if (w.share.use().free().cpus == 0) {
    const ClaimedJob& oldest = w.queue.front();
    return oldest.passed_over ? std::optional(oldest.queued_at + passed) : std::nullopt;
  }
  std::optional<BootTime> at;
  for (const ClaimedJob& job : w.queue) {
    if (w.share.use().fits(job.need)) continue;
    const BootTime due = job.queued_at + kUnfit;
    at = at ? std::min(*at, due) : due;
  }
  return at;
}

void return_unfit(const Step& s) {
  State& w = s.w;
  const auto due = next_unfit(w);
  if (!due || s.now < *due) return;
  const bool room = w.share.use().free().cpus > 0;
  const BootTime since = s.now - (room ? kUnfit : kPassed);
  if (s.now >= w.narrow.until) w.narrow = {};
  for (auto it = w.queue.begin(); it != w.queue.end();) {
    const claim::Requirement& need = it->need;
    if (it->queued_at > since || !(room || it->passed_over) || w.share.use().fits(need)) {
      ++it;
      continue;
    }
    Narrow& narrow = w.narrow;
    narrow.until = s.now + kNarrow;
    if (need.cpus > w.share.use().free().cpus) narrow.cpus = std::min(narrow.cpus, need.cpus - 1);
    if (need.gpus > w.share.use().free().gpus) narrow.gpus = std::min(narrow.gpus, need.gpus - 1);
    if (need.memory > w.share.use().free().memory)
      narrow.memory = std::min(narrow.memory, need.memory - ByteCount{1});
    w.talk.returns.push_back(it->grant.token);
    it = w.queue.erase(it);
  }
}

// While other jobs run; a worker that is free takes what it can.
void narrow(const State& w, BootTime now, claim::Offer& offer) {
  if (w.running.empty() || now >= w.narrow.until) return;
  // What is free by now may be had.
  offer.total_cpus = std::min(offer.total_cpus, std::max(w.narrow.cpus, offer.cpus));
  offer.total_gpus = std::min(offer.total_gpus, std::max(w.narrow.gpus, offer.gpus));
  offer.total_memory = std::min(offer.total_memory, std::max(w.narrow.memory, offer.memory));
}

void return_queue(const Step& s) {
  State& w = s.w;
  for (const ClaimedJob& job : w.queue) w.talk.returns.push_back(job.grant.token);
  w.queue.clear();
  if (w.lane.armed.empty() || w.lane_settled) return;
  s.order(command::TakeBack{});
  w.lane.returning = true;
}

}  // namespace torc::worker
