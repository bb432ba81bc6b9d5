// `torc backup`: a copy of a store that is a store itself, taken while workers go on.
//
// The copy has an id of its own, since copies of a state on nodes are found by the store's id: two
// stores with one id and different histories would be taken for one another. It contains the state
// as of one commit, not the commits that led there, and the caller's files (spec.yaml, slurm/…);
// not logs/, heartbeats and quarantine/. Commit numbers go on from those of the original, so that
// no worker's number and no claim of it comes a second time.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "lib/store/engine/store.h"

namespace torc::store {

struct BackupRequest {
  Path destination;              // must not be there yet
  std::optional<Engine> engine;  // nullopt: that of the original
};

struct BackedUp {
  Identity identity;           // of the copy
  std::uint64_t sequence = 0;  // the newest commit that it contains
};

// The copy appears complete, by rename, or not at all. Errors as for Store::open and Store::create.
Result<BackedUp> backup(const World& world, const Path& source, const BackupRequest& request);

// Copies what a store has besides its state and what jobs printed, and makes it durable.
Result<void> copy_callers_files(Disk& disk, const Path& from, const Path& to);

// Makes `target` from what `fill` makes under another name, which is not there yet: complete, by
// rename, or not at all. Error exists: it is there.
Result<void> make_aside(const World& world, const Path& target,
                        const std::function<Result<void>(const Path& aside)>& fill);

}  // namespace torc::store
