#include "bin/commands/ringing.h"

#include "lib/worker/bell/ringer.h"
#include "lib/worker/bell/udp_sender.h"

namespace torc::cli {

Result<void> change_and_ring(const App& app, store::Store& store, bool dry_run,
                             const store::Store::Body& body,
                             const std::function<std::uint64_t()>& anew) {
  worker::UdpSender net;
  worker::Ringer ringer(dry_run ? nullptr : &net, claim::WorkerEpoch{}, app.world.boot_id);
  TORC_ASSIGN(const store::Commit done,
              workflow::commit_or_try(store, dry_run, [&](store::Transaction& tx) -> Result<void> {
                ringer.before(tx);
                TORC_TRY(body(tx));
                ringer.after(tx, anew ? anew() : 0, app.clock.wall_now());
                ringer.concern_changed(tx);
                return {};
              }));
  if (done.wrote) ringer.ring(done.sequence, store.identity().instance);
  return {};
}

workflow::MakeChange ringing_change(const App& app, store::Store& store, bool dry_run) {
  return [&app, &store, dry_run](const store::Store::Body& body) {
    return change_and_ring(app, store, dry_run, body);
  };
}

}  // namespace torc::cli
