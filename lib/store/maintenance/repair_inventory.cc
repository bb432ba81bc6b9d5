#include "lib/store/maintenance/repair_inventory.h"

#include <algorithm>
#include <cerrno>

namespace torc::store {

bool Inventory::operator==(const Inventory& other) const {
  return numbers == other.numbers &&
         std::equal(snapshots.begin(), snapshots.end(), other.snapshots.begin(),
                    other.snapshots.end(), [](const SnapshotName& a, const SnapshotName& b) {
                      return a.sequence == b.sequence && a.chain == b.chain;
                    });
}

std::uint64_t Inventory::highest() const {
  return std::max(numbers.empty() ? 0 : numbers.back(),
                  snapshots.empty() ? 0 : snapshots.front().sequence);
}

Result<Inventory> take_inventory(Journal& journal, Learning learning) {
  Inventory out;
  // Where nothing can be made the listing is what there is (and nothing can be repaired either).
  (void)journal.refresh(journal.snapshot_directory());
  (void)journal.refresh(journal.journal_directory());
  TORC_ASSIGN(out.snapshots, journal.snapshots());
  TORC_ASSIGN(const std::vector<std::uint64_t> directories, journal.directories());
  if (!directories.empty()) (void)journal.refresh(journal.directory_of(directories.back()));
  for (const std::uint64_t first : directories) {
    const Result<std::vector<std::uint64_t>> inside = journal.numbers_in(first);
    if (!inside.ok() && inside.error().os_errno == ENOENT) continue;
    if (!inside.ok()) return inside.error();
    out.numbers.insert(out.numbers.end(), inside->begin(), inside->end());
  }
  if (learning == Learning::listing) return out;
  for (std::uint64_t next = out.highest() + 1;; ++next) {
    TORC_ASSIGN(const bool there, journal.is_there(next));
    if (!there) return out;
    out.numbers.push_back(next);
  }
}

}  // namespace torc::store
