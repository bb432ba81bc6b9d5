#include "lib/worker/lease/pass_turn.h"

#include <utility>

#include "lib/claim/transactions/allocations.h"

namespace torc::worker {
namespace {

// From 1 to 1.5 times the interval.
std::chrono::nanoseconds spread_interval(double jitter) {
  const std::chrono::nanoseconds interval = kPassInterval;
  return interval + std::chrono::duration_cast<std::chrono::nanoseconds>(interval * (jitter / 2));
}

}  // namespace

PassTurn::PassTurn(store::World world, store::Store& store, claim::WorkerEpoch self,
                   StartPass start, double jitter)
    : world_(std::move(world)),
      store_(store),
      self_(self),
      start_(std::move(start)),
      turn_(spread_interval(jitter)) {}

void PassTurn::saw(std::uint64_t passes, bool has_work, BootTime now) {
  passes_ = passes;
  has_work_ = has_work;
  turn_.saw(passes, now);
}

void PassTurn::begin(BootTime now) {
  if (!start_ || !has_work_ || !turn_.may_ask(now)) return;
  bool mine = false;
  const auto noted = store_.commit(claim::raw(self_), [&](claim::Transaction& tx) -> Result<void> {
    TORC_ASSIGN(mine, claim::begin_pass(tx, passes_, world_.clock.wall_now()));
    return {};
  });
  if (noted.ok() && mine) start_();
}

}  // namespace torc::worker
