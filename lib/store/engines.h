// The two engines, as open() and create() make them.
#pragma once

#include <memory>

#include "lib/store/meta.h"
#include "lib/store/store.h"

namespace torc::store {

Result<std::unique_ptr<Store>> open_lmdb_store(const World& world, const Path& directory,
                                               const Meta& meta, const Tuning& tuning);
Result<std::unique_ptr<Store>> open_journal_store(const World& world, const Path& directory,
                                                  const Meta& meta, const Tuning& tuning);

// Reads META and refuses what this host or program cannot open.
Result<Meta> read_meta(const World& world, const Path& directory);

// Whether the store that was opened as `identity` is still what `directory` names. Kind fenced: it
// was deleted, or another one has its name; whoever worked on it has nothing to work on any more.
Result<void> check_still_there(const World& world, const Path& directory, const Identity& identity);

}  // namespace torc::store
