// The directory in which this node keeps its copy of a `journal` store:
//   <root>/torc-<uid>/<store id>-<boot id>-<pid namespace>[-g<n>]/{data.mdb,lock.mdb,gate}
// Private to the user. A cache: unsynced, disposable, rebuilt when in doubt. `-g<n>` is a further
// generation, begun when a process is stuck inside an earlier one.
#pragma once

#include <memory>

#include "lib/store/environment.h"
#include "lib/store/gate.h"
#include "lib/store/hash.h"
#include "lib/store/store.h"

namespace torc::store {

inline constexpr unsigned kGenerations = 16;

struct Replica {
  std::shared_ptr<Environment> environment;
  std::unique_ptr<Gate> gate;
};

// Opens generation `generation` under `root`, making it when absent. Errors: permission (somebody
// else prepared the directory), unsupported (`root` is on a network filesystem, where LMDB must not
// be), io and others.
Result<Replica> open_replica(const World& world, const Path& root, const StoreId& store,
                             unsigned generation);

}  // namespace torc::store
