#include "lib/worker/loop/lives.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <deque>

#include "lib/base/file/beneath.h"
#include "lib/base/quantities.h"
#include "lib/store/engine/store.h"

namespace torc::worker {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr nanoseconds kFirstPause = 1s;
constexpr nanoseconds kLastPause = 30s;

// Whether the store may be found well later: everything but that it was read and is not for us, or
// is gone. A store that is only not found lies, it may be, under a mount that is not there.
bool may_be_well_later(const Error& error) {
  if (store::is_gone(error)) return false;
  switch (error.kind) {
    case ErrorKind::invalid:
    case ErrorKind::exists:
    case ErrorKind::corrupt:
    case ErrorKind::unsupported:
      return false;
    case ErrorKind::fenced:
      return !beneath::is_exchanged(error);
    case ErrorKind::not_found:
    case ErrorKind::permission:  // of the bare directory below a mount, say
    case ErrorKind::no_space:
    case ErrorKind::unknown:
    case ErrorKind::busy:
    case ErrorKind::io:
      return true;
  }
  return true;
}

}  // namespace

namespace {

class Losses {
 public:
  // One more at `now`. Whether they are too many.
  bool add(BootTime now) {
    times_.push_back(now);
    while (times_.front() + kLossesWithin <= now) times_.pop_front();
    return times_.size() >= kMostLosses;
  }

 private:
  std::deque<BootTime> times_;
};

}  // namespace

int pause_for_signals(nanoseconds time) {
  const sigset_t set = worker_signals();
  const timespec limit{static_cast<time_t>(time / 1s), static_cast<long>((time % 1s).count())};
  const int number = sigtimedwait(&set, nullptr, &limit);
  return number > 0 && number != SIGUSR1 ? number : 0;
}

Result<WorkerSummary> live(Clock& clock, const WorkerEvents& events, const Life& life,
                           const Pause& pause) {
  Result<WorkerSummary> summary = life(1);
  Losses losses;
  for (int lives = 2;; ++lives) {
    if (!summary || summary->end != WorkerEnd::lease_lost || summary->interrupted_by != 0) break;
    if (summary->failure) break;
    if (losses.add(clock.boot_now())) break;
    nanoseconds wait = kFirstPause;
    auto next = life(lives);
    BootTime until = clock.boot_now() + kComeBack;
    while (!next && may_be_well_later(next.error()) && clock.boot_now() < until) {
      if (wait == kFirstPause && events.notice) {
        events.notice(fmt::format("the store cannot be used now, trying again for {}: {}",
                                  show_duration(kComeBack), next.error().text()));
      }
      if (const int told = pause(wait); told != 0) {
        summary->interrupted_by = told;
        return summary;
      }
      wait = std::min(2 * wait, kLastPause);
      const BootTime asked = clock.boot_now();
      next = life(lives);
      until += clock.boot_now() - asked;  // what hung has not said no
    }
    summary = std::move(next);
  }
  if (summary && summary->failure) return *std::move(summary->failure);
  return summary;
}

}  // namespace torc::worker
