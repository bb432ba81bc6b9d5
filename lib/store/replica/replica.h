// The directory in which this node keeps its copy of a `journal` store:
//   <root>/torc-<uid>/<store id>-<boot id>-<pid
//   namespace>[-g<n>]/{data.mdb,lock.mdb,open.lock,gate}
// Where somebody else has the name `torc-<uid>` it is another one: lib/base/file/user_directory.h.
// Private to the user. A cache: unsynced, disposable, rebuilt when in doubt. `-g<n>` is a further
// generation, begun when a process is stuck inside an earlier one.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "lib/store/disk/gate.h"
#include "lib/store/disk/hash.h"
#include "lib/store/engine/store.h"
#include "lib/store/lmdb/environment.h"

namespace torc::store {

inline constexpr unsigned kGenerations = 16;

struct Replica {
  std::shared_ptr<Environment> environment;
  std::unique_ptr<Gate> gate;
};

// Opens generation `generation` under `root`, making it when absent. Errors: permission (somebody
// else prepared the directory), unsupported (`root` is on a network filesystem, where LMDB must not
// be), busy (a process is stuck while it opens it), io and others.
Result<Replica> open_replica(const World& world, const Path& root, const StoreId& store,
                             const std::string& place, unsigned generation,
                             std::chrono::nanoseconds patience = kOpenPatience);

// Visits the copies of `store` that this user's processes have on this node, of this boot and pid
// namespace, with the directory of each: those of the store at `place` (Place::key). Makes none.
// `unusable`: what is there and cannot be opened or read; what it holds is not known.
void visit_replicas(
    const World& world, const StoreId& store, const std::string& place,
    const std::function<void(const Path&, const std::shared_ptr<Environment>&)>& visit,
    const std::function<void(const Path&, const Error&)>& unusable);

// Takes a copy away: all of it at once, and while nobody is opening it, since whoever took LMDB's
// lock file from it and the data file from the one made next would share a lock table with those
// who have the old data file. Who has it open keeps its files. What cannot be deleted is deleted
// after the next boot. Waits at most `patience`. Error busy: somebody is opening it.
Result<void> remove_replica(Entropy& entropy, const Path& copy, std::chrono::nanoseconds patience);

}  // namespace torc::store
