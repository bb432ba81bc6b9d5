// What a worker has of its node, and what it leaves to other workers there.
#include "lib/worker/machine/parts.h"

#include <algorithm>

namespace torc::worker {
namespace {

using namespace std::chrono_literals;

// Turns of workers that share a node are shorter.
constexpr std::chrono::nanoseconds kStarving = 2s;
constexpr std::chrono::nanoseconds kInVain = 2s;

void say_who_holds_the_node(const Step& s) {
  State& w = s.w;
  const BootTime since = w.share.starved_since();
  if (w.share.use().cpus() > 0) w.told_starved = false;
  if (since == BootTime{} || w.told_starved || s.now < since + kStarving) return;
  if (w.summary.workflow.of(claim::JobState::ready) == 0) return;
  w.told_starved = true;
  s.tell({.what = Notice::What::node_is_taken});
}

}  // namespace

// After jobs have ended: others wait, who have less.
void let_others(const Step& s) {
  State& w = s.w;
  if (w.share.is_doubtful()) w.share.give_back_free(NodeShare::Cpus::give, s.out);
  if (w.phase != Phase::working || w.terms.max_parallel_jobs ||
      !w.share.let_others(w.owed_to_others, s.now, s.out))
    return;
  // What was prefetched is not kept from workers that can run it.
  if (w.share.use().cpus() == 0) return_queue(s);
}

// It runs nothing, and what it has of the node was too little for any of its jobs for a while. Two
// such workers, each of which keeps what the other lacks, would wait for each other for ever.
bool holds_in_vain(const Step& s) {
  const State& w = s.w;
  if (!w.is_quiet() || w.queue.empty()) return false;
  const auto may_start = [&](const ClaimedJob& job) {
    return w.share.use().fits(job.need) || s.now < job.queued_at + kInVain;
  };
  return std::none_of(w.queue.begin(), w.queue.end(), may_start);
}

// Nothing is kept that no job uses, but while the store is asked for jobs (a store that hangs must
// not keep the node from others), and CPUs as long as jobs for them are expected at once.
void settle_share(const Step& s) {
  State& w = s.w;
  if (w.terms.max_parallel_jobs) return;
  if (w.phase != Phase::working) w.share.stop_waiting(s.out);
  if (w.talk.busy && w.talk.in_flight.offer && s.now < w.talk.last_sent + kShareInFlight) return;
  const bool soon = !w.talk.busy && !holds_in_vain(s) &&
                    (!w.queue.empty() || (wants_jobs(w, s.now) && s.now >= w.talk.not_before));
  w.share.give_back_free(
      soon && w.phase == Phase::working ? NodeShare::Cpus::keep : NodeShare::Cpus::give, s.out);
}

void look_at_share(const Step& s, const exec::NodeHolding& could_hold) {
  State& w = s.w;
  if (w.share.look(could_hold, s.now)) {
    w.talk.nothing_claimable = false;
    w.talk.heard_bell = w.talk.busy;
  }
  say_who_holds_the_node(s);
}

}  // namespace torc::worker
