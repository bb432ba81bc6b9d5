#include "bin/commands/ringing.h"

#include <utility>

#include "lib/claim/transactions/noted_transaction.h"
#include "lib/claim/transactions/undo.h"
#include "lib/worker/bell/ringer.h"
#include "lib/worker/bell/udp_sender.h"
#include "lib/workflow/change/addition.h"

namespace torc::cli {
namespace {

Result<void> make_and_keep(const App& app, store::Transaction& tx, const store::Store::Body& body,
                           const Keeping& keeping) {
  claim::NotedTransaction noted(tx);
  TORC_TRY(body(noted));
  claim::keep_change(tx, noted,
                     {app.clock.wall_now(), app.asked_at, workflow::who_asks(app), app.words,
                      keeping.file, keeping.text_before, keeping.text_after});
  return {};
}

}  // namespace

Result<void> change_and_ring(const App& app, store::Store& store, bool dry_run,
                             const store::Store::Body& body,
                             const std::function<std::uint64_t()>& anew, const Keeping& keeping) {
  worker::UdpSender net;
  worker::Ringer ringer(dry_run ? nullptr : &net, claim::WorkerEpoch{}, app.world.boot_id);
  TORC_ASSIGN(
      const store::Commit done,
      workflow::commit_or_try(store, dry_run, [&](store::Transaction& tx) -> Result<void> {
        ringer.before(tx);
        TORC_TRY(dry_run || !keeping.is_kept ? body(tx) : make_and_keep(app, tx, body, keeping));
        ringer.after(tx, anew ? anew() : 0, app.clock.wall_now());
        ringer.concern_changed(tx);
        return {};
      }));
  if (done.wrote) ringer.ring(done.sequence, store.identity().instance);
  return {};
}

workflow::MakeChange ringing_change(const App& app, store::Store& store, bool dry_run,
                                    Keeping keeping) {
  return [&app, &store, dry_run, keeping = std::move(keeping)](const store::Store::Body& body) {
    return change_and_ring(app, store, dry_run, body, {}, keeping);
  };
}

}  // namespace torc::cli
