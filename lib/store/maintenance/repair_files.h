// The files of a store of engine `journal` as a repair reads them: what this client may remember
// wrongly is asked for again before it is called missing. It changes nothing, and remembers
// nothing but where the files are.
#pragma once

#include <cstdint>
#include <string>

#include "lib/store/engine/heartbeat.h"
#include "lib/store/engine/meta.h"
#include "lib/store/format/journal.h"
#include "lib/store/format/segment.h"
#include "lib/store/maintenance/repair_inventory.h"

namespace torc::store {

// What reading says of the bytes, not of the way to them: everything else is the caller's error.
inline bool is_damage(const Error& error) {
  return error.kind == ErrorKind::corrupt || error.kind == ErrorKind::not_found;
}

class RepairFiles {
 public:
  // `world` outlives this.
  RepairFiles(const World& world, Path directory, const Meta& meta, Place place);

  Result<Inventory> list() { return take_inventory(journal_, place_.facts.learning); }
  // The newest commit that a worker of any node has seen.
  Result<KnownCommit> known();
  // Error kind not_found: it is not there, also asked past what this client remembers.
  Result<CommitFile> read(std::uint64_t number);
  // One that shall continue `before`: of a segment, where that stands in for the single file.
  struct Found {
    CommitFile file;
    // Its single file is missing although no snapshot covers it: also asked for past what this
    // client remembers.
    bool is_missing = false;
  };
  Result<Found> read(std::uint64_t number, const Inventory& listed, const Hash128& before,
                     SegmentReader& segments);

  // The last commit that a segment's name promises, whatever is in it; 0: there is none.
  [[nodiscard]] std::uint64_t end_of_segments();

  [[nodiscard]] Journal& journal() { return journal_; }
  [[nodiscard]] const Path& directory() const { return directory_; }
  [[nodiscard]] const Path& state() const { return state_; }  // the state directory
  // Place::key: names the copies of this store.
  [[nodiscard]] const std::string& key() const { return place_.key; }

 private:
  const World& world_;
  Path directory_;
  Path state_;
  Place place_;
  Journal journal_;
};

// "worker 3 has seen commit 17"
[[nodiscard]] std::string seen_by_worker(const KnownCommit& known);

}  // namespace torc::store
