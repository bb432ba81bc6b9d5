// When a worker leaves because nothing of its allocation is used any more. Each decides alone: it
// looks now and then at what the others have, while it has nothing itself. As long as one of them
// works all stay, since their nodes are paid for anyway. When nobody has had anything for long, it
// asks for jobs once more, looks once more, and leaves; so do the others.
#include "lib/worker/machine/parts.h"

namespace torc::worker {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr nanoseconds kFirstLook = 1s;  // of having nothing: a moment between two jobs is none
// Between two looks of one worker. All that are idle in a crowd look so often together; with
// kLongest nobody stays for more than a minute after half a minute without use.
constexpr nanoseconds kShortest = 5s;
constexpr nanoseconds kLongest = 25s;
constexpr std::int64_t kLooksPerSecond = 8;
// Nodes of an allocation that have not come by then do not come.
constexpr nanoseconds kToCome = 120s;

bool has_nothing(const State& w) {
  return w.is_quiet() && w.queue.empty() && !w.has_reports() && !w.actions.active() && !w.gang;
}

// The workflow file says how long a finished workflow is waited for.
bool waits_for_new_jobs(const State& w) {
  return w.finished_since && !w.terms.stays;
}

bool watches(const State& w) {
  return w.terms.workers_idle && w.phase == Phase::working && !w.end && w.talk.was_answered &&
         has_nothing(w) && !waits_for_new_jobs(w);
}

// Since then nothing was used, as far as is known.
std::optional<BootTime> unused_since(const State& w) {
  if (w.terms.leaves_alone) return w.idle_since;
  if (!w.allocation.unused_since) return std::nullopt;
  return std::max(*w.allocation.unused_since, w.idle_since);
}

// When that has lasted long enough.
std::optional<BootTime> leaves_at(const State& w) {
  const auto since = unused_since(w);
  if (!since) return std::nullopt;
  return std::max(*since + *w.terms.workers_idle, w.allocation.not_before);
}

bool was_answered(const State& w) {
  return w.allocation.last_ask && w.talk.last_sent >= *w.allocation.last_ask && is_idle(w);
}

BootTime next_look(const State& w) {
  return std::max(w.idle_since + kFirstLook, w.allocation.looked_at + w.allocation.pause);
}

void look(const Step& s, bool last) {
  State& w = s.w;
  IdleAllocation& a = w.allocation;
  a.looks = true;
  a.last_look = last;
  a.looked_at = s.now;
  const nanoseconds share = nanoseconds(1s) * static_cast<std::int64_t>(w.live_workers);
  const nanoseconds pause = std::clamp<nanoseconds>(share / kLooksPerSecond, kShortest, kLongest);
  a.pause =
      pause * 4 / 5 +
      nanoseconds(static_cast<std::int64_t>(roll(w) * static_cast<double>(pause.count()) / 5));
  s.order(command::LookAtAllocation{});
}

// A job of several nodes waits for the node of somebody: others may bring the rest of them, but of
// this allocation no more come than were started.
bool counts_as_use(const State& w, BootTime now) {
  return w.terms.most_nodes == 0 || now < w.terms.begun + kToCome;
}

// What others have, or what waits for its time, must not be left to nobody: somebody has to see the
// leases of those run out that are dead, and this worker cannot know but by their signs of life.
bool is_needed(const State& w, const AllocationUse& use) {
  const bool waits = use.others_hold || w.summary.workflow.of(claim::JobState::delayed) > 0;
  return waits && !w.allocation.others_live;
}

void go(const Step& s, nanoseconds unused) {
  s.tell({.what = Notice::What::allocation_unused, .time = unused, .flag = s.w.terms.leaves_alone});
  finish(s, WorkerEnd::idle);
}

}  // namespace

void follow_allocation(const Step& s) {
  State& w = s.w;
  IdleAllocation& a = w.allocation;
  if (!watches(w)) {
    a.unused_since.reset();
    a.last_ask.reset();
    return;
  }
  if (const auto at = leaves_at(w); at && s.now >= *at) {
    if (!a.last_ask) {
      // There may be jobs of which nothing was heard here.
      a.last_ask = s.now;
      w.talk.nothing_claimable = false;
      w.talk.speak_by = s.now;
      return;
    }
    if (!was_answered(w)) return;
    if (w.terms.leaves_alone) return go(s, s.now - w.idle_since);
    if (!a.looks) look(s, true);
    return;
  }
  if (!w.terms.leaves_alone && !a.looks && s.now >= next_look(w)) look(s, false);
}

void see_allocation(const Step& s, const event::AllocationSeen& seen) {
  State& w = s.w;
  IdleAllocation& a = w.allocation;
  a.looks = false;
  const bool last = std::exchange(a.last_look, false);
  const bool used = !seen.use || seen.use->is_busy ||
                    (seen.use->is_kept && counts_as_use(w, s.now)) || !watches(w);
  if (used || seen.use->was_active || !a.unused_since) {
    a.last_ask.reset();
    a.others_live = false;
    a.unused_since = used ? std::nullopt : std::optional(a.looked_at);
    return;
  }
  a.others_live = a.others_live || seen.use->others_live;
  if (!last || !was_answered(w)) return;
  if (!is_needed(w, *seen.use)) return go(s, s.now - *unused_since(w));
  a.last_ask.reset();
  a.not_before = next_look(w);
}

std::optional<BootTime> allocation_wake(const State& w, BootTime now) {
  if (!watches(w)) return std::nullopt;
  std::optional<BootTime> at;
  if (!w.allocation.last_ask) at = leaves_at(w);
  if (was_answered(w) && !w.allocation.looks) at = now;
  if (!w.terms.leaves_alone && !w.allocation.looks && !w.allocation.last_ask)
    at = std::min(at.value_or(BootTime::max()), next_look(w));
  return at;
}

}  // namespace torc::worker
