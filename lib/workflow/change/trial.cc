#include "lib/workflow/change/trial.h"

#include <utility>

namespace torc::workflow {

Result<store::Commit> commit_or_try(store::Store& store, bool dry_run,
                                    const store::Store::Body& body) {
  bool given_up = false;
  auto committed = store.commit(0, [&](store::Transaction& tx) -> Result<void> {
    given_up = false;
    TORC_TRY(body(tx));
    if (!dry_run) return {};
    given_up = true;
    return Error{ErrorKind::busy, "this was a dry run", ""};
  });
  if (!committed && given_up) return store::Commit{};
  return committed;
}

}  // namespace torc::workflow
