// Heartbeat files: beats/<epoch>, 20 bytes: epoch be64, counter be64, CRC-32C be32 of both. Written
// in place, since a new name for each beat would cost three more requests; a reader that meets a
// half-written one sees no beat.
#include <cerrno>

#include "lib/base/codec.h"
#include "lib/store/disk.h"
#include "lib/store/hash.h"
#include "lib/store/store.h"

namespace torc::store {
namespace {

Path beat_path(const Path& state, std::uint64_t epoch) {
  return state / "beats" / std::to_string(epoch);
}

}  // namespace

Result<void> write_beat(const World& world, const Path& state, std::uint64_t epoch,
                        std::uint64_t counter) {
  Encoder record;
  record.be64(epoch).be64(counter);
  record.be32(crc32c(record.bytes()));
  TORC_ASSIGN(const FileHandle handle, world.disk.open_update(beat_path(state, epoch)));
  OpenFile open(world.disk, handle);
  TORC_TRY(world.disk.write(handle, 0, record.bytes()));
  return open.close();  // on NFS this is what sends it
}

Result<std::optional<std::uint64_t>> read_beat(const World& world, const Path& state,
                                               std::uint64_t epoch) {
  const Result<std::string> bytes = read_file(world.disk, beat_path(state, epoch));
  if (!bytes.ok()) {
    if (bytes.error().kind == ErrorKind::not_found) return std::optional<std::uint64_t>();
    return bytes.error();
  }
  Decoder in(*bytes);
  const std::uint64_t of = in.be64();
  const std::uint64_t counter = in.be64();
  const std::uint32_t crc = in.be32();
  if (!in.ok() || !in.at_end() || of != epoch ||
      crc != crc32c(std::string_view(*bytes).substr(0, 16))) {
    return std::optional<std::uint64_t>();
  }
  return std::optional<std::uint64_t>(counter);
}

Result<void> remove_beat(const World& world, const Path& state, std::uint64_t epoch) {
  Result<void> gone = world.disk.unlink(beat_path(state, epoch));
  if (!gone.ok() && gone.error().os_errno == ENOENT) return {};
  return gone;
}

}  // namespace torc::store
