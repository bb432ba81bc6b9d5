// What a worker does while it is not sure of its lease: it could not renew it in time, it was
// stopped, or its machine was suspended. Its jobs are stopped meanwhile (exec/host_pause.cc, and by
// the watchdog). Nothing is taken for lost before the store has said so, or has not answered for
// long.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/worker/worker_session.h"

namespace torc::worker {
namespace {

using std::chrono::nanoseconds;

// A filesystem that answers again is asked by all workers at once.
constexpr nanoseconds kFirstDelay = std::chrono::seconds(1);
constexpr int kDelaysInLease = 30;

}  // namespace

// In a pause nothing ends and nothing proves itself: what waits for that waits the longer.
void Session::go_on_after_pause(BootTime now) {
  const BootTime since = lease_.paused_since();
  if (terminated_at_ && since <= *terminated_at_ + kExplains)
    *terminated_at_ += now - std::max(since, *terminated_at_);
  if (alone_ && alone_->until != BootTime::max() && since < alone_->until)
    alone_->until += now - since;
}

void Session::follow_lease() {
  if (end_ == WorkerEnd::lease_lost) return;
  if (lease_.news_fd() >= 0) lease_.clear_news();
  const auto no_answer = committer_->take_no_answer();
  const BootTime now = clock_.boot_now();
  lease_.look(now);
  if (!lease_.stands()) return lose_lease(std::string(kTooLate));
  if (!lease_.paused()) {
    if (!std::exchange(ask_at_, std::nullopt)) return;
    go_on_after_pause(now);
    if (host_.running() == 0) return;
    notice(fmt::format("its lease stands: {} running job(s) go on", host_.running()));
    return;
  }
  if (!ask_at_) {
    ask_at_ = now;
    ask_delay_ = kFirstDelay;
    told_no_answer_ = false;
    if (host_.running() > 0)
      notice(
          fmt::format("stopped {} running job(s): this worker could not renew its lease in time, "
                      "or was stopped; asking the store whether it still has it",
                      host_.running()));
  }
  if (no_answer && !std::exchange(told_no_answer_, true))
    notice(fmt::format("no answer about the lease yet: {}", no_answer->text()));
  if (committer_->asking() || now < *ask_at_) return;
  ask_at_ = now + nanoseconds(static_cast<std::int64_t>(static_cast<double>(ask_delay_.count()) *
                                                        (0.5 + dice())));
  ask_delay_ = std::clamp(2 * ask_delay_, kFirstDelay,
                          std::max(kFirstDelay, nanoseconds(lease_ttl_) / kDelaysInLease));
  committer_->ask();
}

}  // namespace torc::worker
