// `torc repair --salvage`: what can be read of a store of engine lmdb whose data file is damaged,
// put elsewhere. The store itself is never written to, and LMDB never opens its file.
#pragma once

#include <cstdint>

#include "lib/store/engine/memory_state.h"
#include "lib/store/engine/store.h"
#include "lib/store/lmdb/lmdb_remains.h"

namespace torc::store {

struct Salvaged {
  enum class Which : std::uint8_t {
    newest,
    before,  // the one before the newest
    only     // the other one's head is damaged: nobody knows which of the two it is
  };
  Which which = Which::newest;  // of the two states of the file
  LmdbRemains remains;
  std::uint64_t sequence = 0;  // of its last commit; 0: not known
  // The state without what is the store's own, as a Reader. Valid as long as this is.
  [[nodiscard]] EntriesReader state() const { return {remains.entries, sequence}; }
  // Not an entry is missing, and it is known where its history goes on. What its entries say to
  // each other is for lib/claim to check.
  [[nodiscard]] bool is_whole() const { return sequence > 0 && remains.complete(); }
};

// Of the two states the newest, unless the one before has all its entries and the newest has not.
// Errors: unsupported (not engine lmdb), corrupt (neither head can be read), busy (it changed
// during each look: workers go on).
Result<Salvaged> salvage(const World& world, const Path& directory);

// Puts them into the environment of `directory`, which is made when there is none and which nobody
// uses yet: in several transactions, so that they are not all there twice.
Result<void> write_entries(const Path& directory, const LmdbEntries& entries);

// Makes `target` a store of its own, with another id, that has the entries of `salvaged` and the
// files of `source` that are no part of the state. Precondition: is_whole(). Error exists.
Result<void> write_salvaged(const World& world, const Path& source, const Path& target,
                            const Salvaged& salvaged);

}  // namespace torc::store
