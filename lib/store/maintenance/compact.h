// `torc compact`: makes a store as small as it may be.
#pragma once

#include "lib/store/engine/store.h"
#include "lib/store/lmdb/environment.h"

namespace torc::store {

struct StoreSize {
  std::uint64_t files = 0;  // of the state, not of logs and specs
  ByteCount bytes;          // that they occupy on disk
};
Result<StoreSize> size_of_state(const World& world, const Path& directory);

enum class Workers : std::uint8_t { none, may_live };

// Engine journal: takes a snapshot of the newest state unless there is one, and collects what two
// snapshots have made superfluous; with live workers only what has been so for the retention, as
// they do themselves. Engine lmdb: writes the environment anew without its free pages; needs that
// no process has the store open, which is made sure by LMDB's own lock and, against those that are
// about to open it, by OpenLock, for which it waits at most `patience`. Error busy: one has.
Result<void> compact(const World& world, const Path& directory, Workers workers,
                     std::chrono::nanoseconds patience = kOpenPatience);

}  // namespace torc::store
