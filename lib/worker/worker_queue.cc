// Jobs that were claimed ahead and do not fit into what is free: they must neither keep smaller
// ones from a free slot nor stay here for ever while larger workers could run them.
#include <algorithm>

#include "lib/worker/worker_session.h"

namespace torc::worker {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr nanoseconds kUnfit = 2s;    // in the queue, beside a free slot
constexpr nanoseconds kPassed = 30s;  // in the queue, while others behind it start
constexpr nanoseconds kNarrow = 60s;  // for which no job so large is claimed ahead again
constexpr int kPassedWindows = 4;     // or so many windows: a queue is meant to last for two

}  // namespace

// A slot is free and nothing that is queued is for it.
bool Session::room_for_more() const {
  if (share_.free_cpus() == 0) return false;
  return std::none_of(queue_.begin(), queue_.end(), [&](const PreparedJob& job) {
    return job.refusals == 0 && share_.fits(job.need);
  });
}

// When something in the queue has not fitted for long. Nothing while nothing runs: what is queued
// then waits for other workers of the node.
std::optional<BootTime> Session::next_unfit() const {
  if (phase_ != Phase::working || setup_.max_parallel_jobs || running_.empty() || queue_.empty())
    return std::nullopt;
  const nanoseconds passed =
      std::max<nanoseconds>(kPassed, kPassedWindows * pace_.window(claim::Pace::Need::report));
  const bool room = share_.free_cpus() > 0;
  // What is passed over gathers at the front.
  if (!room) {
    const PreparedJob& oldest = queue_.front();
    return oldest.passed_over ? std::optional(oldest.queued_at + passed) : std::nullopt;
  }
  std::optional<BootTime> at;
  for (const PreparedJob& job : queue_) {
    if (share_.fits(job.need)) continue;
    const BootTime due = job.queued_at + kUnfit;
    at = at ? std::min(*at, due) : due;
  }
  return at;
}

void Session::return_unfit() {
  const auto due = next_unfit();
  const BootTime now = clock_.boot_now();
  if (!due || now < *due) return;
  const bool room = share_.free_cpus() > 0;
  const BootTime since = now - (room ? kUnfit : kPassed);
  if (now >= narrow_.until) narrow_ = {};
  for (auto it = queue_.begin(); it != queue_.end();) {
    const claim::Requirement& need = it->need;
    if (it->queued_at > since || !(room || it->passed_over) || share_.fits(need)) {
      ++it;
      continue;
    }
    narrow_.until = now + kNarrow;
    if (need.cpus > share_.free_cpus()) narrow_.cpus = std::min(narrow_.cpus, need.cpus - 1);
    if (need.gpus > share_.free_gpus()) narrow_.gpus = std::min(narrow_.gpus, need.gpus - 1);
    if (need.memory > share_.free_memory())
      narrow_.memory = std::min(narrow_.memory, need.memory - ByteCount{1});
    returns_.push_back(it->grant.token);
    it = queue_.erase(it);
  }
}

// While other jobs run; a worker that is free takes what it can.
void Session::narrow(claim::Offer& offer) const {
  if (running_.empty() || clock_.boot_now() >= narrow_.until) return;
  // What is free by now may be had.
  offer.total_cpus = std::min(offer.total_cpus, std::max(narrow_.cpus, offer.cpus));
  offer.total_gpus = std::min(offer.total_gpus, std::max(narrow_.gpus, offer.gpus));
  offer.total_memory = std::min(offer.total_memory, std::max(narrow_.memory, offer.memory));
}

}  // namespace torc::worker
