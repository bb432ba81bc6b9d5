#include "lib/worker/loop/goodbye.h"

#include <utility>

#include "lib/claim/queries/queries.h"
#include "lib/claim/queries/workers.h"
#include "lib/claim/transactions/exchange.h"
#include "lib/claim/transactions/membership.h"
#include "lib/exec/machine/machine.h"
#include "lib/store/engine/heartbeat.h"
#include "lib/worker/bell/ringer.h"
#include "lib/worker/loop/state_text.h"

namespace torc::worker {

Goodbye say_goodbye(const store::World& world, store::Store& store, const State& state,
                    const claim::Offer& offer, UdpBell* bell, const command::Goodbye& order) {
  Goodbye said;
  event::GoodbyeAnswer& answer = said.answer;
  const claim::WorkerEpoch self = state.terms.self;
  std::vector<std::string> mismatches;  // a commit may be tried again
  bool nobody_beside = false;
  store::HeartbeatPlace heartbeats;
  Ringer ringer(bell, self, exec::boot_id());
  auto left = store.commit(claim::raw(self), [&](claim::Transaction& tx) -> Result<void> {
    ringer.before(tx);
    if (order.speaks) {
      TORC_ASSIGN(answer.answer, claim::exchange(tx, order.words));
    }
    if (state.end == WorkerEnd::nothing_fits) mismatches = explain_mismatches(offer, tx);
    TORC_TRY(claim::release_worker(tx, self, order.words.now));
    TORC_ASSIGN(answer.workflow, claim::read_workflow(tx));
    TORC_TRY(claim::leave_out_removed(tx, answer.workflow));
    ringer.after(tx, 0, order.words.now);
    ringer.concern(tx, answer.answer.concerned);
    ringer.concern_changed(tx);
    heartbeats = claim::heartbeat_place(tx, self);
    const store::EpochRange beside = store::epochs_beside(claim::raw(self));
    TORC_ASSIGN(const bool anybody, claim::is_anybody_of(tx, beside.first, beside.last));
    nobody_beside = !anybody;
    return {};
  });
  if (!left) {
    answer.error = std::move(left).error();
    return said;
  }
  ringer.ring(left->sequence, store.identity().instance);
  (void)store::remove_heartbeats(world, store.state_directory(), heartbeats, nobody_beside);
  said.mismatches = std::move(mismatches);
  return said;
}

}  // namespace torc::worker
