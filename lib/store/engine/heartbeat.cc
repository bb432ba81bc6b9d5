// 36 bytes a worker: epoch be64, counter be64, seconds of silence that it asks for be64, a commit
// that it has seen be64, CRC-32C be32 of all that; and 12 more, which an older torc neither writes
// nor reads: microseconds since 1970 be64, CRC-32C be32 of all from the beginning. Rewritten in
// place, since a new name for each heartbeat would cost three more requests; a reader that meets a
// half-written one sees no heartbeat.
//
// A shared file holds those of 1,024 epochs. Each has 64 KiB of it to itself (a hole, but for the
// first block): clients of network filesystems write back whole pages, of up to that size, and
// would undo the heartbeats of neighbours in the same page.
#include "lib/store/engine/heartbeat.h"

#include <algorithm>
#include <cerrno>

#include "lib/base/codec.h"
#include "lib/base/number.h"
#include "lib/store/disk/disk.h"
#include "lib/store/disk/hash.h"

namespace torc::store {
namespace {

constexpr std::uint64_t kPerFile = 1024;
constexpr std::uint64_t kStride = 64UL * 1024;
constexpr std::size_t kSize = 36;
constexpr std::size_t kSizeWithTime = 48;
constexpr std::size_t kCrc = 4;
constexpr int kLooks = 3;
constexpr std::uint64_t kMostCommits = std::uint64_t{1} << 48;  // of a store; more is not believed
// Ten times what can be asked for. A longer one is no promise of a worker, and could not be counted
// in nanoseconds.
constexpr std::uint64_t kMostSilence = std::uint64_t{36'500} * 24 * 3600;

std::uint64_t heartbeat_offset(HeartbeatPlace place) {
  return place.file == HeartbeatFile::own ? 0 : place.epoch % kPerFile * kStride;
}

Result<void> remove(Disk& disk, const Path& file) {
  Result<void> gone = disk.unlink(file);
  if (!gone.ok() && gone.error().os_errno == ENOENT) return {};
  return gone;
}

}  // namespace

Path heartbeat_path(const Path& state, HeartbeatPlace place) {
  return state / "beats" /
         (place.file == HeartbeatFile::own ? std::to_string(place.epoch)
                                           : "shared-" + std::to_string(place.epoch / kPerFile));
}

EpochRange epochs_beside(std::uint64_t epoch) {
  const std::uint64_t first = epoch - epoch % kPerFile;
  return {first, first + kPerFile - 1};
}

Result<void> write_heartbeat(const World& world, const Path& state, HeartbeatPlace place,
                             Heartbeat heartbeat) {
  Encoder record;
  record.be64(place.epoch).be64(heartbeat.counter);
  record.be64(static_cast<std::uint64_t>(heartbeat.ttl.count())).be64(heartbeat.known);
  record.be32(crc32c(record.bytes()));
  if (heartbeat.at.count() > 0) {
    record.be64(static_cast<std::uint64_t>(in_reach(heartbeat.at).count()));
    record.be32(crc32c(record.bytes()));
  }
  const Path file = heartbeat_path(state, place);
  TORC_ASSIGN(const FileHandle handle, world.disk.open_update(file));
  OpenFile open(world.disk, handle, file);
  TORC_TRY(open.write(heartbeat_offset(place), record.bytes()));
  return open.close();  // on NFS this is what sends it
}

namespace {

// Of a record that is good as far as an older torc reads it; 0: none is told.
WallTime time_in(std::string_view record) {
  if (record.size() < kSizeWithTime) return {};
  Decoder in(record.substr(kSize));
  const WallTime at(static_cast<std::int64_t>(in.be64()));
  const bool good = in.be32() == crc32c(record.substr(0, kSizeWithTime - kCrc));
  return good && at.count() > 0 && at == in_reach(at) ? at : WallTime{};
}

}  // namespace

Result<std::optional<Heartbeat>> read_heartbeat(const World& world, const Path& state,
                                                HeartbeatPlace place, Caches caches) {
  const Path file = heartbeat_path(state, place);
  const auto look = [&] {
    return world.disk.read_at(file, heartbeat_offset(place), kSizeWithTime, caches);
  };
  Result<std::string> bytes = look();
  if (!bytes.ok() && bytes.error().kind == ErrorKind::not_found) {
    // A client that looked for it too early may go on saying so until it lists the directory.
    TORC_TRY(list_directory(world.disk, file.parent_path()));
    bytes = look();
    if (!bytes.ok() && bytes.error().kind == ErrorKind::not_found)
      return std::optional<Heartbeat>();
  }
  if (!bytes.ok()) return std::move(bytes).error();
  Decoder in(*bytes);
  const std::uint64_t of = in.be64();
  Heartbeat heartbeat;
  heartbeat.counter = in.be64();
  const std::uint64_t silence = in.be64();
  heartbeat.ttl = std::chrono::seconds(std::min(silence, kMostSilence));
  heartbeat.known = in.be64();
  const std::uint32_t crc = in.be32();
  if (!in.ok() || of != place.epoch || silence > kMostSilence ||
      crc != crc32c(std::string_view(*bytes).substr(0, kSize - kCrc))) {
    return std::optional<Heartbeat>();
  }
  heartbeat.at = time_in(*bytes);
  return std::optional<Heartbeat>(heartbeat);
}

Result<KnownCommit> newest_known(const World& world, const Path& state, Caches caches) {
  KnownCommit newest;
  TORC_ASSIGN(const std::vector<std::string> names, list_directory(world.disk, state / "beats"));
  for (const std::string& name : names) {
    const auto epoch = whole_number<std::uint64_t>(name);
    if (!epoch) continue;
    std::optional<Heartbeat> heartbeat;
    for (int looks = 0; !heartbeat && looks < kLooks; ++looks) {  // it may just be rewritten
      TORC_ASSIGN(heartbeat, read_heartbeat(world, state, {*epoch, HeartbeatFile::own}, caches));
    }
    if (!heartbeat || heartbeat->known > kMostCommits) continue;
    if (heartbeat->known > newest.sequence) newest = {heartbeat->known, *epoch};
  }
  return newest;
}

Result<void> remove_heartbeats(const World& world, const Path& state, HeartbeatPlace place,
                               bool nobody_beside) {
  if (nobody_beside)
    TORC_TRY(remove(world.disk, heartbeat_path(state, {place.epoch, HeartbeatFile::shared})));
  if (place.file == HeartbeatFile::shared) return {};
  return remove(world.disk, heartbeat_path(state, place));
}

}  // namespace torc::store
