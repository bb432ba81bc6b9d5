// What a worker does while it is not sure of its lease: it could not renew it in time, it was
// stopped, or its machine was suspended. Its jobs are stopped meanwhile
// (exec/process/lease_pause.h, and by the watchdog). Nothing is taken for lost before the store has
// said so, or has not answered for long.
#include "lib/store/engine/store.h"
#include "lib/worker/machine/parts.h"

namespace torc::worker {
namespace {

using std::chrono::nanoseconds;

// A filesystem that answers again is asked by all workers at once.
constexpr nanoseconds kFirstDelay = std::chrono::seconds(1);
constexpr int kDelaysInLease = 30;

// In a pause nothing ends and nothing proves itself: what waits for that waits the longer.
void go_on_after_pause(const Step& s) {
  State& w = s.w;
  const BootTime since = w.doubt.since;
  auto& terminated_at = w.orders.terminated_at;
  if (terminated_at && since <= *terminated_at + kExplains)
    *terminated_at += s.now - std::max(since, *terminated_at);
  if (w.alone && w.alone->until != BootTime::max() && since < w.alone->until)
    w.alone->until += s.now - since;
}

}  // namespace

void follow_lease(const Step& s, const event::LeaseSeen& seen) {
  State& w = s.w;
  Doubt& doubt = w.doubt;
  if (w.lost_lease()) return;
  w.lease = seen;
  const auto no_answer = std::exchange(doubt.no_answer, std::nullopt);
  if (!seen.stands) return lose_lease(s, {.what = Notice::What::too_late});
  if (!seen.paused) {
    if (!std::exchange(doubt.ask_at, std::nullopt)) return;
    go_on_after_pause(s);
    return s.tell({.what = Notice::What::lease_stands});
  }
  if (!doubt.ask_at) {
    doubt.ask_at = s.now;
    // Renewed and paused again before anybody looked is one pause: `seen` would tell of its last
    // part.
    doubt.since = seen.paused_since;
    doubt.delay = kFirstDelay;
    doubt.told_no_answer = false;
    s.tell({.what = Notice::What::lease_in_doubt});
  }
  if (no_answer && !std::exchange(doubt.told_no_answer, true))
    s.tell({.what = Notice::What::no_answer, .text = no_answer->text()});
  if (doubt.asking || s.now < *doubt.ask_at) return;
  doubt.ask_at = s.now + nanoseconds(static_cast<std::int64_t>(
                             static_cast<double>(doubt.delay.count()) * (0.5 + roll(w))));
  doubt.delay = std::clamp(2 * doubt.delay, kFirstDelay,
                           std::max(kFirstDelay, nanoseconds(w.terms.lease_ttl) / kDelaysInLease));
  doubt.asking = true;
  s.order(command::AskStore{});
}

void lose_lease(const Step& s, const Error& why) {
  // What fails is told where it is reported.
  const bool is_gone = store::is_gone(why);
  if (is_gone) s.w.summary.failure = why;
  lose_lease(s, {.what = Notice::What::lease_lost, .text = is_gone ? "" : why.text()});
}

// Whatever happened to its jobs, it is not this worker's to say any more.
void lose_lease(const Step& s, Notice why) {
  State& w = s.w;
  w.end = WorkerEnd::lease_lost;
  w.phase = Phase::stopping;
  s.order(command::LoseLease{});
  forget_unconfirmed(w);
  w.lane.armed.clear();
  w.running.clear();
  w.alone.reset();
  w.suspects.clear();
  w.unmade.clear();
  w.queue.clear();
  w.talk.offered.clear();
  w.talk.starts.clear();
  w.talk.finishes.clear();
  w.talk.returns.clear();
  w.talk.gang.clear();
  forget_gang(s);
  forget_actions(w);
  s.tell(std::move(why));
}

}  // namespace torc::worker
