// What is in the directories of a journal store, listed as anew as this mount allows.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/store/format/journal.h"
#include "lib/store/mount/mount_facts.h"

namespace torc::store {

struct Inventory {
  std::vector<SnapshotName> snapshots;  // newest first
  std::vector<std::uint64_t> numbers;   // of commit files, ascending
  bool operator==(const Inventory& other) const;
  [[nodiscard]] std::uint64_t highest() const;
};

// A directory that is collected meanwhile is passed over: what is concluded from a number that is
// not listed is asked for by opening its file.
Result<Inventory> take_inventory(Journal& journal, Learning learning);

}  // namespace torc::store
