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

std::uint64_t RepairFiles::end_of_segments() {
  const Result<std::vector<SegmentName>> names = journal_.segments();
  std::uint64_t end = 0;
  if (names.ok()) {
    for (const SegmentName& name : *names) end = std::max(end, name.last());
  }
  return end;
}

// What cannot be opened is asked for again: this client may have looked for it too early.
Result<CommitFile> RepairFiles::read(std::uint64_t number) {
  Result<CommitFile> file = journal_.read(number);
  if (file.ok() || file.error().kind != ErrorKind::not_found) return file;
  return journal_.read_anew(number);
}

Result<RepairFiles::Found> RepairFiles::read(std::uint64_t number, const Inventory& inventory,
                                             const Hash128& before, SegmentReader& segments) {
  const auto single = [](Result<CommitFile> file) -> Result<Found> {
    if (!file.ok()) return std::move(file).error();
    return Found{*std::move(file)};
  };
  const bool listed =
      std::binary_search(inventory.numbers.begin(), inventory.numbers.end(), number);
  Result<CommitFile> file = listed ? read(number) : journal_.read(number);
  if (file.ok() || file.error().kind != ErrorKind::not_found) return single(std::move(file));
  // What the newest snapshot covers may have been collected. All others must be there, since who
  // opens the store reads few commits from segments, and refuses the store where one is missing.
  const bool covered =
      !inventory.snapshots.empty() && number <= inventory.snapshots.front().sequence;
  if (!listed && !covered) {
    file = read(number);
    if (file.ok() || file.error().kind != ErrorKind::not_found) return single(std::move(file));
  }
  const auto bytes = segments.find(number);
  if (!bytes) return single(listed || !covered ? std::move(file) : read(number));
  Result<CommitFile> merged =
      decode_commit(journal_.id(), number, *bytes, journal_.segment_directory());
  if (!merged.ok() || merged->header.before != before) return single(std::move(file));
  return Found{*std::move(merged), !covered};
}

}  // namespace torc::store
