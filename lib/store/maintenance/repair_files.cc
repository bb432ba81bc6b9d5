#include "lib/store/maintenance/repair_files.h"

#include <algorithm>
#include <utility>

namespace torc::store {

std::string seen_by_worker(const KnownCommit& known) {
  return "worker " + std::to_string(known.epoch) + " has seen commit " +
         std::to_string(known.sequence);
}

RepairFiles::RepairFiles(const World& world, Path directory, const Meta& meta, Place place)
    : world_(world),
      directory_(std::move(directory)),
      state_(meta.identity.state_directory(directory_)),
      place_(std::move(place)),
      journal_(world.disk, directory_, meta.identity.id,
               Publisher(world.disk, world.entropy, meta.publish, Durable::yes)) {}

Result<KnownCommit> RepairFiles::known() {
  (void)journal_.refresh(state_ / "beats");
  return newest_known(world_, state_, heartbeat_caches(place_.facts.kind));
}

// What cannot be opened is asked for again: this client may have looked for it too early.
Result<CommitFile> RepairFiles::read(std::uint64_t number) {
  Result<CommitFile> file = journal_.read(number);
  if (file.ok() || file.error().kind != ErrorKind::not_found) return file;
  return journal_.read_anew(number);
}

Result<CommitFile> RepairFiles::read(std::uint64_t number, const Inventory& inventory,
                                     const Hash128& before, SegmentReader& segments) {
  const bool listed =
      std::binary_search(inventory.numbers.begin(), inventory.numbers.end(), number);
  Result<CommitFile> file = listed ? read(number) : journal_.read(number);
  if (file.ok() || file.error().kind != ErrorKind::not_found) return file;
  // Between the two newest snapshots a segment stands in for the single files.
  const auto bytes = segments.find(number);
  if (!bytes) return listed ? std::move(file) : read(number);
  Result<CommitFile> merged =
      decode_commit(journal_.id(), number, *bytes, journal_.segment_directory());
  return merged.ok() && merged->header.before == before ? merged : file;
}

}  // namespace torc::store
