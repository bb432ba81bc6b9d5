// Where a store lies, as one process sees it. The same history may lie in several places: an
// original and its copies.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lib/base/result.h"
#include "lib/store/engine/store.h"
#include "lib/store/mount/mount_facts.h"

namespace torc::store {

struct Place {
  MountFacts facts;
  std::optional<Mount> mount;
  std::uint64_t mount_changes = 0;  // of the disk, before it was looked at
  bool is_there = false;            // the state directory
  std::uint64_t device = 0;
  // Of the state directory, where inode numbers are stable; 0: not known.
  std::uint64_t inode = 0;
  std::int64_t born = 0;
  // Letters, digits and '-': names this place among all that this node can see, for what the node
  // keeps of it. Another one after a remount costs a new copy of the state and nothing else.
  std::string key;
};

// Error: the directory cannot be looked at. A state directory that is not there is no error.
Result<Place> look_at_place(Disk& disk, const Path& directory, const Identity& identity);

// What the mount of `directory` does. For who has no store there yet, and for `doctor`.
Result<MountFacts> look_at_mount(Disk& disk, const Path& directory);

// Whether what is mounted under `directory` now is what was there when `was` was looked at: only
// then does a name that is missing say that it was removed.
enum class Ground : std::uint8_t { same, another };
[[nodiscard]] Ground ground_of(Disk& disk, const Path& directory, const Place& was);

}  // namespace torc::store
